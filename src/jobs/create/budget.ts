import { createHash } from 'node:crypto';
import * as path from 'node:path';
import { ensureDirectory } from '../../disk/durable-directory.ts';
import { type LockFile, waitForLock } from '../../disk/lock-file.ts';
import { GwError } from '../../errors.ts';
import { findFamily } from '../../gateway/families.ts';
import { type Family, isMoney } from '../../gateway/task.ts';
import type { Clock } from '../../host.ts';
import type { Job } from '../../ledger/event.ts';
import type { Hold, Ledger } from '../../ledger/ledger.ts';
import { claimError } from '../../ledger/write-error.ts';
import type { Asked, Estimate, Pricing } from '../cost.ts';
import { exactSum, type Spend } from '../stats.ts';

// A limit of the user is checked against the ledger, over all processes of this user. The check and the new intent
// happen under one lock, so that only one of several processes gets the last place.

type Period = 'hour' | 'day' | 'month';

/** An amount of money that must not be exceeded. */
interface AmountLimit {
  readonly most: number;
  readonly currency: string;
}

/** The limits for the creates of a command; periods follow the calendar in this machine's time zone. */
export interface Limits {
  readonly profile: string;
  /** The setting `budget.jobs`. */
  readonly jobs?: { readonly most: number; readonly period: Period } | undefined;
  /** The setting `budget.amount`. */
  readonly amount?: (AmountLimit & { readonly period: Period }) | undefined;
  /** `--max-cost`: a limit for the jobs of this command. */
  readonly maxCost?: AmountLimit | undefined;
  /** Limits for all `gw mcp` processes of this user in the last hour. */
  readonly agents?: AgentLimits | undefined;
  /** True if jobs without a price are allowed while a limit of money is not used up (`--unpriced`). */
  readonly unpriced: boolean;
}

interface AgentLimits {
  /** The flag `gw mcp --max-jobs`. */
  readonly maxJobs: number;
  /** The flag `gw mcp --max-cost`. */
  readonly maxCost?: AmountLimit | undefined;
  readonly hasMade: (job: Job) => boolean;
}

const AGENTS_MS = 3_600_000;

/** A job that is to be made. */
export interface LimitedJob extends Asked {
  readonly family: Family;
}

export interface BudgetDeps {
  readonly ledger: Ledger;
  readonly clock: Clock;
  readonly pricing: Pricing;
  readonly begun: Begun;
}

/** Keys of the jobs that a command has begun, with the amount of its limit that each had used when last seen. */
export type Begun = Map<string, Taken>;

interface Taken {
  readonly amount: number;
  /** True if the job may have used more than `amount`. */
  readonly isUnknown: boolean;
}

/** Begins a job within the user's limits; `begin` receives the estimated cost. */
export type Within = (begin: (estimate: Spend | undefined) => Hold) => Promise<Hold>;

/** Begins a job within limits. Throws GwError `budget` if the job would exceed one, or what `begin` throws. */
export async function beginWithin(
  limits: Limits,
  asked: LimitedJob,
  deps: BudgetDeps,
  begin: (estimate: Spend | undefined) => Hold,
): Promise<Hold> {
  const { clock, ledger } = deps;
  const locks = path.join(path.dirname(ledger.dir), 'locks');
  const id = createHash('sha256').update(limits.profile).digest('hex').slice(0, 16);
  const held: LockFile[] = [];
  try {
    try {
      ensureDirectory(locks);
      // The agents' limits apply to all profiles. Every process takes the locks in this order, so that none deadlocks.
      for (const name of [...(limits.agents ? ['agents'] : []), id])
        held.push(await waitForLock(path.join(locks, `budget-${name}.lock`), clock));
    } catch (error) {
      throw claimError(error, locks, 'usage');
    }
    const estimate = await deps.pricing.estimate(asked.family, asked);
    await refuseOver(limits, estimate, 1, deps);
    const spend = 'unknown' in estimate ? undefined : estimate;
    const hold = begin(spend);
    const isKnown = spend !== undefined && spend.unit === limits.maxCost?.currency;
    deps.begun.set(hold.key, { amount: isKnown ? spend.amount : 0, isUnknown: !isKnown });
    return hold;
  } finally {
    for (const lock of held) lock.release();
  }
}

