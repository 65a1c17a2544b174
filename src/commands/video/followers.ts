import * as path from 'node:path';
import type { Access, Context } from '../../context.ts';
import { type AccountType, poolOf, type RatePool } from '../../gateway/limits.ts';
import type { TaskFamily } from '../../gateway/task.ts';
import { once } from '../../host.ts';
import { Claims } from '../../jobs/save/claims.ts';
import type { FollowDeps, JobDeps } from '../../jobs/watch/follow.ts';
import type { Looker } from '../../jobs/watch/looker.ts';
import type { SharedRate } from '../../jobs/watch/rate.ts';
import type { Turns } from '../../jobs/watch/turns.ts';
import type { Job } from '../../ledger/event.ts';

/** Shared parts for looking up and following the jobs of a run: one looker, with its rates, per gateway and family. */
export interface Followers {
  /** What every job needs; uses the current gateway if none is given. */
  jobDeps(access?: Access): Promise<JobDeps>;
  followDeps(family: TaskFamily, access?: Access): Promise<FollowDeps>;
  looker(family: TaskFamily, access?: Access): Promise<Looker>;
  claims(): Promise<Claims>;
  /** Prints a note that concerns all jobs: the same text once, and texts with the same `about` at intervals. */
  readonly tellAll: (text: string, about?: string) => void;
  /** The order in which several jobs of a run are saved; messages then name the job. */
  readonly turns?: Turns | undefined;
  poolOf(job: Pick<Job, 'family' | 'settings'>): Promise<RatePool>;
}

/** A wait is reported again before 30 s have passed. */
const TOLD_EVERY_MS = 19_000;

/**
 * Makes the followers of a run; a run has one, so that the rates are shared. A single lookup by hand uses `ownRates`,
 * so that it does not queue behind all followers of this user.
 */
export function createFollowers(
  ctx: Context,
  options: {
    readonly ownRates?: boolean;
    readonly turns?: Turns;
    /** Rates from another source than the files shared by this user's processes. */
    readonly rateOf?: (pool: string) => SharedRate;
  } = {},
): Followers {
  const { ownRates = false, turns, rateOf: given } = options;
  // The rows of a batch share the lookers of the whole batch.
  const { followers: shared } = ctx;
  const chance = { clock: ctx.clock, random: ctx.host.random };
  const lookers = new Map<Access, Map<string, Looker>>();
  const told = new Map<string, number>();
  const startMs = ctx.clock.now();
  const claims = shared?.claims ?? once(async () => new Claims(await ctx.ledger(), startMs));
  const account = async (): Promise<AccountType> => (await ctx.settings()).account.value;
  const looker = async (family: TaskFamily, ofJob?: Access): Promise<Looker> => {
    if (shared) return shared.looker(family, ofJob);
    const access = ofJob ?? (await ctx.gateway());
    const inForce = await account();
    const { createLooker } = await import('../../jobs/watch/looker.ts');
    const rateOf = given ?? (ownRates ? undefined : await sharedRates(access, ctx));
    // Two API keys of one gateway may be two accounts, which cannot see each other's tasks.
    const own = lookers.get(access) ?? new Map<string, Looker>();
    lookers.set(access, own);
    const known = own.get(family.name);
    if (known) return known;
    const note = (line: string) => tellAll(line, 'rate');
    const made = createLooker({ ...chance, client: access.client, family, account: inForce, rateOf, note });
    own.set(family.name, made);
    return made;
  };
  const tellAll: Followers['tellAll'] =
    shared?.tellAll ??
    ((text, about) => {
      const toldMs = told.get(about ?? text);
      const nowMs = ctx.clock.steady();
      if (toldMs !== undefined && (about === undefined || nowMs - toldMs < TOLD_EVERY_MS)) return;
      told.set(about ?? text, nowMs);
      ctx.io.note(text);
    });
  const jobDeps = async (access?: Access): Promise<JobDeps> => {
    const { client, transport, keyId } = access ?? (await ctx.gateway());
    const { timeoutMs, maxOutputBytes } = await ctx.settings();
    return {
      client,
      transport,
      keyId,
      ledger: await ctx.ledger(),
      ...chance,
      signal: ctx.signal,
      progress: ctx.io.progress(),
      events: ctx.events,
      warn: (text) => ctx.io.warn(text),
      note: (text) => tellAll(text, text),
      silenceMs: timeoutMs.value,
      mostBytes: maxOutputBytes.value,
      claims: await claims(),
    };
  };
  return {
    jobDeps,
    looker,
    claims,
    tellAll,
    turns: shared?.turns ?? turns,
    followDeps: async (family, access) => ({
      ...(await jobDeps(access)),
      turns: shared?.turns ?? turns,
      looker: await looker(family, access),
    }),
    poolOf: async (job) => poolOf(job, await account()),
  };
}

/** The rates of an account, shared by all processes of this user; undefined if they cannot be stored. */
async function sharedRates(
  { name, keyId }: Access,
  ctx: Context,
): Promise<((pool: string) => SharedRate) | undefined> {
  try {
    const { openRateFile } = await import('../../jobs/watch/rate.ts');
    const locks = path.join(path.dirname((await ctx.ledger()).dir), 'locks');
    return (pool) => openRateFile(locks, [name, keyId ?? '', pool]);
  } catch {
    return undefined;
  }
}

/** Returns a wait that holds back creates until the outputs whose links expire soon are saved. */
export const calmOf =
  ({ turns }: Pick<Followers, 'turns'>, { clock, io }: Context) =>
  async (): Promise<void> =>
    turns?.calm(clock.now, () => io.note('nothing new is sent until outputs whose links die soon are saved'));
