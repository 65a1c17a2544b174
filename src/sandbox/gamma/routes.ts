import { type GammaCreateBody, GammaStrictCreateBody, gammaCreate } from '../../gateway/gamma/create.ts';
import { gammaFamily, gammaQuery } from '../../gateway/gamma/task.ts';
import { SENSITIVE_PROMPT_WORD } from '../prompt-words.ts';
import { jsonReply, Refusal } from '../reply.ts';
import type { Route } from '../route.ts';
import { statusCallbacks } from '../status-callbacks.ts';
import { findTask } from '../task.ts';
import { readGammaInput } from './media.ts';
import { type GammaPlan, planTask, promptOf } from './plan.ts';
import { taskRecord } from './record.ts';

/** Family C: create and query ("Family C endpoints"). */
export const gammaRoutes: readonly Route[] = [
  {
    endpoint: gammaCreate,
    body: GammaStrictCreateBody,
    async answer({ body }, world) {
      const request = body as GammaCreateBody;
      const input = await readGammaInput(request.content);
      if (promptOf(request).includes(SENSITIVE_PROMPT_WORD)) {
        throw new Refusal(
          422,
          'The content review flagged the prompt as sensitive.',
          'SensitiveContentDetected',
        );
      }
      const task = planTask(request, input, world);
      world.store.add(task);
      const bodyAt = (nowMs: number) => ({ task_id: task.id, task: taskRecord(task, world, nowMs) });
      world.callbacks.send(request.callback_url, statusCallbacks(task, bodyAt), true);
      return { ...jsonReply(200, { task_id: task.id }), acceptedTaskId: task.id };
    },
  },
  {
    endpoint: gammaQuery,
    answer({ params }, world) {
      const id = params.task_id ?? '';
      const task = findTask<GammaPlan>(world, gammaFamily.name, id);
      if (task) return jsonReply(200, { task: taskRecord(task, world, world.now()) });
      // "400 for a missing or invalid task_id, an unknown task, or a task outside the 7-day window"
      throw new Refusal(400, `There is no task ${id}; tasks are kept for 7 days.`, 'InvalidParameter');
    },
  },
];
