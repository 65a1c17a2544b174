import { GwError, Interrupted, isUnknownOutcome, shellQuote, UnknownOutcome, usage } from '../../errors.ts';
import { readGatewayError } from '../../gateway/gateway-error.ts';
import type { ExternalIds, Family, TaskFamily } from '../../gateway/task.ts';
import { type Clock, quietly } from '../../host.ts';
import type { Client } from '../../http/client.ts';
import { jsonIn } from '../../http/parse-json.ts';
import { type Job, type LedgerEvent, mayExist } from '../../ledger/event.ts';
import { isOwnExternalId } from '../../ledger/job-key.ts';
import type { Ledger } from '../../ledger/ledger.ts';
import { holdWhenFree, isOtherKey } from './hold-job.ts';
import { digestOf } from './job-request.ts';
import {
  type Answer,
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
import {
  type Accepted,
  Attempt,
  acceptedAs,
  jobOf,
  type Made,
  type MakeInput,
  type Sendings,
} from './make.ts';
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

// Everything about a create that was not simply accepted: its outcome in the process that sent it, how a later process
// continues it, and how a sync settles it. standing.ts decides what may be done next.

/** Follows a failed sending until its outcome is known or stays unknown, and records it in the ledger. */
export async function settleFailure(error: unknown, attempt: Attempt, input: MakeInput): Promise<Made> {
  const search = new Search(attempt, input);
  try {
    return acceptedAs(await search.after(error), input);
  } catch (thrown) {
    return recordFailure(thrown, search, input);
  }
}

/** Looks for the task of a create, and sends the create again if the gateway shows that there is none. */
class Search {
  /** True if a reply was lost, so that the outcome of the request is unknown for now. */
  isLost = false;
  /** The task ID in the cut reply, until the gateway has confirmed it. */
  unconfirmedId: string | undefined;
  /** The error if the gateway refused the look-up to this API key, so that it proves nothing. */
  denied: GwError | undefined;

  constructor(
    readonly attempt: Attempt,
    private readonly input: MakeInput,
    /** How often the create was sent again after an empty look-up, including by earlier runs. */
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
    const isConflict = error instanceof GwError && error.facts.status === 409;
    const why = isConflict ? 'the gateway answered HTTP 409' : 'no answer named the task';
    note(`${why}; looking for it by its external ID ${externalId}`);
    return await this.findOrSendAgain(error, request);
  }

  /**
   * Searches a cut 2xx reply for an ID and confirms it by a query, before the outcome counts as unknown. Without an
   * external ID, only it can find the task, so it is recorded before the query: this process may be killed in it.
   */
  async #confirmCutReply(lost: UnknownOutcome): Promise<Accepted | undefined> {
    const { externalId, key, ledger } = this.input;
    const id = idInCutReply(lost);
    if (id === undefined) return undefined;
    this.unconfirmedId = id;
    // If the write fails, the query is made anyway, and its result is recorded again.
    const event = { event: 'unknown', message: lostMessage(lost, id), unconfirmedId: id } as const;
    if (externalId === undefined) quietly(() => ledger.append(key, event));
    try {
      const accepted = await confirmId(id, this.input);
      // With an external ID, only that look-up proves absence; without one, a sync queries the task once more.
      if (accepted || externalId !== undefined) this.unconfirmedId = undefined;
      else this.attempt.absent = { serverDateMs: undefined };
      return accepted;
    } catch {
      return undefined;
    }
  }

  /**
   * The first sending was refused, apparently because its external ID is taken. If gw made the ID, the task must be
   * this job's; if the user chose it, the task may be anybody's, so it is named and never adopted.
   */
  async #ownOrRefused(refusal: GwError, request: LookUp): Promise<Accepted> {
    const { externalId, intent, key } = this.input;
    if (isOwnExternalId({ key, externalId, once: intent.once })) {
      // Another machine may just have made it under the same --once key, or a proxy may have sent the request twice:
      // until the look-up, an interrupt must not settle the job.
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
    const answer = await lookUp(request).catch(() => undefined);
    request.signal.throwIfAborted();
    if (!answer?.found) throw refusal;
    throw refusal.told(takenBy(answer.found, request.externalId));
  }

  /** After a lost reply: looks up the task, and sends again only if the gateway shows that there is none. */
  async findOrSendAgain(lost: unknown, request: LookUp): Promise<Accepted> {
    const { key, ledger, note } = this.input;
    this.isLost = true;
    let isRefused = false;
    let answer: Answer | undefined;
    for (let looks = 0; looks < MOST_SENDINGS; looks += 1) {
      answer = await lookUpPatiently(request, answer);
      if ('failed' in answer) {
        const { facts, kind, message } = answer.failed;
        if (kind === 'auth') this.denied = answer.failed;
        if (kind === 'wait_timeout' && lost instanceof GwError)
          throw lost.told({ retryAtMs: facts.retryAtMs }, `${lost.message}${wordsOf(lost)}; ${message}`);
        if (isRefused || this.denied || kind === 'wait_timeout' || looks + 1 === MOST_SENDINGS) break;
        note(`${message}; looking for the task again`);
        continue;
      }
      if (answer.found) return this.#adopted(answer.found, answer, request);
      this.attempt.absent = answer;
      if (!maySendAgain(this) || isRefused) break;
      // Recorded before sending, so that a later run knows the number of sendings even if this process dies now.
      ledger.append(key, { event: 'absent', serverDateMs: answer.serverDateMs });
      this.resends += 1;
      note('the gateway has no such task; sending it again under the same external ID');
      try {
        return await this.attempt.send();
      } catch (error) {
        const isDoubt = isInDoubt(error, this.attempt.isSent) || isDuplicate(error, request.externalIds);
        if (!isDoubt && !(error instanceof GwError)) throw error;
        // A refusal settles only this sending, not an earlier one (promises, section 2): look it up once more.
        isRefused = !isDoubt;
        if (isRefused) note(`${refusalWords(error)}; the first sending may have been taken all the same`);
      }
    }
    throw lost;
  }

  /** Adopts a task unless it belongs to another create: then the external ID was taken and nothing was made. */
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

// The gateway's own message is left out: it may say when to retry, which does not apply here.
const refusalWords = (error: unknown): string => {
  const status = error instanceof GwError ? error.facts.status : undefined;
  return status === undefined ? 'it could not be sent again' : `sent again, it was refused (HTTP ${status})`;
};

/** True if there was no answer, or one without a usable task; not for a refusal or an interrupt between attempts. */
const isInDoubt = (error: unknown, isSent: boolean): boolean =>
  error instanceof GwError ? isUnknownOutcome(error) : isSent && !(error instanceof Interrupted);

// How to continue a create whose reply another process lost.

/**
 * If the ledger has an earlier job with the same external ID whose reply was lost, continues that job: looks it up and,
 * if the gateway has no such task, sends it again under its ID. Undefined if there is no such job. A different request
 * is not sent until the earlier job is settled. With `goesOn`, the earlier job is the one with the input's key. Throws
 * `usage` while another process works on it, and what `onBegun` throws if the job to continue was settled meanwhile.
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
      // The endpoint is compared too, because it names the model: two models may take the same body.
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
  // The job was settled after it was listed: another job may have this ID now, or none.
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

/** The earlier job has another request: it is settled if possible, and this create is refused in any case. */
async function refuseOther(job: Job, input: MakeInput & LookUp): Promise<Made> {
  const { clock, externalId, externalIds, family, ledger } = input;
  const answer = await lookUpPatiently(input);
  const found = 'failed' in answer ? undefined : answer.found;
  const what = `external ID ${externalId} is that of job ${job.key}, which asked for something else`;
  if ('failed' in answer || !found) {
    const error = new UnknownOutcome(`${what} and may exist; nothing was sent`, {
      hint: 'gw jobs sync looks for it again',
      taskId: job.key,
    });
    return { kind: 'unknown', job: jobOf(input), error };
  }
  const nowMs = answer.serverDateMs ?? clock.now();
  const lost = { ...job, externalId, sinceSentMs: sinceSentMs(job, clock) };
  const own = await ownTask(found, lost, { ...family, externalIds }, { ledger, nowMs });
  if (own) ledger.append(job.key, { event: 'accepted', id: own.id, status: own.status });
  const error = new GwError('rejected', `${what}: it is task ${found.id}; nothing was sent`, {
    hint: `pick that one up with: gw video ${family.name} wait ${found.id}`,
    taskId: found.id,
  });
  return { kind: 'refused', job: jobOf(input), error };
}

const sinceSentMs = (job: Job, clock: Clock): number => clock.now() - (job.sentAtMs ?? job.createdAtMs);

// How to settle a create that a process left without an answer.

/** The outcome of settling a job whose process stopped between its intent and the gateway's answer. */
export type Settled =
  /** The process that made it is still running. */
  | { readonly outcome: 'held' }
  /** The task may exist, and a later sync looks for it again; the message says why it is unknown. */
  | { readonly outcome: 'open'; readonly message: string }
  /** Nothing was created; there is an error if anything had been sent. */
  | { readonly outcome: 'over'; readonly error?: GwError }
  /** The task may exist, but it cannot be looked up, or not any more, as the message says. */
  | { readonly outcome: 'unknown'; readonly message?: string }
  /** The task was found; from now on the job is like any other. */
  | { readonly outcome: 'adopted'; readonly id: string };

export interface SettleDeps extends Pick<LookUp, 'deadlineMs' | 'note'> {
  readonly ledger: Ledger;
  readonly clock: Clock;
  readonly signal: AbortSignal;
  /** Identifies the client's API key; absent if it needs none. */
  readonly keyId?: string | undefined;
  /** The client of the job's gateway; requested only if there is something to look up. */
  readonly client: () => Promise<Client>;
}

/**
 * Settles a job without an answer. An intent that was never sent is over. A sent job is looked up if its family has
 * external IDs: it is adopted or, once proven absent, over. It is never sent again from here, because only a digest of
 * its body is kept. In other families, the task in a cut reply is adopted once the gateway confirms it; without one the
 * job stays unknown. Throws `auth`, and the ledger's errors.
 */
export async function settleUnanswered(listed: Job, family: Family, deps: SettleDeps): Promise<Settled> {
  const { ledger, clock } = deps;
  const hold = await ledger.hold(listed.key);
  if (!hold) return { outcome: 'held' };
  try {
    // Use the current job: its process may have progressed since the job was listed.
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
  const { ledger, clock } = deps;
  const isKept = showsAll(job, family, clock.now());
  const isOther = isOtherKey(job, deps.keyId);
  if (isOther && !isKept) return { outcome: 'unknown' };
  const client = await deps.client();
  const answer = await lookUpPatiently({ ...deps, client, externalIds: family.externalIds, externalId });
  if ('failed' in answer) {
    if (answer.failed.kind === 'auth') throw answer.failed;
    return { outcome: 'open', message: `the look-up of its external ID failed: ${answer.failed.message}` };
  }
  const { found, serverDateMs } = answer;
  // A task with an ID made by gw is this job's; one with the user's ID may be another account's, or older.
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

/** Queries the task of the cut reply once more, by the same rule as the create. */
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
    accepted = await confirmId(id, { ...deps, client, externalId: job.externalId, family });
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

/** The look-up found nothing. The gateway's clock is used if known: this machine's may have been changed. */
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

// Messages and facts of a failure.

/** Records how a create failed, and returns the result with a hint. */
function recordFailure(
  error: unknown,
  { attempt, isLost, unconfirmedId, resends }: Search,
  input: MakeInput,
): Exclude<Made, { kind: 'accepted' | 'images' }> {
  const { key, ledger, family, externalId, intent, queue } = input;
  // The failure itself matters more than a failed write; sync will treat the job as unknown.
  const record = (event: LedgerEvent) => quietly(() => ledger.append(key, event));
  const job = jobOf(input);
  const unknown = (message: string, told: unknown): Made & { kind: 'unknown' } => {
    record({ event: 'unknown', message, unconfirmedId });
    if (attempt.absent) record({ event: 'absent', serverDateMs: attempt.absent.serverDateMs });
    return { kind: 'unknown', job, error: told };
  };
  const canBeFound = family.externalIds !== undefined && externalId !== undefined;
  const again = canBeFound ? sentAgainBy({ key, once: intent.once, externalId, resends }) : undefined;
  const goOn = hintOfUnknown({ ...job, unconfirmedId }, again);
  if (isUnknownOutcome(error)) {
    const message = lostMessage(error, unconfirmedId);
    const what = canBeFound ? 'the job may exist' : 'the job may exist and was not sent again';
    return unknown(message, error.told({ taskId: key, hint: `${what}; ${goOn}` }, message));
  }
  if (error instanceof GwError) {
    const event = refusedEvent(error, attempt.isSent);
    record(event);
    // Without --queue, a 429 may only mean that no slot is free.
    const needsQueue = error.kind === 'rate_limited' && !queue;
    const hinted = needsQueue
      ? error.told({ hint: 'with --queue gw waits for a free slot before it sends' })
      : error;
    const told = ofJob(hinted, key);
    return { kind: isKeptRefusal(event.kind) ? 'refused' : 'nothing', job, error: told };
  }
  if (error instanceof Interrupted && isLost) {
    return unknown(
      `${error.message} while the lost answer was looked for`,
      new Interrupted(error.signal, { hint: goOn, taskId: key }, 'the job may exist'),
    );
  }
  if (error instanceof Interrupted || !attempt.isSent) {
    record(endedBetween(error, attempt));
    return { kind: 'nothing', job, error };
  }
  // A 2xx reply without a usable task: something was paid for, but its ID is unknown.
  const message = `the ${family.name} create was answered, but the reply names no usable task`;
  return unknown(message, new UnknownOutcome(message, { hint: goOn, taskId: key }));
}

/** The message in the ledger for an intent whose process ended before sending. */
const NEVER_SENT = 'gw ended before the request was sent';

/** Makes an error name the job that it concerns, by the job's name in the ledger. */
export const ofJob = (error: GwError, key: string): GwError =>
  error.told({ taskId: error.facts.taskId ?? key });

/** The message for a lost answer, with the task that a cut reply named. */
function lostMessage(error: GwError, unconfirmedId: string | undefined): string {
  const named =
    unconfirmedId === undefined
      ? ''
      : `; its answer named task ${unconfirmedId}, which the gateway has not confirmed`;
  return `${error.message}${wordsOf(error)}${named}`;
}

/** The error text in a complete 2xx reply without a task: formally no refusal, but useful to the user. */
function wordsOf(error: GwError): string {
  if (!(error instanceof UnknownOutcome) || error.partialText === undefined) return '';
  const { code, message } = readGatewayError(jsonIn(error.partialText));
  const said = [code, message].filter(Boolean).join(': ');
  return said === '' ? '' : `; it says "${said.slice(0, 300)}"`;
}

type RefusedEvent = Extract<LedgerEvent, { event: 'refused' }>;

/**
 * The `refused` event of a create that certainly made nothing: the gateway refused it, or it was never sent because gw
 * itself refused it or no byte got through.
 */
export function refusedEvent({ kind, message, facts }: GwError, wasSent: boolean): RefusedEvent {
  const wasAnswered = wasSent && (facts.status !== undefined || kind === 'rejected');
  const { status, type, code, requestId } = facts;
  return { event: 'refused', kind: wasAnswered ? kind : 'not_sent', message, status, type, code, requestId };
}

/** The event for an end between attempts, none of which made anything; `wasRefused` tells of the last one's 429. */
export function endedBetween(error: unknown, { wasRefused }: Sendings): RefusedEvent {
  if (!(error instanceof Interrupted)) return { event: 'refused', kind: 'not_sent', message: NEVER_SENT };
  return { event: 'refused', kind: wasRefused ? 'rate_limited' : 'not_sent', message: error.message };
}

/** A clause with the command to send a lost create again: only the same request has its body. Undefined if none. */
export function sentAgainBy(job: Pick<Job, 'key' | 'once' | 'externalId' | 'resends'>): string | undefined {
  const { key, once, externalId, resends } = job;
  const flag = once ? `--once ${shellQuote(once.key)}` : `--external-id ${shellQuote(externalId ?? '')}`;
  const hasName = externalId !== undefined && (once !== undefined || externalId !== key);
  if (!hasName || !maySendAgain({ resends })) return undefined;
  const row = once?.key.includes('/') ? ', or the batch of this row,' : '';
  return `the same command with ${flag}${row} sends it again if the gateway has no such task`;
}

/**
 * A hint for a job that may exist: where to look for it and how to resolve it; it names the task in the cut reply,
 * which is queried again. `again` is a sentence with the command that sends it again.
 */
export function hintOfUnknown(job: Partial<Job> & Pick<Job, 'key' | 'family'>, again?: string): string {
  const { key, family, externalId } = job;
  const cutId = idToConfirm(job);
  const where =
    externalId !== undefined
      ? ['gw jobs sync looks for it again', again].filter(Boolean).join('; ')
      : cutId !== undefined
        ? `gw jobs sync looks at task ${cutId} again`
        : `look for it on the gateway's console or bill (gw jobs show ${key} tells what was asked for)`;
  // Image requests have no task ID.
  const [known, answer] =
    family === 'image' ? ['that nothing was made', 'none'] : ['what became of it', `${cutId ?? 'ID'}|none`];
  const close = `once you know ${known}, close it with: gw jobs resolve ${key} --as ${answer}`;
  return `it stands in the ledger as ${key}: ${where}; ${close}`;
}
