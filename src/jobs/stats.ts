import type { Charge, TaskUsage } from '../gateway/task.ts';
import { localDay } from '../io/quantity-text.ts';
import type { Job, JobState } from '../ledger/event.ts';
import type { Cost } from './cost.ts';

/** A job with the output length and cost of its record. */
interface CountedJob {
  readonly job: Job;
  readonly state: JobState;
  readonly usage: TaskUsage | undefined;
  /** Its cost by the price file, if the gateway does not bill it. */
  readonly priced?: readonly Spend[] | undefined;
}

/** The keys by which jobs can be grouped. */
export const statsKeys = ['model', 'day', 'family', 'profile'] as const;
export type StatsKey = (typeof statsKeys)[number];

/** An amount of money, or of points taken from a package. */
export interface Spend {
  readonly unit: string;
  readonly amount: number;
}

/** The totals of jobs with the same model, day, family or profile. Sums include only what records state. */
export type StatsGroup = ReturnType<typeof newGroup>;

type Keys = Readonly<Partial<Record<StatsKey, string | null>>>;

/** Counts jobs one by one, in total and in groups, which keep their order of appearance. */
export class JobStats {
  readonly total = newGroup({});
  readonly #groups = new Map<string, StatsGroup>();

  constructor(private readonly by: readonly StatsKey[]) {}

  get groups(): StatsGroup[] {
    return [...this.#groups.values()];
  }

  add(counted: CountedJob): void {
    const { job } = counted;
    const of = (key: StatsKey) => (key === 'day' ? localDay(job.createdAtMs) : (job[key] ?? null));
    const keys: Keys = Object.fromEntries(this.by.map((key) => [key, of(key)]));
    const name = JSON.stringify(keys);
    const group = this.#groups.get(name) ?? newGroup(keys);
    this.#groups.set(name, group);
    for (const each of [this.total, group]) addTo(each, counted);
  }
}

const newGroup = (keys: Keys) => ({
  ...keys,
  jobs: 0,
  /** Number of jobs by state; states without jobs are left out. */
  states: {} as Partial<Record<JobState, number>>,
  output_s: null as number | null,
  tokens: null as number | null,
  /** Amounts that the gateway billed. */
  spend: [] as Spend[],
  /** Amounts of test credit, which costs nothing. */
  test_spend: [] as Spend[],
  /** Cost by the price file for jobs that the gateway does not bill. */
  priced: [] as Spend[],
});

function addTo(group: StatsGroup, { state, usage, priced = [] }: CountedJob): void {
  group.jobs += 1;
  group.states = { ...group.states, [state]: (group.states[state] ?? 0) + 1 };
  if (usage?.outputS !== undefined) group.output_s = plus(group.output_s, usage.outputS);
  if (usage?.tokens !== undefined) group.tokens = plus(group.tokens, usage.tokens);
  for (const charge of usage?.charges ?? []) addCharge(group, charge);
  for (const spend of priced) addSpend(group.priced, spend);
}

/** The billed amounts by currency or package; test credit is separate. */
export function spendOf(charges: readonly Charge[]): Pick<StatsGroup, 'spend' | 'test_spend'> {
  const billed = { spend: [], test_spend: [] };
  for (const charge of charges) addCharge(billed, charge);
  return billed;
}

const addCharge = (to: Pick<StatsGroup, 'spend' | 'test_spend'>, charge: Charge): void =>
  addSpend(charge.isTest ? to.test_spend : to.spend, charge);

function addSpend(to: Spend[], { unit, amount }: Spend): void {
  const at = to.findIndex((each) => each.unit === unit);
  to[at === -1 ? to.length : at] = { unit, amount: plus(to[at]?.amount ?? 0, amount) };
}

/** Amounts are rounded to millionths, finer than any price, so that ten thousand times 0.1 is 1000. */
const plus = (sum: number | null, amount: number): number => Math.round(((sum ?? 0) + amount) * 1e6) / 1e6;

export const exactSum = (amounts: readonly number[]): number => amounts.reduce(plus, 0);

/** `2.1 CNY, 30 video points`; empty if nothing was spent. */
export const spendText = (spend: readonly Spend[]): string =>
  spend.map(({ amount, unit }) => `${amount} ${unit}`).join(', ');

/** `5 s, 100,000 tokens, 0.35 CNY billed`; unknown figures are left out. `cost` is by the price file. */
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
