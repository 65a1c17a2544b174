import { GwError } from '../../errors.ts';
import { type Family, type TaskView, YOUNG_MS } from '../../gateway/task.ts';
import type { Reply } from '../../http/client.ts';
import type { Job, LedgerEvent } from '../../ledger/event.ts';
import type { Ledger } from '../../ledger/ledger.ts';
import { taskOf } from '../../ledger/settled.ts';
import { gatewayNowMs, notAhead, seenAtMs } from '../gateway-clock.ts';
import { linkExpiresAtMs } from '../job-view.ts';

export interface SeenTask {
  readonly view: TaskView;
  readonly record: unknown;
  /** Its JSON as it came, where the record holds a number that JavaScript would write in another way. */
  readonly recordText?: string | undefined;
  /** The server's clock when it was asked, Unix milliseconds; the life of links counts from the first sight of them. */
  readonly serverDateMs: number;
  /** This machine's clock then; now when absent. */
  readonly seenAtMs?: number | undefined;
}

/** What a look at a task brought, and the reply it was read from. */
export interface TaskLook extends SeenTask {
  readonly reply: Reply;
}

/**
 * What the ledger knows of a job that has succeeded, while its links live or its outputs are on disk: enough to save them
 * without asking the gateway. Undefined where the gateway must be asked.
 */
export function seenInLedger(job: Job, family: Family, nowMs: number): SeenTask | undefined {
  const view = job.state === 'succeeded' ? taskOf(job, family) : undefined;
  const isOffered = view !== undefined && (view.outputs.length > 0 || view.hasNoFiles === true);
  if (!isOffered || job.serverDateMs === undefined) return undefined;
  const diesAtMs = linkExpiresAtMs(job, family) ?? Number.POSITIVE_INFINITY;
  const isHere = view.outputs.every(({ role }) => job.files.some((file) => file.role === role && !file.cut));
  if (gatewayNowMs(job, nowMs) >= diesAtMs && !isHere) return undefined;
  const { record, recordText, serverDateMs } = job;
  return { view, record, recordText, serverDateMs, seenAtMs: seenAtMs(job, nowMs) };
}

/** Until when the gateway may not know a job's task yet, Unix milliseconds. */
export const youngUntilMs = ({ acceptedAtMs, createdAtMs }: Job, nowMs: number): number =>
  notAhead(acceptedAtMs ?? createdAtMs, nowMs) + YOUNG_MS;

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

export function endEvent({ view, record, recordText, serverDateMs }: SeenTask): LedgerEvent | undefined {
  if (view.state === 'running') return undefined;
  return {
    event: 'final',
    state: view.state,
    status: view.status,
    record,
    serverDateMs,
    ...(recordText !== undefined && { recordText }),
  };
}

/** A task that ended badly, in the gateway's words; `hint` where another way than a new job goes on from there. */
export function taskFailed(
  {
    id,
    status,
    error = {},
  }: { readonly id: string; readonly status: string; readonly error?: TaskView['error'] },
  { what = 'task', hint = `make it anew, with other words: gw again ${id} --wait -p TEXT` } = {},
): GwError {
  const reason = [error.code, error.message].filter(Boolean).join(': ');
  const ended = `${what} ${id} ended ${status}${reason && `: ${reason}`}`;
  return new GwError('task_failed', ended, { taskId: id, code: error.code, hint });
}
