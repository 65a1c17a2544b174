import type { Context } from '../../context.ts';
import { findTaskFamily } from '../../gateway/families.ts';
import type { SyncInput } from '../../jobs/sync.ts';
import type { Followers } from '../video/followers.ts';
import type { KnownJob } from './read-jobs.ts';

/**
 * A job with what bringing it further needs; undefined for a family that this build does not know. Throws GwError `auth`
 * where its gateway cannot be reached from here.
 */
export async function syncInput(
  { job, family }: KnownJob,
  followers: Followers,
  ctx: Context,
): Promise<SyncInput | undefined> {
  if (family === undefined) return undefined;
  const access = await ctx.gatewayOf(job);
  const deps = await followers.jobDeps(access);
  const taskFamily = await findTaskFamily(family.name);
  if (taskFamily === undefined) return { job, family, deps };
  const looker = await followers.looker(taskFamily, access);
  return { job, family, deps, looks: { family: taskFamily, looker, pool: await followers.poolOf(job) } };
}
