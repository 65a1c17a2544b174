import { type Context, gatewayName } from '../../context.ts';
import { findFamily, findTaskFamily } from '../../gateway/families.ts';
import type { Family } from '../../gateway/task.ts';
import { planTarget } from '../../jobs/save/output-path.ts';
import type { SyncInput } from '../../jobs/watch/sync.ts';
import type { Job } from '../../ledger/event.ts';
import type { UnreadableLine, Wanted } from '../../ledger/ledger.ts';
import type { Followers } from '../video/followers.ts';

/** A job of the ledger, and its family where this build knows it. */
export interface KnownJob {
  readonly job: Job;
  readonly family: Family | undefined;
}

/** The jobs of the ledger that are wanted, newest first, each with its family. */
export async function readJobs(wanted: Wanted, ctx: Context): Promise<KnownJob[]> {
  const jobs = await findAndWarn(wanted, ctx);
  return withFamilies(await Promise.all(jobs.map((job) => (job.isDamaged ? completed(job, ctx) : job))));
}

/** Whether the flags name a profile or gateway, whose jobs alone are meant then. */
export const namesGateway = ({ globals: { profile, baseUrl, sandbox } }: Context): boolean =>
  profile !== undefined || baseUrl !== undefined || sandbox === true;

/** As `readJobs`, of the profile or gateway that the flags name; of all where they name none. */
export async function readOwnJobs({ limit, ...wanted }: Wanted, ctx: Context): Promise<KnownJob[]> {
  if (!namesGateway(ctx)) return readJobs({ ...wanted, limit }, ctx);
  const own: KnownJob[] = [];
  for (const known of await readJobs(wanted, ctx)) {
    if (own.length === limit) break;
    if (await ctx.ownsJob(known.job)) own.push(known);
  }
  return own;
}

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

/** How many unreadable lines are named. */
const NAMED_LINES = 5;

/** As the ledger's `find`, and says on stderr which of its lines cannot be read: each may be all that is known of a job. */
export async function findAndWarn(wanted: Wanted, ctx: Context): Promise<Job[]> {
  const ledger = await ctx.ledger();
  const jobs = await ledger.find(wanted);
  warnOfDamage(ledger.unreadable, ctx);
  return jobs;
}

/** Said once a run, however often it is looked. */
const warned = new WeakSet<Context>();

function warnOfDamage(unreadable: readonly UnreadableLine[], ctx: Context): void {
  if (unreadable.length === 0 || warned.has(ctx)) return;
  warned.add(ctx);
  for (const line of unreadable.slice(0, NAMED_LINES)) ctx.io.warn(damageText(line), 'urgent');
  const more = unreadable.length - NAMED_LINES;
  if (more > 0) ctx.io.warn(`${more} more lines of the ledger cannot be read: see gw doctor`, 'urgent');
}

const damageText = ({ path, line }: UnreadableLine): string =>
  `${path}:${line} cannot be read and was skipped; gw doctor says what to do`;

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
  for (const [family, count] of foreign) {
    io.warn(
      `${count === 1 ? '1 job' : `${count} jobs`} of family ${family} left alone: this gw does not know it`,
    );
  }
  return own;
}

/** It may have been paid for: said also under -q, with the way to bring it home. */
function warnOfNoFamily({ id, key }: Job, io: Context['io']): void {
  const next = id === undefined ? `gw jobs show ${key}` : `gw video FAMILY wait ${id}`;
  const what = `${id ?? key}: the line that tells its family is damaged`;
  io.warn(`${what}; bring it home with: ${next} (alpha, beta or gamma)`, 'urgent');
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
  if (taskFamily === undefined || job.state === 'intent') {
    return { job, family, deps: await followers.jobDeps(await ctx.gatewayWithoutKey(job)) };
  }
  const access = await ctx.gatewayOf(job);
  const deps = await followers.jobDeps(access);
  const looker = await followers.looker(taskFamily, access);
  return { job, family, deps, looks: { family: taskFamily, looker, pool: await followers.poolOf(job) } };
}
