import type { Job } from './event.ts';

/** Only this many of the newest matching jobs count, because a service's speed changes. */
const recentJobs = 15;
/** A job whose end was seen later than this after its start was probably not being watched. */
const longestBelievableMs = 6 * 3_600_000;

/**
 * Estimates how long a job takes, in milliseconds: the median from accepted to finished over the newest succeeded jobs
 * of the same gateway, model, resolution and duration, or else of the same model; undefined if there is none. `jobs`
 * are newest first.
 */
export function estimateMs(
  jobs: readonly Job[],
  like: Pick<Job, 'gateway' | 'family' | 'model' | 'settings'>,
): number | undefined {
  const { gateway, family, model, settings } = like;
  const succeeded = jobs.filter(({ state }) => state === 'succeeded');
  const sameModel = succeeded.filter(
    (job) => job.gateway === gateway && job.family === family && job.model === model,
  );
  const sameShape = sameModel.filter(
    (job) => job.settings.resolution === settings.resolution && job.settings.duration === settings.duration,
  );
  return medianMs(sameShape) ?? medianMs(sameModel);
}

function medianMs(jobs: readonly Job[]): number | undefined {
  const times = jobs
    .map((job) => (job.finishedAtMs ?? Number.NaN) - (job.acceptedAtMs ?? Number.NaN))
    .filter((time) => time > 0 && time <= longestBelievableMs)
    .slice(0, recentJobs)
    .sort((left, right) => left - right);
  const middle = times.length >> 1;
  const upper = times[middle];
  if (upper === undefined) return undefined;
  return times.length % 2 === 1 ? upper : (upper + (times[middle - 1] ?? upper)) / 2;
}
