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
    const { skippedLines: count } = ledger;
    const what = count === 1 ? '1 unreadable line' : `${count} unreadable lines`;
    ctx.io.warn(`${what} of the ledger ${count === 1 ? 'was' : 'were'} skipped`);
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

/** A job whose family this build knows. */
export type OwnJob = KnownJob & { readonly family: Family };

/** The jobs that this build knows what to do with, with one warning for each family that it does not know. */
export function withoutForeign(jobs: readonly KnownJob[], { io }: Context): OwnJob[] {
  const foreign = new Map<string, number>();
  const own: OwnJob[] = [];
  for (const { job, family } of jobs) {
    if (family === undefined) foreign.set(job.family, (foreign.get(job.family) ?? 0) + 1);
    else own.push({ job, family });
  }
  for (const [family, count] of foreign) {
    io.warn(
      `${count === 1 ? '1 job' : `${count} jobs`} of family ${family} left alone: this gw does not know it`,
    );
  }
  return own;
}

/** The IDs that more than one job has: two gateways may give out the same. */
export function sharedIds(jobs: readonly KnownJob[]): ReadonlySet<string> {
  const seen = new Set<string>();
  const shared = new Set<string>();
  for (const { job } of jobs) {
    if (job.id === undefined) continue;
    if (seen.has(job.id)) shared.add(job.id);
    seen.add(job.id);
  }
  return shared;
}
