import type { TaskView } from '../gateway/task.ts';
import type { Reply } from '../http/client.ts';
import type { Ledger } from '../ledger/ledger.ts';

/** A task that was created this recently may not be known everywhere yet (promises, section 2). */
export const YOUNG_MS = 60_000;

/** What a look at a task brought: its view, and the reply it was read from. */
export interface TaskLook {
  readonly view: TaskView;
  readonly reply: Reply;
  /** The record as it came. */
  readonly record: unknown;
  /** The server's clock when it was asked, Unix milliseconds; the life of links counts from the first sight of them. */
  readonly serverDateMs: number;
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
