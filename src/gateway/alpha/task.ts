import * as z from 'zod/mini';
import type { Endpoint } from '../endpoint.ts';
import { fieldsOf } from '../json-value.ts';
import { HOUR_MS } from '../limits.ts';
import { amountOf, ofTask, readTaskError, type TaskFamily, TaskId, type TaskOutput } from '../task.ts';
import { taskState } from '../task-state.ts';

// Family A as it is followed ("Family A: query task", "Retention"): apart from the create body, so that a look at a task
// does not load it.

export const ALPHA_MAX_DOWNLOADS = 100;

/** The create reply ("Create response fields"), read loosely: what counts is the task's ID. */
export const AlphaCreateReply = z
  .looseObject({ id: z.optional(TaskId), task_id: z.optional(TaskId), status: z.optional(z.unknown()) })
  .check(z.refine((reply) => reply.task_id ?? reply.id, { error: 'the reply names no task' }));

const AlphaTask = z.looseObject({});

export const alphaTasksPath = '/api/v3/contents/generations/tasks';

export const alphaQuery: Endpoint = {
  name: 'alpha.query',
  method: 'GET',
  path: `${alphaTasksPath}/{task_id}`,
  resend: 'read',
  reply: AlphaTask,
};

export const alphaFamily: TaskFamily & { readonly recordLifeMs: number } = {
  name: 'alpha',
  query: {
    endpoint: alphaQuery,
    maxIds: 1,
    input: ([id = '']) => ({ params: { task_id: id } }),
    records: (reply, [id = '']) => new Map([[id, ofTask(reply, id)]]),
  },
  pollIntervalMs: { min: 10_000, max: 30_000 },
  recordLifeMs: 7 * 24 * HOUR_MS,
  linkLifeMs: 24 * HOUR_MS,
  maxDownloads: ALPHA_MAX_DOWNLOADS,
  readCreateReply(reply) {
    const parsed = AlphaCreateReply.parse(reply);
    return {
      id: parsed.task_id ?? (parsed.id as string),
      status: typeof parsed.status === 'string' ? parsed.status : undefined,
    };
  },
  readTask(reply, taskId) {
    const task = AlphaTask.parse(reply);
    const outputs: TaskOutput[] = [];
    const { video_url: video, last_frame_url: lastFrame } = fieldsOf(task.content);
    if (typeof video === 'string' && video !== '') outputs.push({ role: 'video', type: 'video', url: video });
    // The document names the request field only; the public record of this API family carries the frame here.
    if (typeof lastFrame === 'string' && lastFrame !== '') {
      outputs.push({ role: 'last-frame', type: 'image', url: lastFrame });
    }
    return {
      id: taskId,
      ...taskState(task.status),
      progressPercent: typeof task.progress === 'number' ? task.progress : undefined,
      outputs,
      error: readTaskError(task.error),
      made: { seed: task.seed, duration: task.duration, resolution: task.resolution },
      usage: { outputS: amountOf(task.duration), tokens: amountOf(fieldsOf(task.usage).total_tokens) },
    };
  },
};
