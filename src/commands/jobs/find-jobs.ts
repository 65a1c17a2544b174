import { type Context, gatewayName } from '../../context.ts';
import { findFamily, findTaskFamily } from '../../gateway/families.ts';
import type { Family } from '../../gateway/task.ts';
import { counted, durationText } from '../../io/quantity-text.ts';
import { diesSoonAtMs } from '../../jobs/job-view.ts';
import { planTarget } from '../../jobs/save/output-path.ts';
import type { SyncInput } from '../../jobs/watch/sync.ts';
import type { Job } from '../../ledger/event.ts';
import type { Wanted } from '../../ledger/ledger.ts';
import type { Followers } from '../video/followers.ts';

/** A job of the ledger, and its family where this build knows it. */
export interface KnownJob {
  readonly job: Job;
  readonly family: Family | undefined;
}

/** The wanted jobs of the ledger, newest first, each with its family: only the one that is looked at is in memory. */
export async function* eachJob(wanted: Wanted, ctx: Context): AsyncGenerator<KnownJob> {
  const families = new Map<string, Family | undefined>();
  for await (const found of (await ctx.ledger()).each(wanted)) {
    const job = found.isDamaged ? await completed(found, ctx) : found;
    if (!families.has(job.family)) families.set(job.family, await findFamily(job.family));
    yield { job, family: families.get(job.family) };
  }
}

export const readJobs = (wanted: Wanted, ctx: Context): Promise<KnownJob[]> => all(eachJob(wanted, ctx));

async function all<T>(values: AsyncIterable<T>): Promise<T[]> {
  const list: T[] = [];
  for await (const value of values) list.push(value);
  return list;
}

/** Whether the flags name a profile or gateway, whose jobs alone are meant then. */
export const namesGateway = ({ globals: { profile, baseUrl, sandbox } }: Context): boolean =>
  profile !== undefined || baseUrl !== undefined || sandbox === true;

/** As `eachJob`, of the profile or gateway that the flags name; of all where they name none. */
export async function* eachOwnJob({ limit, ...wanted }: Wanted, ctx: Context): AsyncGenerator<KnownJob> {
  let count = 0;
  for await (const known of eachJob(wanted, ctx)) {
    if (namesGateway(ctx) && !(await ctx.ownsJob(known.job))) continue;
    yield known;
    count += 1;
    if (count === limit) return;
  }
}

export const readOwnJobs = (wanted: Wanted, ctx: Context): Promise<KnownJob[]> =>
  all(eachOwnJob(wanted, ctx));

/** A job whose intent is damaged, with the gateway in force and the default place where its own cannot be told. */
async function completed(job: Job, ctx: Context): Promise<Job> {
  const settings = await ctx.settings();
  const { target } = job.save;
  return {
    ...job,
    gateway: job.gateway || gatewayName(settings),
    profile: job.profile || settings.profile.value,
    save: { ...job.save, target: target || planTarget(settings.out.value, ctx.host.cwd) },
  };
}

export async function withFamilies(jobs: readonly Job[]): Promise<KnownJob[]> {
  const names = [...new Set(jobs.map((job) => job.family))];
  const families = new Map(
    await Promise.all(names.map(async (name) => [name, await findFamily(name)] as const)),
  );
  return jobs.map((job) => ({ job, family: families.get(job.family) }));
}

export type OwnJob = KnownJob & { readonly family: Family };

/**
 * The jobs that this build knows what to do with, with one warning for each family that it does not know, and for each
 * damaged job that does not tell its own.
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

/** It may have been paid for: said also under -q, with the way to bring it home. */
function warnOfNoFamily({ id, key }: Job, io: Context['io']): void {
  const next = id === undefined ? `gw jobs show ${key}` : `gw video FAMILY wait ${id}`;
  const what = `${id ?? key}: the line that tells its family is damaged`;
  io.warn(`${what}; bring it home with: ${next} (alpha, beta or gamma)`, 'urgent');
}

/** Jobs whose links or records are about to die: how many, and in what time the first; undefined where there is none. */
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
 * A job with what bringing it further needs; undefined for a family that this build does not know. Throws GwError `auth`
 * where a request of the API is needed and its gateway cannot be reached from here.
 */
export async function syncInput(
  { job, family }: KnownJob,
  followers: Followers,
  ctx: Context,
): Promise<SyncInput | undefined> {
  if (family === undefined) return undefined;
  const taskFamily = await findTaskFamily(family.name);
  // An image comes with the reply or by a link of its own, and what was never sent has nobody to be asked of.
  if (taskFamily === undefined || job.state === 'intent')
    return { job, family, deps: await followers.jobDeps(await ctx.gatewayWithoutKey(job)) };
  const access = await ctx.gatewayOf(job);
  const deps = await followers.jobDeps(access);
  const looker = await followers.looker(taskFamily, access);
  return { job, family, deps, looks: { family: taskFamily, looker, pool: await followers.poolOf(job) } };
}
