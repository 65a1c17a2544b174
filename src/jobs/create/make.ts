import { randomBytes } from 'node:crypto';
import { GwError } from '../../errors.ts';
import type { CreateReply, TaskFamily } from '../../gateway/task.ts';
import { quietly, sleepAloud } from '../../host.ts';
import type { SendOptions } from '../../http/client.ts';
import type { SavedFile } from '../../ledger/event.ts';
import { isOwnExternalId } from '../../ledger/job-key.ts';
import type { Hold, Ledger } from '../../ledger/ledger.ts';
import type { Spend } from '../stats.ts';
import type { JobDeps } from '../watch/follow.ts';
import type { Within } from './budget.ts';
import { digestOf, type IdentifiedBody, type Intent, type JobRequest } from './job-request.ts';
import type { SlotInput } from './slots.ts';

/**
 * The outcome of a request. Every caller that makes a job (a command, a row of a batch, a worker) switches on it, so
 * that none has to interpret the ledger again.
 */
export type Made =
  /** The gateway has the task. `unrecorded` is the error if its ID, known only here, could not be recorded. */
  | (Accepted & { readonly kind: 'accepted'; readonly job: MadeJob; readonly unrecorded?: unknown })
  /** Images came; `error` is set if some could not be saved, or something else failed afterwards. */
  | { readonly kind: 'images'; readonly job: MadeJob; readonly came: Came; readonly error?: unknown }
  /** The job is over without a result: the same request would be refused again, or its task failed. */
  | { readonly kind: 'refused'; readonly job: MadeJob; readonly error: unknown; readonly came?: Came }
  /** Certainly nothing was made, and trying again may help: it was not sent, or was refused for a passing reason. */
  | { readonly kind: 'nothing'; readonly job?: MadeJob; readonly error: unknown }
  /** The task may exist; `came` holds what arrived before the answer broke off. */
  | { readonly kind: 'unknown'; readonly job: MadeJob; readonly error: unknown; readonly came?: Came };

/** A job as the ledger has it: gw's key and the request. */
export interface MadeJob extends Omit<Intent, 'event'> {
  /** Differs from the input's key if an earlier job was continued, whose answer had been lost. */
  readonly key: string;
  readonly externalId?: string | undefined;
}

/** The gateway's answer when it accepted a job. */
export interface Accepted extends CreateReply {
  /** The create reply as it came, or the task's record if the reply was lost and the task was found. */
  readonly reply: unknown;
  /** False if `reply` is the record of a task that was found. */
  readonly isOwnReply: boolean;
}

/** The images of a reply, as far as they came. */
export interface Came {
  /** `succeeded`, `no image`, `refused` or `unknown`. */
  readonly status: string;
  /** The reply with each Base64 text emptied; null if no whole reply came, unless links came. */
  readonly record: unknown;
  readonly recordText?: string | undefined;
  /** The saved images in order. */
  readonly files: readonly (Omit<SavedFile, 'role'> & { readonly role?: string })[];
  /** Paths of the kept partial images, in order of arrival. */
  readonly partials: readonly string[];
}

/** What making a paid job needs. */
export interface MakeInput
  extends IdentifiedBody,
    Pick<JobRequest<TaskFamily>, 'family' | 'endpoint' | 'intent'>,
    Pick<JobDeps, 'client' | 'ledger' | 'clock'> {
  /** The body as requested, if `body` differs: with words for outputs and placeholders for files. */
  readonly asked?: IdentifiedBody['body'] | undefined;
  /** Ends waits between attempts, but never a running exchange: its reply holds the ID of the paid task. */
  readonly signal: AbortSignal;
  /** Steady time in ms at which waits end (`--wait-timeout`). */
  readonly deadlineMs: number;
  /** Longest time without a sign of life from another gw that this one waits for (`--timeout`). */
  readonly silenceMs: number;
  readonly onExchange?: SendOptions['onExchange'];
  /** Reports that the answer was lost and the task is being looked up. */
  readonly note: (text: string) => void;
  /** Begins the job within the user's limits, with its estimated cost. */
  readonly within?: Within | undefined;
  /** Called after the job has begun and before it is sent, while no lock that other jobs need is held. */
  readonly onBegun?: (() => Promise<void>) | undefined;
  /** Resolves once no urgent work must be done before more money is spent. */
  readonly calm?: (() => Promise<void>) | undefined;
  /** True to continue the job that an earlier run made and whose answer was lost, instead of beginning another. */
  readonly goesOn?: boolean | undefined;
  /** With `--queue`: gw waits for a slot before it sends, and a 429 means that none is free yet. */
  readonly queue?: QueueOptions | undefined;
}

/** How to wait for a slot; `onKept` is also called for each 429, with `about` for the rate. */
type QueueOptions = Pick<SlotInput, 'random' | 'onQueued' | 'onKept' | 'pool' | 'looker' | 'isOneOfMany'>;

/**
 * Makes a paid job: hold -> durable intent -> send -> accepted with a durable ID (promises, section 3). A body with an
 * external ID is sent exactly once: if the answer is lost, the job is looked up by the ID (promises, section 2). If a
 * lost job already has the user's external ID, that job is continued and none is made. Throws only before the job
 * begins: what the limits, the wait for a slot or `onBegun` throw. The ledger holds the rest.
 */
