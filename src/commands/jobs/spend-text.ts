import type { TaskUsage } from '../../gateway/task.ts';
import type { Cost } from '../../jobs/cost.ts';
import { type Spend, spendOf } from '../../jobs/stats.ts';

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
