import type { Family, TaskView } from '../../gateway/task.ts';
import type { Reply } from '../../http/client.ts';
import type { Job, LedgerEvent } from '../../ledger/event.ts';
import type { Ledger } from '../../ledger/ledger.ts';
import { taskOf } from '../../ledger/settled.ts';
import { linkExpiresAtMs } from '../job-view.ts';

/** A task as it was seen last. */
export interface SeenTask {
  readonly view: TaskView;
  /** The record as it came. */
  readonly record: unknown;
  /** Its JSON as it came, where the record holds a number that JavaScript would write in another way. */
  readonly recordText?: string | undefined;
  /** The server's clock when it was asked, Unix milliseconds; the life of links counts from the first sight of them. */
  readonly serverDateMs: number;
}

/** What a look at a task brought, and the reply it was read from. */
export interface TaskLook extends SeenTask {
  readonly reply: Reply;
}

/**
 * What the ledger knows of a job that has succeeded, while its links live: enough to save its outputs without asking the
 * gateway. Undefined where the gateway must be asked.
 */
export function seenInLedger(job: Job, family: Family, nowMs: number): SeenTask | undefined {
  const view = job.state === 'succeeded' ? taskOf(job, family) : undefined;
  const isOffered = view !== undefined && (view.outputs.length > 0 || view.hasNoFiles === true);
  if (!isOffered || job.serverDateMs === undefined) return undefined;
  const diesAtMs = linkExpiresAtMs(job, family) ?? Number.POSITIVE_INFINITY;
  if (nowMs >= diesAtMs) return undefined;
  return { view, record: job.record, recordText: job.recordText, serverDateMs: job.serverDateMs };
}

/**
 * Writes down what a look changed: a new status, or the final record whole before the gateway forgets it. An end is left
 * to another process that holds the job: it knows the task and sees its end for itself.
 */
export async function recordLook(
  ledger: Ledger,
  key: string,
  look: SeenTask,
  before: string | undefined,
): Promise<void> {
  const { view } = look;
  const end = endEvent(look);
  if (!end) {
    if (view.status !== before) ledger.append(key, { event: 'status', status: view.status });
    return;
  }
  const hold = await ledger.hold(key);
  try {
    if (hold?.job && hold.job.id === undefined) writeId(ledger, key, view);
    if (hold) ledger.append(key, end);
  } finally {
    hold?.release();
  }
}

/** The disk did not take a task's ID when it came: without one, nobody would look for its output after a crash. */
function writeId(ledger: Ledger, key: string, { id, status }: TaskView): void {
  try {
    ledger.append(key, { event: 'accepted', id, status });
  } catch {
    // It has been told that it is not there, and the output is saved all the same.
  }
}

/** The end of a task as the ledger keeps it; undefined for one that still runs. */
export function endEvent({ view, record, recordText, serverDateMs }: SeenTask): LedgerEvent | undefined {
  if (view.state === 'running') return undefined;
  return {
    ...{ event: 'final', state: view.state, status: view.status, record, serverDateMs },
    ...(recordText !== undefined && { recordText }),
  };
}
