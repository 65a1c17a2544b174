import { GwError, Interrupted, isUnknownOutcome, shellQuote, UnknownOutcome, usage } from '../../errors.ts';
import { readGatewayError } from '../../gateway/gateway-error.ts';
import type { ExternalIds, Family, TaskFamily } from '../../gateway/task.ts';
import type { Clock } from '../../host.ts';
import type { Client } from '../../http/client.ts';
import { jsonIn } from '../../http/parse-json.ts';
import { type Job, type LedgerEvent, mayExist } from '../../ledger/event.ts';
import { isOwnExternalId } from '../../ledger/job-key.ts';
import type { Ledger } from '../../ledger/ledger.ts';
import { holdWhenFree, isOtherKey } from './hold-job.ts';
import { digestOf } from './job-request.ts';
import {
  confirmId,
  type FoundTask,
  idInCutReply,
  type LookedUp,
  type LookUp,
  lookUp,
  lookUpPatiently,
  ownTask,
  takenBy,
} from './look-up.ts';
import { type Accepted, Attempt, acceptedAs, jobOf, type Made, type MakeInput } from './make.ts';
import {
  externalIdsOf,
  idToConfirm,
  isKeptRefusal,
  isProvenAbsent,
  isUnanswered,
  MOST_SENDINGS,
  maySendAgain,
  nextFor,
  showsAll,
} from './standing.ts';

// Everything about a create that was not simply accepted: what it came to in the process that sent it, how a later one goes
// on with it, and how a sync settles it. What may be done next is decided in standing.ts.

/** A failed sending, followed until it is known what came of it, or is not; the ledger has it then. */
export async function settleFailure(error: unknown, attempt: Attempt, input: MakeInput): Promise<Made> {
  const search = new Search(attempt, input);
  try {
    return acceptedAs(await search.after(error), input);
  } catch (thrown) {
    return recordFailure(thrown, search, input);
  }
}

/** Looks for the task of a create, and sends the create again where the gateway says that there is none. */
class Search {
  /** An answer was lost, and it is not known yet what came of the request. */
  isLost = false;
  /** The task that the cut reply named, until the gateway has confirmed it. */
  unconfirmedId: string | undefined;
  /** The look-up was refused to this API key: nothing was learned by it. */
  denied: GwError | undefined;

  constructor(
    readonly attempt: Attempt,
    private readonly input: MakeInput,
    /** How often it was sent again after an empty look-up, by earlier runs too. */
    public resends = 0,
  ) {}

  async after(error: unknown): Promise<Accepted> {
    const { externalId, family, note } = this.input;
    const { externalIds } = family;
    const found = error instanceof UnknownOutcome ? await this.#confirmCutReply(error) : undefined;
    if (found) return found;
    if (!externalIds || externalId === undefined) throw error;
    const request = { ...this.input, externalIds, externalId };
    if (isDuplicate(error, externalIds)) return await this.#ownOrRefused(error as GwError, request);
    if (!isInDoubt(error, this.attempt.isSent)) throw error;
    const why = isConflict(error) ? 'the gateway answered HTTP 409' : 'the answer was lost';
    note(`${why}; looking for the task by its external ID ${externalId}`);
    return await this.findOrSendAgain(error, request);
  }

