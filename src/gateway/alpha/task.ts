import { type Endpoint, replyThat } from '../endpoint.ts';
import { fieldsOf, isObject } from '../json-value.ts';
import { HOUR_MS } from '../limits.ts';
import {
  amountOf,
  type CreateReply,
  createdTask,
  ofTask,
  readTaskError,
  recordOf,
  type TaskFamily,
  type TaskOutput,
  taskIdOf,
} from '../task.ts';
import { taskState } from '../task-state.ts';

// How gw follows a family A task ("Family A: query task", "Retention"). This file is separate from the create body, so
// that a status query does not load the schemas.

export const ALPHA_MAX_DOWNLOADS = 100;

/** Reads the create reply ("Create response fields") loosely: only the task's ID is required. */
export function readAlphaCreate(reply: unknown): CreateReply | undefined {
  const { id, task_id: taskId, status, error } = fieldsOf(reply);
  const named = [taskId, id].filter((each) => each !== undefined);
  return named.every(taskIdOf) ? createdTask({ id: named[0], status, error }) : undefined;
}

export const alphaTasksPath = '/api/v3/contents/generations/tasks';

export const alphaQuery: Endpoint = {
  name: 'alpha.query',
  method: 'GET',
  path: `${alphaTasksPath}/{task_id}`,
  resend: 'read',
  reply: replyThat(isObject),
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
  readCreateReply: readAlphaCreate,
  readTask(reply, taskId) {
    const task = recordOf(reply);
    const outputs: TaskOutput[] = [];
    const { video_url: video, last_frame_url: lastFrame } = fieldsOf(task.content);
    if (typeof video === 'string' && video !== '') outputs.push({ role: 'video', type: 'video', url: video });
    // The document names only the request's field; the public API of this family returns the frame here.
    if (typeof lastFrame === 'string' && lastFrame !== '')
      outputs.push({ role: 'last-frame', type: 'image', url: lastFrame });
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