/** Throws GwError `budget` if `more` such jobs would exceed a limit, or lack a price under a limit of money. */
export async function refuseOver(
  limits: Limits,
  estimate: Estimate,
  more: number,
  deps: BudgetDeps,
  who = more === 1 ? 'this one' : 'these',
): Promise<void> {
  const { jobs, amount, maxCost, profile, agents } = limits;
  const nowMs = deps.clock.now();
  const made = async (sinceMs: number) =>
    deps.ledger.find({ sinceMs, where: (job) => job.profile === profile && counts(job) });
  if (jobs !== undefined) {
    const { startMs, endMs } = spanOf(jobs.period, nowMs);
    const used = (await made(startMs)).length;
    if (used + more > jobs.most) {
      const hint = `raise it with: gw config set budget.jobs N/${jobs.period}`;
      const are = `${used} of profile ${profile} ${used === 1 ? 'is' : 'are'} used`;
      throw over(`budget.jobs ${jobs.most}/${jobs.period}: ${are}, and ${who} would add ${more}`, hint, {
        period: jobs.period,
        endMs,
      });
    }
  }
  const ofAgents = agents && (await madeByAgents(agents, more, who, nowMs, deps.ledger));
  if (agents?.maxCost && ofAgents) {
    const { maxCost: limit } = agents;
    const name = `--max-cost ${limit.most} ${limit.currency}`;
    const used = () => Promise.all(ofAgents.map((job) => takenOf(job, limit.currency, deps)));
    await refuseCost({ name, hint: AGENTS_HINT, of: 'of gw mcp in the last hour', used, ...limit });
  }
  if (amount !== undefined) {
    const { startMs, endMs } = spanOf(amount.period, nowMs);
    const name = `budget.amount ${amount.most} ${amount.currency}/${amount.period}`;
    const hint = `raise it with: gw config set budget.amount "N ${amount.currency}/${amount.period}"`;
    const used = async () =>
      Promise.all((await made(startMs)).map((job) => takenOf(job, amount.currency, deps)));
    const of = `of profile ${profile}`;
    await refuseCost({ name, hint, of, used, ends: { period: amount.period, endMs }, ...amount });
  }
  if (maxCost !== undefined) {
    const name = `--max-cost ${maxCost.most} ${maxCost.currency}`;
    const used = async () => {
      const { begun, ledger } = deps;
      // A job that was pruned from the ledger meanwhile keeps the amount last seen: it was paid for.
      for (const job of await ledger.find({ ids: [...begun.keys()] }))
        begun.set(job.key, await takenOf(job, maxCost.currency, deps));
      return [...begun.values()];
    };
    const hint = 'give it more, or run the command again for the rest';
    await refuseCost({ name, hint, of: 'of this command', used, ...maxCost });
  }

  async function refuseCost({ name, hint, of, used, ends, most, currency }: CostLimit): Promise<void> {
    const isKnown = !('unknown' in estimate) && estimate.unit === currency;
    if (!isKnown && !limits.unpriced) {
      const why = 'unknown' in estimate ? estimate.unknown : `its price is in ${estimate.unit}`;
      throw new GwError('budget', `${name}: the cost of this one is not known: ${why}; nothing was sent`, {
        hint: 'say what it costs in the price file; a create and gw batch run also take --unpriced',
      });
    }
    const taken = await used();
    const sum = exactSum(taken.map((each) => each.amount));
    const unknown = taken.filter(({ isUnknown }) => isUnknown).length;
    const each = isKnown ? exactSum(Array.from({ length: more }, () => estimate.amount)) : undefined;
    // A limit that is used up would be passed by any cost, also by one that is not known.
    if (each === undefined ? sum < most : exactSum([sum, each]) <= most) return;
    const besides = unknown === 0 ? '' : ` (beside ${unknown} of unknown cost)`;
    const are = `${sum} ${currency} ${of} are used${besides}`;
    const adds = each === undefined ? 'an unknown cost' : `${each} ${currency}`;
    throw over(`${name}: ${are}, and ${who} would add ${adds}`, hint, ends);
  }
}

