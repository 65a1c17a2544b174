import { randomBytes } from 'node:crypto';
import type { AlphaCreateBody } from '../../gateway/alpha.ts';
import { AUTO_DURATION, alphaModels } from '../../gateway/alpha-models.ts';
import { nearestRatio } from '../clip.ts';
import { seededInt } from '../seeded.ts';
import type { Pool, SandboxTask, TaskOutputPlan } from '../task.ts';
import type { World } from '../world.ts';
import { lateFailure } from './late-failure.ts';
import { firstImageSize } from './references.ts';

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
export async function planTask(body: AlphaCreateBody, world: World): Promise<SandboxTask> {
  const createdAtMs = world.now();
  const id = makeId(createdAtMs);
  const output = await planOutput(body, id);
  const forced = world.faults.draw('task');
  const failure = forced?.fault.code
    ? {
        code: forced.fault.code,
        message: 'The task failed on request (sandbox fault).',
        when: 'end' as const,
      }
    : lateFailure(body);

  const { queueMs, runMs } = pace;
  const factor = resolutionFactor[output.resolution] ?? 1;
  const queue = queueMs.least + (seededInt(id, 'queue') % queueMs.spread);
  const fullRun =
    (runMs.least + (seededInt(id, 'run') % runMs.spread) + runMs.perOutputS * output.durationS) * factor;
  const run = failure?.when === 'early' ? fullRun / 4 : fullRun;
  const scale = Math.max(1 / world.speed, world.minTaskMs / (queue + run));
  return {
    id,
    family: 'alpha',
    model: body.model,
    pool: poolOf(body),
    createdAtMs,
    startsAtMs: createdAtMs + Math.round(queue * scale),
    endsAtMs: createdAtMs + Math.round((queue + run) * scale),
    ...(failure ? { failure: { code: failure.code, message: failure.message } } : {}),
    output,
    seed: seededInt(id, 'seed'),
    ...(body.tools ? { webSearches: 1 + (seededInt(id, 'search') % 3) } : {}),
  };
}

/** `vt-20261120212137-` and 80 random bits: the time makes lists readable. */
function makeId(nowMs: number): string {
  const time = new Date(nowMs).toISOString().replaceAll(/\D/g, '').slice(0, 14);
  return `vt-${time}-${randomBytes(10).toString('hex')}`;
}

async function planOutput(body: AlphaCreateBody, id: string): Promise<TaskOutputPlan> {
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
    lastFrame: body.return_last_frame ?? false,
  };
}
