import type { GammaCreateBody } from '../../gateway/gamma/create.ts';
import { gammaScenario } from '../../gateway/gamma/rules.ts';
import { gammaFamily } from '../../gateway/gamma/task.ts';
import { nearestRatio } from '../clip.ts';
import type { Film } from '../film.ts';
import { SENSITIVE_OUTPUT_WORD } from '../prompt-words.ts';
import { seededInt } from '../seeded.ts';
import { forcedFailure, makeTaskId, type SandboxTask, type TaskFailure, taskTimes } from '../task.ts';
import type { World } from '../world.ts';
import type { GammaInput } from './media.ts';

/** What a task of family C keeps. */
export interface GammaPlan {
  readonly film: Film;
  /** As it was asked for: `768P`. */
  readonly resolution: string;
  readonly promptCharacters: number;
  readonly images: number;
  readonly videoS: number;
  readonly audioS: number;
}

/** At speed 1, from create to its end some 50-120 s; the longer and the larger, the slower. */
const pace = {
  queueMs: { least: 2000, spread: 5000 },
  runMs: { least: 35_000, spread: 15_000, perOutputS: 3000 },
};
const resolutionFactor: Readonly<Record<string, number>> = { '480P': 0.8, '768P': 1, '2K': 1.6 };

/** The ratio of a picture whose size is not known: an input that was not fetched. */
const UNSEEN_RATIO = '16:9';

/** The text of a request. */
export const promptOf = ({ content }: GammaCreateBody): string =>
  content.map((item) => (item.type === 'text' ? item.text : '')).join('\n');

/** Decides everything about a task of family C. */
export function planTask(body: GammaCreateBody, input: GammaInput, world: World): SandboxTask<GammaPlan> {
  const createdAtMs = world.now();
  const id = makeTaskId('vc', createdAtMs);
  const { resolution = '768P', duration = 5 } = body;
  const prompt = promptOf(body);
  const failure = forcedFailure(world, 'or cancelled') ?? reviewFailure(prompt);
  const factor = resolutionFactor[resolution] ?? 1;
  const runMs =
    pace.runMs.least + (seededInt(id, 'run') % pace.runMs.spread) + pace.runMs.perOutputS * duration;
  const queueMs = pace.queueMs.least + (seededInt(id, 'queue') % pace.queueMs.spread);
  return {
    id,
    family: gammaFamily.name,
    model: body.model,
    ...taskTimes(createdAtMs, { queueMs, runMs: runMs * factor }, world),
    expiresAtMs: createdAtMs + gammaFamily.recordLifeMs,
    ...(failure && { failure }),
    plan: {
      film: {
        durationS: duration,
        ratio: ratioOf(body, input),
        resolution: resolution.toLowerCase(),
        format: 'mp4',
        audio: body.content.some((item) => item.type === 'audio_url'),
      },
      resolution,
      promptCharacters: prompt.length,
      images: input.images,
      videoS: input.videoS,
      audioS: input.audioS,
    },
  };
}

const reviewFailure = (prompt: string): TaskFailure | undefined =>
  prompt.includes(SENSITIVE_OUTPUT_WORD)
    ? {
        code: 'OutputVideoSensitiveContentDetected',
        message: 'The output video may contain sensitive content.',
      }
    : undefined;

/** Frames are followed whatever was asked for; references are where nothing else was. */
function ratioOf({ ratio = 'adaptive', content }: GammaCreateBody, { imageSize }: GammaInput): string {
  const follows = ratio === 'adaptive' || gammaScenario(content) === 'frames';
  if (follows && imageSize) return nearestRatio(imageSize.width, imageSize.height);
  return ratio === 'adaptive' ? UNSEEN_RATIO : ratio;
}
