import { expect } from 'vitest';
import { usageText } from '../../src/jobs/stats.ts';
import { cmd } from '../helpers/cmd.ts';
import { test, World } from '../helpers/gw.ts';

// After a success, one line on stderr says what the job used.

const creates = {
  alpha: ['video', 'alpha', 'create', 'a fox', '--duration', '4', '--wait'],
  beta: ['video', 'beta', 'create', 'a fox', '--duration', '3', '--wait'],
  gamma: cmd`video gamma create "a fox" --resolution 768P --duration 5 --ratio 16:9 --wait`,
  image: ['image', 'create', 'a fox'],
};

test.for([
  ['alpha', /^4 s, [\d,]+ tokens$/m],
  ['beta', /^3 s, [\d.]+ (CNY|video points).* (billed|of test credit)$/m],
  ['gamma', /^5 s, [\d,]+ tokens$/m],
  ['image', /^[\d,]+ tokens$/m],
] as const)('%s: what its record says, on stderr, and not under -q', async ([family, line], { world }) => {
  const told = await world.ok(creates[family]);
  expect(told.err).toMatch(line);
  expect(told.out).not.toMatch(line);
  const quiet = await world.ok([...creates[family], '-q', '-o', 'quiet-{id}.{ext}']);
  expect(quiet.err).not.toMatch(/\d s|tokens|billed/);
});

test.each([
  ['jobs', 'download', 'last'],
  ['jobs', 'sync'],
  ['video', 'beta', 'download', 'last'],
])('gw %s %s says it too of a job that it saves', async (...argv) => {
  const world = await World.open();
  await world.ok(creates.beta.filter((word) => word !== '--wait'));
  world.clock.ms += 60_000;
  await world.ok(['video', 'beta', 'wait', 'last', '--no-download']);
  expect((await world.ok(argv)).err).toMatch(/^3 s, [\d.]+ (CNY|video points)/m);
});

test('of several jobs each line names its task', async ({ world }) => {
  const run = await world.ok([...creates.beta, '--count', '2', '--json']);
  const results = run.out
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line));
  for (const { id } of results) expect(run.err).toContain(`task ${id}: 3 s, `);
});

test('a job that failed, or is not waited for, has no such line', async () => {
  const failing = await World.open({ fault: 'task:fail=policy' });
  const failed = await failing.gw(creates.alpha);
  expect(failed.code).toBe(9);
  expect(failed.err).not.toMatch(/\d s\b.*tokens/);
  const world = await World.open();
  const made = await world.ok(creates.beta.filter((word) => word !== '--wait'));
  expect(made.err).not.toMatch(/billed|test credit/);
});

test('a figure that is not there is left out, and amounts are added up by currency', () => {
  expect(usageText({})).toBe('');
  expect(usageText({ outputS: 5, tokens: 100_000, charges: [{ amount: 0.35, unit: 'CNY' }] })).toBe(
    '5 s, 100,000 tokens, 0.35 CNY billed',
  );
  const charges = [
    { amount: 0.1, unit: 'CNY' },
    { amount: 0.2, unit: 'CNY' },
    { amount: 30, unit: 'video points' },
    { amount: 2, unit: 'CNY', isTest: true },
  ];
  expect(usageText({ charges })).toBe('0.3 CNY, 30 video points billed, 2 CNY of test credit');
});
