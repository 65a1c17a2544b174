import { GwError } from '../errors.ts';
import type { TaskFamily, TaskView } from '../gateway/task.ts';
import type { Client, Reply } from '../http/client.ts';
import type { Ledger } from '../ledger/ledger.ts';

/** What a look at a task brought: its view, and the reply it was read from. */
export interface TaskLook {
  readonly view: TaskView;
  readonly reply: Reply;
  /** The record as it came. */
  readonly record: unknown;
  /** The server's clock when it was asked, Unix milliseconds; the life of links counts from the first sight of them. */
  readonly serverDateMs: number;
}

export interface LookInput {
  readonly id: string;
  readonly family: TaskFamily;
  readonly client: Client;
  readonly signal: AbortSignal;
  readonly nowMs: () => number;
  /** A poll judges failures itself: no retries beneath it. */
  readonly retries?: number;
  readonly retryNotFoundUntilMs?: number | undefined;
}

/** Asks for one task's record. Throws what the client throws, and `unavailable` for a record that cannot be read. */
export async function lookAtTask(input: LookInput): Promise<TaskLook> {
  const { family, id, client } = input;
  const reply = await client.send(family.query.endpoint, family.query.input([id]), {
    signal: input.signal,
    ...(input.retries !== undefined && { retries: input.retries }),
    ...(input.retryNotFoundUntilMs !== undefined && { retryNotFoundUntilMs: input.retryNotFoundUntilMs }),
  });
  const record = family.query.records(reply.json, [id]).get(id);
  if (record === undefined) {
    throw new GwError('not_found', `the gateway does not know task ${id}`, { taskId: id });
  }
  return {
    view: family.readTask(record, id),
    reply,
    record,
    serverDateMs: reply.serverDateMs ?? input.nowMs(),
  };
}

/** Writes down what a look changed: a new status, or the final record whole before the gateway forgets it. */
export function recordLook(ledger: Ledger, key: string, look: TaskLook, before: string | undefined): void {
  const { view, record, serverDateMs } = look;
  if (view.state !== 'running') {
    ledger.append(key, { event: 'final', state: view.state, status: view.status, record, serverDateMs });
  } else if (view.status !== before) {
    ledger.append(key, { event: 'status', status: view.status });
  }
}
