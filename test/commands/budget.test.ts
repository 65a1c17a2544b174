import { writeFileSync } from 'node:fs';
import * as path from 'node:path';
import { expect } from 'vitest';
import { spanOf } from '../../src/jobs/create/budget.ts';
import { test, World } from '../helpers/gw.ts';

// `budget.jobs N/PERIOD` is counted in the ledger under the lock that writes the intent.

const posts = (world: World) => world.sandbox.requests.filter(({ method }) => method === 'POST');
const set = async (world: World, value: string) => {
  await world.ok(['config', 'set', 'budget.jobs', value]);
};
const creates = {
  alpha: ['video', 'alpha', 'create', 'a fox', '--duration', '4'],
  beta: ['video', 'beta', 'create', 'a fox', '--duration', '3'],
  image: ['image', 'create', 'a fox'],
};
const create = (world: World, family: keyof typeof creates, ...more: string[]) =>
  world.gw([...creates[family], ...more]);

test.for(['alpha', 'beta', 'image'] as const)(
  '%s: the one that would pass it is exit 15, and nothing is sent',
  async (family, { world }) => {
    await set(world, '2/day');
    expect((await create(world, 'beta')).code).toBe(0);
    expect((await create(world, 'image')).code).toBe(0);
    const third = await create(world, family, '--json');
    expect(third.code).toBe(15);
    const { error } = JSON.parse(third.err.trim().split('\n').at(-1) ?? '');
    expect(error).toMatchObject({ kind: 'budget', exit_code: 15 });
    expect(error.message).toMatch(
      /2\/day: 2 of profile default are used, and this one would add 1; the day ends at 20/,
    );
    expect(posts(world)).toHaveLength(2);
    await set(world, '3/day');
    expect((await create(world, family)).code).toBe(0);
  },
);

test.for(['alpha', 'beta', 'image'] as const)(
  '%s: one that is refused is not said to be made once more; one that is made is',
  async (family, { world }) => {
    await set(world, '1/day');
    expect((await create(world, family, ...(family === 'image' ? [] : ['--wait']))).code).toBe(0);
    const again = ['again', 'last'];
    for (const refused of [await create(world, family), await world.gw(again)]) {
      expect(refused.code).toBe(15);
      expect(refused.err).not.toContain('made once more');
    }
    await set(world, '3/day');
    for (const made of [await create(world, family), await world.gw(again)]) {
      expect(made.code, made.err).toBe(0);
      expect(made.err).toContain('it is made once more (--once KEY makes a job at most once)\n');
    }
  },
);

test('what was refused does not count; a failed task and an unknown outcome do', async () => {
  const world = await World.open({ fault: 'create:402:x1,create:reset-after:x1,task:fail=policy' });
  await set(world, '3/month');
  expect((await create(world, 'alpha')).code).toBe(6);
  expect((await create(world, 'alpha')).code).toBe(14);
  expect((await create(world, 'beta', '--wait')).code).toBe(9);
  expect((await create(world, 'beta', '--wait')).code).toBe(9);
  expect((await create(world, 'beta')).code).toBe(15);
});

test('--count is checked as a whole, and another profile has its own', async ({ world }) => {
  await set(world, '3/day');
  await create(world, 'beta');
  const many = await create(world, 'beta', '--count', '3');
  expect(many.code).toBe(15);
  expect(many.err).toContain('these would add 3');
  expect(posts(world)).toHaveLength(1);
  expect((await create(world, 'beta', '--count', '2')).code).toBe(0);
  expect((await create(world, 'beta')).code).toBe(15);
  await world.gw(['profile', 'add', 'other', '--base-url', world.sandbox.baseUrl]);
  const other = await create(world, 'beta', '--profile', 'other');
  expect(other.code, other.err).toBe(0);
});

test('the period ends: the next day has its own', async ({ world }) => {
  await set(world, '1/day');
  await create(world, 'beta');
  expect((await create(world, 'beta')).code).toBe(15);
  world.clock.ms += 24 * 3_600_000;
  expect((await create(world, 'beta')).code).toBe(0);
});

