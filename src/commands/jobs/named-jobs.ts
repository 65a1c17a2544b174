import { type Context, gatewayName } from '../../context.ts';
import { GwError } from '../../errors.ts';
import type { Job } from '../../ledger/event.ts';
import { jobsByName } from '../../ledger/ledger.ts';
import { taskIds } from '../video/task-ids.ts';
import { findAndWarn, type KnownJob, withFamilies } from './read-jobs.ts';

/**
 * The jobs of a command line, by the gateway's IDs or gw's own; an ID that the ledger does not know has none. Where several
 * gateways gave out the same ID, the job of the one in force is meant; with a profile or gateway named by flags, no other
 * one is. Throws `usage` for what is no ID.
 */
export async function namedJobs(
  args: readonly string[],
  ctx: Context,
): Promise<{ readonly id: string; readonly known: KnownJob | undefined }[]> {
  const ids = taskIds(args);
  const found = await findJobs(ids, ctx);
  const known = new Map((await withFamilies([...found.values()])).map((each) => [each.job, each]));
  return ids.map((id) => {
    const job = found.get(id);
    return { id, known: job && known.get(job) };
  });
}

async function findJobs(ids: readonly string[], ctx: Context): Promise<Map<string, Job>> {
  const jobs: Job[] = [];
  for (const job of await findAndWarn({ ids }, ctx)) if (await ctx.ownsJob(job)) jobs.push(job);
  const here = jobsByName(jobs, gatewayName(await ctx.settings()));
  const anywhere = jobsByName(jobs);
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
