import { writeFileSync } from 'node:fs';
import * as path from 'node:path';
import { expect, test } from 'vitest';
import { createTurns } from '../../src/jobs/watch/turns.ts';
import { World } from '../helpers/gw.ts';

// Once the link of a finished output is near its end, gw fetches it before it pays for new rows (promises, section 4).

const gamma = { command: 'video gamma', prompt: 'a fox', duration: 5, resolution: '768P', ratio: '16:9' };
const write = (world: World, rows: readonly object[]) =>
  writeFileSync(path.join(world.cwd, 'day.jsonl'), rows.map((row) => `${JSON.stringify(row)}\n`).join(''));
const MINUTE_MS = 60_000;

/** The order in which outputs were fetched and creates were sent. */
const order = (world: World, from: number) =>
  world.sandbox.requests
    .slice(from)
    .flatMap(({ server, method }) =>
      server === 'output' ? ['output'] : method === 'POST' ? ['create'] : [],
    );

/** A world whose first run has left finished outputs that are not saved. */
async function withUnsaved(rows: number, refusals = rows * 2) {
  const world = await World.open({ fault: `output:404:x${refusals}` });
  const all = Array.from({ length: rows }, (_, at) => ({ id: `old${at}`, ...gamma }));
  write(world, all);
  const first = await world.gw(['batch', 'run', 'day.jsonl']);
  expect(first.code, first.err).toBe(12);
  return { world, all };
}

test('an output whose link is near its end is fetched before a new row is created', async () => {
  const { world, all } = await withUnsaved(3);
  world.clock.ms += 50 * MINUTE_MS;
  const from = world.sandbox.requests.length;
  write(world, [{ id: 'new', command: 'image create', prompt: 'a boat' }, { id: 'b', ...gamma }, ...all]);
  await world.ok(['batch', 'run', 'day.jsonl']);
  expect(order(world, from).slice(0, 5)).toEqual(['output', 'output', 'output', 'create', 'create']);
});

test('one that cannot be saved holds up nothing for good', async () => {
  const { world, all } = await withUnsaved(1, 4);
  world.clock.ms += 50 * MINUTE_MS;
  const from = world.sandbox.requests.length;
  write(world, [{ id: 'new', command: 'image create', prompt: 'a boat' }, ...all]);
  const run = await world.gw(['batch', 'run', 'day.jsonl']);
  expect(run.code, run.err).toBe(13);
  expect(run.err).toContain('2 rows: 1 saved, 1 not done; go on with: ');
  expect(order(world, from).at(-1)).toBe('create');
});

test('turns are calm when nothing urgent is open; what becomes urgent with time holds too', async () => {
  let nowMs = 0;
  const now = () => nowMs;
  const turns = createTurns(1);
  const told: string[] = [];
  await turns.calm(now, () => told.push('waits'));
  expect(told).toEqual([]);
  let end = () => {};
  const work = turns.take(200, () => new Promise<void>((resolve) => (end = resolve)), 100);
  const done = turns.announce(100);
  await turns.calm(now);
  nowMs = 100;
  const calm = turns.calm(now, () => told.push('waits')).then(() => told.push('calm'));
  end();
  await work;
  expect(told).toEqual(['waits']);
  done();
  await calm;
  expect(told).toEqual(['waits', 'calm']);
});

test('check --online looks assets up, and only then; one that is not there is a fault of its row', async () => {
  const world = await World.open({ speed: 1e9 });
  const group = (await world.gw(['asset', 'group', 'create', '--name', 'foxes'])).out.trim();
  const argv = ['asset', 'create', '--group', group, '--url', 'https://example.com/fox.png', '--name', 'fox'];
  const id = (await world.gw(argv)).out.trim();
  world.clock.ms += 1000;
  const row = { command: 'video alpha', prompt: 'image 1 runs' };
  write(world, [
    { ...row, image: `asset://${id}` },
    { ...row, image: 'asset://asset-20260101000000-nosuch' },
    { ...row, prompt: 'a boat' },
  ]);
  const before = world.requests().length;
  await world.ok(['batch', 'check', 'day.jsonl'], { bare: true });
  expect(world.requests()).toHaveLength(before);
  const online = await world.gw(['batch', 'check', 'day.jsonl', '--online']);
  expect(online.code, online.err).toBe(2);
  expect(online.out).toMatch(/^day\.jsonl:2: image: asset:\/\/asset-20260101000000-nosuch: [^\n]+\n$/);
  expect(world.requests().slice(before)).toEqual([
    'POST /?Action=GetAsset&Version=2024-01-01',
    'POST /?Action=GetAsset&Version=2024-01-01',
  ]);
});