test('what a budget still counts is not pruned, and what it does not is', async ({ world }) => {
  await set(world, '1/day');
  expect((await create(world, 'image')).code).toBe(0);
  world.clock.ms += 5_000;
  const prune = () => world.gw(['jobs', 'prune', '--before', '2s', '--yes', '-q']);
  expect((await prune()).out).toBe('');
  expect((await create(world, 'image')).code).toBe(15);
  world.clock.ms += 24 * 3_600_000;
  expect((await prune()).out).toMatch(/^gw-\w+\n$/);
  expect((await create(world, 'image')).code).toBe(0);
});

test('a key that the budget refused is free, and one that was made needs no place', async ({ world }) => {
  await set(world, '1/day');
  const first = await create(world, 'beta', '--once', 'a');
  expect((await create(world, 'beta', '--once', 'b')).code).toBe(15);
  expect((await create(world, 'beta', '--once', 'a')).out).toBe(first.out);
  await set(world, '2/day');
  expect((await create(world, 'beta', '--once', 'b')).code).toBe(0);
});

test.each([
  ['alpha', ['--wait']],
  ['beta', []],
  ['image', []],
] as const)(
  'six race for the last three places (%s): three are sent, three are exit 15',
  async (family, more) => {
    for (let round = 0; round < 3; round += 1) {
      const world = await World.open();
      await set(world, '4/day');
      await create(world, 'beta');
      const codes = await Promise.all(
        Array.from({ length: 6 }, async () => (await create(world, family, ...more)).code),
      );
      expect(codes.sort((left, right) => left - right)).toEqual([0, 0, 0, 15, 15, 15]);
      expect(posts(world)).toHaveLength(4);
    }
  },
);

test.each(['100', '100/week', 'x/day', '1.5/day', ''])('budget.jobs %j is refused', async (value) => {
  const world = await World.open();
  const run = await world.gw(['config', 'set', 'budget.jobs', value]);
  expect(run.code).toBe(2);
  expect(run.err).toContain('budget.jobs');
});

test('periods are those of the local calendar', () => {
  const now = new Date(2026, 1, 28, 23, 40, 5);
  const span = (period: 'hour' | 'day' | 'month') => {
    const { startMs, endMs } = spanOf(period, now.getTime());
    return [new Date(startMs), new Date(endMs)];
  };
  expect(span('hour')).toEqual([new Date(2026, 1, 28, 23), new Date(2026, 2, 1)]);
  expect(span('day')).toEqual([new Date(2026, 1, 28), new Date(2026, 2, 1)]);
  expect(span('month')).toEqual([new Date(2026, 1, 1), new Date(2026, 2, 1)]);
});

test('batch check says that a budget has no room for its rows', async ({ world }) => {
  await set(world, '3/day');
  expect((await create(world, 'image')).code).toBe(0);
  writeFileSync(
    path.join(world.cwd, 'day.csv'),
    'command,prompt\nimage create,a\nimage create,b\nimage create,c\n',
  );
  const run = await world.gw(['batch', 'check', 'day.csv']);
  expect([run.code, run.out]).toEqual([0, expect.stringContaining('3 rows of image create img-2\n')]);
  expect(run.err).toMatch(
    /^warning: budget\.jobs 3\/day: 1 of profile default is used, and its rows would add 3; the day ends at 20.*; nothing was sent\n$/,
  );
  await set(world, '4/day');
  expect((await world.gw(['batch', 'check', 'day.csv'])).err).toBe('');
  const prices = 'img-2: {per_image: 0.5, currency: CNY}\n';
  writeFileSync(path.join(world.cwd, 'prices.yaml'), prices);
  await world.gw(['config', 'set', 'prices', 'prices.yaml']);
  await world.gw(['config', 'set', 'budget.amount', '1.9 CNY/day']);
  expect((await world.gw(['batch', 'check', 'day.csv'])).err).toContain('its rows would add 1.5 CNY');
});