/** The jobs that agents made in the last hour. Throws GwError `budget` if `more` of them would be too many. */
async function madeByAgents(
  { maxJobs, hasMade }: AgentLimits,
  more: number,
  who: string,
  nowMs: number,
  ledger: Ledger,
): Promise<Job[]> {
  const made = await ledger.find({ sinceMs: nowMs - AGENTS_MS, where: (job) => hasMade(job) && counts(job) });
  if (made.length + more <= maxJobs) return made;
  const oldest = made[maxJobs - more];
  const room = oldest
    ? `; there is room again at ${new Date(oldest.createdAtMs + AGENTS_MS).toISOString()}`
    : '';
  const are = `${made.length} of gw mcp in the last hour ${made.length === 1 ? 'is' : 'are'} used`;
  throw over(`--max-jobs ${maxJobs}: ${are}, and ${who} would add ${more}${room}`, AGENTS_HINT, undefined);
}

const AGENTS_HINT = 'only the user can raise it, where gw mcp is started; jobs that run go on';

interface CostLimit extends AmountLimit {
  readonly name: string;
  readonly hint: string;
  readonly of: string;
  readonly used: () => Promise<Taken[]>;
  readonly ends?: Ends | undefined;
}

interface Ends {
  readonly period: Period;
  readonly endMs: number;
}

const over = (what: string, hint: string, ends: Ends | undefined): GwError =>
  new GwError(
    'budget',
    `${what}; ${ends ? `the ${ends.period} ends at ${new Date(ends.endMs).toISOString()}; ` : ''}nothing was sent`,
    { hint },
  );

/**
 * The amount that a job used of a limit in a currency; if it was billed in another currency, its estimate. Points of a
 * package are not money, and a job that made nothing used nothing.
 */
async function takenOf(job: Job, currency: string, { pricing }: Pick<BudgetDeps, 'pricing'>): Promise<Taken> {
  if (!counts(job)) return { amount: 0, isUnknown: false };
  const cost = pricing.costOf(job, await findFamily(job.family));
  const money = cost?.spend.filter(({ unit }) => isMoney(unit)) ?? [];
  const amount = exactSum(money.filter(({ unit }) => unit === currency).map((each) => each.amount));
  if (cost !== undefined && money.every(({ unit }) => unit === currency)) return { amount, isUnknown: false };
  if (cost === undefined || job.estimate?.unit !== currency) return { amount, isUnknown: true };
  return { amount: Math.max(amount, job.estimate.amount), isUnknown: false };
}

/** True if a job counts against limits: not if it certainly made nothing, nor if its task was only adopted. */
export const counts = ({ state, bodySha256, isDamaged }: Job): boolean =>
  state !== 'not_sent' && state !== 'refused' && (bodySha256 !== '' || isDamaged === true);

/** The calendar period that contains a time, by this machine's time zone, in Unix milliseconds. */
export function spanOf(period: Period, nowMs: number): { readonly startMs: number; readonly endMs: number } {
  const now = new Date(nowMs);
  const [year, month, day] = [now.getFullYear(), now.getMonth(), now.getDate()];
  switch (period) {
    case 'hour': {
      // Zones with an offset of half an hour begin their hour there. An hour repeated in autumn counts as two.
      const startMs = nowMs - (now.getMinutes() * 60_000 + now.getSeconds() * 1000 + now.getMilliseconds());
      return { startMs, endMs: startMs + 3_600_000 };
    }
    case 'day':
      return { startMs: +new Date(year, month, day), endMs: +new Date(year, month, day + 1) };
    case 'month':
      return { startMs: +new Date(year, month), endMs: +new Date(year, month + 1) };
  }
}
