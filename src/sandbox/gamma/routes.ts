import { promptOf } from '../../gateway/content.ts';
import { type GammaCreateBody, gammaCreate } from '../../gateway/gamma/create.ts';
import { gammaFamily, gammaQuery } from '../../gateway/gamma/task.ts';
import { statusCallbacks } from '../callbacks.ts';
import { SENSITIVE_PROMPT_WORD } from '../faults.ts';
import { filmTokens, videoFile } from '../movie.ts';
import { signedLink } from '../output-source.ts';
import { jsonReply, Refusal } from '../reply.ts';
import type { Route, World } from '../route.ts';
import { findTask, type SandboxTask, statusAt } from '../task.ts';
import { type GammaPlan, planTask, readGammaInput } from './plan.ts';

/** Family C: create and query ("Family C endpoints"). */
export const gammaRoutes: readonly Route[] = [
  {
    endpoint: gammaCreate,
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
  ...['/v2/query/video_generation', '/v2/query/video_generation/'].map(
    (path): Route => ({
      endpoint: { ...gammaQuery, path },
      answer: () => {
        throw new Refusal(400, 'The task_id is missing.', 'InvalidParameter');
      },
    }),
  ),
];

const seconds = (unixMs: number) => Math.floor(unixMs / 1000);
const CHARACTERS_PER_TOKEN = 4;

/** The object `task` of the query reply at a given time ("Family C video task"). */
function taskRecord(task: SandboxTask<GammaPlan>, world: World, nowMs: number): Record<string, unknown> {
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
  const url = signedLink(world, task.id, videoFile(film), task.endsAtMs + gammaFamily.linkLifeMs);
  return { ...head, ratio: film.ratio, content: { url }, usage: usageOf(task.plan) };
}

function usageOf({ film, promptCharacters, images, videoS, audioS }: GammaPlan): Record<string, number> {
  const completion = filmTokens(film);
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
