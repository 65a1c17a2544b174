import { mediumOf, promptOf } from '../../gateway/content.ts';
import type { GammaContentItem, GammaCreateBody } from '../../gateway/gamma/create.ts';
import { GAMMA_TOTAL_REFERENCE_S, gammaMedia } from '../../gateway/gamma/models.ts';
import { gammaScenario } from '../../gateway/gamma/rules.ts';
import { gammaFamily } from '../../gateway/gamma/task.ts';
import { base64Bytes, checkMedia, readImageSize } from '../media-check.ts';
import { type Film, filmFile, nearestRatio, videoFile } from '../movie.ts';
import type { OutputFile } from '../output-source.ts';
import { refuseField } from '../request-body.ts';
import type { World } from '../route.ts';
import { forcedFailure, makeTaskId, paceOf, reviewFailure, type SandboxTask, taskTimes } from '../task.ts';

/** The family-specific data of a gamma task. */
export interface GammaPlan {
  readonly film: Film;
  /** The requested resolution, such as `768P`. */
  readonly resolution: string;
  readonly promptCharacters: number;
  readonly images: number;
  readonly videoS: number;
  readonly audioS: number;
}

/** At speed 1 a task takes about 50-120 s from create to its end; longer and larger films take more. */
const pace = {
  queueMs: { least: 2000, spread: 5000 },
  runMs: { least: 35_000, spread: 15_000, perOutputS: 3000 },
  factors: { '480P': 0.8, '768P': 1, '2K': 1.6 },
};

/** The ratio for an input of unknown size, because URLs are not downloaded. */
const UNSEEN_RATIO = '16:9';

/** Plans a whole task of family C. */
export function planTask(body: GammaCreateBody, input: GammaInput, world: World): SandboxTask<GammaPlan> {
  const createdAtMs = world.now();
  const id = makeTaskId('vc', createdAtMs);
  const { resolution = '768P', duration = 5 } = body;
  const prompt = promptOf(body);
  const failure = forcedFailure(world, 'or cancelled') ?? reviewFailure(prompt);
  return {
    id,
    family: gammaFamily.name,
    model: body.model,
    ...taskTimes(createdAtMs, paceOf(id, pace, { durationS: duration, resolution }), world),
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
      ...input.counts,
    },
  };
}

/** First and last frames always decide the ratio; references do only if no other ratio is requested. */
function ratioOf({ ratio = 'adaptive', content }: GammaCreateBody, { imageSize }: GammaInput): string {
  const follows = ratio === 'adaptive' || gammaScenario(content) === 'frames';
  if (follows && imageSize) return nearestRatio(imageSize.width, imageSize.height);
  return ratio === 'adaptive' ? UNSEEN_RATIO : ratio;
}

/** The media of a request; the seconds count only Base64 media, because URLs are not downloaded. */
type GammaInput = Awaited<ReturnType<typeof readGammaInput>>;

/**
 * Checks and counts a request's media: Base64 media must be within the limits of their kind and the total of seconds
 * ("Family C endpoints", "Media limits"). Throws Refusal (400).
 */
export async function readGammaInput(content: readonly GammaContentItem[]) {
  const seconds = { image: 0, video: 0, audio: 0 };
  let images = 0;
  let imageSize: Awaited<ReturnType<typeof readImageSize>>;
  for (const [nth, item] of content.entries()) {
    const medium = mediumOf(item);
    if (!medium) continue;
    const { modality, url } = medium;
    if (modality === 'image') images++;
    const bytes = base64Bytes(url);
    if (!bytes) continue;
    const path = ['content', nth, item.type, 'url'];
    const { durationS = 0 } = await checkMedia(modality, bytes, gammaMedia[modality], (rule) =>
      refuseField(path, rule),
    );
    seconds[modality] += durationS;
    if (seconds[modality] > GAMMA_TOTAL_REFERENCE_S) {
      const sum = seconds[modality].toFixed(1);
      throw refuseField(
        path,
        `${sum} s of ${modality} in all, at most ${GAMMA_TOTAL_REFERENCE_S} s are taken`,
      );
    }
    if (modality === 'image' && images === 1) imageSize = await readImageSize(bytes);
  }
  return { counts: { images, videoS: seconds.video, audioS: seconds.audio }, imageSize };
}

/** The file of family C: a video. */
export const gammaFile = (
  task: SandboxTask<GammaPlan>,
  name: string,
  world: World,
): OutputFile | undefined =>
  name === videoFile(task.plan.film) ? filmFile(task.plan.film, task, world) : undefined;
