import { type Endpoint, replyThat } from '../endpoint.ts';
import { fieldsOf, isObject } from '../json-value.ts';
import { HOUR_MS } from '../limits.ts';
import { amountOf, createdTask, ofTask, readTaskError, recordOf, type TaskFamily } from '../task.ts';
import { taskState } from '../task-state.ts';

// How gw follows a family C task ("Family C video task", "Errors", "Retention"). This file is separate from the create
// body, so that a status query does not load the schemas.

/** Reads the create reply loosely: only the task's ID is required. */
export const readGammaCreate = (reply: unknown) =>
  createdTask({ id: fieldsOf(reply).task_id, status: 'queued' });

/** The record of a query reply, which is in its field `task`. */
const recordIn = (reply: unknown) => fieldsOf(reply).task;

export const gammaQuery: Endpoint = {
  name: 'gamma.query',
  method: 'GET',
  path: '/v2/query/video_generation/{task_id}',
  resend: 'read',
  reply: replyThat((reply) => isObject(recordIn(reply))),
  // "400 for a missing or invalid task_id, an unknown task, or a task outside the 7-day window".
  notFoundStatus: 400,
};

export const gammaFamily: TaskFamily & { readonly recordLifeMs: number } = {
  name: 'gamma',
  query: {
    endpoint: gammaQuery,
    maxIds: 1,
    input: ([id = '']) => ({ params: { task_id: id } }),
    records: (reply, [id = '']) => new Map([[id, ofTask(recordIn(reply), id)]]),
  },
  pollIntervalMs: { min: 3000, max: 10_000 },
  recordLifeMs: 7 * 24 * HOUR_MS,
  // The document calls the link "temporary" without a duration; gw assumes one hour.
  linkLifeMs: HOUR_MS,
  linkLifeIsAssumed: true,
  readCreateReply: readGammaCreate,
  readTask(record, taskId) {
    const task = recordOf(record);
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
