import { alphaFamily } from '../../gateway/alpha/task.ts';
import { framesPerS, pictureSize } from '../clip.ts';
import { videoFile } from '../film.ts';
import { signedLink } from '../signed-link.ts';
import { type SandboxTask, statusAt } from '../task.ts';
import type { World } from '../world.ts';
import { lastFrameFile } from './outputs.ts';
import type { AlphaPlan } from './plan.ts';

const seconds = (unixMs: number) => Math.floor(unixMs / 1000);

/** Settings of the service that every record shows; family A has no field to ask for another value. */
const serviceSettings = {
  execution_expires_after: 172_800,
  service_tier: 'default',
  priority: 0,
  draft: false,
};

/** The reply of the create endpoint ("Create response fields"). */
export const createReply = (task: SandboxTask) => ({
  id: task.id,
  task_id: task.id,
  object: 'video',
  model: task.model,
  status: 'queued',
  progress: 0,
  created_at: seconds(task.createdAtMs),
});

/** The task record at this moment ("Task record (query response) fields"); a failed one has only its six fields. */
export function taskRecord(task: SandboxTask<AlphaPlan>, world: World): Record<string, unknown> {
  const { status, sinceMs } = statusAt(task, world.now());
  const head = { id: task.id, model: task.model, status };
  const times = { created_at: seconds(task.createdAtMs), updated_at: seconds(sinceMs) };
  if (status === 'failed') return { ...head, error: task.failure, ...times };
  if (status !== 'succeeded') return { ...head, ...times, ...serviceSettings };

  const { film, lastFrame, seed, webSearches } = task.plan;
  const { durationS, ratio, resolution, format, audio } = film;
  const expiresS = seconds(task.endsAtMs + alphaFamily.linkLifeMs);
  const link = (file: string) => signedLink(world.store.secret, world.outputUrl(), task.id, file, expiresS);
  const { widthPx, heightPx } = pictureSize(resolution, ratio);
  const tokens = Math.round((widthPx * heightPx * framesPerS * durationS) / 1024);
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