  /**
   * A cut 2xx reply is searched for its ID, and the ID confirmed by a query, before the outcome is called unknown. What
   * has no external ID is found by that ID alone, which is durable before the query: this process may be killed in it.
   */
  async #confirmCutReply(lost: UnknownOutcome): Promise<Accepted | undefined> {
    const { externalId, key, ledger } = this.input;
    const id = idInCutReply(lost);
    if (id === undefined) return undefined;
    this.unconfirmedId = id;
    try {
      if (externalId === undefined) {
        ledger.append(key, { event: 'unknown', message: lostMessage(lost, id), unconfirmedId: id });
      }
    } catch {
      // It is asked for all the same, and written once more with what comes of that.
    }
    try {
      const accepted = await confirmId(id, this.input);
      // What has an external ID is absent only once it is not found by that; else a sync asks for the task once more.
      if (accepted || externalId !== undefined) this.unconfirmedId = undefined;
      else this.attempt.absent = { serverDateMs: undefined };
      return accepted;
    } catch {
      return undefined;
    }
  }

  /**
   * The first sending was refused, because its external ID is taken, it seems. An ID that gw made can only be this job's;
   * the user's own may be any other's, which is named and never taken for this one.
   */
  async #ownOrRefused(refusal: GwError, request: LookUp): Promise<Accepted> {
    const { externalId, intent, key } = this.input;
    if (isOwnExternalId({ key, externalId, once: intent.once })) {
      // Another machine may have made it this very moment under the same --once key, or whatever stands between has sent it
      // twice: until it is looked for, an interrupt settles nothing.
      this.isLost = true;
      const own = await lookUpPatiently(request);
      if (!('failed' in own) && own.found) return this.#adopted(own.found, own, request);
      if (!('failed' in own) && intent.once === undefined) throw refusal;
      const look =
        'failed' in own
          ? `the look-up of the task that has it failed: ${own.failed.message}`
          : 'a look-up shows no task that has it';
      const what = `${refusal.message}; external ID ${externalId} is taken, and ${look}`;
      throw new UnknownOutcome(what, refusal.facts);
    }
    let answer: LookedUp | undefined;
    try {
      answer = await lookUp(request);
    } catch {
      request.signal.throwIfAborted();
    }
    if (!answer?.found) throw refusal;
    throw refusal.told(takenBy(answer.found, request.externalId));
  }

  /** The answer was lost: looks for the job, and sends it again only where the gateway says that it is not there. */
  async findOrSendAgain(lost: unknown, request: LookUp): Promise<Accepted> {
    const { key, ledger, note } = this.input;
    this.isLost = true;
    let isRefused = false;
    for (let looks = 0; looks < MOST_SENDINGS; looks += 1) {
      const answer = await lookUpPatiently(request);
      if ('failed' in answer) {
        if (answer.failed.kind === 'auth') this.denied = answer.failed;
        if (isRefused || this.denied) break;
        continue;
      }
      if (answer.found) return this.#adopted(answer.found, answer, request);
      this.attempt.absent = answer;
      if (!maySendAgain(this) || isRefused) break;
      // So that a later run knows how often it was sent, even where this one dies now.
      ledger.append(key, { event: 'absent', serverDateMs: answer.serverDateMs });
      this.resends += 1;
      note('the gateway has no such task; sending it again under the same external ID');
      try {
        return await this.attempt.send();
      } catch (error) {
        const isDoubt = isInDoubt(error, this.attempt.isSent) || isDuplicate(error, request.externalIds);
        if (!isDoubt && !(error instanceof GwError)) throw error;
        // It settles the sending that it answers, and no earlier one (promises, section 2): looked for once more.
        isRefused = !isDoubt;
        if (isRefused) note(`${refusalWords(error)}; the first sending may have been taken all the same`);
      }
    }
    throw lost;
  }

  /** Takes a task for this job's, unless it is another's: then the external ID was taken, and nothing was made. */
  async #adopted(
    found: FoundTask,
    { serverDateMs }: LookedUp,
    { externalId, externalIds }: LookUp,
  ): Promise<Accepted> {
    const { clock, family, intent, key, ledger } = this.input;
    const sinceSentMs = clock.steady() - (this.attempt.sentAtMs ?? clock.steady());
    const lost = { key, once: intent.once, externalId, gateway: intent.gateway, sinceSentMs };
    const nowMs = serverDateMs ?? clock.now();
    const own = await ownTask(found, lost, { ...family, externalIds }, { ledger, nowMs });
    if (own) return own;
    const message = `external ID ${externalId} was taken already, and nothing was created`;
    throw new GwError('rejected', message, takenBy(found, externalId));
  }
}

