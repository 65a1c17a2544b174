import { betaFamily } from '../../gateway/beta/task.ts';
import { Refusal } from '../reply.ts';
import { findTask, type SandboxTask } from '../task.ts';
import type { World } from '../world.ts';
import type { BetaPlan } from './plan.ts';

type Task = SandboxTask<BetaPlan>;

const kind = 'beta-external-id';

/** The task that holds an external ID; undefined where none does. */
export function findByExternalId(externalId: string, world: World): Task | undefined {
  const claim = world.store.get(kind, externalId) as { readonly task: Task } | undefined;
  if (!claim) return undefined;
  const { task } = claim;
  const kept = findTask<BetaPlan>(world, betaFamily.name, task.id);
  if (kept || world.now() >= task.expiresAtMs) return kept;
  // A server died between the claim and the task: the claim is what counts.
  world.store.add(task);
  return task;
}

/**
 * Takes a task in. Its external ID is unique in the account, also between processes: throws Refusal where another task
 * holds it.
 */
export function admitBetaTask(task: Task, world: World): void {
  const { externalId } = task.plan;
  if (externalId !== undefined && !claims(externalId, task, world)) {
    throw new Refusal(
      400,
      `The external_task_id ${externalId} already exists: it must be unique in the account.`,
      'DuplicateExternalTaskId',
    );
  }
  world.store.add(task);
}

function claims(externalId: string, task: Task, world: World): boolean {
  // The whole task stands in the claim, so that claim and task come into being at one moment.
  const claim = () => world.store.putNew(kind, externalId, { task }, { expiresAtMs: task.expiresAtMs });
  if (claim()) return true;
  if (findByExternalId(externalId, world)) return false;
  world.store.drop(kind, externalId); // its task has outlived its time
  return claim();
}
