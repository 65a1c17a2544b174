import { type AlphaCreateBody, AlphaStrictCreateBody, alphaCreate } from '../../gateway/alpha/create.ts';
import { alphaFamily, alphaQuery } from '../../gateway/alpha/task.ts';
import { admitTask } from '../account.ts';
import { markUsed } from '../asset/usage.ts';
import { jsonReply, Refusal } from '../reply.ts';
import type { Route } from '../route.ts';
import { findTask } from '../task.ts';
import { type AlphaPlan, planTask, poolOf } from './plan.ts';
import { createReply, taskRecord } from './record.ts';
import { checkReferences } from './references.ts';

/** Family A: create and query ("Family A: create task", "Family A: query task"). */
export const alphaRoutes: readonly Route[] = [
  {
    endpoint: alphaCreate,
    body: AlphaStrictCreateBody,
    pool: poolOf,
    async answer({ body }, world) {
      const request = body as AlphaCreateBody;
      const assets = await checkReferences(request, world);
      const task = await planTask(request, world);
      admitTask(world.store, task, world.account);
      markUsed(assets, task.createdAtMs, world);
      return { ...jsonReply(200, createReply(task)), acceptedTaskId: task.id };
    },
  },
  {
    endpoint: alphaQuery,
    pool: () => 'standard',
    answer({ params }, world) {
      const id = params.task_id ?? '';
      const task = findTask<AlphaPlan>(world, alphaFamily.name, id);
      if (!task) {
        throw new Refusal(404, `There is no task ${id}; records are kept for 7 days.`, 'ResourceNotFound');
      }
      return jsonReply(200, taskRecord(task, world));
    },
  },
];
