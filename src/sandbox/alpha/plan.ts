import type { AlphaCreateBody } from '../../gateway/alpha/create.ts';
import { AUTO_DURATION, alphaModels } from '../../gateway/alpha/models.ts';
import { alphaFamily } from '../../gateway/alpha/task.ts';
import { nearestRatio } from '../clip.ts';
import type { Film } from '../film.ts';
import { seededInt } from '../seeded.ts';
import { forcedFailure, makeTaskId, type Pool, type SandboxTask, taskTimes } from '../task.ts';
import type { World } from '../world.ts';
import { lateFailure } from './late-failure.ts';
import { firstImageSize } from './references.ts';

/** What a task of family A keeps. */
export interface AlphaPlan {
  readonly film: Film;
  readonly lastFrame: boolean;
  readonly seed: number;
  /** Number of searches of a web search task. */
  readonly webSearches?: number;
}

/** What a field left out becomes; the document states no defaults, these are the sandbox's choice. */
const defaults = { durationS: 5, resolution: '720p', ratio: '16:9', format: 'mp4' } as const;

/** At speed 1 a clip of 5 s at 720p takes 60-90 s from create to its end, as services of this kind do. */
const pace = {
  queueMs: { least: 3000, spread: 6000 },
  runMs: { least: 40_000, spread: 10_000, perOutputS: 4000 },
};
const resolutionFactor: Readonly<Record<string, number>> = { '480p': 0.8, '720p': 1, '1080p': 1.5, '4k': 3 };

/** Which limits a create request counts against; the body may still be anything. */
export function poolOf(body: unknown): Pool {
  const { model, resolution } = (body ?? {}) as { model?: unknown; resolution?: unknown };
  const takes4k = alphaModels[String(model)]?.resolutions.some((one) => one === '4k');
  return takes4k && resolution === '4k' ? '4k' : 'standard';
}

/** Decides everything about a task: its ID, what it will offer, when it starts and ends, and whether it fails. */
export async function planTask(body: AlphaCreateBody, world: World): Promise<SandboxTask<AlphaPlan>> {
  const createdAtMs = world.now();
  const id = makeTaskId('vt', createdAtMs);
  const film = await planFilm(body, id);
  const forced = forcedFailure(world, 'failed');
  const failure = forced ? { ...forced, when: 'end' } : lateFailure(body);

  const { queueMs, runMs } = pace;
  const factor = resolutionFactor[film.resolution] ?? 1;
  const taskQueueMs = queueMs.least + (seededInt(id, 'queue') % queueMs.spread);
  const fullRunMs =
    (runMs.least + (seededInt(id, 'run') % runMs.spread) + runMs.perOutputS * film.durationS) * factor;
  const times = taskTimes(
    createdAtMs,
    { queueMs: taskQueueMs, runMs: failure?.when === 'early' ? fullRunMs / 4 : fullRunMs },
    world,
  );
  return {
    id,
    family: alphaFamily.name,
    model: body.model,
    pool: poolOf(body),
    ...times,
    expiresAtMs: createdAtMs + alphaFamily.recordLifeMs,
    ...(failure ? { failure: { code: failure.code, message: failure.message } } : {}),
    plan: {
      film,
      lastFrame: body.return_last_frame ?? false,
      seed: seededInt(id, 'seed'),
      ...(body.tools ? { webSearches: 1 + (seededInt(id, 'search') % 3) } : {}),
    },
  };
}

async function planFilm(body: AlphaCreateBody, id: string): Promise<Film> {
  const { duration = defaults.durationS, ratio = defaults.ratio } = body;
  const least = alphaModels[body.model]?.durationS.min ?? defaults.durationS;
  const image = ratio === 'adaptive' ? await firstImageSize(body.content) : undefined;
  return {
    // The service would follow the edited video or choose by the prompt; the sandbox has neither and takes 4-12 s.
    durationS: duration === AUTO_DURATION ? least + (seededInt(id, 'duration') % 9) : duration,
    ratio: ratio !== 'adaptive' ? ratio : image ? nearestRatio(image.width, image.height) : defaults.ratio,
    resolution: body.resolution ?? defaults.resolution,
    format: body.output_format ?? defaults.format,
    audio: body.generate_audio ?? false,
  };
}
