import { randomBytes } from 'node:crypto';
import { SENSITIVE_OUTPUT_WORD } from './faults.ts';
import type { World } from './route.ts';
import { seededInt } from './seeded.ts';

/** The limits that a task and its create count against ("Limits": standard 2.0 4K has its own). */
export type Pool = 'standard' | '4k';

/** How a task ends that does not succeed. */
export interface TaskFailure {
  readonly code: string;
  readonly message: string;
  /** It ends as `cancelled`, which only family C documents. */
  readonly cancelled?: true;
}

/** The times when a task is accepted, starts and ends, in Unix milliseconds. */
interface TaskTimes {
  readonly createdAtMs: number;
  readonly startsAtMs: number;
  readonly endsAtMs: number;
}

/** An accepted task. Everything about it is decided at acceptance. Times are Unix milliseconds. */
export interface SandboxTask<Plan = unknown> extends TaskTimes {
  readonly id: string;
  readonly family: string;
  readonly model: string;
  /** Absent if the document limits neither rate nor number. */
  readonly pool?: Pool;
  /** From this time on the task does not exist. */
  readonly expiresAtMs: number;
  /** If present, the task fails in this way. */
  readonly failure?: TaskFailure;
  /** The family's own data: the outputs and the content of the record, as JSON. */
  readonly plan: Plan;
}

export type SandboxStatus = 'queued' | 'running' | 'succeeded' | 'failed' | 'cancelled';

/** The status of a task at `nowMs`, and since when it has it. */
export function statusAt(
  task: SandboxTask,
  nowMs: number,
): { readonly status: SandboxStatus; readonly sinceMs: number } {
  if (nowMs < task.startsAtMs) return { status: 'queued', sinceMs: task.createdAtMs };
  if (nowMs < task.endsAtMs) return { status: 'running', sinceMs: task.startsAtMs };
  const { failure } = task;
  const status = !failure ? 'succeeded' : failure.cancelled ? 'cancelled' : 'failed';
  return { status, sinceMs: task.endsAtMs };
}

/**
 * A family's task whose record has not expired.
 * @template Plan the family's own data of its tasks
 */
export function findTask<Plan>(world: World, family: string, id: string): SandboxTask<Plan> | undefined {
  const task = world.store.task(id);
  const lives = task?.family === family && world.now() < task.expiresAtMs;
  return lives ? (task as SandboxTask<Plan>) : undefined;
}

/** `PREFIX-20261120212137-` and 80 random bits; the time makes lists readable. */
export function makeTaskId(prefix: string, nowMs: number): string {
  const time = new Date(nowMs).toISOString().replaceAll(/\D/g, '').slice(0, 14);
  return `${prefix}-${time}-${randomBytes(10).toString('hex')}`;
}

/** How long the tasks of a family wait and run at speed 1: at least `least`, and up to `spread` longer. */
interface TaskPace {
  readonly queueMs: { readonly least: number; readonly spread: number };
  readonly runMs: { readonly least: number; readonly spread: number; readonly perOutputS: number };
  /** The factor of each resolution for the run. */
  readonly factors: Readonly<Record<string, number>>;
}

/** How long a task waits and runs; always the same for the same ID. */
export const paceOf = (
  id: string,
  { queueMs, runMs, factors }: TaskPace,
  { durationS, resolution }: { readonly durationS: number; readonly resolution: string },
) => ({
  queueMs: queueMs.least + (seededInt(id, 'queue') % queueMs.spread),
  runMs:
    (runMs.least + (seededInt(id, 'run') % runMs.spread) + runMs.perOutputS * durationS) *
    (factors[resolution] ?? 1),
});

/** Scales waiting and running to the sandbox's speed; together they last at least the shortest life of a task. */
export function taskTimes(
  createdAtMs: number,
  { queueMs, runMs }: { readonly queueMs: number; readonly runMs: number },
  { speed, minTaskMs }: Pick<World, 'speed' | 'minTaskMs'>,
): TaskTimes {
  const scale = Math.max(1 / speed, minTaskMs / (queueMs + runMs));
  return {
    createdAtMs,
    startsAtMs: createdAtMs + Math.round(queueMs * scale),
    endsAtMs: createdAtMs + Math.round((queueMs + runMs) * scale),
  };
}

/** A prompt can ask for this failure: the review finds the finished video sensitive. */
export const reviewFailure = (prompt: string): TaskFailure | undefined =>
  prompt.includes(SENSITIVE_OUTPUT_WORD)
    ? {
        code: 'OutputVideoSensitiveContentDetected',
        message: 'The output video may contain sensitive content.',
      }
    : undefined;

/**
 * The failure that the faults demand for a new task; undefined if there is none.
 * @param endings whether the family documents `cancelled`; otherwise `task:cancel` does not apply
 */
export function forcedFailure(world: World, endings: 'failed' | 'or cancelled'): TaskFailure | undefined {
  const fault = world.faults.draw('task', ({ kind }) => kind === 'cancel' && endings === 'failed')?.fault;
  if (fault?.kind === 'cancel') {
    return { code: 'TaskCancelled', message: 'The task was cancelled (sandbox fault).', cancelled: true };
  }
  if (fault?.code === undefined) return undefined;
  return { code: fault.code, message: 'The task failed on request (sandbox fault).' };
}
