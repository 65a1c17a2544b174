import { defineCommand } from '../../command.ts';
import { resolveSettings } from '../../config/settings.ts';
import type { Context } from '../../context.ts';
import { usage } from '../../errors.ts';
import { on, parsed } from '../../flags/flag.ts';
import { parseMoment } from '../../flags/moment.ts';
import type { Family } from '../../gateway/task.ts';
import { quietly } from '../../host.ts';
import { counted } from '../../io/quantity-text.ts';
import { canBeLookedUp, idToConfirm } from '../../jobs/create/standing.ts';
import { rescuedFiles } from '../../jobs/image/sync-image-job.ts';
import { type JobView, jobView, linkExpiresAtMs, recordExpiresAtMs } from '../../jobs/job-view.ts';
import { outputsBySize } from '../../jobs/save/saved.ts';
import type { Job } from '../../ledger/event.ts';
import type { Ledger } from '../../ledger/ledger.ts';
import { lacksOutputs } from '../../ledger/settled.ts';
import { askFirst, canAsk } from '../ask-first.ts';
import { type KnownJob, readOwnJobs } from './find-jobs.ts';
import { jobTable } from './job-table.ts';

const flags = {
  before: parsed('SPAN|DATE', 'jobs created longer ago than … (30d), or before a date', parseMoment),
  yes: on('do not ask'),
} as const;

/** `gw jobs prune` removes old jobs that need no more work from the ledger; the saved files stay. */
export const prune = defineCommand<typeof flags, JobView[]>({
  flags,
  examples: [
    'gw jobs prune --before 30d --dry-run',
    'gw jobs prune --before 2026-01-01 --yes',
    'gw jobs prune --before 90d --yes -q',
  ],
  notes: [
    'Removes what is finished and saved, and what failed, was refused or is lost; never a job that still runs or is not ' +
      'saved while its links or its record live. A job made with --once stays, because its key holds for good, and so does one ' +
      'that a budget still counts. Saved files stay where they are. With --dry-run nothing is removed.',
    'Prints the jobs that were removed. --profile, --base-url and --sandbox limit it to the jobs of that gateway. Other gw ' +
      'processes may go on at the same time.',
  ],
  // The value 'query' enables --dry-run; no request is sent, so --curl has nothing to print.
  sends: 'query',
  async run({ flags, globals }, ctx) {
    if (globals.curl)
      throw usage('--curl: gw jobs prune sends no request that could be shown', 'leave it out');
    if (flags.before === undefined)
      throw usage('--before is missing', 'say how old jobs must be: --before 30d, or before which date');
    const nowMs = ctx.clock.now();
    const beforeMs = flags.before(nowMs);
    const all = await readOwnJobs({}, ctx);
    const old = all.filter(({ job }) => job.createdAtMs < beforeMs);
    const jobs = all.map(({ job }) => job);
    const clocks = pruneClocks(jobs, nowMs);
    const isCounted = await countedByBudget(nowMs, ctx);
    const settled = old.filter(({ job, family }) => isSettled(job, family, clocks) && !isCounted(job));
    const kept = old.length - settled.length;
    if (kept > 0)
      ctx.io.note(
        `${counted(kept, 'job as old as that is', 'jobs as old as that are')} kept: not finished, not saved, made with --once, or counted by a budget`,
      );
    if (globals.dryRun) return { value: viewsOf(settled) };
    if (settled.length > 0 && !flags.yes) await ask(settled.length, ctx);
    const removed = await removeSettled(settled, clocks, await ctx.ledger());
    const free = settled.filter(({ job }) => removed.has(job.key));
    ctx.io.note(`${counted(free.length, 'job')} removed from the ledger`);
    return { value: viewsOf(free) };
  },
  human: (views, ctx) => jobTable(views, ctx),
});

const viewsOf = (jobs: readonly KnownJob[]): JobView[] => jobs.map(({ job, family }) => jobView(job, family));

async function ask(count: number, ctx: Context): Promise<void> {
  if (!canAsk(ctx))
    throw usage(
      `gw jobs prune would remove ${counted(count, 'job')} from the ledger and cannot ask here`,
      'give --yes to remove them, or --dry-run to see them',
    );
  await askFirst(`Remove ${counted(count, 'job')} from the ledger?`, ctx, 'nothing was removed');
}

