import type { Context } from '../../context.ts';
import { usage } from '../../errors.ts';
import { familyNames, findFamily } from '../../gateway/families.ts';
import type { Family } from '../../gateway/task.ts';
import type { Job } from '../../ledger/event.ts';

/** A job of the ledger, and its family where this build knows it. */
export interface KnownJob {
  readonly job: Job;
  readonly family: Family | undefined;
}

/** The jobs of the ledger, newest first, with a warning where some of it could not be read. */
export async function readJobs(
  filter: { readonly sinceMs?: number | undefined; readonly family?: string | undefined },
  ctx: Context,
): Promise<KnownJob[]> {
  if (filter.family !== undefined && !familyNames.includes(filter.family)) {
    throw usage(`--family ${filter.family}: one of ${familyNames.join(', ')}`);
  }
  const ledger = await ctx.ledger();
  const jobs = await ledger.list(filter);
  if (ledger.skippedLines > 0) {
    ctx.io.warn(`${ledger.skippedLines} unreadable lines of the ledger were skipped`);
  }
  return withFamilies(jobs);
}

/** Each job with its family; each family is loaded once. */
export async function withFamilies(jobs: readonly Job[]): Promise<KnownJob[]> {
  const names = [...new Set(jobs.map((job) => job.family))];
  const families = new Map(
    await Promise.all(names.map(async (name) => [name, await findFamily(name)] as const)),
  );
  return jobs.map((job) => ({ job, family: families.get(job.family) }));
}