const isDuplicate = (error: unknown, externalIds: ExternalIds): boolean =>
  error instanceof GwError &&
  error.kind === 'rejected' &&
  externalIds.isDuplicate({ code: error.facts.code, message: error.message });

const isConflict = (error: unknown): boolean => error instanceof GwError && error.facts.status === 409;

// Not in the gateway's words: they may say when to ask again, which is of no use here.
const refusalWords = (error: unknown): string => {
  const status = error instanceof GwError ? error.facts.status : undefined;
  return status === undefined ? 'it could not be sent again' : `sent again, it was refused (HTTP ${status})`;
};

/** No answer, or one that names no usable task; a refusal or an interrupt between attempts is neither. */
const isInDoubt = (error: unknown, isSent: boolean): boolean =>
  error instanceof GwError ? isUnknownOutcome(error) : isSent && !(error instanceof Interrupted);

// Going on with a create whose answer another process lost.

/**
 * Where an earlier job of the ledger was sent under the same external ID and its answer was lost, goes on with that job:
 * it is looked up and, where the gateway has no such task, sent again under its ID. Undefined where there is no such job.
 * A create that asks for something else is never sent while the earlier one is not settled. With `goesOn` the earlier job is
 * the one of the input's key. Throws `usage` while another process is at work on the earlier job, and what `onBegun` throws
 * where the job that was to be gone on with has been settled meanwhile.
 */
export async function takeUpLost(input: MakeInput): Promise<Made | undefined> {
  const { externalId, goesOn, ledger, note } = input;
  const { externalIds } = input.family;
  if (externalId === undefined || !externalIds) return undefined;
  const job = goesOn ? { key: input.key } : await unsettledUnder(externalId, input);
  if (!job) return undefined;
  const hold = goesOn
    ? await holdWhenFree(job.key, input, (who) => note(`${who} works on job ${job.key}; waiting for it`))
    : await ledger.hold(job.key);
  if (!hold) {
    throw usage(
      `external ID ${externalId} is that of job ${job.key}, which another gw is working on; nothing was sent`,
      `gw jobs show ${job.key} tells what becomes of it`,
    );
  }
  try {
    const { job: held } = hold;
    if (held && mayExist(held)) {
      const which = goesOn ? '' : `external ID ${externalId} is that of `;
      note(`${which}job ${held.key}, whose answer was lost: going on with that job`);
      // The model is in the endpoint: two of them take the same body.
      const isSame =
        held.endpoint === input.intent.endpoint && held.bodySha256 === digestOf(input.asked ?? input.body);
      const own = { ...input, key: held.key };
      const lookedUp = { ...own, externalId, externalIds };
      const made = isSame ? await goOn(held, lookedUp) : await refuseOther(held, lookedUp);
      if (made.kind === 'accepted' && !made.isOwnReply) note(`it is task ${made.id}; nothing was sent again`);
      return made;
    }
  } finally {
    hold.release();
  }
  // It was settled since it was listed: another one may stand under that ID, or none.
  if (goesOn) await input.onBegun?.();
  return takeUpLost(input);
}

async function unsettledUnder(externalId: string, input: MakeInput): Promise<Job | undefined> {
  const { family, intent, key, ledger } = input;
  const [job] = await ledger.find({
    externalId,
    family: family.name,
    gateway: intent.gateway,
    isOpen: true,
    limit: 1,
    where: (each) => each.key !== key && mayExist(each) && !isOtherKey(each, intent.keyId),
  });
  return job;
}