export async function makeJob(input: MakeInput): Promise<Made> {
  const { ledger, queue, key, externalId } = input;
  const isOwn = isOwnExternalId({ key, externalId, once: input.intent.once });
  if (externalId !== undefined && (input.goesOn || !isOwn)) {
    const takenUp = await (await import('./lost.ts')).takeUpLost(input);
    if (takenUp) return takenUp;
  }
  const asked = { ...input.intent, bodySha256: digestOf(input.asked ?? input.body), externalId };
  const beginHeld = (estimate?: Spend) => ledger.begin({ ...asked, ...(estimate && { estimate }) }, key);
  const begin = () => input.within?.(beginHeld) ?? beginHeld();
  let hold: Hold;
  if (queue) {
    const { takeSlot } = await import('./slots.ts');
    hold = await takeSlot({ ...input, ...queue, speed: input.client.speed }, begin);
  } else {
    await input.calm?.();
    input.signal.throwIfAborted();
    hold = await begin();
  }
  try {
    await input.onBegun?.();
    const attempt = new Attempt(input);
    try {
      return acceptedAs(await attempt.send(), input);
    } catch (error) {
      const { settleFailure } = await import('./lost.ts');
      return await settleFailure(error, attempt, input);
    }
  } finally {
    hold.release();
  }
}

export const jobOf = ({ key, externalId, intent }: Begun): MadeJob => ({ ...intent, key, externalId });

type Begun = Pick<MakeInput, 'key' | 'externalId' | 'intent'>;

/** Records the ID. If that fails, the error is returned in `unrecorded`: the paid task must still be waited for. */
export function acceptedAs(accepted: Accepted, input: Begun & { readonly ledger: Ledger }): Made {
  const made = { kind: 'accepted', job: jobOf(input), ...accepted } as const;
  try {
    const { id, status } = accepted;
    const reply = JSON.stringify(accepted.reply ?? null);
    input.ledger.append(input.key, { event: 'accepted', id, status, ...(reply.length < 2_000 && { reply }) });
    return made;
  } catch (unrecorded) {
    return { ...made, unrecorded };
  }
}

/** Records each sending of a create, and that it made nothing before gw sends again: gw may be killed while it waits. */
export class Sendings {
  /** True if the last sending may have made something, or was refused for good; also if an earlier one may have. */
  isSent = false;
  /** True if the gateway refused the last sending for now. */
  wasRefused = false;
  #wasSent = false;
  #sending = '';

  constructor(private readonly job: { readonly key: string; readonly ledger: Ledger }) {}

  readonly onSend = (): void => {
    this.#sending = randomBytes(6).toString('hex');
    this.job.ledger.append(this.job.key, { event: 'sent', sending: this.#sending });
    this.#wasSent = this.isSent;
    this.isSent = true;
  };

  readonly onUnsent = (wasAnswered: boolean): void => {
    this.isSent = this.#wasSent;
    this.wasRefused = wasAnswered;
    const { key, ledger } = this.job;
    // An earlier sending may have made something. If the write fails, a kill leaves the outcome unknown.
    if (!this.isSent) quietly(() => ledger.append(key, { event: 'not_made', sending: this.#sending }));
  };
}

/** Sends one create, and knows what this process has sent of it so far. */
export class Attempt extends Sendings {
  /** Steady time in ms of the first sending. */
  sentAtMs: number | undefined;
  /** Set if the last look-up found nothing and nothing was sent since; `serverDateMs` is the gateway's clock then. */
  absent: { readonly serverDateMs: number | undefined } | undefined;

  constructor(private readonly input: MakeInput) {
    super(input);
  }

  /** Sends until it is answered or its outcome is unknown; with a queue, again after each 429. */
  async send(): Promise<Accepted> {
    const { client, clock, deadlineMs, endpoint, body, family, queue, signal, onExchange } = this.input;
    const { onUnsent } = this;
    const onSend = () => {
      this.onSend();
      queue?.looker.spend(queue.pool);
      this.absent = undefined;
      this.sentAtMs ??= clock.steady();
    };
    const send = () => client.send(endpoint, { body }, { signal, deadlineMs, onSend, onExchange, onUnsent });
    const reply = queue ? await whenSlotIsFree(send, queue, { ...this.input, onUnsent }) : await send();
    const created = family.readCreateReply(reply.json);
    if (created === undefined) throw new Error('the reply names no task');
    return { ...created, reply: reply.json, isOwnReply: true };
  }
}

/** Tries again after each 429 until the deadline, at the family's poll interval and not before the gateway allows. */
async function whenSlotIsFree<T>(
  send: () => Promise<T>,
  { random, onKept }: QueueOptions,
  { family, clock, deadlineMs, signal, onUnsent }: MakeInput & Pick<Sendings, 'onUnsent'>,
): Promise<T> {
  const { min, max } = family.pollIntervalMs;
  for (;;) {
    try {
      return await send();
    } catch (error) {
      if (!(error instanceof GwError) || error.kind !== 'rate_limited') throw error;
      const waitMs = Math.max(min + random() * (max - min), (error.facts.retryAtMs ?? 0) - clock.now());
      if (clock.steady() + waitMs >= deadlineMs) throw error;
      onUnsent(true);
      const at = new Date(clock.now() + waitMs).toISOString();
      const said = `${error.message}; it is sent again at ${at} (--wait-timeout limits the wait)`;
      await sleepAloud(clock, waitMs, signal, () => onKept(said, 'rate'));
    }
  }
}
