import type { Context } from '../../context.ts';
import { GwError } from '../../errors.ts';
import { taskIds } from '../video/task-ids.ts';
import { type KnownJob, withFamilies } from './read-jobs.ts';

/**
 * The jobs of a command line, by the gateway's IDs or gw's own; an ID that the ledger does not know has none. With a
 * gateway named by flags, only jobs of that one. Throws `usage` for what is no ID.
 */
export async function namedJobs(
  args: readonly string[],
  ctx: Context,
): Promise<{ readonly id: string; readonly known: KnownJob | undefined }[]> {
  const ids = taskIds(args);
  const { profile, baseUrl, sandbox } = ctx.globals;
  const isNamed = profile !== undefined || baseUrl !== undefined || sandbox === true;
  const gateway = isNamed ? (await ctx.gateway()).name : undefined;
  const found = await (await ctx.ledger()).findMany(ids, gateway);
  const jobs = ids.map((id) => found.get(id));
  const known = new Map(
    (await withFamilies(jobs.filter((job) => job !== undefined))).map((each) => [each.job, each]),
  );
  return ids.map((id, at) => {
    const job = jobs[at];
    return { id, known: job && known.get(job) };
  });
}

/** The error of an ID that the ledger does not know. */
export const notInLedger = (id: string): GwError =>
  new GwError('not_found', `no job ${id} in the ledger`, {
    taskId: id,
    hint: 'gw jobs list shows the jobs this user created; gw video FAMILY wait ID takes in a task made elsewhere',
  });
