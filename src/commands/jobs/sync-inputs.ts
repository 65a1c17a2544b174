import type { Context } from '../../context.ts';
import { findTaskFamily } from '../../gateway/families.ts';
import type { SyncInput } from '../../jobs/watch/sync.ts';
import type { Followers } from '../video/followers.ts';
import type { KnownJob } from './read-jobs.ts';

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
