import type { Job } from '../ledger/event.ts';

// The gateway's clock and this machine's may differ by years. A time by one is never compared with a time by the other.

/**
 * The time at a job's gateway in Unix milliseconds, estimated from this machine's clock and its difference from the
 * gateway's when the job's last record came. Never before that record.
 */
export const gatewayNowMs = (job: Timed, nowMs: number): number =>
  job.serverDateMs === undefined ? nowMs : job.serverDateMs + nowMs - seenAtMs(job, nowMs);

type Timed = Pick<Job, 'serverDateMs' | 'finishedAtMs' | 'sentAtMs' | 'createdAtMs'>;

/** When a job's last record came (for a lost answer, when it was sent), by our clock, never in the future. */
export const seenAtMs = ({ finishedAtMs, sentAtMs, createdAtMs }: Timed, nowMs: number): number =>
  notAhead(finishedAtMs ?? sentAtMs ?? createdAtMs, nowMs);

/** A time in the future comes from a clock that has been set back since; it counts as now. */
export const notAhead = (atMs: number, nowMs: number): number => Math.min(atMs, nowMs);
