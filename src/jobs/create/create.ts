import { createHash } from 'node:crypto';
import { GwError, Interrupted } from '../../errors.ts';
import type { Endpoint } from '../../gateway/endpoint.ts';
import type { RatePool } from '../../gateway/limits.ts';
import type { ExternalIds, TaskFamily } from '../../gateway/task.ts';
import { type Clock, once } from '../../host.ts';
import type { Client } from '../../http/client.ts';
import { UnknownOutcome } from '../../http/retry.ts';
import type { IntentEvent } from '../../ledger/event.ts';
import { isOwnExternalId, newJobKey } from '../../ledger/job-key.ts';
import type { Ledger } from '../../ledger/ledger.ts';
import type { Spend } from '../stats.ts';
import type { Looker } from '../watch/looker.ts';
import type { Within } from './budget.ts';
import { confirmId, idInCutReply } from './cut-reply.ts';
import {
  belongsToAnother,
  type FoundTask,
  type IdentifiedBody,
  identifyBody,
  type LookedUp,
  type LookUp,
  lookUp,
  lookUpPatiently,
  takenBy,
} from './external-id.ts';
import { lostMessage, recordFailure } from './record-failure.ts';

/** What is needed to create a paid job. */
export interface CreateInput extends IdentifiedBody {
  readonly family: TaskFamily;
  readonly endpoint: Endpoint;
  /** What was asked; the digest and the external ID are taken from the body that is sent. */
  readonly intent: Omit<IntentEvent, 'bodySha256' | 'externalId'>;
  readonly client: Client;
  readonly ledger: Ledger;
  readonly clock: Clock;
  /** Ends waiting between attempts, never an exchange under way: its reply holds the ID of what was paid for. */
  readonly signal: AbortSignal;
  /** Tells when a request is under way, and when not: what cannot be dropped, because it is paid for. */
  readonly onExchange?: ((isUnderWay: boolean) => void) | undefined;
  /** Tells that the answer was lost and the job is being looked for. */
  readonly note: (text: string) => void;
  /** Begins the job within the user's limits, with what it is going to cost. */
  readonly within?: Within | undefined;
  /** Called once the job is begun, before it is sent, while no lock is held that other jobs need. */
  readonly onBegun?: (() => Promise<void>) | undefined;
  /** Resolves when nothing else must be done before new money is spent. */
  readonly calm?: (() => Promise<void>) | undefined;
  /** With `--queue`: a slot is waited for before anything is sent, and a 429 means that there is none yet. */
  readonly queue?: QueueOptions | undefined;
}

interface QueueOptions {
  /** Steady milliseconds at which the wait for a slot ends. */
  readonly deadlineMs: number;
  readonly random: () => number;
  readonly onQueued: (message: string) => void;
  /** The account's pool, where tasks at once are limited; looks at what runs in it. */
  readonly pool: RatePool;
  readonly looker: Looker;
}

/** A job that the gateway has accepted. */
export interface AcceptedJob {
  /** Not the one that was given where the job is an earlier one, whose answer had been lost. */
  readonly key: string;
  readonly id: string;
  readonly status?: string | undefined;
  /** The create reply as it came; the record, where the reply was lost and the job was found again. */
  readonly reply: unknown;
  /** False where `reply` is the record of a task that was found. */
  readonly isOwnReply: boolean;
  /** Why the ledger could not take its ID: nothing but this process knows it. */
  readonly unrecorded?: unknown;
}

/** What the gateway said when it accepted a job. */
export type Accepted = Omit<AcceptedJob, 'key' | 'unrecorded'>;

/**
 * Creates a paid job: held -> intent durable -> sent -> accepted with its ID durable (promises, section 3). A body with an
 * external ID is sent exactly once: where the answer is lost, the job is looked up by it (promises, section 2).
 * Where the user's own external ID is that of a job whose answer was lost, that job is gone on with and none is made.
 * Throws the GwError of the refusal, or `unknown_outcome` where the job may exist; the ledger holds either.
 */
export async function createJob(input: CreateInput): Promise<AcceptedJob> {
  const { ledger, queue, key, externalId } = input;
  if (externalId !== undefined && !isOwnExternalId({ key, externalId, once: input.intent.once })) {
    const { takeUpLost } = await import('./take-up-lost.ts');
    const takenUp = await takeUpLost(input);
    if (takenUp) return takenUp;
  }
  const asked = { ...input.intent, bodySha256: digestOf(input.body), externalId: input.externalId };
  const beginHeld = (estimate?: Spend) => ledger.begin({ ...asked, ...(estimate && { estimate }) }, key);
  const begin = () => input.within?.(beginHeld) ?? beginHeld();
  if (!queue) {
    await input.calm?.();
    input.signal.throwIfAborted();
  }
  const hold = await (queue ? beginInSlot(input, queue, begin) : begin());
  const attempt = new CreateAttempt(input);
  try {
    await input.onBegun?.();
    let accepted: Accepted;
    try {
      accepted = await attempt.run();
    } catch (error) {
      throw recordFailure(error, attempt, input);
    }
    return { key, ...accepted, unrecorded: recordId(key, accepted, ledger) };
  } finally {
    hold.release();
  }
}

