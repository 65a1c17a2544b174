import { expect, test } from 'vitest';
import { betaFamily } from '../../../src/gateway/beta/task.ts';
import { Pricing } from '../../../src/jobs/cost.ts';
import { type BudgetDeps, beginWithin, type Limits } from '../../../src/jobs/create/budget.ts';
import type { Prices } from '../../../src/jobs/price-file.ts';
import type { LedgerEvent } from '../../../src/ledger/event.ts';
import { openLedger } from '../../../src/ledger/open-ledger.ts';
import { intent, tempDir } from '../../ledger/fixtures.ts';

// Each test makes jobs one by one, as a command does, and checks what counts against a limit of money.

const asked = {
  family: betaFamily,
  endpoint: 'beta.create.text',
  model: 'beta-3.0',
  settings: { duration: 4 },
};
const priced: Prices = new Map([['beta-3.0', { perSecond: 0.1, currency: 'CNY' }]]);
const day = { most: 1, currency: 'CNY', period: 'day' } as const;
const oneYuan: Limits = { profile: 'default', unpriced: false, maxCost: { most: 1, currency: 'CNY' } };
const oneYuanADay: Limits = { profile: 'default', unpriced: false, amount: day };

function command(limits: Limits, prices = priced) {
  const clock = { now: Date.now, steady: () => performance.now(), sleep: async () => {} };
  const ledger = openLedger({ dir: tempDir(), clock, keepPrompts: true });
  const pricing = new Pricing(prices, async () => ledger);
  const deps: BudgetDeps = { ledger, clock, pricing, begun: new Map() };
  /** Makes a job of 0.4 CNY and appends these events to it. Returns its key. */
  const make = async (...events: readonly LedgerEvent[]) => {
    const { family, ...rest } = asked;
    const hold = await beginWithin(limits, asked, deps, (estimate) =>
      ledger.begin(intent({ ...rest, family: family.name, ...(estimate && { estimate }) })),
    );
    for (const event of events) ledger.append(hold.key, event);
    hold.release();
    return hold.key;
  };
  return { ledger, make };
}

const ended = (billing: readonly object[]): LedgerEvent => ({
  event: 'final',
  state: 'succeeded',
  status: 'succeeded',
  record: { id: '1', status: 'succeeded', outputs: [], billing },
  serverDateMs: Date.now(),
});
const made = (...billing: readonly object[]): LedgerEvent[] => [
  { event: 'sent' },
  { event: 'accepted', id: '1' },
  ended(billing),
];
const over = { kind: 'budget', message: expect.stringContaining('0.8 CNY of this command are used') };

test('a job that was forgotten while its command ran is counted on', async () => {
  const { ledger, make } = command(oneYuan);
  const keys = [await make(...made()), await make(...made())];
  await ledger.remove(new Set(keys));
  await expect(make()).rejects.toMatchObject(over);
});

test('one that was refused is not', async () => {
  const { ledger, make } = command(oneYuan);
  for (let count = 0; count < 3; count += 1)
    await make({ event: 'sent' }, { event: 'refused', kind: 'balance', message: '', status: 402 });
  const [job] = await ledger.find();
  await make();
  await ledger.remove(new Set([job?.key ?? '']));
  await make();
});

const cny = { charge_type: 'cash', cash_type: 'balance', amount: '0.1', currency: 'CNY' };
test.each([
  ['money of another currency', [{ ...cny, currency: 'USD' }], false],
  ['points of a package', [{ charge_type: 'unit', amount: '30', package_type: 'video' }], true],
  ['both kinds of money', [cny, { ...cny, currency: 'USD' }], false],
  ['less in its currency', [cny], true],
  ['test credit', [{ ...cny, cash_type: 'test_balance', amount: '9', currency: 'USD' }], true],
])(
  'billed %s, a job takes of a limit what it was going to cost, or what was billed in it',
  async (_, billing, isLess) => {
    for (const [limits, of] of [
      [oneYuan, 'this command'],
      [oneYuanADay, 'profile default'],
    ] as const) {
      const { make } = command(limits);
      for (let count = 0; count < 2; count += 1) await make(...made(...billing));
      const third = make();
      if (isLess) await third;
      else await expect(third).rejects.toThrow(`0.8 CNY of ${of} are used`);
    }
  },
);

test.each([
  ['--max-cost', oneYuan],
  ['budget.amount', oneYuanADay],
])(
  'a job without a price passes under --unpriced until what was billed has used %s up',
  async (_, limits) => {
    const { make } = command({ ...limits, unpriced: true }, new Map());
    const half = { ...cny, amount: '0.5' };
    for (let count = 0; count < 2; count += 1) await make(...made(half));
    await expect(make()).rejects.toMatchObject({
      kind: 'budget',
      message: expect.stringMatching(/1 CNY of .* are used, and this one would add an unknown cost/),
    });
  },
);

test('only a body that the document shows has a length by itself', async () => {
  const pricing = new Pricing(priced, async () =>
    openLedger({ dir: tempDir(), clock: Date, keepPrompts: true }),
  );
  const estimate = (mode: string) =>
    pricing.estimate(betaFamily, { endpoint: `beta.create.${mode}`, model: 'beta-3.0', settings: {} });
  expect(await estimate('text')).toEqual({ amount: 0.5, unit: 'CNY' });
  for (const mode of ['image', 'motion'])
    expect(await estimate(mode)).toEqual({
      unknown: 'the price of beta-3.0 goes by the second, and the request names no length',
    });
});
