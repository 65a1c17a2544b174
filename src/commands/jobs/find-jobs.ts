import { type Context, gatewayName } from '../../context.ts';
import { GwError, usage } from '../../errors.ts';
import { findFamily, findTaskFamily } from '../../gateway/families.ts';
import type { Family, TaskFamily } from '../../gateway/task.ts';
import { counted, durationText } from '../../io/quantity-text.ts';
import { diesSoonAtMs } from '../../jobs/job-view.ts';
import { planTarget } from '../../jobs/save/output-path.ts';
import type { SyncInput } from '../../jobs/watch/sync.ts';
import type { Job } from '../../ledger/event.ts';
import { jobsByName, type UnreadableLine, type Wanted } from '../../ledger/ledger.ts';
import type { Followers } from '../video/followers.ts';
import { taskIds } from '../video/task-ids.ts';

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
    io.warn(`${counted(count, 'job')} of family ${family} left alone: this gw does not know it`);
  }
  return own;
}

/** It may have been paid for: said also under -q, with the way to bring it home. */
function warnOfNoFamily({ id, key }: Job, io: Context['io']): void {
  const next = id === undefined ? `gw jobs show ${key}` : `gw video FAMILY wait ${id}`;
  const what = `${id ?? key}: the line that tells its family is damaged`;
  io.warn(`${what}; bring it home with: ${next} (alpha, beta or gamma)`, 'urgent');
}

/** Jobs whose links or records are about to die: how many, and in what time the first; undefined where there is none. */
export function dyingSoon(
  jobs: readonly KnownJob[],
  nowMs: number,
): { readonly count: number; readonly first: string } | undefined {
  const ends = jobs.flatMap(({ job, family }) => (family && diesSoonAtMs(job, family, nowMs)) ?? []);
  if (ends.length === 0) return undefined;
  return { count: ends.length, first: durationText(ends.reduce((least, at) => Math.min(least, at)) - nowMs) };
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

/** The least that an ID may be cut to. */
const SHORTEST_BEGINNING = 6;

/** What the `jobs` commands take for an ID. */
export const jobIdSummary = `the gateway's task ID or gw's own, ${SHORTEST_BEGINNING} or more characters it begins with, or last`;

/** The IDs that a command takes: of any job, or with a family of its tasks. */
export const idArgs = (completes: 'task' | 'output', family?: string) => ({
  ...{ name: 'ID', required: true, many: true },
  summary: family
    ? `task ID, ${SHORTEST_BEGINNING} or more characters it begins with, or last`
    : jobIdSummary,
  completes: family ? (`${completes}:${family}` as const) : completes,
});

/** A job that a command line names; one that the ledger does not know has an ID alone. */
export interface NamedJob {
  readonly id: string;
  readonly known: KnownJob | undefined;
}

/**
 * The jobs of a command line, by the gateway's IDs or gw's own. Where several gateways gave out the same ID, the job of the
 * one in force is meant; with a profile or gateway named by flags, no other one is. With a family, its tasks at the gateway
 * in force are meant. Throws `usage` for what is no ID.
 */
export async function namedJobs(
  args: readonly string[],
  ctx: Context,
  family?: TaskFamily,
): Promise<NamedJob[]> {
  const ids = await fullIds(args, ctx, family?.name);
  const found = await findJobs(ids, family !== undefined, ctx);
  const known = new Map((await withFamilies([...found.values()])).map((each) => [each.job, each]));
  return ids.map((id) => {
    const job = found.get(id);
    const own = job && known.get(job);
    if (!family || !own) return { id, known: own };
    // A damaged job may not tell its family; one of another family is not meant.
    const isMeant = own.family === undefined || own.family.name === family.name;
    return { id, known: isMeant ? { ...own, family } : undefined };
  });
}

/**
 * The words of a command line as whole IDs: `last` is the newest job, of the family where one is given, and 6 or more
 * characters that only one job begins with stand for it. What the ledger does not know stays as it is. Throws `usage` for
 * what is no ID or begins several, and `not_found` for `last` where there is no job.
 */
export async function fullIds(args: readonly string[], ctx: Context, family?: string): Promise<string[]> {
  const words = taskIds(args);
  const isKnown = jobsByName(await findAndWarn({ ids: words }, ctx));
  const full: string[] = [];
  for (const word of words) {
    if (isKnown(word)) full.push(word);
    else if (word === 'last') full.push(nameOf(await newestJob(ctx, family)));
    else full.push(await ofBeginning(word, ctx, family));
  }
  return [...new Set(full)];
}

const nameOf = ({ id, key }: Job): string => id ?? key;

async function newestJob(ctx: Context, family: string | undefined): Promise<Job> {
  for (const job of await findAndWarn({ family, ...(!namesGateway(ctx) && { limit: 1 }) }, ctx)) {
    if (await ctx.ownsJob(job)) return job;
  }
  const what = family === undefined ? 'no job' : `no ${family} job`;
  throw new GwError('not_found', `last: there is ${what} in the ledger`, {
    hint: 'gw jobs list shows the jobs this user created',
  });
}

async function ofBeginning(word: string, ctx: Context, family: string | undefined): Promise<string> {
  if (word.length < SHORTEST_BEGINNING) return word;
  const jobs: Job[] = [];
  for (const job of await findAndWarn({ beginning: word, family }, ctx)) {
    if (await ctx.ownsJob(job)) jobs.push(job);
  }
  const [only, ...more] = jobs;
  if (only === undefined) return word;
  if (more.length === 0) return nameOf(only);
  const names = jobs.slice(0, MOST_LISTED).map((job) => (job.id?.startsWith(word) ? job.id : job.key));
  const rest = jobs.length > MOST_LISTED ? ` and ${jobs.length - MOST_LISTED} more` : '';
  throw usage(
    `${word}: ${jobs.length} jobs begin like that: ${names.join(', ')}${rest}`,
    'give more of the ID of the one that is meant',
  );
}

const MOST_LISTED = 10;

async function findJobs(ids: readonly string[], isHere: boolean, ctx: Context): Promise<Map<string, Job>> {
  const jobs: Job[] = [];
  for (const job of await findAndWarn({ ids }, ctx)) if (isHere || (await ctx.ownsJob(job))) jobs.push(job);
  const here = jobsByName(jobs, gatewayName(await ctx.settings()));
  const anywhere = isHere ? () => undefined : jobsByName(jobs);
  const found = new Map<string, Job>();
  for (const id of ids) {
    const job = here(id) ?? anywhere(id);
    if (job) found.set(id, job);
  }
  return found;
}

/** The one job of a command line. Throws `not_found` where the ledger does not know it. */
export async function knownJob(
  args: readonly string[],
  ctx: Context,
): Promise<KnownJob & { readonly id: string }> {
  const [named] = await namedJobs(args, ctx);
  if (!named?.known) throw notInLedger(args[0] ?? '', ctx);
  return { ...named.known, id: named.id };
}

/** The error of an ID that the ledger does not know. */
export function notInLedger(id: string, { globals: { profile, baseUrl } }: Context): GwError {
  const of = profile ? ` of profile ${profile}` : baseUrl ? ` of ${baseUrl}` : '';
  return new GwError('not_found', `no job ${id}${of} in the ledger`, {
    taskId: id,
    hint: 'gw jobs list shows the jobs this user created; gw video FAMILY wait ID takes in a task made elsewhere',
  });
}
