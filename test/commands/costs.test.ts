import { rmSync, writeFileSync } from 'node:fs';
import * as path from 'node:path';
import { expect } from 'vitest';
import { cmd } from '../helpers/cmd.ts';
import { test, World } from '../helpers/gw.ts';

// Money: estimates from the price file, limits on amounts, and what gw says a job cost.

const posts = (world: World) => world.sandbox.requests.filter(({ method }) => method === 'POST');
const set = async (world: World, name: string, value: string) => {
  await world.ok(['config', 'set', name, value]);
};
const price = async (world: World, text: string, name = 'prices.yaml') => {
  writeFileSync(path.join(world.cwd, name), text);
  await set(world, 'prices', name);
};
const PRICES = `
2.0-fast: {per_second: {480p: 0.1, 720p: 0.25}, currency: CNY}
beta-3.0: {per_second: 0.5, currency: CNY}
gamma-H3-Max: {per_second: {480P: 0.3}, currency: CNY}
img-2: {per_image: 0.2, currency: CNY}
alpha-video-2-5-260628: {per_million_tokens: 40, currency: CNY}
`;
const alpha = ['video', 'alpha', 'create', 'a fox', '-m', '2.0-fast', '--resolution', '480p', '--duration'];
const beta = ['video', 'beta', 'create', 'a fox', '--duration', '3'];
const image = ['image', 'create', 'a fox', '-m', 'img-2'];

test.for([
  ['alpha, by its short name and resolution', cmd`${alpha} 5`, 0.5],
  ['beta, what the service takes by itself', cmd`video beta create "a fox"`, 2.5],
  ['gamma', cmd`video gamma create "a fox" -m gamma-H3-Max --resolution 480P --duration 5 --ratio 1:1`, 1.5],
  ['images', cmd`${image} --n 3`, 0.6],
  ['--count', cmd`${alpha} 5 --count 3`, 1.5],
] as const)('--dry-run shows the estimate: %s', async ([_, argv, amount], { world }) => {
  await price(world, PRICES);
  const run = await world.ok([...argv, '--dry-run']);
  expect(run.err).toContain(`estimated cost: ${amount} CNY`);
  expect(run.err).toContain('by your price file');
  const sandboxed = await world.ok([...argv, '--dry-run', '--sandbox'], { bare: true });
  expect(sandboxed.err).not.toContain('cost');
});

test('without a price file and a limit nothing is said of money', async ({ world }) => {
  const run = await world.gw([...alpha, '5', '--dry-run']);
  expect(run.err).not.toContain('cost');
});

test.for([
  [
    'has no price',
    cmd`video alpha create "a fox" -m 2.0-mini --resolution 480p --duration 4`,
    'the price file has no price of alpha-video-2-0-mini-260615',
  ],
  [
    'no price of its resolution',
    cmd`video gamma create "a fox" -m gamma-H3-Max --resolution 768P --duration 5 --ratio 1:1`,
    'the price file has no price of gamma-H3-Max at 768P',
  ],
  [
    'no resolution',
    cmd`video alpha create "a fox" -m 2.0-fast --duration 4`,
    'goes by resolution, and the request names none',
  ],
  [
    'no length',
    cmd`video alpha create "a fox" -m 2.0-fast --resolution 480p`,
    'goes by the second, and the request names no length',
  ],
  [
    'no length that the document tells',
    cmd`video beta create --mode image --set "prompt=a fox"`,
    'the price of beta-3.0 goes by the second',
  ],
  ['no tokens yet', cmd`video alpha create "a fox" --duration 4`, 'says yet how many tokens one takes'],
] as const)(
  'what has no price is refused under a limit of money, unless --unpriced: %s',
  async ([_, argv, why], { world }) => {
    await price(world, PRICES);
    expect((await world.gw([...argv, '--dry-run'])).err).toContain(why);
    await set(world, 'budget.amount', '5/day');
    const run = await world.gw(argv);
    expect(run.code).toBe(15);
    expect(run.err).toContain('budget.amount 5 CNY/day: the cost of this one is not known');
    expect(run.err).toContain(why);
    expect(posts(world)).toHaveLength(0);
    await world.ok([...argv, '--unpriced']);
  },
);

test('the one that would pass budget.amount is exit 15, with what is used and when the day ends', async () => {
  const world = await World.open();
  await price(world, PRICES);
  await set(world, 'budget.amount', '1 CNY/day');
  await world.ok([...alpha, '4']);
  await world.ok([...image, '--n', '2']);
  const third = await world.gw([...alpha, '4', '--json']);
  expect(third.code).toBe(15);
  const { error } = JSON.parse(third.err.trim().split('\n').at(-1) ?? '');
  expect(error.kind).toBe('budget');
  expect(error.message).toMatch(
    /^budget\.amount 1 CNY\/day: 0\.8 CNY of profile default are used, and this one would add 0\.4 CNY; the day ends at 20.*nothing was sent$/,
  );
  expect(posts(world)).toHaveLength(2);
  await world.ok(image);
  expect((await world.gw(image)).code).toBe(15);
});

