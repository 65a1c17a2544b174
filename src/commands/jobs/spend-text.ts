import type { Spend } from '../../jobs/stats.ts';

/** `2.1 CNY, 30 video points`; an empty text where nothing was spent. */
export const spendText = (spend: readonly Spend[]): string =>
  spend.map(({ amount, unit }) => `${amount} ${unit}`).join(', ');
