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

// A limit that the user has set is counted in the ledger, over all processes of this user, under one lock with the intent
// that would pass it: of those who race for the last place one gets it.

type Period = 'hour' | 'day' | 'month';

/** A sum of money that may not be passed. */
export interface AmountLimit {
  readonly most: number;
  readonly currency: string;
}

/** What limits the creates of a command; periods are those of the calendar, in this machine's time zone. */
export interface Limits {
  readonly profile: string;
  /** `budget.jobs` */
  readonly jobs?: { readonly most: number; readonly period: Period } | undefined;
  /** `budget.amount` */
  readonly amount?: (AmountLimit & { readonly period: Period }) | undefined;
  /** `--max-cost`; of what this command makes. */
  readonly maxCost?: AmountLimit | undefined;
  /** Of every `gw mcp` of this user in the last hour. */
  readonly agents?: AgentLimits | undefined;
  /** What has no price may be made under a limit of money (`--unpriced`). */
  readonly unpriced: boolean;
}

interface AgentLimits {
  /** `gw mcp --max-jobs` */
  readonly maxJobs: number;
  /** `gw mcp --max-cost` */
  readonly maxCost?: AmountLimit | undefined;
  readonly hasMade: (job: Job) => boolean;
}

const AGENTS_MS = 3_600_000;

/** What is to be made. */
export interface LimitedJob extends Asked {
  readonly family: Family;
}

export interface BudgetDeps {
  readonly ledger: Ledger;
  readonly clock: Clock;
  readonly pricing: Pricing;
  readonly begun: Begun;
}

/** gw's keys of the jobs that a command has begun, with what each took of its limit when it was seen last. */
export type Begun = Map<string, Taken>;

interface Taken {
  readonly amount: number;
  /** More may have been taken. */
  readonly isUnknown: boolean;
}

const nothing: Taken = { amount: 0, isUnknown: false };

/** Begins a job within the user's limits, with what it is going to cost. */
export type Within = (begin: (estimate: Spend | undefined) => Hold) => Promise<Hold>;

/** Begins a job within limits. Throws GwError `budget` where it would pass one, or what `begin` throws. */
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
      // The limits of agents hold over all profiles; all take the locks in this order.
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

/** Throws GwError `budget` where so many more jobs of one estimate would pass a limit, or have no price under one of money. */
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
      // One that was forgotten meanwhile has been paid for all the same.
      for (const job of await ledger.find({ ids: [...begun.keys()] }))
        begun.set(job.key, counts(job) ? await takenOf(job, maxCost.currency, deps) : nothing);
      return [...begun.values()];
    };
    const hint = 'give it more, or run the command again for the rest';
    await refuseCost({ name, hint, of: 'of this command', used, ...maxCost });
  }

  async function refuseCost({ name, hint, of, used, ends, most, currency }: CostLimit): Promise<void> {
    if ('unknown' in estimate || estimate.unit !== currency) {
      if (limits.unpriced) return;
      const why = 'unknown' in estimate ? estimate.unknown : `its price is in ${estimate.unit}`;
      throw new GwError('budget', `${name}: the cost of this one is not known: ${why}; nothing was sent`, {
        hint: 'let it pass with --unpriced, or say what it costs in the price file',
      });
    }
    const taken = await used();
    const sum = exactSum(taken.map((each) => each.amount));
    const unknown = taken.filter(({ isUnknown }) => isUnknown).length;
    const each = exactSum(Array.from({ length: more }, () => estimate.amount));
    if (exactSum([sum, each]) <= most) return;
    const besides = unknown === 0 ? '' : ` (beside ${unknown} of unknown cost)`;
    const are = `${sum} ${currency} ${of} are used${besides}`;
    throw over(`${name}: ${are}, and ${who} would add ${each} ${currency}`, hint, ends);
  }
}

/** What agents have made in the last hour. Throws GwError `budget` where so many more would be too many. */
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
 * What a job takes of a limit in a currency; billed in another one, what it was going to cost. Points of a package are no
 * money.
 */
async function takenOf(job: Job, currency: string, { pricing }: Pick<BudgetDeps, 'pricing'>): Promise<Taken> {
  const cost = pricing.costOf(job, await findFamily(job.family));
  const money = cost?.spend.filter(({ unit }) => isMoney(unit)) ?? [];
  const amount = exactSum(money.filter(({ unit }) => unit === currency).map((each) => each.amount));
  if (cost !== undefined && money.every(({ unit }) => unit === currency)) return { amount, isUnknown: false };
  if (cost === undefined || job.estimate?.unit !== currency) return { amount, isUnknown: true };
  return { amount: Math.max(amount, job.estimate.amount), isUnknown: false };
}

/** Whether a job counts: what certainly made nothing does not, nor a task that was made elsewhere and only taken in. */
export const counts = ({ state, bodySha256, isDamaged }: Job): boolean =>
  state !== 'not_sent' && state !== 'refused' && (bodySha256 !== '' || isDamaged === true);

/** The calendar period that a moment lies in, by this machine's time zone, Unix milliseconds. */
export function spanOf(period: Period, nowMs: number): { readonly startMs: number; readonly endMs: number } {
  const now = new Date(nowMs);
  const [year, month, day] = [now.getFullYear(), now.getMonth(), now.getDate()];
  switch (period) {
    case 'hour': {
      // Zones that are off by half an hour begin theirs there; an hour that comes twice in autumn is two.
      const startMs = nowMs - (now.getMinutes() * 60_000 + now.getSeconds() * 1000 + now.getMilliseconds());
      return { startMs, endMs: startMs + 3_600_000 };
    }
    case 'day':
      return { startMs: +new Date(year, month, day), endMs: +new Date(year, month, day + 1) };
    case 'month':
      return { startMs: +new Date(year, month), endMs: +new Date(year, month + 1) };
  }
}