test('unknown and failed jobs count, refused ones do not', async () => {
  const world = await World.open({ fault: 'create:402:x1,create:reset-after:x1,task:fail=policy' });
  await price(world, PRICES);
  await set(world, 'budget.amount', '1/month');
  expect((await world.gw([...alpha, '4'])).code).toBe(6);
  expect((await world.gw([...alpha, '4'])).code).toBe(14);
  expect((await world.gw([...alpha, '4', '--wait'])).code).toBe(9);
  const over = await world.gw([...alpha, '4']);
  expect(over.code).toBe(15);
  expect(over.err).toContain('0.8 CNY of profile default');
});

test('what was billed takes the place of the estimate', async ({ world }) => {
  await price(world, PRICES);
  await set(world, 'budget.amount', '2 CNY/day');
  const made = await world.ok([...beta, '--wait', '--json']);
  const { billing } = JSON.parse(made.out).record;
  const billed = billing
    .filter(
      (item: { currency?: string; cash_type?: string }) =>
        item.currency === 'CNY' && item.cash_type !== 'test_balance',
    )
    .reduce((sum: number, item: { amount: string }) => sum + Number(item.amount), 0);
  expect(billed).not.toBe(1.5);
  const over = await world.gw([...beta, '--count', '9']);
  expect(over.err).toContain(
    `budget.amount 2 CNY/day: ${billed} CNY of profile default are used, and these would add 13.5 CNY`,
  );
});

test('--count is checked as a whole', async ({ world }) => {
  await price(world, PRICES);
  await set(world, 'budget.amount', '1 CNY/day');
  const many = await world.gw([...alpha, '4', '--count', '3']);
  expect(many.code).toBe(15);
  expect(many.err).toContain('these would add 1.2 CNY');
  expect(posts(world)).toHaveLength(0);
  await world.ok([...alpha, '4', '--count', '2']);
});

test('--max-cost limits one command, and the next has its own', async ({ world }) => {
  await price(world, PRICES);
  const dear = await world.gw([...alpha, '4', '--max-cost', '0.39']);
  expect(dear.code).toBe(15);
  expect(dear.err).toContain(
    '--max-cost 0.39 CNY: 0 CNY of this command are used, and this one would add 0.4 CNY; nothing was sent',
  );
  expect(posts(world)).toHaveLength(0);
  for (let time = 0; time < 2; time += 1) await world.ok([...alpha, '4', '--max-cost', '0.4']);
  await world.ok([...alpha, '4', '--count', '2', '--max-cost', '0.8 CNY']);
  expect((await world.gw([...alpha, '4', '--count', '3', '--max-cost', '1.1 CNY'])).code).toBe(15);
  expect(posts(world)).toHaveLength(4);
});

test('a batch sends within --max-cost, says what it costs before, and refuses rows without a price', async () => {
  const world = await World.open();
  await price(world, PRICES);
  const rows = ['a', 'b', 'c', 'd'].map((id) => `video alpha,2.0-fast,480p,4,${id},a fox ${id}`);
  const head = 'command,model,resolution,duration,id,prompt';
  writeFileSync(path.join(world.cwd, 'day.csv'), [head, ...rows, ''].join('\n'));
  const check = await world.gw(['batch', 'check', 'day.csv']);
  expect(check.out).toContain('estimated cost: 1.6 CNY by your price file\n');
  const run = await world.gw(['batch', 'run', 'day.csv', '--max-cost', '1']);
  expect(run.err).toContain('2 saved');
  expect(run.code).toBe(13);
  expect(posts(world)).toHaveLength(2);
  expect((await world.gw(['batch', 'check', 'day.csv'])).out).toContain('estimated cost: 0.8 CNY');
  writeFileSync(
    path.join(world.cwd, 'day.csv'),
    [head, ...rows, ...['e', 'f'].map((id) => `video alpha,2.0-mini,480p,4,${id},a fox ${id}`), ''].join(
      '\n',
    ),
  );
  expect((await world.gw(['batch', 'check', 'day.csv', '--json'])).out).toContain(
    '{"estimated_cost":[{"unit":"CNY","amount":0.8}],"unpriced":2}',
  );
  const unpriced = await world.gw(['batch', 'run', 'day.csv', '--max-cost', '9']);
  expect(unpriced.code).toBe(15);
  expect(unpriced.err).toContain(
    'the cost of 2 rows is not known: the price file has no price of alpha-video-2-0-mini',
  );
  expect(posts(world)).toHaveLength(2);
  await world.ok(['batch', 'run', 'day.csv', '--max-cost', '9', '--unpriced']);
});

