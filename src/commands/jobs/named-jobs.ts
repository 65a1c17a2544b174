import { type Context, gatewayName } from '../../context.ts';
import { GwError, usage } from '../../errors.ts';
import type { TaskFamily } from '../../gateway/task.ts';
import type { Job } from '../../ledger/event.ts';
import { jobsByName } from '../../ledger/ledger.ts';
import { taskIds } from '../video/task-ids.ts';
import { findAndWarn, type KnownJob, namesGateway, withFamilies } from './read-jobs.ts';

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
    return { id, known: job && (family ? { job, family } : known.get(job)) };
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

/** The error of an ID that the ledger does not know. */
export function notInLedger(id: string, { globals: { profile, baseUrl } }: Context): GwError {
  const of = profile ? ` of profile ${profile}` : baseUrl ? ` of ${baseUrl}` : '';
  return new GwError('not_found', `no job ${id}${of} in the ledger`, {
    taskId: id,
    hint: 'gw jobs list shows the jobs this user created; gw video FAMILY wait ID takes in a task made elsewhere',
  });
}
