import { GwError, Interrupted } from '../errors.ts';
import type { Endpoint } from '../gateway/endpoint.ts';
import { type TaskFamily, TaskId } from '../gateway/task.ts';
import type { Clock } from '../host.ts';
import type { Client } from '../http/client.ts';
import { UnknownOutcome } from '../http/retry.ts';
import type { IntentEvent, LedgerEvent } from '../ledger/event.ts';
import type { Ledger } from '../ledger/ledger.ts';

/** What is needed to create a paid job. */
export interface CreateInput {
  readonly family: TaskFamily;
  readonly endpoint: Endpoint;
  readonly body: unknown;
  readonly intent: IntentEvent;
  readonly client: Client;
  readonly ledger: Ledger;
  /** Ends waiting between attempts, never an exchange under way: its reply holds the ID of what was paid for. */
  readonly signal: AbortSignal;
  /** With `--queue`: a 429 means no free slot yet, and is waited out. */
  readonly queue?: QueueOptions | undefined;
}

export interface QueueOptions {
  /** Steady milliseconds at which the wait for a slot ends. */
  readonly deadlineMs: number;
  readonly clock: Clock;
  readonly random: () => number;
  readonly onQueued: (message: string) => void;
}

/** A job that the gateway has accepted. */
export interface AcceptedJob {
  readonly key: string;
  readonly id: string;
  readonly status?: string | undefined;
  /** The create reply as it came. */
  readonly reply: unknown;
}

/**
 * Creates a paid job: intent durable -> sent -> accepted with its ID durable (promises, section 3).
 * Throws the GwError of the refusal, or `unknown_outcome` where the job may exist; the ledger holds either.
 */
export async function createJob(input: CreateInput): Promise<AcceptedJob> {
  const { client, endpoint, body, ledger, family } = input;
  const key = ledger.begin(input.intent);
  const claim = ledger.claim(key);
  let sent = false;
  let accepted: AcceptedJob;
  try {
    const send = () =>
      client.send(
        endpoint,
        { body },
        {
          signal: input.signal,
          onSend: () => {
            ledger.append(key, { event: 'sent' });
            sent = true;
          },
        },
      );
    const reply = input.queue ? await whenSlotIsFree(send, input.queue, input) : await send();
    accepted = { key, ...family.readCreateReply(reply.json), reply: reply.json };
  } catch (error) {
    const found = error instanceof UnknownOutcome ? await confirmCutReply(error, input) : undefined;
    if (!found) {
      claim?.release();
      throw recordFailure(error, sent, key, input);
    }
    accepted = { key, ...found };
  }
  try {
    ledger.append(key, { event: 'accepted', id: accepted.id, status: accepted.status });
    return accepted;
  } finally {
    claim?.release();
  }
}

/** Tries again after each 429, at the family's pace and never before the gateway allows it, until the deadline. */
async function whenSlotIsFree<T>(
  send: () => Promise<T>,
  { deadlineMs, clock, random, onQueued }: QueueOptions,
  { family, signal }: CreateInput,
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
      if (tries === 0) onQueued('no free slot; waiting for one (--wait-timeout bounds the wait)');
      await clock.sleep(waitMs, signal);
    }
  }
}

/** A cut 2xx reply is searched for its ID, and the ID confirmed by a query, before the outcome is called unknown. */
async function confirmCutReply(error: UnknownOutcome, { client, family }: CreateInput) {
  const id = TaskId.safeParse(error.partialText?.match(/"(?:task_id|id)"\s*:\s*"([^"\\]+)"/)?.[1]);
  if (!id.success) return undefined;
  try {
    const { query } = family;
    const reply = await client.send(query.endpoint, query.input([id.data]));
    const record = query.records(reply.json, [id.data]).get(id.data);
    return { id: id.data, status: family.readTask(record, id.data).status, reply: reply.json };
  } catch {
    return undefined;
  }
}

function recordFailure(error: unknown, sent: boolean, key: string, { ledger, family }: CreateInput): unknown {
  const record = (event: LedgerEvent) => {
    try {
      ledger.append(key, event);
    } catch {
      // What happened to the request says more than that it could not be written down; sync calls the job unknown.
    }
  };
  if (error instanceof GwError && error.kind === 'unknown_outcome') {
    record({ event: 'unknown', message: error.message });
    return new GwError('unknown_outcome', error.message, {
      ...error.facts,
      hint: `the job may exist and was not sent again; it stands in the ledger as ${key}: gw jobs show ${key}`,
    });
  }
  if (error instanceof GwError) {
    record({
      event: 'refused',
      kind: error.kind,
      message: error.message,
      status: error.facts.status,
    });
    return error;
  }
  // Interrupted between attempts: the last attempt was refused, or none was made.
  if (error instanceof Interrupted) {
    record({ event: 'refused', kind: 'interrupted', message: error.message });
    return error;
  }
  // A 2xx reply that names no usable task: something was paid for, and we do not know what.
  if (sent) {
    const message = `the ${family.name} create was answered, but the reply names no usable task`;
    record({ event: 'unknown', message });
    return new GwError('unknown_outcome', message, { hint: `gw jobs show ${key}` });
  }
  return error;
}
