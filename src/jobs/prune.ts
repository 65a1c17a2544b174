import type { Family } from '../gateway/task.ts';
import type { Job } from '../ledger/event.ts';
import { isUnsaved, linkExpiresAtMs, recordExpiresAtMs } from './job-view.ts';

/**
 * Whether the ledger may forget a job: nothing is left to wait for, to look up or to save. One that may exist without
 * an ID can be forgotten once the gateway would have; one of an unknown family cannot be judged.
 */
export function isSettled(job: Job, family: Family | undefined, nowMs: number): boolean {
  if (family === undefined) return false;
  switch (job.state) {
    case 'refused':
    case 'failed':
    case 'lost':
      return true;
    case 'unknown':
      return nowMs >= (job.sentAtMs ?? job.createdAtMs) + (family.recordLifeMs ?? 0);
    case 'succeeded':
      return Object.keys(job.parts).length === 0 && (!isUnsaved(job, family) || isGone(job, family, nowMs));
    default:
      return false;
  }
}

/** Whether neither the links that are known nor the record that could name new ones are there any more. */
function isGone(job: Job, family: Family, nowMs: number): boolean {
  const linkMs = linkExpiresAtMs(job, family) ?? 0;
  return nowMs >= Math.max(linkMs, recordExpiresAtMs(job, family) ?? linkMs);
}
