import { gammaFamily } from '../../gateway/gamma/task.ts';
import { framesPerS, pictureSize } from '../clip.ts';
import { videoFile } from '../film.ts';
import { signedLink } from '../signed-link.ts';
import { type SandboxTask, statusAt } from '../task.ts';
import type { World } from '../world.ts';
import type { GammaPlan } from './plan.ts';

const seconds = (unixMs: number) => Math.floor(unixMs / 1000);
const CHARACTERS_PER_TOKEN = 4;

/** The object `task` of the query reply at a moment ("Family C video task"). */
export function taskRecord(
  task: SandboxTask<GammaPlan>,
  world: World,
  nowMs: number,
): Record<string, unknown> {
  const { status, sinceMs } = statusAt(task, nowMs);
  const { film, resolution } = task.plan;
  const { failure } = task;
  const isOver = nowMs >= task.endsAtMs;
  const head = {
    id: task.id,
    model: task.model,
    status,
    created_at: seconds(task.createdAtMs),
    updated_at: seconds(sinceMs),
    resolution,
    duration: film.durationS,
    task_type: 'generation',
    modality: 'video',
  };
  if (!isOver) return head;
  if (failure) return { ...head, error: { code: failure.code, message: failure.message } };
  const expiresS = seconds(task.endsAtMs + gammaFamily.linkLifeMs);
  const url = signedLink(world.store.secret, world.outputUrl(), task.id, videoFile(film), expiresS);
  return { ...head, ratio: film.ratio, content: { url }, usage: usageOf(task.plan) };
}

function usageOf({ film, promptCharacters, images, videoS, audioS }: GammaPlan): Record<string, number> {
  const { widthPx, heightPx } = pictureSize(film.resolution, film.ratio);
  const completion = Math.round((widthPx * heightPx * framesPerS * film.durationS) / 1024);
  const prompt = Math.ceil(promptCharacters / CHARACTERS_PER_TOKEN);
  const inputS = Math.ceil(videoS);
  return {
    total_seconds: inputS + film.durationS,
    input_seconds: inputS,
    output_seconds: film.durationS,
    input_image_count: images,
    ...(audioS > 0 && { input_audio_seconds: Math.ceil(audioS) }),
    total_tokens: prompt + completion,
    prompt_tokens: prompt,
    completion_tokens: completion,
  };
}
