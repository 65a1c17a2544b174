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

/** What jobs of a run are looked at and followed with: whoever asks the same gateway shares one looker, and its rates. */
export interface Followers {
  /** What any job needs; the gateway in force where none is given. */
  jobDeps(access?: Access): Promise<JobDeps>;
  followDeps(family: TaskFamily, access?: Access): Promise<FollowDeps>;
  looker(family: TaskFamily, access?: Access): Promise<Looker>;
  claims(): Promise<Claims>;
  /** Tells for all jobs of the run what concerns them all: a text once, and what changes `about` something seldom. */
  readonly tellAll: (text: string, about?: string) => void;
  /** Who saves first, where a run saves several jobs: what is told of one names it then. */
  readonly turns?: Turns | undefined;
  poolOf(job: Pick<Job, 'family' | 'settings'>): Promise<RatePool>;
}

/** A wait is told of again before 30 s have passed. */
const TOLD_EVERY_MS = 19_000;

/**
 * Makes the followers of a run; one a run, or rates are not shared. What looks once, by hand, keeps its rate to itself
 * (`ownRates`): it must not wait its turn behind every follower of this user.
 */
export function createFollowers(
  ctx: Context,
  {
    ownRates = false,
    turns,
    rateOf: given,
  }: {
    readonly ownRates?: boolean;
    readonly turns?: Turns;
    /** Rates that are kept elsewhere than with the processes of this user. */
    readonly rateOf?: (pool: string) => SharedRate;
  } = {},
): Followers {
  // The rows of a batch share the looks and the lanes of the whole.
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
    // Two keys of one gateway may be two accounts, which do not see each other's tasks.
    const own = lookers.get(access) ?? new Map<string, Looker>();
    lookers.set(access, own);
    const known = own.get(family.name);
    if (known) return known;
    const made = createLooker({ ...chance, client: access.client, family, account: inForce, rateOf });
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

/** The rates of an account, kept with all processes of this user; none where there is no place to keep them. */
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

/** Outputs whose links die soon come first: a create of a run waits until none of them is open. */
export const calmOf =
  ({ turns }: Pick<Followers, 'turns'>, { clock, io }: Context) =>
  async (): Promise<void> =>
    turns?.calm(clock.now, () => io.note('nothing new is sent until outputs whose links die soon are saved'));