async function goOn(job: Job, input: MakeInput & LookUp): Promise<Made> {
  const attempt = new Attempt(input);
  attempt.isSent = true;
  attempt.sentAtMs = input.clock.steady() - sinceSentMs(job, input.clock);
  const search = new Search(attempt, input, job.resends);
  try {
    const lost = new UnknownOutcome(`it is still not known what became of job ${job.key}`);
    return acceptedAs(await search.findOrSendAgain(lost, input), input);
  } catch (thrown) {
    const made = recordFailure(thrown, search, input);
    return search.denied ? { ...made, error: search.denied.told({ taskId: job.key }) } : made;
  }
}

/** The earlier job asked for something else: it is settled if it can be, and this create is refused either way. */
async function refuseOther(job: Job, input: MakeInput & LookUp): Promise<Made> {
  const { clock, externalId, externalIds, family, ledger } = input;
  const answer = await lookUpPatiently(input);
  const found = 'failed' in answer ? undefined : answer.found;
  const what = `external ID ${externalId} is that of job ${job.key}, which asked for something else`;
  const made = { job: jobOf(input) };
  if ('failed' in answer || !found) {
    const error = new UnknownOutcome(`${what} and may exist; nothing was sent`, {
      hint: 'gw jobs sync looks for it again',
      taskId: job.key,
    });
    return { kind: 'unknown', ...made, error };
  }
  const nowMs = answer.serverDateMs ?? clock.now();
  const lost = { ...job, externalId, sinceSentMs: sinceSentMs(job, clock) };
  const own = await ownTask(found, lost, { ...family, externalIds }, { ledger, nowMs });
  if (own) ledger.append(job.key, { event: 'accepted', id: own.id, status: own.status });
  const error = new GwError('rejected', `${what}: it is task ${found.id}; nothing was sent`, {
    hint: `pick that one up with: gw video ${family.name} wait ${found.id}`,
    taskId: found.id,
  });
  return { kind: 'refused', ...made, error };
}

const sinceSentMs = (job: Job, clock: Clock): number => clock.now() - (job.sentAtMs ?? job.createdAtMs);

// Settling a create that a process left without an answer.

/** What became of a job that a process left between its intent and the gateway's answer. */
export type Settled =
  /** Its process still lives. */
  | { readonly outcome: 'held' }
  /** It may exist, and a later sync looks for it again; why it is not known, as a sentence. */
  | { readonly outcome: 'open'; readonly message: string }
  /** Nothing was created; the error says so where anything had been sent. */
  | { readonly outcome: 'over'; readonly error?: GwError }
  /** It may exist, and there is nothing to look it up by; or not any more, as the sentence says. */
  | { readonly outcome: 'unknown'; readonly message?: string }
  /** It was found, and is a job like any other from here on. */
  | { readonly outcome: 'adopted'; readonly id: string };

export interface SettleDeps {
  readonly ledger: Ledger;
  readonly clock: Clock;
  readonly signal: AbortSignal;
  /** Of the key that the client uses; absent where it needs none. */
  readonly keyId?: string | undefined;
  /** Of the job's gateway; asked for only where there is something to look up. */
  readonly client: () => Promise<Client>;
}

/**
 * Settles a job that has no answer: an intent that was never sent is over; what was sent is looked up where its family
 * has external IDs, and taken in or, once it is proven absent, over: it is never sent again from here, because its body
 * is kept as a digest only. Elsewhere the task that a cut reply named is taken in once the gateway confirms it; without one
 * it may exist and stays unknown. Throws `auth`, and the ledger's errors.
 */
