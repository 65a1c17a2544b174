import type { Family } from '../gateway/task.ts';
import type { Job } from '../ledger/event.ts';
import type { Ledger } from '../ledger/ledger.ts';
import { lacksOutputs } from '../ledger/settled.ts';
import { linkExpiresAtMs, recordExpiresAtMs } from './job-view.ts';

/** A create that was never answered may come to light later than any record that is documented to live (30 days). */
const UNKNOWN_LIFE_MS = 30 * 24 * 3_600_000;

/** Two clocks, Unix milliseconds. */
export interface PruneClocks {
  /** This machine's, which may be wrong by years. */
  readonly nowMs: number;
  /** The latest that a gateway's own clock has been seen to say; undefined where it was never seen. */
  serverSeenMs(gateway: string): number | undefined;
}

/** The clocks that tell what may be forgotten: links live by the gateway's clock, and the ledger has seen it. */
export function pruneClocks(jobs: readonly Job[], nowMs: number): PruneClocks {
  const seen = new Map<string, number>();
  for (const { gateway, serverDateMs } of jobs) {
    if (serverDateMs !== undefined)
      seen.set(gateway, Math.max(serverDateMs, seen.get(gateway) ?? serverDateMs));
  }
  return { nowMs, serverSeenMs: (gateway) => seen.get(gateway) };
}

/**
 * Whether the ledger may forget a job: nothing is left to wait for, to look up or to save, whatever was said about saving
 * when it was made. One that may exist without an ID can be forgotten once the gateway would have; one of an unknown
 * family cannot be judged.
 */
export function isSettled(job: Job, family: Family | undefined, clocks: PruneClocks): boolean {
  if (family === undefined) return false;
  // A key of --once holds for good.
  if (job.once !== undefined) return false;
  switch (job.state) {
    case 'not_sent':
    case 'refused':
    case 'failed':
    case 'lost':
      return true;
    case 'unknown': {
      const lifeMs = Math.max(UNKNOWN_LIFE_MS, family.recordLifeMs ?? 0);
      return clocks.nowMs >= (job.sentAtMs ?? job.createdAtMs) + lifeMs;
    }
    case 'succeeded':
      return (
        Object.keys(job.parts).length === 0 && (!lacksOutputs(job, family) || isGone(job, family, clocks))
      );
    default:
      return false;
  }
}

/**
 * Whether neither the links that are known nor the record that could name new ones are there any more, as far as the
 * gateway's clock has been seen to go on.
 */
function isGone(job: Job, family: Family, clocks: PruneClocks): boolean {
  const serverMs = clocks.serverSeenMs(job.gateway);
  if (serverMs === undefined) return false;
  // The record's life began by this machine's clock: carried over by what the two differed when the job was seen finished.
  const aheadMs = (job.serverDateMs ?? 0) - (job.finishedAtMs ?? job.serverDateMs ?? 0);
  const recordMs = recordExpiresAtMs(job, family);
  const ends = [linkExpiresAtMs(job, family), recordMs === undefined ? undefined : recordMs + aheadMs];
  const known = ends.filter((end) => end !== undefined);
  return known.length > 0 && serverMs >= Math.max(...known);
}

/**
 * Removes jobs from the ledger, each held and judged once more as it stands then: one that another process has is left for
 * the next time. Returns the keys of what was removed. Throws what the ledger throws; then nothing is lost.
 */
export async function removeSettled(
  jobs: readonly { readonly job: Job; readonly family: Family | undefined }[],
  clocks: PruneClocks,
  ledger: Ledger,
): Promise<ReadonlySet<string>> {
  const families = new Map(jobs.map(({ job, family }) => [job.key, family]));
  const holds = await ledger.holdMany(families.keys());
  try {
    const free = holds.filter(({ key, job }) => job && isSettled(job, families.get(key), clocks));
    const keys = new Set(free.map(({ key }) => key));
    await ledger.remove(keys);
    return keys;
  } finally {
    for (const hold of holds) hold.release();
  }
}
