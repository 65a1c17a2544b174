import { expect } from 'vitest';
import type { EndingSignal } from '../../src/errors.ts';
import { main } from '../../src/main.ts';
import { test, type World } from '../helpers/gw.ts';
import { acceptedJob, HOUR_MS, ledgerOf, savedJob } from './jobs-seed.ts';

type Screen = ReturnType<World['host']>['stdout'];

/** Runs `jobs watch` for four seconds of the world's clock; `at` is called at its start and before each second passes. */
async function watch(
  world: World,
  words: readonly string[],
  at: (second: number, screen: Screen) => void,
  terminal = false,
) {
  let send: (signal: EndingSignal) => void = () => {};
  let second = 0;
  const sleep = world.clock.sleep.bind(world.clock);
  world.clock.sleep = async (ms, signal) => {
    if (ms === 1_000) {
      second += 1;
      at(second, host.stdout);
      if (second === 4) send('SIGINT');
    }
    await sleep(ms, signal);
  };
  const host = world.host({
    terminal,
    interrupts: (given) => {
      send = given;
    },
  });
  at(second, host.stdout);
  const code = await main(['jobs', 'watch', ...words], host);
  expect([code, host.stderr.text]).toEqual([130, expect.not.stringContaining('error')]);
  return { out: host.stdout.text };
}

test('in a pipe: each job once, and a line whenever one changes; no gateway is asked', async ({ world }) => {
  savedJob(world, 't-1', 3 * HOUR_MS);
  const key = acceptedJob(world, 't-2', HOUR_MS, { once: { key: 'day/boat', attempt: 1, fields: {} } });
  const { out } = await watch(world, [], (second) => {
    if (second === 2) ledgerOf(world).append(key, { event: 'status', status: 'running' });
  });
  const rows = out
    .trimEnd()
    .split('\n')
    .map((line) => line.split('\t'));
  expect(rows.map(({ length }) => length)).toEqual([12, 12, 12]);
  expect(rows.map((row) => row.slice(0, 2))).toEqual([
    ['t-1', 'succeeded'],
    ['t-2', 'queued'],
    ['t-2', 'running'],
  ]);
  expect(world.requests()).toEqual([]);
});

test('--json prints an object a change; flags limit what is watched', async ({ world }) => {
  acceptedJob(world, 't-1', HOUR_MS);
  acceptedJob(world, 't-2', HOUR_MS, { gateway: 'https://elsewhere.example' });
  const words = ['--json', '--base-url', 'https://elsewhere.example'];
  const { out } = await watch(world, words, () => {});
  expect(
    out
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line)),
  ).toMatchObject([{ id: 't-2', status: 'queued' }]);
});

test('on a terminal the list is drawn in place, and the last one stays', async ({ world }) => {
  const key = acceptedJob(world, 't-1', HOUR_MS);
  const { out } = await watch(
    world,
    [],
    (second) => {
      if (second === 2) ledgerOf(world).append(key, { event: 'status', status: 'running' });
    },
    true,
  );
  expect(out.match(/ID +STATUS/g)?.length).toBeGreaterThan(2);
  const last = out.split('\x1b[J').at(-1) ?? '';
  expect(last).toMatch(/t-1 +running/);
  expect(last.trimEnd().split('\n')).toHaveLength(2);
  expect(out.lastIndexOf('\x1b[?25h')).toBeGreaterThan(out.lastIndexOf('\x1b[?25l'));
});

test('a terminal that grows shows more jobs', async ({ world }) => {
  for (let count = 0; count < 9; count += 1) acceptedJob(world, `t-${count}`, HOUR_MS - count);
  const grow = (second: number, screen: Screen) => Object.assign(screen, { rows: second < 2 ? 6 : 30 });
  const { out } = await watch(world, [], grow, true);
  const frames = out.split('\x1b[J').map((frame) => frame.match(/^t-\d/gm)?.length);
  expect(frames.slice(1)).toContain(9);
});

test('-q prints only IDs, also on a terminal', async ({ world }) => {
  savedJob(world, 't-1', HOUR_MS);
  for (const terminal of [false, true])
    expect(await watch(world, ['-q'], () => {}, terminal)).toEqual({ out: 't-1\n' });
});