export async function settleUnanswered(listed: Job, family: Family, deps: SettleDeps): Promise<Settled> {
  const { ledger, clock } = deps;
  const hold = await ledger.hold(listed.key);
  if (!hold) return { outcome: 'held' };
  try {
    // As it stands now: its process may have come further since the job was listed.
    const job = hold.job ?? listed;
    if (job.id !== undefined) return { outcome: 'adopted', id: job.id };
    const next = nextFor(job, family, { hasBody: false, nowMs: clock.now() });
    if (!isUnanswered(job)) return { outcome: 'over' };
    if (next === 'send') {
      ledger.append(job.key, { event: 'refused', kind: 'interrupted', message: NEVER_SENT });
      return { outcome: 'over' };
    }
    if (job.state === 'sent') {
      const message = 'gw ended before the gateway answered; the job may exist';
      ledger.append(job.key, { event: 'unknown', message });
    }
    const externalIds = externalIdsOf(family);
    const { externalId } = job;
    const taskFamily = family as TaskFamily;
    if (next === 'look' && externalIds && externalId !== undefined)
      return await settleByExternalId(job, externalId, { ...taskFamily, externalIds }, deps);
    const id = next === 'confirm' ? idToConfirm(job) : undefined;
    return id === undefined ? { outcome: 'unknown' } : await settleByCutReply(job, id, taskFamily, deps);
  } finally {
    hold.release();
  }
}

const OTHER_KEY = 'it was made with another key, and only that one can look for it';

async function settleByExternalId(
  job: Job,
  externalId: string,
  family: TaskFamily & { readonly externalIds: ExternalIds },
  deps: SettleDeps,
): Promise<Settled> {
  const { ledger, clock, signal } = deps;
  const { externalIds } = family;
  const isKept = showsAll(job, family, clock.now());
  const isOther = isOtherKey(job, deps.keyId);
  if (isOther && !isKept) return { outcome: 'unknown' };
  const client = await deps.client();
  const answer = await lookUpPatiently({ client, externalIds, externalId, signal, clock });
  if ('failed' in answer) {
    if (answer.failed.kind === 'auth') throw answer.failed;
    return { outcome: 'open', message: `the look-up of its external ID failed: ${answer.failed.message}` };
  }
  const { found, serverDateMs } = answer;
  // An ID that gw made is this job's alone; the user's own may belong to another account, or to an older task.
  const isOwnId = isOwnExternalId(job);
  if (isOther && !(found && isOwnId)) return { outcome: 'open', message: OTHER_KEY };
  if (!found) return settleAbsent(job, serverDateMs, isKept, deps);
  const lost = { ...job, externalId, sinceSentMs: sinceSentMs(job, clock) };
  const own = await ownTask(found, lost, family, { ledger, nowMs: serverDateMs ?? clock.now() });
  if (!own) {
    const message = `its external ID ${externalId} was taken by task ${found.id}`;
    return closed(job, 'rejected', message, deps, takenBy(found, externalId).hint);
  }
  ledger.append(job.key, { event: 'accepted', id: own.id, status: own.status });
  return { outcome: 'adopted', id: own.id };
}

/** Asks once more for the task that the cut reply named, by the rule of the create. */
async function settleByCutReply(
  job: Job,
  id: string,
  family: TaskFamily,
  deps: SettleDeps,
): Promise<Settled> {
  const { ledger, clock, signal } = deps;
  const isOther = isOtherKey(job, deps.keyId);
  const lifeMs = family.recordLifeMs ?? family.linkLifeMs;
  if (isOther && clock.now() >= job.createdAtMs + lifeMs) return { outcome: 'unknown' };
  const client = await deps.client();
  let accepted: Accepted | undefined;
  try {
    accepted = await confirmId(id, { client, clock, externalId: job.externalId, family, signal });
  } catch (error) {
    signal.throwIfAborted();
    if (!(error instanceof GwError) || error.kind === 'auth') throw error;
    return { outcome: 'open', message: `the look at task ${id} failed: ${error.message}` };
  }
  if (accepted) {
    ledger.append(job.key, { event: 'accepted', id, status: accepted.status });
    return { outcome: 'adopted', id };
  }
  if (isOther) return { outcome: 'open', message: OTHER_KEY };
  const isDenied = isProvenAbsent(job, { nowMs: clock.now() });
  if (!job.absentSince || isDenied) ledger.append(job.key, { event: 'absent' });
  const message = `the gateway has no task ${id}, which the cut answer named`;
  return isDenied ? { outcome: 'unknown', message } : { outcome: 'open', message: `${message}, so far` };
}

