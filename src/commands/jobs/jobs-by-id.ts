import * as path from 'node:path';
import { type Context, gatewayName } from '../../context.ts';
import { sha256OfFile } from '../../disk/small-file.ts';
import { GwError, usage } from '../../errors.ts';
import { findFamily } from '../../gateway/families.ts';
import type { TaskFamily } from '../../gateway/task.ts';
import { taskIdPattern } from '../../gateway/task-state.ts';
import type { Job } from '../../ledger/event.ts';
import type { Wanted } from '../../ledger/ledger.ts';
import { jobsByName } from '../../ledger/named-jobs.ts';
import { type KnownJob, readOwnJobs } from './find-jobs.ts';

/** The shortest ID prefix that a command accepts. */
const SHORTEST_BEGINNING = 6;

/** The words that the `jobs` commands accept as an ID. */
export const jobIdSummary = `the gateway's task ID or gw's own, ${SHORTEST_BEGINNING} or more characters it begins with, its --once or batch key, a file that it saved, or last`;

/** The ID arguments of a command: any job, or with a family only the tasks of that family. */
export const idArgs = (completes: 'task' | 'output', family?: string) => ({
  name: 'ID',
  required: true,
  many: true,
  summary: family
    ? `task ID, ${SHORTEST_BEGINNING} or more characters it begins with, or last`
    : jobIdSummary,
  completes: family ? (`${completes}:${family}` as const) : completes,
});

/** A job that the command line names; one that is not in the ledger has only an ID. */
export interface NamedJob {
  readonly id: string;
  readonly known: KnownJob | undefined;
}

/**
 * Finds the jobs that a command line names by task ID or by gw's own ID. If several gateways use the same ID, the job
 * of the current gateway is chosen; flags that name a profile or gateway exclude all others. With a family, only that
 * family's tasks at the current gateway are found. Throws `usage` for an invalid ID.
 */
export async function namedJobs(
  args: readonly string[],
  ctx: Context,
  family?: TaskFamily,
): Promise<NamedJob[]> {
  const here = family && { family: family.name, gateway: gatewayName(await ctx.settings()) || undefined };
  const ids = await fullIds(args, here ?? {}, ctx);
  const jobOf = await findJobs(ids, family !== undefined, ctx);
  const named = new Map<string, NamedJob>();
  for (const id of ids) {
    const job = jobOf(id);
    const own = job && (await findFamily(job.family));
    // A damaged job may have no known family and is accepted; a job of another family is not.
    const isMeant = !family || !own || own.name === family.name;
    if (job && isMeant) named.set(job.key, { id: job.id ?? id, known: { job, family: family ?? own } });
    else named.set(id, { id, known: undefined });
  }
  return [...named.values()];
}

/** The jobs that short words may name: those of a family at the current gateway, or all. */
type Among = Pick<Wanted, 'family' | 'gateway'>;

/** Turns the words of a command line into full IDs: `last` is the newest of those jobs. A job is also
 * named by its --once or batch key (`day/boat`), by a file it saved, or by a unique prefix of 6 or more characters.
 * A word that the ledger does not know is kept. Throws `usage` for an invalid ID or an ambiguous prefix, and
 * `not_found` for `last` if there is no job. */
async function fullIds(args: readonly string[], among: Among, ctx: Context): Promise<string[]> {
  const ledger = await ctx.ledger();
  const isKnown = jobsByName(await ledger.find({ ids: args.filter((arg) => taskIdPattern.test(arg)) }));
  const unknown = args.filter((arg) => arg !== 'last' && !isKnown(arg));
  const named = unknown.length === 0 ? new Map<string, string>() : await byOwnNames(unknown, among, ctx);
  refuseNoIds(unknown, named, among);
  const full: string[] = [];
  for (const word of args)
    if (isKnown(word)) full.push(word);
    else if (word === 'last') full.push(nameOf(await newestJob(among, ctx)));
    else full.push(named.get(word) ?? (await ofBeginning(word, among, ctx)));
  return full;
}

