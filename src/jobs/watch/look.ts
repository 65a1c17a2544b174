import { GwError } from '../../errors.ts';
import { type Family, type TaskView, YOUNG_MS } from '../../gateway/task.ts';
import { type Clock, quietly } from '../../host.ts';
import type { Reply } from '../../http/client.ts';
import type { Job, LedgerEvent } from '../../ledger/event.ts';
import type { Ledger } from '../../ledger/ledger.ts';
import { taskOf } from '../../ledger/settled.ts';
import { gatewayNowMs, notAhead, seenAtMs } from '../gateway-clock.ts';
import { linkExpiresAtMs } from '../job-view.ts';

export interface SeenTask {
  readonly view: TaskView;
  readonly record: unknown;
  /** The record's JSON as it came, kept if JavaScript would write one of its numbers differently. */
  readonly recordText?: string | undefined;
  /** The server's clock when it was queried, in Unix ms; the life of links counts from when they are first seen. */
  readonly serverDateMs: number;
  /** This machine's clock at that time; now if absent. */
  readonly seenAtMs?: number | undefined;
}

/** The result of querying a task, and the reply that it was read from. */
export interface TaskLook extends SeenTask {
  readonly reply: Reply;
}

/**
 * What the ledger knows about a succeeded job whose links are valid or whose outputs are on disk: enough to save them
 * without a query. Undefined if the gateway must be queried.
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

/** Until when the gateway may not know a job's task yet, in milliseconds of the steady clock. */
export const youngUntilMs = (job: Pick<Job, 'acceptedAtMs' | 'createdAtMs'>, clock: Clock): number =>
  clock.steady() + notAhead(job.acceptedAtMs ?? job.createdAtMs, clock.now()) - clock.now() + YOUNG_MS;

/**
 * Records what a query changed: a new status, or the whole final record before the gateway forgets it. If another
 * process holds the job, the end is left to it: it will see the end itself.
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
    const { id, status } = view;
    // The disk refused the ID at first, which was reported: after a crash only the ID leads to the output.
    if (hold?.job && hold.job.id === undefined)
      quietly(() => ledger.append(key, { event: 'accepted', id, status }));
    if (hold) ledger.append(key, end);
  } finally {
    hold?.release();
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

/** The error of a task that failed, in the gateway's words; `hint` if there is a better way than a new job. */
export function taskFailed(
  task: { readonly id: string; readonly status: string; readonly error?: TaskView['error'] },
  { what = 'task', hint = `make it anew, with other words: gw again ${task.id} --wait -p TEXT` } = {},
): GwError {
  const { id, status, error = {} } = task;
  const reason = [error.code, error.message].filter(Boolean).join(': ');
  const ended = `${what} ${id} ended ${status}${reason && `: ${reason}`}`;
  return new GwError('task_failed', ended, { taskId: id, code: error.code, hint });
}

/** Runs a parser. Throws `unavailable` if it fails, with the parser's own message if there is one. */
export function readable<T>(parse: () => T, what: string): T {
  try {
    return parse();
  } catch (error) {
    const why = error instanceof Error && error.constructor === Error ? `: ${error.message}` : '';
    throw new GwError('unavailable', `${what} cannot be read${why}`);
  }
}
