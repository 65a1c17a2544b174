import * as fs from 'node:fs';
import * as path from 'node:path';
import { expect, test } from 'vitest';
import type { EndingSignal } from '../../src/errors.ts';
import { formats } from '../../src/formats.ts';
import { KEY } from '../helpers/gw.ts';
import { openRedis } from '../machines/redis.ts';
import { lefts, openHome, plantRows } from './left.ts';

// The table of formats must list everything that commands leave in a home and on a Redis.

const small = ['--duration', '3', '--sandbox'];
const commands: readonly (readonly string[])[] = [
  ['video', 'beta', 'create', 'one', ...small, '--wait', '--sidecar', '--once', 'a'],
  ['image', 'create', 'two', '--size', '256x256', '-o', 'two.png', '--sandbox'],
  ['batch', 'run', 'shots.jsonl', '--sandbox', '--report', 'shots.report.jsonl'],
  ['jobs', 'sync', '--sandbox'],
  ['jobs', 'list'],
  ['jobs', 'stats'],
  ['jobs', 'prune', '--before', '2020-01-01', '--yes'],
  ['chat', '--session', 'trip', 'and home?', '--sandbox'],
  ['models', 'list'],
  ['config', 'set', 'interval', '3s'],
  ['doctor', '--sandbox'],
  ['gallery', '-o', 'page.html'],
  ['again', '--help'],
];

function belowOf(dir: string): string[] {
  if (!fs.existsSync(dir)) return [];
  const names = fs.readdirSync(dir, { recursive: true }) as string[];
  return names.filter((name) => !fs.statSync(path.join(dir, name)).isDirectory());
}

test('what outlives a process is in the table of formats', { tags: ['redis-server'] }, async () => {
  const [left] = lefts;
  if (!left) throw new Error('there is a fixture');
  const world = await openHome(left, { ticks: true });
  const redis = await openRedis();
  await plantRows(left, redis.client);
  for (const argv of commands) {
    const { code, err } = await world.gw(argv, { bare: argv.includes('--sandbox') });
    expect([0, 13], `${argv.join(' ')}: ${err}`).toContain(code);
  }
  await world.gw(['login', '--base-url', world.sandbox.baseUrl, '--api-key-stdin'], {
    stdin: KEY,
    bare: true,
  });
  let stop: (signal: EndingSignal) => void = () => {};
  const queue = ['--redis', redis.url, '--sandbox'];
  const working = world.gw(['worker', ...queue], {
    bare: true,
    interrupts: (send) => {
      stop = send;
    },
  });
  expect(await world.gw(['batch', 'run', 'queued.jsonl', ...queue], { bare: true })).toMatchObject({
    code: 0,
  });
  stop('SIGTERM');
  await working;
  const found = {
    state: belowOf(path.join(world.dir, '.local/state/gw')),
    config: belowOf(path.join(world.dir, '.config/gw')),
    cache: belowOf(path.join(world.dir, '.cache/gw')),
    outputs: belowOf(world.cwd),
    redis: (await redis.client.keys('*')).map((key) => key.replace(/^gw:[0-9a-f]+:/, '')),
  };
  for (const names of Object.values(found)) expect(names).not.toEqual([]);
  const unknown = Object.entries(found).flatMap(([place, names]) =>
    names
      .filter((name) => !Object.values(formats).some((each) => each.place === place && each.names.test(name)))
      .map((name) => `${place}: ${name}`),
  );
  expect(unknown).toEqual([]);
});
