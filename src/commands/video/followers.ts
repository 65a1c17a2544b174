import type { Access, Context } from '../../context.ts';
import type { AccountType, RatePool } from '../../gateway/limits.ts';
import { poolOf } from '../../gateway/limits.ts';
import type { TaskFamily } from '../../gateway/task.ts';
import type { FollowDeps, JobDeps } from '../../jobs/follow.ts';
import { createLooker, type Looker } from '../../jobs/looker.ts';
import type { Job } from '../../ledger/event.ts';

/** What jobs of a run are looked at and followed with: whoever asks the same gateway shares one looker, and its rates. */
export interface Followers {
  /** What any job needs; the gateway in force where none is given. */
  jobDeps(access?: Access): Promise<JobDeps>;
  followDeps(family: TaskFamily, access?: Access): Promise<FollowDeps>;
  looker(family: TaskFamily, access?: Access): Promise<Looker>;
  /** The pool that a job counts in. */
  poolOf(job: Pick<Job, 'family' | 'settings'>): Promise<RatePool>;
}

/** Makes the followers of a run; one a run, or rates are not shared. */
export function createFollowers(ctx: Context): Followers {
  const lookers = new Map<string, Looker>();
  const account = async (): Promise<AccountType> => (await ctx.settings()).account.value;
  const looker = async (family: TaskFamily, given?: Access): Promise<Looker> => {
    const access = given ?? (await ctx.gateway());
    const inForce = await account();
    const id = `${family.name} ${access.name}`;
    const known = lookers.get(id);
    if (known) return known;
    const made = createLooker({ client: access.client, family, clock: ctx.clock, account: inForce });
    lookers.set(id, made);
    return made;
  };
  const jobDeps = async (access?: Access): Promise<JobDeps> => {
    const { client, transport } = access ?? (await ctx.gateway());
    return {
      client,
      transport,
      ledger: await ctx.ledger(),
      clock: ctx.clock,
      random: ctx.host.random,
      signal: ctx.signal,
      progress: ctx.io.progress(),
      warn: (text) => ctx.io.warn(text),
      silenceMs: (await ctx.settings()).timeoutMs.value,
    };
  };
  return {
    jobDeps,
    looker,
    followDeps: async (family, access) => ({
      ...(await jobDeps(access)),
      looker: await looker(family, access),
    }),
    poolOf: async (job) => poolOf(job, await account()),
  };
}
