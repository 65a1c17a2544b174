import type { Charge, TaskUsage } from '../gateway/task.ts';
import type { Job, JobState } from '../ledger/event.ts';
import type { Cost } from './cost.ts';

/** A job with what its record says it made and cost. */
export interface CountedJob {
  readonly job: Job;
  readonly usage: TaskUsage | undefined;
  /** What it costs by the price file, where the gateway does not bill it. */
  readonly priced?: readonly Spend[] | undefined;
}

/** What jobs are counted by. */
export const statsKeys = ['model', 'day', 'family'] as const;
export type StatsKey = (typeof statsKeys)[number];

/** A sum of money, or of points taken from a package. */
export interface Spend {
  readonly unit: string;
  readonly amount: number;
}

/** Jobs that have the same model, day or family, counted. Sums hold only what records say. */
export interface StatsGroup {
  readonly model?: string | null;
  /** Of the creation, in UTC: `2026-11-20`. */
  readonly day?: string;
  readonly family?: string;
  readonly jobs: number;
  /** By where they stand; a state that none is in is left out. */
  readonly states: Readonly<Partial<Record<JobState, number>>>;
  readonly output_s: number | null;
  readonly tokens: number | null;
  /** What the gateway billed. */
  readonly spend: readonly Spend[];
  /** What the price file says of the jobs that the gateway does not bill. */
  readonly priced: readonly Spend[];
  /** Test credit costs nothing and is counted apart. */
  readonly test_spend: readonly Spend[];
}

/** Counts jobs by the keys, in the order in which the groups appear. */
export function jobStats(jobs: readonly CountedJob[], by: readonly StatsKey[]): StatsGroup[] {
  const groups = new Map<string, CountedJob[]>();
  for (const counted of jobs) {
    const key = JSON.stringify(keysOf(counted.job, by));
    const group = groups.get(key);
    if (group) group.push(counted);
    else groups.set(key, [counted]);
  }
  return [...groups].map(([key, members]) => ({
    ...(JSON.parse(key) as Partial<Record<StatsKey, string>>),
    ...countJobs(members),
  }));
}

function keysOf(job: Job, by: readonly StatsKey[]): Partial<Record<StatsKey, string | null>> {
  const values = {
    model: job.model ?? null,
    day: new Date(job.createdAtMs).toISOString().slice(0, 10),
    family: job.family,
  };
  return Object.fromEntries(by.map((key) => [key, values[key]]));
}

/** Counts jobs all together. */
export function countJobs(members: readonly CountedJob[]): StatsGroup {
  const states: Partial<Record<JobState, number>> = {};
  for (const { job } of members) states[job.state] = (states[job.state] ?? 0) + 1;
  return {
    jobs: members.length,
    states,
    output_s: sum(members.map(({ usage }) => usage?.outputS)),
    tokens: sum(members.map(({ usage }) => usage?.tokens)),
    ...spendOf(members.flatMap(({ usage }) => usage?.charges ?? [])),
    priced: byUnit(members.flatMap(({ priced = [] }) => priced)),
  };
}

/** What was billed, by currency or package; test credit apart. */
export const spendOf = (charges: readonly Charge[]): Pick<StatsGroup, 'spend' | 'test_spend'> => ({
  spend: byUnit(charges.filter(({ isTest }) => !isTest)),
  test_spend: byUnit(charges.filter(({ isTest }) => isTest)),
});

/** The sum of what is there; null where nothing is. */
function sum(values: readonly (number | undefined)[]): number | null {
  const known = values.filter((value) => value !== undefined);
  return known.length === 0 ? null : exactSum(known);
}

function byUnit(charges: readonly { readonly unit: string; readonly amount: number }[]): Spend[] {
  const amounts = new Map<string, number[]>();
  for (const { unit, amount } of charges) {
    const each = amounts.get(unit) ?? [];
    each.push(amount);
    amounts.set(unit, each);
  }
  return [...amounts].map(([unit, each]) => ({ unit, amount: exactSum(each) }));
}

/** Ten thousand times 0.1 is 1000: amounts are summed in millionths, finer than any price is given. */
export const exactSum = (amounts: readonly number[]): number =>
  amounts.reduce((total, amount) => total + Math.round(amount * 1e6), 0) / 1e6;

/** `2.1 CNY, 30 video points`; an empty text where nothing was spent. */
export const spendText = (spend: readonly Spend[]): string =>
  spend.map(({ amount, unit }) => `${amount} ${unit}`).join(', ');

/** `5 s, 100,000 tokens, 0.35 CNY billed`; a figure that is not known is left out. `cost` is by the price file. */
export function usageText({ outputS, tokens, charges = [] }: TaskUsage, cost?: Cost): string {
  const { spend, test_spend: test } = spendOf(charges);
  return [
    ...(outputS === undefined ? [] : [`${outputS} s`]),
    ...(tokens === undefined ? [] : [`${tokens.toLocaleString('en')} tokens`]),
    ...(spend.length === 0 ? [] : [`${spendText(spend)} billed`]),
    ...(cost === undefined ? [] : [`${spendText(cost.spend)} by your price file`]),
    ...(test.length === 0 ? [] : [`${spendText(test)} of test credit`]),
  ].join(', ');
}