/** Nothing was found. By the gateway's own clock, where it shows it: this machine's may have been set in between. */
function settleAbsent(
  job: Job,
  serverDateMs: number | undefined,
  isProof: boolean,
  deps: SettleDeps,
): Settled {
  const { ledger, clock } = deps;
  if (isProof && isProvenAbsent(job, { nowMs: clock.now(), serverDateMs }))
    return closed(job, 'unavailable', 'the gateway has no task under its external ID', deps);
  if (!job.absentSince) ledger.append(job.key, { event: 'absent', serverDateMs });
  return { outcome: 'open', message: 'the gateway shows no task under its external ID so far' };
}

function closed(
  job: Job,
  kind: 'rejected' | 'unavailable',
  message: string,
  { ledger }: SettleDeps,
  hint = `nothing was made or charged; what was asked for: gw jobs show ${job.key}`,
): Settled {
  const event: LedgerEvent = { event: 'refused', kind: kind === 'rejected' ? kind : 'absent', message };
  ledger.append(job.key, event);
  return {
    outcome: 'over',
    error: new GwError(kind, `${job.key} was never created: ${message}`, { hint, taskId: job.key }),
  };
}

// Words and facts of a failure.

/** Writes down how a create failed, and tells it with the way on from there. */
function recordFailure(
  error: unknown,
  { attempt: { isSent, absent }, isLost, unconfirmedId, resends }: Search,
  input: MakeInput,
): Exclude<Made, { kind: 'accepted' | 'images' }> {
  const { key, ledger, family, externalId, intent, queue } = input;
  const record = (event: LedgerEvent) => {
    try {
      ledger.append(key, event);
    } catch {
      // What happened to the request says more than that it could not be written down; sync calls the job unknown.
    }
  };
  const job = jobOf(input);
  const unknown = (message: string, told: unknown): Made & { kind: 'unknown' } => {
    record({ event: 'unknown', message, unconfirmedId });
    if (absent) record({ event: 'absent', serverDateMs: absent.serverDateMs });
    return { kind: 'unknown', job, error: told };
  };
  const canBeFound = family.externalIds !== undefined && externalId !== undefined;
  const again = canBeFound ? sentAgainBy({ key, once: intent.once, externalId, resends }) : undefined;
  const goOn = unknownHint(key, family.name, canBeFound, unconfirmedId, again);
  if (isUnknownOutcome(error)) {
    const message = lostMessage(error, unconfirmedId);
    const what = canBeFound ? 'the job may exist' : 'the job may exist and was not sent again';
    return unknown(message, error.told({ taskId: key, hint: `${what}; ${goOn}` }, message));
  }
  if (error instanceof GwError) {
    const event = refusedEvent(error, isSent);
    record(event);
    const told = ofJob(error.kind === 'rate_limited' && !queue ? withQueueHint(error) : error, key);
    return { kind: isKeptRefusal(event.kind) ? 'refused' : 'nothing', job, error: told };
  }
  if (error instanceof Interrupted && isLost) {
    return unknown(
      `${error.message} while the lost answer was looked for`,
      new Interrupted(error.signal, goOn, 'the job may exist'),
    );
  }
  if (error instanceof Interrupted || !isSent) {
    const message = error instanceof Interrupted ? error.message : NEVER_SENT;
    record(interruptedEvent(message, isSent));
    return { kind: 'nothing', job, error };
  }
  // A 2xx reply that names no usable task: something was paid for, and we do not know what.
  const message = `the ${family.name} create was answered, but the reply names no usable task`;
  return unknown(message, new UnknownOutcome(message, { hint: goOn, taskId: key }));
}

/** What the ledger keeps of an intent whose process ended before it sent anything. */
export const NEVER_SENT = 'gw ended before the request was sent';

/** An error that names the job it concerns, by the name that the ledger has for it. */
export const ofJob = (error: GwError, key: string): GwError =>
  error.told({ taskId: error.facts.taskId ?? key });

