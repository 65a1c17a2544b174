import type { Settings } from '../../config/settings.ts';
import { type Context, gatewayName } from '../../context.ts';
import { findFamily, findTaskFamily } from '../../gateway/families.ts';
import type { Family } from '../../gateway/task.ts';
import { counted, durationText } from '../../io/quantity-text.ts';
import type { Pricing } from '../../jobs/cost.ts';
import { diesSoonAtMs, nowOf } from '../../jobs/job-view.ts';
import { planTarget } from '../../jobs/save/output-path.ts';
import type { SyncInput } from '../../jobs/watch/sync.ts';
import type { Job } from '../../ledger/event.ts';
import type { Wanted } from '../../ledger/ledger.ts';
import type { Followers } from '../video/followers.ts';

/** A job of the ledger, with its family if this build knows it. */
export interface KnownJob {
  readonly job: Job;
  readonly family: Family | undefined;
}

/**
 * Yields the matching jobs of the ledger as they are now, newest first, each with its family; only one job is in memory
 * at a time. Only jobs of the profile or gateway that the flags name; all jobs if they name none, or without `onlyOwn`.
 */
export async function* eachJob(
  { limit, where = () => true, ...wanted }: Wanted,
  ctx: Context,
  onlyOwn = true,
): AsyncGenerator<KnownJob> {
  const families = new Map<string, Family | undefined>();
  const ledger = await ctx.ledger();
  let count = 0;
  // A job without an answer may match once it is read again.
  const mayMatch = (job: Job) => job.state === 'intent' || job.state === 'sent' || where(job);
  for await (const listed of ledger.each({ ...wanted, where: mayMatch })) {
    const job = await nowOf(listed, ledger);
    if (!where(job) || (onlyOwn && !(await ctx.ownsJob(job)))) continue;
    if (!families.has(job.family)) families.set(job.family, await findFamily(job.family));
    yield { job, family: families.get(job.family) };
    count += 1;
    if (count === limit) return;
  }
}

export async function readOwnJobs(wanted: Wanted, ctx: Context, onlyOwn = true): Promise<KnownJob[]> {
  const jobs: KnownJob[] = [];
  for await (const known of eachJob(wanted, ctx, onlyOwn)) jobs.push(known);
  return jobs;
}

export const readJobs = (wanted: Wanted, ctx: Context): Promise<KnownJob[]> =>
  readOwnJobs(wanted, ctx, false);

/** What jobs of the ledger cost. A price file with a fault must not hide a job: it is told, and no price file is used. */
export async function pastPricing(ctx: Context): Promise<Pricing> {
  const { Pricing } = await import('../../jobs/cost.ts');
  return ctx.pricing().catch((error: Error) => {
    ctx.io.warn(`${error.message}; costs by the price file are left out`);
    return new Pricing(undefined, ctx.ledger);
  });
}

/** Fills in a job whose intent is damaged: an unknown gateway becomes the current one, an unknown target the default. */
export const completed = (job: Job, inForce: Settings, cwd: string): Job => ({
  ...job,
  gateway: job.gateway || gatewayName(inForce),
  profile: job.profile || inForce.profile.value,
  save: { ...job.save, target: job.save.target || planTarget(inForce.out.value, cwd) },
});

export const withFamily = async (job: Job): Promise<KnownJob> => ({
  job,
  family: await findFamily(job.family),
});

export type OwnJob = KnownJob & { readonly family: Family };

/**
 * Returns the jobs whose family this build knows. It warns once for each unknown family, and once for each damaged
 * job whose family cannot be read.
 */
export function withoutForeign(jobs: readonly KnownJob[], { io }: Context): OwnJob[] {
  const foreign = new Map<string, number>();
  const own: OwnJob[] = [];
  for (const { job, family } of jobs) {
    if (family !== undefined) own.push({ job, family });
    else if (job.isDamaged) warnOfNoFamily(job, io);
    else foreign.set(job.family, (foreign.get(job.family) ?? 0) + 1);
  }
  for (const [family, count] of foreign)
    io.warn(`${counted(count, 'job')} of family ${family} left alone: this gw does not know it`);
  return own;
}

/** The warning is printed under -q too, with the command to fetch the job, because the job may have been paid for. */
function warnOfNoFamily({ id, key }: Job, io: Context['io']): void {
  const next = id === undefined ? `gw jobs show ${key}` : `gw video FAMILY wait ${id}`;
  const what = `${id ?? key}: the line that tells its family is damaged`;
  io.warn(`${what}; bring it home with: ${next} (alpha, beta or gamma)`, 'urgent');
}

/** Counts the jobs whose links or records expire soon, and says when the first does; undefined if there are none. */
export async function dyingSoon(
  jobs: Iterable<KnownJob> | AsyncIterable<KnownJob>,
  nowMs: number,
): Promise<{ readonly count: number; readonly first: string } | undefined> {
  let count = 0;
  let firstMs = Number.POSITIVE_INFINITY;
  for await (const { job, family } of jobs) {
    const endMs = family && diesSoonAtMs(job, family, nowMs);
    if (endMs === undefined) continue;
    count += 1;
    firstMs = Math.min(firstMs, endMs);
  }
  return count === 0 ? undefined : { count, first: durationText(firstMs - nowMs) };
}

/** The task IDs that more than one job of the ledger has: two gateways may give out the same. */
export async function sharedIds(ctx: Context): Promise<ReadonlySet<string>> {
  return (await ctx.ledger()).names((names) => {
    const seen = new Set<string>();
    const shared = new Set<string>();
    for (const { id } of names) if (id !== undefined) (seen.has(id) ? shared : seen).add(id);
    return shared;
  });
}

/**
 * Returns a job with everything a sync of it needs; undefined for a family that this build does not know. Throws
 * GwError `auth` if the sync has to call the API and the job's gateway cannot be reached from here.
 */
export async function syncInput(
  { job, family }: KnownJob,
  followers: Followers,
  ctx: Context,
): Promise<SyncInput | undefined> {
  if (family === undefined) return undefined;
  const taskFamily = await findTaskFamily(family.name);
  // No API key is needed: an image has its own link, and an unsent job has no task to ask for.
  if (taskFamily === undefined || job.state === 'intent')
    return { job, family, deps: await followers.jobDeps(await ctx.gatewayWithoutKey(job)) };
  const access = await ctx.gatewayOf(job);
  const deps = await followers.jobDeps(access);
  const looker = await followers.looker(taskFamily, access);
  return { job, family, deps, looks: { family: taskFamily, looker, pool: await followers.poolOf(job) } };
}