/** Builds a test for jobs that count against the current budget period: without them the budget could be spent twice. */
async function countedByBudget(nowMs: number, { host }: Context): Promise<(job: Job) => boolean> {
  const { counts, spanOf } = await import('../../jobs/create/budget.ts');
  const starts = new Map<string, number>();
  const startOf = (profile: string): number => {
    const { budget } = resolveSettings({ flags: { profile, storedOnly: true, profileMayBeNew: true }, host });
    const limits = [budget.jobs.value, budget.amount.value].filter((limit) => limit !== undefined);
    return Math.min(...limits.map(({ period }) => spanOf(period, nowMs).startMs));
  };
  return (job) => {
    const { profile, createdAtMs } = job;
    // A profile name that is damaged in the ledger has no settings, so no budget counts the job.
    const start = starts.get(profile) ?? quietly(() => startOf(profile)) ?? Number.POSITIVE_INFINITY;
    starts.set(profile, start);
    return counts(job) && createdAtMs >= start;
  };
}

/** An unanswered create may turn up later than the longest documented life of a record (30 days). */
const UNKNOWN_LIFE_MS = 30 * 24 * 3_600_000;

/** Two clocks, Unix milliseconds. */
interface PruneClocks {
  /** This machine's clock, which may be wrong by years. */
  readonly nowMs: number;
  /** The latest time that the gateway's own clock has shown; undefined if the ledger has none. */
  serverSeenMs(gateway: string): number | undefined;
}

/** Collects the clocks that decide what may be forgotten: links expire by the gateway's clock. */
export function pruneClocks(jobs: readonly Job[], nowMs: number): PruneClocks {
  const seen = new Map<string, number>();
  for (const { gateway, serverDateMs } of jobs) {
    if (serverDateMs !== undefined)
      seen.set(gateway, Math.max(serverDateMs, seen.get(gateway) ?? serverDateMs));
  }
  return { nowMs, serverSeenMs: (gateway) => seen.get(gateway) };
}

/**
 * True if the ledger may forget the job: nothing is left to wait for, look up or save, even if its create said
 * --no-download. A job of unknown outcome is settled once both clocks say that the gateway has dropped its record. A
 * job of an unknown family is never settled.
 */
export function isSettled(job: Job, family: Family | undefined, clocks: PruneClocks): boolean {
  if (family === undefined) return false;
  // A --once key stays valid forever. A sync still moves part files and rescued outputs to their places.
  if (job.once !== undefined || Object.keys(job.parts).length > 0 || rescuedFiles(job).length > 0)
    return false;
  switch (job.state) {
    case 'not_sent':
    case 'refused':
    case 'failed':
    case 'lost':
      return true;
    case 'unknown': {
      // If the clock was behind at creation, the age below is wrong; a sync may still look for this job.
      if (canBeLookedUp(job, family, clocks.nowMs) || idToConfirm(job) !== undefined) return false;
      const lifeMs = Math.max(UNKNOWN_LIFE_MS, family.recordLifeMs ?? 0);
      const seenMs = clocks.serverSeenMs(job.gateway) ?? Number.NEGATIVE_INFINITY;
      return Math.min(clocks.nowMs, seenMs) >= (job.sentAtMs ?? job.createdAtMs) + lifeMs;
    }
    case 'succeeded':
      return isSaved(job, family) || isGone(job, family, clocks);
    default:
      return false;
  }
}

const isSaved = (job: Job, family: Family): boolean =>
  !lacksOutputs(job, family) && outputsBySize(job, family).missing.length === 0;

/**
 * True if the known links have expired, and so has the record that could give new ones, by the gateway's clock as
 * last seen.
 */
function isGone(job: Job, family: Family, clocks: PruneClocks): boolean {
  const serverMs = clocks.serverSeenMs(job.gateway) ?? Number.NEGATIVE_INFINITY;
  // The record's expiry uses this machine's clock; the offset to the server's clock corrects it.
  const aheadMs = (job.serverDateMs ?? 0) - (job.finishedAtMs ?? job.serverDateMs ?? 0);
  const recordMs = recordExpiresAtMs(job, family);
  const ends = [linkExpiresAtMs(job, family), recordMs === undefined ? undefined : recordMs + aheadMs];
  const known = ends.filter((end) => end !== undefined);
  // The gateway keeps no copy of an image that it sent as data.
  return known.length === 0 ? !lacksOutputs(job, family) : serverMs >= Math.max(...known);
}

/**
 * Removes jobs from the ledger. Each is locked and checked again first; a job that another process holds is skipped.
 * Returns the removed keys. If a disk stops it, some may be removed: the ledger throws GwError.
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
