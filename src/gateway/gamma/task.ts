import * as z from 'zod/mini';
import type { Endpoint } from '../endpoint.ts';
import { fieldsOf } from '../json-value.ts';
import { HOUR_MS } from '../limits.ts';
import { amountOf, ofTask, readTaskError, type TaskFamily, TaskId } from '../task.ts';
import { taskState } from '../task-state.ts';

// Family C as it is followed ("Family C video task", "Errors", "Retention"): apart from the create body, so that a look
// at a task does not load it.

/** The create reply, read loosely: what counts is the task's ID. */
export const GammaCreateReply = z.looseObject({ task_id: TaskId });

const GammaTask = z.looseObject({});

/** The query reply: the record stands in `task`. */
const GammaTaskReply = z.looseObject({ task: GammaTask });

export const gammaQuery: Endpoint = {
  name: 'gamma.query',
  method: 'GET',
  path: '/v2/query/video_generation/{task_id}',
  resend: 'read',
  reply: GammaTaskReply,
  // "400 for a missing or invalid task_id, an unknown task, or a task outside the 7-day window".
  notFoundStatus: 400,
};

export const gammaFamily: TaskFamily & { readonly recordLifeMs: number } = {
  name: 'gamma',
  query: {
    endpoint: gammaQuery,
    maxIds: 1,
    input: ([id = '']) => ({ params: { task_id: id } }),
    records: (reply, [id = '']) => new Map([[id, ofTask((reply as { readonly task: unknown }).task, id)]]),
  },
  pollIntervalMs: { min: 3000, max: 10_000 },
  recordLifeMs: 7 * 24 * HOUR_MS,
  // The document says "temporary" and no more.
  linkLifeMs: HOUR_MS,
  linkLifeIsAssumed: true,
  readCreateReply: (reply) => ({ id: GammaCreateReply.parse(reply).task_id, status: 'queued' }),
  readTask(record, taskId) {
    const task = GammaTask.parse(record);
    const { url } = fieldsOf(task.content);
    const usage = fieldsOf(task.usage);
    return {
      id: taskId,
      ...taskState(task.status),
      outputs: typeof url === 'string' && url !== '' ? [{ role: 'video', type: 'video', url }] : [],
      error: readTaskError(task.error),
      made: { seed: task.seed, duration: task.duration, resolution: task.resolution },
      usage: {
        outputS: amountOf(usage.output_seconds) ?? amountOf(task.duration),
        tokens: amountOf(usage.total_tokens),
      },
    };
  },
};
