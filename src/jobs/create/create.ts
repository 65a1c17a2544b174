import { createHash } from 'node:crypto';
import type { Endpoint } from '../../gateway/endpoint.ts';
import type { RatePool } from '../../gateway/limits.ts';
import type { TaskFamily } from '../../gateway/task.ts';
import type { Clock } from '../../host.ts';
import type { Client } from '../../http/client.ts';
import type { IntentEvent } from '../../ledger/event.ts';
import { isOwnExternalId } from '../../ledger/job-key.ts';
import type { Ledger } from '../../ledger/ledger.ts';
import type { Looker } from '../watch/looker.ts';
import { CreateAttempt } from './create-attempt.ts';
import type { IdentifiedBody } from './external-id.ts';
import { recordFailure } from './record-failure.ts';

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
  /** Begins the job within the user's budget, where there is one. */
  readonly within?: (<T>(begin: () => T) => Promise<T>) | undefined;
  /** With `--queue`: a slot is waited for before anything is sent, and a 429 means that there is none yet. */
  readonly queue?: QueueOptions | undefined;
}

export interface QueueOptions {
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
  const beginHeld = () =>
    ledger.begin({ ...input.intent, bodySha256: digestOf(input.body), externalId: input.externalId }, key);
  const begin = () => input.within?.(beginHeld) ?? beginHeld();
  const hold = await (queue ? beginInSlot(input, queue, begin) : begin());
  const attempt = new CreateAttempt(input);
  try {
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
