import * as path from 'node:path';
import { type Context, gatewayName } from '../../context.ts';
import { sha256OfFile } from '../../disk/small-file.ts';
import { GwError, usage } from '../../errors.ts';
import { findFamily, findTaskFamily } from '../../gateway/families.ts';
import type { Family, TaskFamily } from '../../gateway/task.ts';
import { taskIdPattern } from '../../gateway/task-state.ts';
import { counted, durationText } from '../../io/quantity-text.ts';
import { diesSoonAtMs } from '../../jobs/job-view.ts';
import { planTarget } from '../../jobs/save/output-path.ts';
import type { SyncInput } from '../../jobs/watch/sync.ts';
import type { Job } from '../../ledger/event.ts';
import type { Wanted } from '../../ledger/ledger.ts';
import { jobsByName } from '../../ledger/named-jobs.ts';
import type { Followers } from '../video/followers.ts';
import { refuseNoIds } from '../video/task-ids.ts';

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

/** The least that an ID may be cut to. */
const SHORTEST_BEGINNING = 6;

/** What the `jobs` commands take for an ID. */
export const jobIdSummary = `the gateway's task ID or gw's own, ${SHORTEST_BEGINNING} or more characters it begins with, its --once or batch key, a file that it saved, or last`;

/** The IDs that a command takes: of any job, or with a family of its tasks. */
export const idArgs = (completes: 'task' | 'output', family?: string) => ({
  name: 'ID',
  required: true,
  many: true,
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
  const jobOf = await findJobs(ids, family !== undefined, ctx);
  const jobs = ids.flatMap((id) => jobOf(id) ?? []);
  const known = new Map((await withFamilies(jobs)).map((each) => [each.job, each]));
  const named = ids.map((id): NamedJob => {
    const job = jobOf(id);
    const own = job && known.get(job);
    // A damaged job may not tell its family; one of another family is not meant.
    const isMeant = family === undefined || own?.family === undefined || own.family.name === family.name;
    if (!own || !isMeant) return { id, known: undefined };
    return { id: own.job.id ?? id, known: family ? { ...own, family } : own };
  });
  return [...new Map(named.map((each) => [each.known?.job.key ?? each.id, each])).values()];
}

/**
 * The words of a command line as whole IDs: `last` is the newest job, of the family where one is given; a job is named by its
 * --once or batch key too (`day/boat`), by a file that it saved, and by 6 or more characters that only one job begins
 * with. What the ledger does not know stays as it is. Throws `usage` for what is no ID or begins several, and `not_found` for `last` where there is no job.
 */
async function fullIds(args: readonly string[], ctx: Context, family?: string): Promise<string[]> {
  const ledger = await ctx.ledger();
  const isKnown = jobsByName(await ledger.find({ ids: args.filter((arg) => taskIdPattern.test(arg)) }));
  const unknown = args.filter((arg) => arg !== 'last' && !isKnown(arg));
  const named = unknown.length === 0 ? new Map<string, string>() : await byOwnNames(unknown, ctx, family);
  refuseNoIds(unknown, named, family);
  const full: string[] = [];
  for (const word of args) {
    if (isKnown(word)) full.push(word);
    else if (word === 'last') full.push(nameOf(await newestJob(ctx, family)));
    else full.push(named.get(word) ?? (await ofBeginning(word, ctx, family)));
  }
  return [...new Set(full)];
}

/**
 * The job of each key that the user gave, or of a file: of those that fit best, the newest. A file is told by what it holds and
 * where it lies, else by what it holds; one that is gone, or was changed, by its path.
 */
async function byOwnNames(words: readonly string[], ctx: Context, family?: string) {
  const named = await Promise.all(
    words.map(async (word) => {
      const file = path.resolve(ctx.host.cwd, word);
      return { word, file, sha256: await sha256OfFile(file).catch(() => undefined) };
    }),
  );
  const fitOf = ({ once, files }: Job, { word, file, sha256 }: (typeof named)[number]): number =>
    once?.key === word
      ? 4
      : Math.max(0, ...files.map((each) => +(each.path === file) + 2 * +(each.sha256 === sha256)));
  const found = new Map<string, string>();
  const best = new Map<string, number>();
  const where = (job: Job) => named.some((each) => fitOf(job, each) > 0);
  for (const job of await (await ctx.ledger()).find({ family, where })) {
    if (!(await ctx.ownsJob(job))) continue;
    for (const each of named) {
      if (fitOf(job, each) <= (best.get(each.word) ?? 0)) continue;
      best.set(each.word, fitOf(job, each));
      found.set(each.word, nameOf(job));
    }
  }
  return found;
}

const nameOf = ({ id, key }: Job): string => id ?? key;

async function newestJob(ctx: Context, family: string | undefined): Promise<Job> {
  for (const job of await (await ctx.ledger()).find({ family, ...(!namesGateway(ctx) && { limit: 1 }) }))
    if (await ctx.ownsJob(job)) return job;
  const what = family === undefined ? 'no job' : `no ${family} job`;
  throw new GwError('not_found', `last: there is ${what} in the ledger`, {
    hint: 'gw jobs list shows the jobs this user created',
  });
}

async function ofBeginning(word: string, ctx: Context, family: string | undefined): Promise<string> {
  if (word.length < SHORTEST_BEGINNING) return word;
  const ledger = await ctx.ledger();
  const ids = await ledger.names((names) =>
    [...names].filter(({ key, id }) => key.startsWith(word) || id?.startsWith(word)).map(({ key }) => key),
  );
  const jobs: Job[] = [];
  for (const job of await ledger.find({ ids, family })) if (await ctx.ownsJob(job)) jobs.push(job);
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

async function findJobs(ids: readonly string[], isHere: boolean, ctx: Context) {
  const jobs: Job[] = [];
  for (const job of await (await ctx.ledger()).find({ ids }))
    if (isHere || (await ctx.ownsJob(job))) jobs.push(job);
  const here = jobsByName(jobs, gatewayName(await ctx.settings()));
  const anywhere = isHere ? () => undefined : jobsByName(jobs);
  return (id: string): Job | undefined => here(id) ?? anywhere(id);
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

export function notInLedger(id: string, { globals: { profile, baseUrl } }: Context): GwError {
  const of = profile ? ` of profile ${profile}` : baseUrl ? ` of ${baseUrl}` : '';
  return new GwError('not_found', `no job ${id}${of} in the ledger`, {
    taskId: id,
    hint: 'gw jobs list shows the jobs this user created; gw video FAMILY wait ID takes in a task made elsewhere',
  });
}