/** Without --queue a 429 may only mean that no slot is free. */
const withQueueHint = (error: GwError): GwError =>
  error.told({ hint: 'with --queue gw waits for a free slot before it sends' });

/** What to say of an answer that was lost, with the task that it named before it was cut. */
export function lostMessage(error: GwError, unconfirmedId: string | undefined): string {
  const named =
    unconfirmedId === undefined
      ? ''
      : `; its answer named task ${unconfirmedId}, which the gateway has not confirmed`;
  return `${error.message}${wordsOf(error)}${named}`;
}

/** What a complete 2xx reply that names no task says of an error: no refusal by the document, but worth reading. */
function wordsOf(error: GwError): string {
  if (!(error instanceof UnknownOutcome) || error.partialText === undefined) return '';
  const { code, message } = readGatewayError(jsonIn(error.partialText));
  const said = [code, message].filter(Boolean).join(': ');
  return said === '' ? '' : `; it says "${said.slice(0, LONGEST_WORDS)}"`;
}

const LONGEST_WORDS = 300;

type RefusedEvent = Extract<LedgerEvent, { event: 'refused' }>;

/**
 * What the ledger keeps of a create that certainly made nothing: refused by the gateway, or never sent, because gw itself
 * refused it or no attempt got a byte through.
 */
export function refusedEvent({ kind, message, facts }: GwError, wasSent: boolean): RefusedEvent {
  const wasAnswered = wasSent && (facts.status !== undefined || kind === 'rejected');
  const { status, type, code, requestId } = facts;
  return { event: 'refused', kind: wasAnswered ? kind : 'not_sent', message, status, type, code, requestId };
}

/** Interrupted between attempts: the last one was refused, or none was made. */
export function interruptedEvent(message: string, wasSent: boolean): RefusedEvent {
  return { event: 'refused', kind: wasSent ? 'rate_limited' : 'not_sent', message };
}

/** What sends a lost create again where the gateway has no task of it: only who asks for the very same has its body. */
export function sentAgainBy({
  key,
  once,
  externalId,
  resends,
}: Pick<Job, 'key' | 'once' | 'externalId' | 'resends'>): string | undefined {
  const flag = once ? `--once ${shellQuote(once.key)}` : `--external-id ${shellQuote(externalId ?? '')}`;
  const hasName = externalId !== undefined && (once !== undefined || externalId !== key);
  if (!hasName || !maySendAgain({ resends })) return undefined;
  const row = once?.key.includes('/') ? ', or the batch of this row,' : '';
  return `the same command with ${flag}${row} sends it again if the gateway has no such task`;
}

/**
 * What can be done about a job that may exist: where it is looked for, and how to say what became of it; with the task that
 * its cut reply named, which is looked at again.
 */
export function unknownHint(
  key: string,
  family: string,
  canBeFound = false,
  unconfirmedId?: string,
  /** What sends it again, as a sentence. */
  again?: string,
): string {
  const where = canBeFound
    ? ['gw jobs sync looks for it again', ...(again === undefined ? [] : [again])].join('; ')
    : unconfirmedId !== undefined
      ? `gw jobs sync looks at task ${unconfirmedId} again`
      : `look for it on the gateway's console or bill (gw jobs show ${key} tells what was asked for)`;
  // Images have no task that could be named.
  const [known, answer] =
    family === 'image'
      ? ['that nothing was made', 'none']
      : ['what became of it', `${unconfirmedId ?? 'ID'}|none`];
  const close = `once you know ${known}, close it with: gw jobs resolve ${key} --as ${answer}`;
  return `it stands in the ledger as ${key}: ${where}; ${close}`;
}

/** The same of a job as the ledger has it. */
export const hintOfUnknown = (job: Job): string =>
  unknownHint(job.key, job.family, job.externalId !== undefined, idToConfirm(job));