test('what the profile says of a command holds for a typed create, for a row and for gw again', async () => {
  const world = await World.open();
  await price(world, PRICES);
  await world.ok([...alpha, '4']);
  await set(world, 'defaults.video.alpha.max-cost', '1 CNY');
  await set(world, 'defaults.video.alpha.resolution', '480p');
  const dear = ['video', 'alpha', 'create', 'a fox', '-m', '2.0-fast', '--duration', '11'];
  expect((await world.gw(dear)).code).toBe(15);
  expect((await world.gw(['again', 'last', '--duration', '11'])).code).toBe(15);
  const rows = ['a', 'b', 'c'].map((id) => `video alpha,2.0-fast,4,${id},a fox ${id}`);
  writeFileSync(
    path.join(world.cwd, 'day.csv'),
    ['command,model,duration,id,prompt', ...rows, ''].join('\n'),
  );
  const run = await world.gw(['batch', 'run', 'day.csv']);
  expect([run.code, posts(world).length], run.err).toEqual([13, 3]);
  expect(run.err).toContain('--max-cost 1 CNY: 0.8 CNY of this command are used');
  expect(posts(world).map(({ body }) => (body as { resolution?: string }).resolution)).toEqual([
    ...['480p', '480p', '480p'],
  ]);
});

test('tokens are estimated by their past mean in this ledger, and counted as they were', async () => {
  const world = await World.open();
  await price(world, PRICES);
  const create = ['video', 'alpha', 'create', 'a fox', '--resolution', '480p', '--duration', '4'];
  const first = await world.ok([...create, '--wait', '--json']);
  const tokens = JSON.parse(first.out).record.usage.total_tokens;
  const amount = Math.round((tokens * 40 * 1e6) / 1e6) / 1e6;
  expect(first.err).toContain(`${amount} CNY by your price file`);
  expect((await world.gw([...create, '--dry-run'])).err).toContain(`estimated cost: ${amount} CNY`);
});

test.for(['jobs show last', 'jobs stats', 'gallery'])(
  '%s tells of a price file that is gone, and goes on',
  async (words, { world }) => {
    await price(world, PRICES);
    await world.ok([...alpha, '4', '--wait']);
    rmSync(path.join(world.cwd, 'prices.yaml'));
    const run = await world.ok(words.split(' '));
    expect(run.err).toMatch(
      /^warning: the price file .*prices\.yaml: no such file; costs by the price file are left out$/m,
    );
    expect(run.out).not.toBe('');
    expect((await world.gw([...alpha, '5'])).code).toBe(2);
  },
);

test('what a job cost: the line at its end, jobs show and jobs stats', async ({ world }) => {
  await price(world, PRICES);
  const made = await world.gw([...alpha, '4', '--wait']);
  expect(made.err).toMatch(/^4 s, [\d,]+ tokens, 0\.4 CNY by your price file$/m);
  expect((await world.gw(['jobs', 'show', 'last'])).out).toMatch(/^cost +0\.4 CNY by your price file$/m);
  expect(JSON.parse((await world.gw(['jobs', 'show', 'last', '--json'])).out).cost).toEqual({
    spend: [{ amount: 0.4, unit: 'CNY' }],
    by: 'prices',
  });
  const billing = await World.open();
  await price(billing, PRICES);
  // The sandbox bills a task by its ID: half of the tasks cost money.
  let shown = '';
  for (let tries = 0; tries < 40 && !shown.includes('billed'); tries += 1) {
    await billing.gw([...beta, '--wait']);
    shown = (await billing.gw(['jobs', 'show', 'last'])).out;
  }
  expect(shown).toMatch(/^cost .* billed$/m);
  await world.gw([...beta, '--wait']);
  const { groups } = JSON.parse((await world.gw(['jobs', 'stats', '--json'])).out);
  const of = (model: string) => groups.find((group: { model: string }) => group.model === model);
  expect(of('alpha-video-2-0-fast-260128')).toMatchObject({
    spend: [],
    priced: [{ amount: 0.4, unit: 'CNY' }],
  });
  expect(of('beta-3.0')).toMatchObject({ priced: [] });
  // The embedded sandbox costs nothing.
  await world.ok([...alpha, '4', '--wait', '--sandbox'], { bare: true });
  expect(JSON.parse((await world.ok(['jobs', 'show', 'last', '--json'])).out)).toMatchObject({ cost: null });
});

