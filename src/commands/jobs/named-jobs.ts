import { type Context, gatewayName } from '../../context.ts';
import { GwError } from '../../errors.ts';
import type { Job } from '../../ledger/event.ts';
import { taskIds } from '../video/task-ids.ts';
import { type KnownJob, withFamilies } from './read-jobs.ts';

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
  const ledger = await ctx.ledger();
  const inForce = gatewayName(await ctx.settings());
  const here = await ledger.findMany(ids, inForce);
  const missing = ids.filter((id) => !here.has(id));
  const elsewhere = missing.length === 0 ? [] : await ledger.findMany(missing);
  const owned = new Map<string, Job>();
  for (const [id, job] of [...here, ...elsewhere]) if (await ctx.ownsJob(job)) owned.set(id, job);
  return owned;
}

/** The error of an ID that the ledger does not know. */
export function notInLedger(id: string, { globals: { profile, baseUrl } }: Context): GwError {
  const of = profile ? ` of profile ${profile}` : baseUrl ? ` of ${baseUrl}` : '';
  return new GwError('not_found', `no job ${id}${of} in the ledger`, {
    taskId: id,
    hint: 'gw jobs list shows the jobs this user created; gw video FAMILY wait ID takes in a task made elsewhere',
  });
}
