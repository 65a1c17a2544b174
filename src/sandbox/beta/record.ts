import { seededInt } from '../seeded.ts';
import { type SandboxStatus, type SandboxTask, statusAt } from '../task.ts';
import type { World } from '../world.ts';
import type { BetaPlan, BetaProduct } from './plan.ts';
import { outputItems } from './products.ts';

const words: Readonly<Record<SandboxStatus, string>> = {
  queued: 'submitted',
  running: 'processing',
  succeeded: 'succeeded',
  failed: 'failed',
  cancelled: 'failed',
};

/** The status of a task at a moment, in family B's words. */
export const betaStatus = (task: SandboxTask, nowMs: number): string => words[statusAt(task, nowMs).status];

const headOf = (task: SandboxTask<BetaPlan>, nowMs: number) => ({
  id: task.id,
  status: betaStatus(task, nowMs),
  create_time: task.createdAtMs,
  update_time: statusAt(task, nowMs).sinceMs,
  ...(task.plan.externalId !== undefined && { external_id: task.plan.externalId }),
});

/** The field `data` of the create reply, whenever it is asked for again. */
export const createdData = (task: SandboxTask<BetaPlan>): object => ({
  ...headOf(task, task.createdAtMs),
  status: 'submitted',
});

/** The task record at a moment ("Task record in the query response"). */
export function taskRecord(task: SandboxTask<BetaPlan>, world: World, nowMs: number): object {
  const head = headOf(task, nowMs);
  const { failure } = task;
  if (nowMs < task.endsAtMs) return { ...head, message: '' };
  if (failure) return { ...head, message: `${failure.message} (${failure.code})` };
  return { ...head, message: '', outputs: outputItems(task, world), billing: billingOf(task) };
}

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
function billingOf({ id, plan }: SandboxTask<BetaPlan>): Record<string, unknown>[] {
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
