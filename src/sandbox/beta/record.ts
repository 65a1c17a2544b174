import { type SandboxStatus, type SandboxTask, statusAt } from '../task.ts';
import type { World } from '../world.ts';
import { billingOf } from './billing.ts';
import type { BetaPlan } from './plan.ts';
import { outputItems } from './products.ts';

const words: Readonly<Record<SandboxStatus, string>> = {
  queued: 'submitted',
  running: 'processing',
  succeeded: 'succeeded',
  failed: 'failed',
  cancelled: 'failed',
};

/** The status of a task at a moment, in family B's words. */
export const betaStatus = (task: SandboxTask, nowMs: number): string => words[statusAt(task, nowMs).status];

const headOf = (task: SandboxTask<BetaPlan>, nowMs: number) => ({
  id: task.id,
  status: betaStatus(task, nowMs),
  create_time: task.createdAtMs,
  update_time: statusAt(task, nowMs).sinceMs,
  ...(task.plan.externalId !== undefined && { external_id: task.plan.externalId }),
});

/** The field `data` of the create reply, whenever it is asked for again. */
export const createdData = (task: SandboxTask<BetaPlan>): object => ({
  ...headOf(task, task.createdAtMs),
  status: 'submitted',
});

/** The task record at a moment ("Task record in the query response"). */
export function taskRecord(task: SandboxTask<BetaPlan>, world: World, nowMs: number): object {
  const head = headOf(task, nowMs);
  const { failure } = task;
  if (nowMs < task.endsAtMs) return { ...head, message: '' };
  if (failure) return { ...head, message: `${failure.message} (${failure.code})` };
  return { ...head, message: '', outputs: outputItems(task, world), billing: billingOf(task) };
}
