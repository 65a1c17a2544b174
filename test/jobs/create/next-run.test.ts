import * as fs from 'node:fs';
import * as path from 'node:path';
import { describe, expect, test } from 'vitest';
import type { EndingSignal } from '../../../src/errors.ts';
import { World } from '../../helpers/gw.ts';
import { openRedis } from '../../machines/redis.ts';
import { tickingClock } from '../../updates/left.ts';

// The next run of the same command makes a create of family B that was killed, with the same key, body and external ID. gw
// looks for the task first, and sends the create again only if the gateway has no such task.

const row = { id: 's1', command: 'video beta', prompt: 'a fox', duration: 3 };
const ways = {
  create: ['video', 'beta', 'create', 'a fox', '--duration', '3', '--once', 'k1', '--wait', '--sandbox'],
  batch: ['batch', 'run', 'shots.jsonl', '--sandbox'],
} as const;

/** A home with one job whose process was killed while it waited for the reply to its create. */
async function killedRun(argv: readonly string[], fate: 'swallowed' | 'committed', sendings = 1) {
  const world = await World.open();
  fs.writeFileSync(path.join(world.cwd, 'shots.jsonl'), `${JSON.stringify(row)}\n`);
  const gw = (words: readonly string[], options = {}) => world.gw(words, { bare: true, ...options });
  const made = await gw(argv);
  expect(made.code, made.err).toBe(0);
  const state = path.join(world.dir, '.local/state/gw');
  const dir = path.join(state, 'ledger');
  const [journal = ''] = fs.readdirSync(dir).filter((name) => name.endsWith('.jsonl'));
  const file = path.join(dir, journal);
  // Remove the checksums, as in the journal of an older gw: with them, the lines that are changed below would count as damaged.
  const lines = fs
    .readFileSync(file, 'utf8')
    .replace(/,"sum":"\w{8}"\}$/gm, '}')
    .split('\n')
    .filter((line) => line !== '');
  const [intent = '', sent = ''] = lines;
  expect(JSON.parse(sent)).toMatchObject({ event: 'sent' });
  const later = (line: string, s: number) =>
    line.replace(/"t":(\d+)/, (_, t) => `"t":${Number(t) + s * 1000}`);
  const left = [intent, sent];
  for (let at = 1; at < sendings; at += 1) {
    left.push(later(sent, 30 * at).replace('"sent"', '"absent"'), later(sent, 30 * at + 1));
  }
  fs.writeFileSync(file, left.map((line) => `\n${line}\n`).join(''));
  for (const name of world.cwd ? fs.readdirSync(world.cwd) : []) {
    if (name.endsWith('.mp4')) fs.rmSync(path.join(world.cwd, name));
  }
  const tasks = () => fs.readdirSync(path.join(state, 'sandbox/tasks'));
  if (fate === 'swallowed') {
    for (const name of ['tasks', 'documents', 'unfinished']) {
      fs.rmSync(path.join(state, 'sandbox', name), { recursive: true, force: true });
      fs.mkdirSync(path.join(state, 'sandbox', name), { mode: 0o700 });
    }
  }
  world.clock.ms += 60_000 * sendings;
  const jobs = async () => JSON.parse((await gw(['jobs', 'list', '--json'])).out);
  return { world, gw, tasks, jobs, key: JSON.parse(intent).job as string };
}

describe.each(Object.entries(ways))('killed in %s', (_, argv) => {
  test.each(['swallowed', 'committed'] as const)(
    'and %s: the same command makes it once, with exit 0, and so does every further run',
    async (fate) => {
      const { gw, tasks, jobs, key } = await killedRun(argv, fate);
      for (let run = 0; run < 2; run += 1) {
        const { code, err } = await gw(argv);
        expect(code, err).toBe(0);
        expect(tasks()).toHaveLength(1);
        expect(await jobs()).toMatchObject([{ job: key, status: 'succeeded', saved: true }]);
      }
    },
  );

  test('and swallowed: a sync sends nothing, and names what does', async () => {
    const { gw, tasks } = await killedRun(argv, 'swallowed');
    const { code, err } = await gw(['jobs', 'sync', '--sandbox']);
    expect(code).toBe(14);
    expect(err).toMatch(
      /the same command with --once (k1|shots\/s1, or the batch of this row,) sends it again/,
    );
    expect(tasks()).toEqual([]);
    expect((await gw(argv)).code).toBe(0);
    expect(tasks()).toHaveLength(1);
  });

  test('and sent five times over all runs: it is sent no more, and stays unknown', async () => {
    const { gw, tasks } = await killedRun(argv, 'swallowed', 5);
    const { code, err } = await gw(argv);
    expect(code).toBe(14);
    expect(err).not.toContain('sends it again');
    expect(tasks()).toEqual([]);
    const four = await killedRun(argv, 'swallowed', 4);
    expect((await four.gw(argv)).code).toBe(0);
    expect(four.tasks()).toHaveLength(1);
  });
});

test('another prompt under the key sends nothing', async () => {
  const { gw, tasks } = await killedRun(ways.create, 'swallowed');
  const { code, err } = await gw(ways.create.map((word) => (word === 'a fox' ? 'a bear' : word)));
  expect(code, err).toBe(2);
  expect(tasks()).toEqual([]);
});

test('a worker that takes the row, on the machine whose run was killed, makes it once', {
  tags: ['redis-server'],
}, async () => {
  const { world, gw, tasks } = await killedRun(ways.batch, 'swallowed');
  const laptop = await World.open();
  fs.copyFileSync(path.join(world.cwd, 'shots.jsonl'), path.join(laptop.cwd, 'shots.jsonl'));
  for (const each of [world, laptop]) tickingClock(each, world.clock.ms, 50);
  const redis = await openRedis();
  let stop: (signal: EndingSignal) => void = () => {};
  const queue = ['--redis', redis.url, '--sandbox'];
  const working = gw(['worker', ...queue], {
    interrupts: (send: typeof stop) => {
      stop = send;
    },
  });
  const followed = await laptop.gw(['batch', 'run', 'shots.jsonl', ...queue], { bare: true });
  stop('SIGTERM');
  const { err } = await working;
  expect(followed.code, `${followed.err}${err}`).toBe(0);
  expect(tasks()).toHaveLength(1);
});
