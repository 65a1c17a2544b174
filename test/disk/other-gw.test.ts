import { spawn } from 'node:child_process';
import * as fs from 'node:fs';
import * as path from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { hostOf, tryLock, waitForLock } from '../../src/disk/lock-file.ts';
import { waitForOther } from '../../src/disk/other-gw.ts';
import { onceJobKey } from '../../src/ledger/job-key.ts';
import { World } from '../helpers/gw.ts';
import { newDir } from '../helpers/new-dir.ts';

// A gw that is stopped (Ctrl-Z, a frozen machine) is alive and releases nothing. Other processes then see a lock of a living
// process that never refreshes it.

const sleeper = spawn('sleep', ['600'], { stdio: 'ignore' });
const dir = newDir();
afterAll(() => sleeper.kill());

const create = 'video gamma create --resolution 768P --duration 4 --ratio 16:9'.split(' ');

const stop = (file: string): void => {
  fs.mkdirSync(path.dirname(file), { recursive: true });
  fs.writeFileSync(file, JSON.stringify({ pid: sleeper.pid, host: hostOf(), started: '', nonce: 'ab12' }));
};

describe('waitForOther', () => {
  const scene = (onSleep: (file: string, waitedMs: number) => void) => {
    const file = path.join(dir, `${Math.random()}.lock`);
    stop(file);
    let ms = 0;
    const clock = {
      steady: () => ms,
      sleep: async (sleptMs: number) => {
        ms += sleptMs;
        onSleep(file, ms);
      },
    };
    const told: string[] = [];
    const wait = (deadlineMs?: number) =>
      waitForOther(
        { file, what: 'job x', pauseMs: 500 },
        { clock, silenceMs: 10_000, deadlineMs },
        () => tryLock(file),
        (who) => told.push(who),
      );
    return { wait, told, waitedMs: () => ms };
  };
  const beats = (file: string, ms: number) => fs.utimesSync(file, new Date(ms), new Date(ms));

  test('ends where the other one shows no sign of life, and names its process', async () => {
    const { wait, told, waitedMs } = scene(() => {});
    await expect(wait()).rejects.toMatchObject({
      kind: 'wait_timeout',
      message: `another gw (process ${sleeper.pid}) holds job x, and has shown no sign of life for 10 s`,
    });
    expect(told).toEqual([`another gw (process ${sleeper.pid})`]);
    expect(waitedMs()).toBeLessThan(12_000);
  });

  test('goes on while it lives, to the deadline', async () => {
    const { wait, told, waitedMs } = scene(beats);
    await expect(wait(60_000)).rejects.toMatchObject({
      kind: 'wait_timeout',
      message: expect.stringContaining('still works on job x'),
      facts: { hint: 'it goes on; run this again to wait longer' },
    });
    expect(waitedMs()).toBe(60_000);
    // The messages come at once, after 25 s and after 50 s.
    expect(told).toHaveLength(3);
  });

  test('takes what the other one lets go of', async () => {
    const { wait } = scene((file, ms) => (ms < 30_000 ? beats(file, ms) : fs.rmSync(file, { force: true })));
    (await wait()).release();
  });

  test('a holder beats by itself', async () => {
    const file = path.join(dir, 'own.lock');
    const lock = tryLock(file);
    fs.utimesSync(file, new Date(0), new Date(0));
    await expect.poll(() => fs.statSync(file).mtimeMs, { timeout: 60_000 }).toBeGreaterThan(0);
    lock?.release();
  });
});

describe('each command that meets a stopped gw ends, names it, and sends nothing', () => {
  let world: World;
  let id = '';
  beforeAll(async () => {
    world = await World.open();
    const made = await world.ok([
      ...'video gamma create --resolution 768P --duration 4 --ratio 16:9 --once k'.split(' '),
      'a fox',
    ]);
    id = made.out.trim();
  });
  afterAll(() => world.close());
  const locks = () => path.join(world.dir, '.local/state/gw/locks');

  test.each<readonly [string, () => string[], 'job' | 'once']>([
    ['jobs wait', () => ['jobs', 'wait', id], 'job'],
    ['jobs download', () => ['jobs', 'download', id], 'job'],
    ['video gamma download', () => ['video', 'gamma', 'download', id], 'job'],
    ['create --once', () => [...create, '--once', 'new', 'an owl'], 'once'],
  ])('%s', async (_, words, held) => {
    const key = onceJobKey(new URL(world.sandbox.baseUrl).origin, held === 'once' ? 'new' : 'k');
    stop(path.join(locks(), `${held === 'once' ? 'once-' : ''}${key}.lock`));
    const before = world.requests().filter((request) => request.startsWith('POST')).length;
    const { code, err } = await world.gw([...words(), '--timeout', '5s']);
    for (const name of fs.readdirSync(locks()))
      fs.rmSync(path.join(locks(), name), { recursive: true, force: true });
    expect(err).toContain(`process ${sleeper.pid}`);
    expect([code, err]).toEqual([10, expect.stringContaining('no sign of life for 5 s')]);
    expect(world.requests().filter((request) => request.startsWith('POST'))).toHaveLength(before);
  });
});

describe('a job that another gw is sending is waited for, and is no unknown outcome yet', () => {
  test.each<readonly [string, readonly string[], readonly string[]]>([
    ['video', create, ['jobs', 'wait', 'ID']],
    ['video', create, ['jobs', 'wait', '--all']],
    ['video', create, ['video', 'gamma', 'wait', 'ID', '--wait-timeout', '5s']],
    ['video', create, ['jobs', 'download', 'ID']],
    ['image', ['image', 'create'], ['jobs', 'wait', 'ID', '--wait-timeout', '5s']],
    ['image', ['image', 'create'], ['jobs', 'download', 'ID']],
  ])('%s: %j, gw %j', async (_, make, words) => {
    const world = await World.open({ fault: 'create:reset-after' });
    expect((await world.gw([...make, 'a fox'])).code).toBe(14);
    const id = (await world.gw(['jobs', 'list', '-q'])).out.trim();
    stop(path.join(world.dir, '.local/state/gw/locks', `${id}.lock`));
    const argv = [...words.map((word) => (word === 'ID' ? id : word)), '--json', '--timeout', '5s'];
    const { code, out, err } = await world.gw(argv);
    expect([code, err]).toEqual([10, expect.stringContaining(`process ${sleeper.pid}`)]);
    if (words[1] !== 'download') expect(JSON.parse(out)).toMatchObject({ id, files: [] });
    expect(world.requests().filter((request) => request.startsWith('POST'))).toHaveLength(1);
  });
});

test('a lock that is held for a moment names its process where it is not let go of', async () => {
  const file = path.join(dir, 'moment.lock');
  stop(file);
  let ms = 0;
  const clock = {
    steady: () => ms,
    sleep: async (sleptMs: number) => {
      ms += sleptMs;
    },
  };
  await expect(waitForLock(file, clock)).rejects.toMatchObject({
    message: expect.stringContaining(`another gw (process ${sleeper.pid}) has held`),
  });
});