test.each([
  ['5', 'the price file has CNY and USD'],
  ['5 EUR', 'its price is in CNY'],
])('an amount names its currency where the price file has several: %s', async (amount, why) => {
  const world = await World.open();
  await price(world, `${PRICES}gamma-H3: {per_second: 1, currency: USD}\n`);
  const run = await world.gw([...alpha, '4', '--max-cost', amount]);
  expect(run.code).toBeOneOf([2, 15]);
  expect(run.err).toContain(why);
  expect(posts(world)).toHaveLength(0);
});

test('a limit of money without a price file asks for the currency, and then for a price', async () => {
  const world = await World.open();
  const run = await world.gw([...alpha, '4', '--max-cost', '5']);
  expect(run.code).toBe(2);
  expect(run.err).toContain('--max-cost 5: there is no price file to tell its currency');
  const named = await world.gw([...alpha, '4', '--max-cost', '5 CNY']);
  expect(named.code).toBe(15);
  expect(named.err).toContain('there is no price file (gw config set prices FILE)');
});

test.each([
  ['not YAML', 'prices.yaml', 'a: [1', /not YAML: .*line 1/],
  ['not JSON', 'prices.json', '{"a": ', /not JSON, line 1, column 7: /],
  [
    'a name twice',
    'prices.json',
    '{"a": 1,\n"a": 2}',
    /: line 2, column 1: "a" is given twice: give it once/,
  ],
  ['a list', 'prices.json', '[]', /holds no models/],
  ['no object', 'prices.json', '{"img-2": 3}', /: img-2: a model has an object of prices/],
  [
    'an unknown field',
    'prices.yaml',
    'img-2: {per_picture: 1, currency: CNY}',
    /: img-2\.per_picture: give one of per_second, per_image, per_million_tokens, currency/,
  ],
  [
    'no currency',
    'prices.yaml',
    'img-2: {per_image: 1}',
    /: img-2\.currency: three capital letters, such as CNY, are needed/,
  ],
  [
    'a text for a price',
    'prices.yaml',
    'img-2: {per_image: "1", currency: CNY}',
    /: img-2\.per_image: give a number from 0 on/,
  ],
  [
    'a price below nothing',
    'prices.yaml',
    '2.5: {per_second: {720p: -1}, currency: CNY}',
    /: 2\.5\.per_second\.720p: give a number from 0 on/,
  ],
  [
    'no price',
    'prices.yaml',
    'img-2: {currency: CNY}',
    /: img-2: one of per_second, per_image, per_million_tokens is needed/,
  ],
  [
    'a model twice',
    'prices.yaml',
    '2.0-fast: {per_second: 1, currency: CNY}\nalpha-video-2-0-fast-260128: {per_second: 2, currency: CNY}',
    /is priced twice/,
  ],
  [
    'an alias bomb',
    'prices.yaml',
    `a: &a [1,1,1,1,1,1,1,1,1,1]\nb: &b [${'*a,'.repeat(30)}]\nc: [${'*b,'.repeat(30)}]`,
    /not YAML: .*alias/,
  ],
  ['another ending', 'prices.txt', 'x', /its name ends in \.json, \.yaml or \.yml/],
])('a faulty price file is one sentence with file, place and rule: %s', async (_, name, text, told) => {
  const world = await World.open();
  await price(world, text, name);
  const run = await world.gw([...alpha, '4']);
  expect(run.code).toBe(2);
  expect(run.err).toContain(path.join(world.cwd, name));
  expect(run.err).toMatch(told);
  expect(posts(world)).toHaveLength(0);
});

test('a price file that is not there is named', async ({ world }) => {
  await set(world, 'prices', 'nowhere.yaml');
  const run = await world.gw([...alpha, '4']);
  expect(run.code).toBe(2);
  expect(run.err).toContain('nowhere.yaml: no such file');
});

test.for(['50', '50 CNY', '50 cny/day', ' -1 CNY/day', '5 CNY/week', '1.1234567 CNY/day', ''])(
  'budget.amount %j is refused',
  async (value, { world }) => {
    const run = await world.gw(['config', 'set', 'budget.amount', value]);
    expect(run.code).toBe(2);
    expect(run.err).toContain('budget.amount');
  },
);

test.each([
  [alpha.concat('4'), '1.2 CNY/day'],
  [image, '0.6 CNY/day'],
] as const)('six race for the last of an amount: exactly the limit is sent', async (argv, limit) => {
  const world = await World.open();
  await price(world, PRICES);
  await set(world, 'budget.amount', limit);
  const codes = await Promise.all(Array.from({ length: 6 }, async () => (await world.gw(argv)).code));
  expect(codes.sort((left, right) => left - right)).toEqual([0, 0, 0, 15, 15, 15]);
  expect(posts(world)).toHaveLength(3);
});
