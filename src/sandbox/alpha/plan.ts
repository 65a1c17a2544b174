import type { AlphaContentItem, AlphaCreateBody } from '../../gateway/alpha/create.ts';
import { assetIdOf } from '../../gateway/alpha/create.ts';
import { AUTO_DURATION, alphaModels } from '../../gateway/alpha/models.ts';
import { ALPHA_MAX_DOWNLOADS, alphaFamily } from '../../gateway/alpha/task.ts';
import { mediumOf, promptOf } from '../../gateway/content.ts';
import { checkAsset, type KeptAsset } from '../asset/library.ts';
import { base64Bytes, checkMedia, readImageSize } from '../media-check.ts';
import { type Film, filmFile, makeLastFrame, nearestRatio, videoFile } from '../movie.ts';
import type { OutputFile } from '../output-source.ts';
import { refuseField } from '../request-body.ts';
import type { World } from '../route.ts';
import { seededInt } from '../seeded.ts';
import {
  forcedFailure,
  makeTaskId,
  type Pool,
  paceOf,
  reviewFailure,
  type SandboxTask,
  type TaskFailure,
  taskTimes,
} from '../task.ts';

/** The family-specific data of an alpha task. */
export interface AlphaPlan {
  readonly film: Film;
  readonly lastFrame: boolean;
  readonly seed: number;
  readonly webSearches?: number;
}

/** Defaults of omitted fields; the document states none, so these are the sandbox's choice. */
const defaults = { durationS: 5, resolution: '720p', ratio: '16:9', format: 'mp4' } as const;

/** At speed 1, a clip of 5 s at 720p takes 60-90 s from create to its end, like comparable services. */
const pace = {
  queueMs: { least: 3000, spread: 6000 },
  runMs: { least: 40_000, spread: 10_000, perOutputS: 4000 },
  factors: { '480p': 0.8, '720p': 1, '1080p': 1.5, '4k': 3 },
};

/** The limits that a create request counts against; the body is not checked yet. */
export function poolOf(body: unknown): Pool {
  const { model, resolution } = (body ?? {}) as { model?: unknown; resolution?: unknown };
  const takes4k = alphaModels[String(model)]?.resolutions.some((one) => one === '4k');
  return takes4k && resolution === '4k' ? '4k' : 'standard';
}

/** Plans a whole task: its ID, its outputs, when it starts and ends, and whether it fails. */
export async function planTask(body: AlphaCreateBody, world: World): Promise<SandboxTask<AlphaPlan>> {
  const createdAtMs = world.now();
  const id = makeTaskId('vt', createdAtMs);
  const film = await planFilm(body, id);
  const prompt = promptOf(body);
  const forced = forcedFailure(world, 'failed');
  const constraint = forced ? undefined : constraintFailure(body, prompt);
  const failure = forced ?? constraint ?? reviewFailure(prompt);
  const { queueMs, runMs } = paceOf(id, pace, film);
  return {
    id,
    family: alphaFamily.name,
    model: body.model,
    pool: poolOf(body),
    ...taskTimes(createdAtMs, { queueMs, runMs: constraint ? runMs / 4 : runMs }, world),
    expiresAtMs: createdAtMs + alphaFamily.recordLifeMs,
    ...(failure && { failure }),
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
    // The service would follow the edited video or the prompt; the sandbox picks 4-12 s.
    durationS: duration === AUTO_DURATION ? least + (seededInt(id, 'duration') % 9) : duration,
    ratio: ratio !== 'adaptive' ? ratio : image ? nearestRatio(image.width, image.height) : defaults.ratio,
    resolution: body.resolution ?? defaults.resolution,
    format: body.output_format ?? defaults.format,
    audio: body.generate_audio ?? false,
  };
}

/** On 2.5 the task type is inferred, and its constraints are checked after the start ("2.5 task constraints"). */
function constraintFailure(body: AlphaCreateBody, prompt: string): TaskFailure | undefined {
  const { ratio, duration, omni_reference_task_type: task = 'auto' } = body;
  const hasVideo = body.content.some((item) => item.type === 'video_url');
  if (alphaModels[body.model]?.version !== '2.5' || task !== 'auto' || !hasVideo) return undefined;
  const edits = /\b(edit|replac(e|ing))/i.test(prompt);
  if (!edits && !/\bexten(d|sion)/i.test(prompt)) return undefined;
  const named = edits ? 'video editing' : 'video extension';
  const required =
    ratio !== 'adaptive' ? 'ratio adaptive' : edits && duration !== AUTO_DURATION && 'duration -1';
  if (!required) return undefined;
  const message = `The task was taken as ${named}, which requires ${required}.`;
  return { code: 'InvalidParameter.TaskTypeConstraint', message };
}

/**
 * Checks the references of a request: assets must be usable, and Base64 media must be within the model's limits ("Asset
 * limits per request"; none are stated for 2.0). URLs are not downloaded. Throws Refusal.
 * @returns the assets that it uses
 */
export async function checkReferences(body: AlphaCreateBody, world: World): Promise<KeptAsset[]> {
  const model = alphaModels[body.model];
  const assets: KeptAsset[] = [];
  let audioS = 0;
  for (const [nth, item] of body.content.entries()) {
    const medium = mediumOf(item);
    if (medium === undefined) continue;
    const { url, modality } = medium;
    const refuse = (rule: string) => refuseField(['content', nth, item.type, 'url'], rule);
    const assetId = assetIdOf(url);
    if (assetId !== undefined) {
      assets.push(checkAsset(assetId, item.type, world, assets, refuse));
      continue;
    }
    const bytes = base64Bytes(url);
    const limits = model?.media[modality];
    if (!bytes || !limits) continue;
    const { durationS = 0 } = await checkMedia(modality, bytes, limits, refuse);
    audioS += durationS;
    const mostS = model?.totalReferenceS ?? Number.POSITIVE_INFINITY;
    if (audioS > mostS)
      throw refuseField(
        ['content'],
        `${audioS.toFixed(1)} s of audio, at most ${mostS} s in total are taken`,
      );
  }
  return assets;
}

/** The size of a request's first image, if it came as readable Base64. */
async function firstImageSize(content: readonly AlphaContentItem[]) {
  const first = content.find((item) => item.type === 'image_url');
  const bytes = base64Bytes((first && mediumOf(first)?.url) ?? '');
  return bytes && (await readImageSize(bytes));
}

export const lastFrameFile = 'last-frame.png';

/** The files of family A: each may be downloaded up to 100 times ("Retention"). */
export function alphaFile(task: SandboxTask<AlphaPlan>, name: string, world: World): OutputFile | undefined {
  const { film, lastFrame } = task.plan;
  const maxDownloads = ALPHA_MAX_DOWNLOADS;
  if (name === videoFile(film)) return { ...filmFile(film, task, world), maxDownloads };
  if (name !== lastFrameFile || !lastFrame) return undefined;
  return { type: 'image/png', maxDownloads, make: () => makeLastFrame(film) };
}
