import { GwError } from '../../errors.ts';
import type { CreateReply, TaskFamily } from '../../gateway/task.ts';
import { sleepAloud } from '../../host.ts';
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
 * What became of a request. Whoever makes a job (a command, a row of a batch, a worker) switches on it, and nobody reads the
 * ledger again to find out what was meant.
 */
export type Made =
  /** The gateway has the task; `unrecorded`: why the ledger could not take its ID, which nothing but this process knows. */
  | (Accepted & { readonly kind: 'accepted'; readonly job: MadeJob; readonly unrecorded?: unknown })
  /** Images came; with `error` not all of them could be saved, or something else went wrong behind them. */
  | { readonly kind: 'images'; readonly job: MadeJob; readonly came: Came; readonly error?: unknown }
  /** It is over and has nothing to give: the same request would be refused again, or what it made ended badly. */
  | { readonly kind: 'refused'; readonly job: MadeJob; readonly error: unknown; readonly came?: Came }
  /** It has certainly made nothing, and asking again may: it was not sent, or was refused for a reason that passes. */
  | { readonly kind: 'nothing'; readonly job?: MadeJob; readonly error: unknown }
  /** It may exist; what came before the answer broke off is in `came`. */
  | { readonly kind: 'unknown'; readonly job: MadeJob; readonly error: unknown; readonly came?: Came };

/** A job as the ledger has it: gw's key, and what was asked for. */
export interface MadeJob extends Omit<Intent, 'event'> {
  /** Not the one that was given where the job is an earlier one, whose answer had been lost. */
  readonly key: string;
  readonly externalId?: string | undefined;
}

/** What the gateway said when it accepted a job. */
export interface Accepted extends CreateReply {
  /** The create reply as it came; the record, where the reply was lost and the job was found again. */
  readonly reply: unknown;
  /** False where `reply` is the record of a task that was found. */
  readonly isOwnReply: boolean;
}

/** The images of a reply, as far as they came. */
export interface Came {
  /** `succeeded`, `no image`, `refused` or `unknown`. */
  readonly status: string;
  /** The gateway's reply with each Base64 text replaced by an empty one; null where no whole reply came, unless links did. */
  readonly record: unknown;
  readonly recordText?: string | undefined;
  /** The saved images, in their order. */
  readonly files: readonly (Omit<SavedFile, 'role'> & { readonly role?: string })[];
  /** Paths of the partial images that were kept, in the order in which they came. */
  readonly partials: readonly string[];
}

/** What is needed to make a paid job. */
export interface MakeInput
  extends IdentifiedBody,
    Pick<JobRequest<TaskFamily>, 'family' | 'endpoint' | 'intent'>,
    Pick<JobDeps, 'client' | 'ledger' | 'clock'> {
  /** What the body asks for, where that stands for what it holds: words for an output, a stand-in for a file. */
  readonly asked?: IdentifiedBody['body'] | undefined;
  /** Ends waiting between attempts, never an exchange under way: its reply holds the ID of what was paid for. */
  readonly signal: AbortSignal;
  /** Longest time without a sign of life of another gw that is waited for (`--timeout`). */
  readonly silenceMs: number;
  readonly onExchange?: SendOptions['onExchange'];
  /** Tells that the answer was lost and the job is being looked for. */
  readonly note: (text: string) => void;
  /** Begins the job within the user's limits, with what it is going to cost. */
  readonly within?: Within | undefined;
  /** Called once the job is begun, before it is sent, while no lock is held that other jobs need. */
  readonly onBegun?: (() => Promise<void>) | undefined;
  /** Resolves when nothing else must be done before new money is spent. */
  readonly calm?: (() => Promise<void>) | undefined;
  /** An earlier run made this very job and lost the answer: it is gone on with, and no other one is begun. */
  readonly goesOn?: boolean | undefined;
  /** With `--queue`: a slot is waited for before anything is sent, and a 429 means that there is none yet. */
  readonly queue?: QueueOptions | undefined;
}

/** Where to wait for a slot; `onKept` is told of each 429 too, `about` the rate. */
type QueueOptions = Pick<
  SlotInput,
  'deadlineMs' | 'random' | 'onQueued' | 'onKept' | 'pool' | 'looker' | 'isOneOfMany'
>;

/**
 * Makes a paid job: held -> intent durable -> sent -> accepted with its ID durable (promises, section 3). A body with an
 * external ID is sent exactly once: where the answer is lost, the job is looked up by it (promises, section 2).
 * Where the user's own external ID is that of a job whose answer was lost, that job is gone on with and none is made.
 * Throws only before the job is begun: what its limits, the wait for a slot or `onBegun` throw. The ledger holds the rest.
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

/** Writes the ID down; what hinders that ends no wait for what is paid for, and is given back. */
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

/** Sends one create, and what is known of its sendings while this process lives. */
export class Attempt {
  /** A byte of a sending may have left. */
  isSent = false;
  /** Steady milliseconds of the first time it was sent. */
  sentAtMs: number | undefined;
  /** The last look-up found nothing, and it was not sent since; `serverDateMs` is the gateway's clock then. */
  absent: { readonly serverDateMs: number | undefined } | undefined;

  constructor(private readonly input: MakeInput) {}

  /** Sends it until it is answered or may exist; with a queue, again after each 429. */
  async send(): Promise<Accepted> {
    const { client, clock, endpoint, body, family, ledger, key, queue, signal, onExchange } = this.input;
    let wasSent = this.isSent;
    const onSend = () => {
      ledger.append(key, { event: 'sent' });
      queue?.looker.spend(queue.pool);
      wasSent = this.isSent;
      this.isSent = true;
      this.absent = undefined;
      this.sentAtMs ??= clock.steady();
    };
    const onUnsent = () => {
      this.isSent = wasSent;
    };
    const send = () => client.send(endpoint, { body }, { signal, onSend, onExchange, onUnsent });
    const reply = queue ? await whenSlotIsFree(send, queue, this.input) : await send();
    const created = family.readCreateReply(reply.json);
    if (created === undefined) throw new Error('the reply names no task');
    return { ...created, reply: reply.json, isOwnReply: true };
  }
}

/** Tries again after each 429, at the family's pace and never before the gateway allows it, until the deadline. */
async function whenSlotIsFree<T>(
  send: () => Promise<T>,
  { deadlineMs, random, onKept }: QueueOptions,
  { family, clock, signal }: MakeInput,
): Promise<T> {
  const { min, max } = family.pollIntervalMs;
  for (;;) {
    try {
      return await send();
    } catch (error) {
      if (!(error instanceof GwError) || error.kind !== 'rate_limited') throw error;
      const waitMs = Math.max(min + random() * (max - min), (error.facts.retryAtMs ?? 0) - clock.now());
      if (clock.steady() + waitMs >= deadlineMs) throw error;
      const at = new Date(clock.now() + waitMs).toISOString();
      const said = `${error.message}; it is sent again at ${at} (--wait-timeout limits the wait)`;
      await sleepAloud(clock, waitMs, signal, () => onKept(said, 'rate'));
    }
  }
}
