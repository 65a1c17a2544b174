import type { Job } from '../ledger/event.ts';

// The gateway's clock, and this machine's, which may be years off it. What lives by the one is not compared with the other.

/**
 * The time at a job's gateway, Unix milliseconds, as this machine can tell: its own clock, and how far the gateway's was
 * from it when the job's last record came. Never before that record.
 */
export const gatewayNowMs = (job: Timed, nowMs: number): number =>
  job.serverDateMs === undefined ? nowMs : job.serverDateMs + nowMs - seenAtMs(job, nowMs);

type Timed = Pick<Job, 'serverDateMs' | 'finishedAtMs' | 'sentAtMs' | 'createdAtMs'>;

/** When a job's last record came, by this machine's clock, never ahead of it: a lost answer came about when it was sent. */
export const seenAtMs = ({ finishedAtMs, sentAtMs, createdAtMs }: Timed, nowMs: number): number =>
  notAhead(finishedAtMs ?? sentAtMs ?? createdAtMs, nowMs);

/** A time of this machine's that lies in the future was told by a clock that has been set back since: it counts as now. */
export const notAhead = (atMs: number, nowMs: number): number => Math.min(atMs, nowMs);