/** Writes the ID down; what hinders that ends no wait for what is paid for, and is given back. */
export function recordId(key: string, { id, status }: Accepted, ledger: Ledger): unknown {
  try {
    ledger.append(key, { event: 'accepted', id, status });
    return undefined;
  } catch (error) {
    return error;
  }
}

/** Begins the job once the account has room for it; loaded where it is asked for. */
async function beginInSlot<T>(
  input: CreateInput,
  queue: QueueOptions,
  begin: () => T | Promise<T>,
): Promise<T> {
  const { takeSlot } = await import('./slots.ts');
  return takeSlot({ ...input, ...queue, speed: input.client.speed }, begin);
}

/** Tells whether two bodies are the same. */
export const digestOf = (body: unknown): string =>
  createHash('sha256').update(JSON.stringify(body)).digest('hex');

/** The digest of a body under any external ID; what does not depend on that is summed once, when it is first asked for. */
export function digestsOf(
  family: Pick<TaskFamily, 'externalIds'>,
  body: IdentifiedBody['body'],
): (externalId: string | undefined) => string {
  const anyId = newJobKey();
  const begun = once(() => {
    const text = JSON.stringify(identifyBody(family, body, anyId).body);
    const [before = '', after] = text.split(JSON.stringify(anyId));
    const hash = createHash('sha256').update(before);
    // It takes none, or has its own.
    return after === undefined ? hash.digest('hex') : { hash, after };
  });
  return (externalId = anyId) => {
    const made = begun();
    if (typeof made === 'string') return made;
    return made.hash
      .copy()
      .update(`${JSON.stringify(externalId)}${made.after}`)
      .digest('hex');
  };
}

/** How often a lost create is looked for, and sent again where it is proven absent. */
const MAX_ROUNDS = 5;

/** Sends one create until it is known what came of it. */
export class CreateAttempt {
  /** A byte of a sending may have left. */
  isSent = false;
  /** An answer was lost, and it is not known yet what came of the request. */
  isLost = false;
  /** The last look-up found nothing, and it was not sent since; `serverDateMs` is the gateway's clock then. */
  absent: Pick<LookedUp, 'serverDateMs'> | undefined;
  /** The task that the cut reply named, until the gateway has confirmed it. */
  unconfirmedId: string | undefined;
  readonly #input: CreateInput;
  /** Steady milliseconds of the first time it was sent. */
  #sentAtMs: number | undefined;

  constructor(input: CreateInput) {
    this.#input = input;
  }

  /** Goes on from where another process lost the answer, `sinceSentMs` after it had sent: looks, and sends if need be. */
  async takeUp(
    lost: GwError,
    sinceSentMs: number,
    externalIds: ExternalIds,
    externalId: string,
  ): Promise<Accepted> {
    this.isSent = true;
    this.#sentAtMs = this.#input.clock.steady() - sinceSentMs;
    return await this.#findOrSendAgain(lost, { ...this.#input, externalIds, externalId });
  }

  async run(): Promise<Accepted> {
    const { externalId, family } = this.#input;
    const { externalIds } = family;
    try {
      return await this.#send();
    } catch (error) {
      const found = error instanceof UnknownOutcome ? await this.#confirmCutReply(error) : undefined;
      if (found) return found;
      if (!externalIds || externalId === undefined) throw error;
      const request = { ...this.#input, externalIds, externalId };
      if (isDuplicate(error, externalIds)) return await this.#ownOrRefused(error as GwError, request);
      if (!mayExist(error, this.isSent)) throw error;
      const why = isConflict(error) ? 'the gateway answered HTTP 409' : 'the answer was lost';
      this.#input.note(`${why}; looking for the task by its external ID ${externalId}`);
      return await this.#findOrSendAgain(error, request);
    }
  }

  /**
   * A cut 2xx reply is searched for its ID, and the ID confirmed by a query, before the outcome is called unknown. What
   * has no external ID is found by that ID alone, which is durable before the query: this process may be killed in it.
   */
  async #confirmCutReply(lost: UnknownOutcome): Promise<Accepted | undefined> {
    const { externalId, key, ledger } = this.#input;
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
      const accepted = await confirmId(id, this.#input);
      // What has an external ID is absent only once it is not found by that; else a sync asks for the task once more.
      if (accepted || externalId !== undefined) this.unconfirmedId = undefined;
      else this.absent = { serverDateMs: undefined };
      return accepted;
    } catch {
      return undefined;
    }
  }

