import { type AlphaCreateBody, alphaCreate } from '../../gateway/alpha/create.ts';
import { alphaFamily, alphaQuery } from '../../gateway/alpha/task.ts';
import { admitTask } from '../account.ts';
import { markUsed } from '../asset/library.ts';
import { filmTokens, framesPerS, videoFile } from '../movie.ts';
import { signedLink } from '../output-source.ts';
import { jsonReply, Refusal } from '../reply.ts';
import type { Route, World } from '../route.ts';
import { findTask, type SandboxTask, statusAt } from '../task.ts';
import { type AlphaPlan, checkReferences, lastFrameFile, planTask, poolOf } from './plan.ts';

/** Family A: create and query ("Family A: create task", "Family A: query task"). */
export const alphaRoutes: readonly Route[] = [
  {
    endpoint: alphaCreate,
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

const seconds = (unixMs: number) => Math.floor(unixMs / 1000);

/** Settings of the service in every record; family A has no fields to change them. */
const serviceSettings = {
  execution_expires_after: 172_800,
  service_tier: 'default',
  priority: 0,
  draft: false,
};

/** The reply of the create endpoint ("Create response fields"). */
const createReply = (task: SandboxTask) => ({
  id: task.id,
  task_id: task.id,
  object: 'video',
  model: task.model,
  status: 'queued',
  progress: 0,
  created_at: seconds(task.createdAtMs),
});

/** The current task record ("Task record (query response) fields"); a failed task has only its six fields. */
function taskRecord(task: SandboxTask<AlphaPlan>, world: World): Record<string, unknown> {
  const { status, sinceMs } = statusAt(task, world.now());
  const head = { id: task.id, model: task.model, status };
  const times = { created_at: seconds(task.createdAtMs), updated_at: seconds(sinceMs) };
  if (status === 'failed') return { ...head, error: task.failure, ...times };
  if (status !== 'succeeded') return { ...head, ...times, ...serviceSettings };

  const { film, lastFrame, seed, webSearches } = task.plan;
  const { durationS, ratio, resolution, format, audio } = film;
  const link = (file: string) => signedLink(world, task.id, file, task.endsAtMs + alphaFamily.linkLifeMs);
  const tokens = filmTokens(film);
  return {
    ...head,
    ...times,
    content: {
      video_url: link(videoFile(film)),
      ...(lastFrame ? { last_frame_url: link(lastFrameFile) } : {}),
    },
    duration: durationS,
    ratio,
    resolution,
    output_format: format,
    framespersecond: framesPerS,
    generate_audio: audio,
    seed,
    usage: {
      completion_tokens: tokens,
      total_tokens: tokens,
      ...(webSearches === undefined ? {} : { tool_usage: { web_search: webSearches } }),
    },
    ...serviceSettings,
  };
}
