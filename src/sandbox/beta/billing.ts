import { seededInt } from '../seeded.ts';
import type { SandboxTask } from '../task.ts';
import type { BetaPlan, BetaProduct } from './plan.ts';

/** Made-up prices: the document states none. Credit in CNY a second of video, or apiece. */
const listPriceS: Readonly<Record<string, number>> = { '720p': 0.6, '1080p': 1, '4k': 2.4 };
const LIST_PRICE_APIECE = 0.8;
const DISCOUNT = 0.9;
const POINTS_PER_CNY = 10;

const packageOf: Readonly<Record<BetaProduct, 'video' | 'image' | 'audio'>> = {
  video: 'video',
  image: 'image',
  audio: 'audio',
  voice: 'audio',
  element: 'image',
};

const rounded = (amount: number): number => Math.round(amount * 100) / 100;

/** How a task was paid for: by credit, by test credit, by a resource package, or by the last of one and credit. */
const ways = ['balance', 'test_balance', 'unit', 'both'] as const;

/** The details of billing of a task that succeeded ("Billing items"); which way it was paid depends on its ID. */
export function billingOf({ id, plan }: SandboxTask<BetaPlan>): Record<string, unknown>[] {
  const way = ways[seededInt(id, 'billing') % ways.length];
  return plan.products.flatMap((product) => {
    const price =
      product === 'video'
        ? (listPriceS[plan.film.resolution] ?? LIST_PRICE_APIECE) * plan.film.durationS
        : LIST_PRICE_APIECE;
    const unit = (part: number) => ({
      charge_type: 'unit',
      package_type: packageOf[product],
      amount: rounded(part * POINTS_PER_CNY),
    });
    const cash = (part: number, cashType: 'balance' | 'test_balance') => ({
      charge_type: 'cash',
      cash_type: cashType,
      amount: rounded(part * DISCOUNT),
      currency: 'CNY',
      list_price: rounded(part),
    });
    if (way === 'unit') return [unit(price)];
    if (way === 'both') return [unit(price / 4), cash((3 * price) / 4, 'balance')];
    return [cash(price, way ?? 'balance')];
  });
}