  async #send(): Promise<Accepted> {
    const { client, clock, endpoint, body, family, ledger, key, queue, signal, onExchange } = this.#input;
    let wasSent = this.isSent;
    const onSend = () => {
      ledger.append(key, { event: 'sent' });
      queue?.looker.spend(queue.pool);
      wasSent = this.isSent;
      this.isSent = true;
      this.absent = undefined;
      this.#sentAtMs ??= clock.steady();
    };
    const onUnsent = () => {
      this.isSent = wasSent;
    };
    const send = async () => {
      onExchange?.(true);
      try {
        return await client.send(endpoint, { body }, { signal, onSend, onUnsent });
      } finally {
        onExchange?.(false);
      }
    };
    const reply = queue ? await whenSlotIsFree(send, queue, this.#input) : await send();
    return { ...family.readCreateReply(reply.json), reply: reply.json, isOwnReply: true };
  }

  /**
   * The first sending was refused, because its external ID is taken, it seems. An ID that gw made can only be this job's;
   * the user's own may be any other's, which is named and never taken for this one.
   */
  async #ownOrRefused(refusal: GwError, request: LookUp): Promise<Accepted> {
    const { externalId, intent, key } = this.#input;
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
      throw new GwError('unknown_outcome', what, refusal.facts);
    }
    let answer: LookedUp | undefined;
    try {
      answer = await lookUp(request);
    } catch {
      request.signal.throwIfAborted();
    }
    if (!answer?.found) throw refusal;
    throw new GwError(refusal.kind, refusal.message, {
      ...refusal.facts,
      ...takenBy(answer.found, request.externalId),
    });
  }

  /** The answer was lost: looks for the job, and sends it again only where the gateway says that it is not there. */
  async #findOrSendAgain(lost: unknown, request: LookUp): Promise<Accepted> {
    const { note } = this.#input;
    this.isLost = true;
    let isRefused = false;
    for (let round = 1; round <= MAX_ROUNDS; round += 1) {
      const answer = await lookUpPatiently(request);
      if ('failed' in answer) {
        if (isRefused || answer.failed.kind === 'auth') break;
        continue;
      }
      if (answer.found) return this.#adopted(answer.found, answer, request);
      this.absent = answer;
      if (round === MAX_ROUNDS || isRefused) break;
      note('the gateway has no such task; sending it again under the same external ID');
      try {
        return await this.#send();
      } catch (error) {
        const isDoubt = mayExist(error, this.isSent) || isDuplicate(error, request.externalIds);
        if (!isDoubt && !(error instanceof GwError)) throw error;
        // It settles the sending that it answers, and no earlier one (promises, section 2): looked for once more.
        isRefused = !isDoubt;
        if (isRefused) note(`${refusalWords(error)}; the first sending may have been taken all the same`);
      }
    }
    throw lost;
  }

  /** Takes a task for this job's, unless it is another's: then the external ID was taken, and nothing was made. */
  async #adopted(found: FoundTask, { serverDateMs }: LookedUp, request: LookUp): Promise<Accepted> {
    const { clock, family, intent, key, ledger } = this.#input;
    const { externalId, externalIds } = request;
    const claimed = {
      ...{ found, key, once: intent.once, externalId, family, externalIds, gateway: intent.gateway },
      serverNowMs: serverDateMs ?? clock.now(),
      sinceSentMs: clock.steady() - (this.#sentAtMs ?? clock.steady()),
    };
    if (await belongsToAnother(claimed, ledger)) {
      const message = `external ID ${externalId} was taken already, and nothing was created`;
      throw new GwError('rejected', message, takenBy(found, externalId));
    }
    const { status } = family.readTask(found.record, found.id);
    return { id: found.id, status, reply: found.record, isOwnReply: false };
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
const mayExist = (error: unknown, isSent: boolean): boolean =>
  error instanceof GwError ? error.kind === 'unknown_outcome' : isSent && !(error instanceof Interrupted);

/** Tries again after each 429, at the family's pace and never before the gateway allows it, until the deadline. */
async function whenSlotIsFree<T>(
  send: () => Promise<T>,
  { deadlineMs, random, onQueued }: QueueOptions,
  { family, clock, signal }: CreateInput,
): Promise<T> {
  const { min, max } = family.pollIntervalMs;
  for (let tries = 0; ; tries += 1) {
    try {
      return await send();
    } catch (error) {
      if (!(error instanceof GwError) || error.kind !== 'rate_limited') throw error;
      const paceMs = min + random() * (max - min);
      const waitMs = Math.max(paceMs, (error.facts.retryAtMs ?? 0) - clock.now());
      if (clock.steady() + waitMs >= deadlineMs) throw error;
      if (tries === 0) onQueued('no free slot; waiting for one (--wait-timeout limits the wait)');
      await clock.sleep(waitMs, signal);
    }
  }
}