/** Throws `usage` for an ID that no gateway issues. Without a family, a word without a dot may be a row's key. */
function refuseNoIds(args: readonly string[], named: Map<string, string>, { family }: Among): void {
  const rowKey = /^\w[\w:~@+=/-]*$/;
  const bad = args.find((id) => !named.has(id) && !taskIdPattern.test(id) && (family || !rowKey.test(id)));
  const form = 'an ID has letters, digits and . _ : ~ @ + = - and begins with a letter, a digit or _';
  if (bad !== undefined) throw usage(`${bad || '""'}: not a task ID`, `${form}; gw jobs list shows yours`);
}

/**
 * Finds the job for each user key or file name; among several, the best match, then the newest. A file matches best
 * by content and path, then by content alone; a file that is gone or changed matches by its path.
 */
async function byOwnNames(words: readonly string[], among: Among, ctx: Context) {
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
  const where = (job: Job) => named.some((each) => fitOf(job, each) > 0);
  const jobs = await ownJobs({ ...among, where }, ctx);
  const found = new Map<string, string>();
  for (const each of named) {
    const [best] = jobs.toSorted((left, right) => fitOf(right, each) - fitOf(left, each));
    if (best && fitOf(best, each) > 0) found.set(each.word, nameOf(best));
  }
  return found;
}

const ownJobs = async (wanted: Wanted, ctx: Context): Promise<Job[]> =>
  (await readOwnJobs(wanted, ctx)).map(({ job }) => job);

const nameOf = ({ id, key }: Job): string => id ?? key;

async function newestJob(among: Among, ctx: Context): Promise<Job> {
  const [job] = await ownJobs({ ...among, limit: 1 }, ctx);
  if (job) return job;
  const what = among.family === undefined ? 'no job' : `no ${among.family} job of this gateway`;
  throw new GwError('not_found', `last: there is ${what} in the ledger`, { hint: LIST_HINT });
}

async function ofBeginning(word: string, among: Among, ctx: Context): Promise<string> {
  if (word.length < SHORTEST_BEGINNING) return word;
  const ledger = await ctx.ledger();
  const ids = await ledger.names((names) =>
    [...names].filter(({ key, id }) => key.startsWith(word) || id?.startsWith(word)).map(({ key }) => key),
  );
  const jobs = await ownJobs({ ...among, ids }, ctx);
  const [only] = jobs;
  if (jobs.length < 2) return only ? nameOf(only) : word;
  const names = jobs.slice(0, MOST_LISTED).map((job) => (job.id?.startsWith(word) ? job.id : job.key));
  const rest = jobs.length > MOST_LISTED ? ` and ${jobs.length - MOST_LISTED} more` : '';
  const hint = 'give more of the ID of the one that is meant';
  throw usage(`${word}: ${jobs.length} jobs begin like that: ${names.join(', ')}${rest}`, hint);
}

const MOST_LISTED = 10;
const LIST_HINT = 'gw jobs list shows the jobs this user created';

async function findJobs(ids: readonly string[], isHere: boolean, ctx: Context) {
  const jobs = isHere ? await (await ctx.ledger()).find({ ids }) : await ownJobs({ ids }, ctx);
  const here = jobsByName(jobs, gatewayName(await ctx.settings()));
  const anywhere = isHere ? () => undefined : jobsByName(jobs);
  return (id: string): Job | undefined => here(id) ?? anywhere(id);
}

/** Returns the one job that the command line names. Throws `not_found` if it is not in the ledger. */
export async function knownJob(args: readonly string[], ctx: Context): Promise<KnownJob & { id: string }> {
  const [named] = await namedJobs(args, ctx);
  if (!named?.known) throw notInLedger(args[0] ?? '', ctx);
  return { ...named.known, id: named.id };
}

export function notInLedger(id: string, { globals: { profile, baseUrl } }: Context): GwError {
  const of = profile ? ` of profile ${profile}` : baseUrl ? ` of ${baseUrl}` : '';
  return new GwError('not_found', `no job ${id}${of} in the ledger`, {
    taskId: id,
    hint: `${LIST_HINT}; gw video FAMILY wait ID takes in a task made elsewhere`,
  });
}
