import { existsSync, mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import * as path from 'node:path';
import { expect, onTestFinished, test, vi } from 'vitest';
import { hostOf } from '../../../src/disk/lock-file.ts';
import { alphaFamily } from '../../../src/gateway/alpha/task.ts';
import { betaFamily } from '../../../src/gateway/beta/task.ts';
import { type AccountType, poolOf } from '../../../src/gateway/limits.ts';
import type { TaskFamily } from '../../../src/gateway/task.ts';
import { takeSlot } from '../../../src/jobs/create/slots.ts';
import { createLooker } from '../../../src/jobs/watch/looker.ts';
import { JobFinder } from '../../../src/ledger/job-finder.ts';
import { newJobKey } from '../../../src/ledger/job-key.ts';
import { openLedger } from '../../../src/ledger/open-ledger.ts';
import { VirtualClock } from '../../helpers/virtual-clock.ts';
import { intent, leftLedger, tempDir } from '../../ledger/fixtures.ts';
import { fakeTasks } from '../fake-client.ts';

const gateway = 'https://gateway.example';

/** A user whose tasks end at these times. Several ledgers on one directory stand for several processes of this user. */
function scene(
  endsAtMs: Record<string, number>,
  account: AccountType = 'personal',
  family: TaskFamily = alphaFamily,
) {
  const clock = new VirtualClock();
  const dir = tempDir();
  const ledger = openLedger({ dir, clock, keepPrompts: true });
  const { client, asked } = fakeTasks(clock, (id, atMs) => {
    const endMs = endsAtMs[id];
    return endMs === undefined ? undefined : atMs >= endMs ? 'succeeded' : 'queued';
  });
  const notes: string[] = [];
  const beats: string[] = [];
  const kept: string[] = [];
  const left = leftLedger({ dir, clock });
  const run = (id: string, settings: Record<string, unknown> = {}, changes = {}) => {
    const key = left.begin(intent({ family: family.name, settings, gateway, ...changes }));
    left.append(key, { event: 'accepted', id });
    return key;
  };
  const take = (settings: Record<string, unknown> = {}, deadlineMs = 3_600_000, speed = 1) =>
    takeSlot(
      {
        family,
        intent: { gateway, keyId: 'own' },
        pool: poolOf({ family: family.name, settings }, account),
        looker: createLooker({ client, family, clock, account, random: () => 0.5 }),
        ledger: openLedger({ dir, clock, keepPrompts: true }),
        clock,
        random: () => 0.5,
        signal: new AbortController().signal,
        deadlineMs,
        silenceMs: 60_000,
        speed: () => speed,
        onQueued: (text) => (text.startsWith('still ') ? beats : notes).push(text),
        onKept: (text) => kept.push(text),
      },
      () => {
        const key = newJobKey();
        const hold = ledger.begin(intent({ family: family.name, settings, gateway }), key);
        return { key, atMs: clock.steady(), hold };
      },
    );
  return { clock, dir, ledger, left, asked, notes, beats, kept, run, take };
}

/** A lock whose process is alive but never refreshes it. */
const stopped = () => JSON.stringify({ pid: process.ppid, host: hostOf(), started: '', nonce: 'ab12' });

test('a free slot is taken at once, and nothing is asked', async () => {
  const { clock, run, take, asked, notes } = scene({ a: 1e9, b: 1e9 });
  run('a');
  run('b');
  expect((await clock.until(take())).atMs).toBe(0);
  expect([asked, notes]).toEqual([[], []]);
});

test('the ledger is read before the lock is taken: making an index of a long one may take longer than others wait', async () => {
  const { clock, dir, take } = scene({});
  const locks = path.join(dir, 'locks');
  const isLocked = () => existsSync(locks) && readdirSync(locks).some((name) => name.endsWith('.lock'));
  const looks: boolean[] = [];
  const each = vi.spyOn(JobFinder.prototype, 'each');
  each.mockImplementation(async function* () {
    looks.push(isLocked());
    yield* [];
  });
  onTestFinished(() => each.mockRestore());
  await clock.until(take());
  expect(looks).toEqual([false, true]);
});

test('a directory in place of the lock of the line is named, and not the line beside it', async () => {
  const { ledger, take } = scene({});
  await take();
  const locks = path.join(path.dirname(ledger.dir), 'locks');
  const [line = ''] = readdirSync(locks).filter((name) => name.endsWith('.line'));
  const lock = path.join(locks, line.replace(/line$/, 'lock'));
  mkdirSync(lock);
  await expect(take()).rejects.toMatchObject({
    kind: 'usage',
    message: `no job can be claimed in ${lock}: a directory stands where a file is expected (EISDIR); nothing was sent`,
  });
});

test('one that is stopped in the line keeps a free slot from nobody for longer than its sign of life is waited for', async () => {
  const { clock, dir, run, take } = scene({ a: 1e9, b: 1e9 });
  (await clock.until(take())).hold.release();
  for (const id of ['a', 'b']) run(id);
  const locks = path.join(dir, 'locks');
  const line = readdirSync(locks).find((name) => name.endsWith('.line')) ?? '';
  writeFileSync(path.join(locks, line, '1'), stopped());
  const { atMs } = await clock.until(take());
  expect(atMs).toBeGreaterThanOrEqual(60_000);
  expect(atMs).toBeLessThan(120_000);
});

test('lost creates of a year ahead keep no slot until that year has passed', async () => {
  const { clock, left, take } = scene({});
  const now = clock.now;
  for (const aheadMs of [0, 0, 0]) {
    clock.now = () => now() + 365 * 86_400_000 + aheadMs;
    const key = left.begin(intent({ family: 'alpha', gateway }));
    left.append(key, { event: 'sent' });
    left.append(key, { event: 'unknown', message: 'the connection was closed' });
  }
  clock.now = now;
  expect((await clock.until(take())).atMs).toBe(0);
});

test('a create that is accepted while the jobs are counted takes its slot', async () => {
  const { clock, ledger, run, take } = scene({ a: 1e9, b: 1e9, c: 50_000 });
  for (const id of ['a', 'b']) run(id);
  const key = newJobKey();
  const hold = ledger.begin(intent({ family: 'alpha', gateway }), key);
  const own = JobFinder.prototype.each;
  const each = vi.spyOn(JobFinder.prototype, 'each');
  onTestFinished(() => each.mockRestore());
  each.mockImplementation(async function* (this: JobFinder, wanted) {
    yield* own.call(this, wanted);
    // The second look is the one under the lock; the answer comes after the job was read.
    if (each.mock.calls.length !== 2) return;
    ledger.append(key, { event: 'sent' });
    ledger.append(key, { event: 'accepted', id: 'c' });
    hold.release();
  });
  expect((await clock.until(take())).atMs).toBeGreaterThanOrEqual(50_000);
});

test('a full account is waited for, its tasks are looked at, and what ended is written down', async () => {
  const { clock, run, take, ledger, notes, beats } = scene({ a: 1e9, b: 50_000, c: 1e9 });
  for (const id of ['a', 'b', 'c']) run(id);
  const { atMs } = await clock.until(take());
  expect(atMs).toBeGreaterThanOrEqual(50_000);
  expect(atMs).toBeLessThan(80_000);
  expect(notes).toEqual([
    expect.stringContaining('no free slot: 3 alpha tasks are queued or running, and the account runs 3'),
  ]);
  expect((await ledger.find({ ids: ['b'] }))[0]?.state).toBe('succeeded');
  // The wait reports at least once in 30 s.
  expect(beats.length).toBeGreaterThanOrEqual(Math.floor(atMs / 30_000));
});

test('several that wait at once never take more than there are', async () => {
  const { clock, run, take, ledger } = scene({ a: 60_000, b: 120_000, c: 1e9 });
  for (const id of ['a', 'b', 'c']) run(id);
  const first = take();
  const second = take();
  const [one, two] = await clock.until(Promise.all([first, second]));
  const times = [one.atMs, two.atMs].sort((left, right) => left - right);
  expect(times[0]).toBeGreaterThanOrEqual(60_000);
  expect(times[1]).toBeGreaterThanOrEqual(120_000);
  const open = (await ledger.find()).filter(({ state }) => state === 'running' || state === 'intent');
  expect(open).toHaveLength(3);
});

test('five that ask at the same moment for two places: two are let in', async () => {
  const { clock, run, take } = scene({ a: 1e9 });
  run('a');
  const ends = await clock.until(Promise.allSettled(Array.from({ length: 5 }, () => take({}, 30_000))));
  expect(ends.map(({ status }) => status).sort()).toEqual([
    ...['fulfilled', 'fulfilled', 'rejected', 'rejected', 'rejected'],
  ]);
});

test('a create that another process is sending holds its slot; what a dead one left does not', async () => {
  const { clock, run, take, ledger } = scene({ a: 1e9, b: 1e9 });
  run('a');
  run('b');
  const alive = ledger.begin(intent({ gateway, settings: {} }));
  await expect(clock.until(take({}, clock.steady() + 30_000))).rejects.toMatchObject({
    kind: 'rate_limited',
    message: expect.stringContaining('nothing was sent'),
  });
  alive.release();
  expect((await clock.until(take())).key).toBeTruthy();
});

test('4k has a place of its own, beside the others', async () => {
  const { clock, run, take } = scene({ a: 1e9, b: 1e9, c: 1e9, d: 40_000 });
  for (const id of ['a', 'b', 'c']) run(id);
  expect((await clock.until(take({ resolution: '4k' }))).atMs).toBe(0);
  const before = clock.steady();
  await expect(clock.until(take({ resolution: '4k' }, before + 20_000))).rejects.toMatchObject({
    kind: 'rate_limited',
  });
});

test('an enterprise account has ten', async () => {
  const ends = Object.fromEntries(Array.from({ length: 10 }, (_, at) => [`t${at}`, at === 9 ? 30_000 : 1e9]));
  const { clock, run, take } = scene(ends, 'enterprise');
  for (const id of Object.keys(ends).slice(0, 9)) run(id);
  expect((await clock.until(take())).atMs).toBe(0);
  run('t9');
  await expect(clock.until(take({}, clock.steady() + 1000))).rejects.toMatchObject({ kind: 'rate_limited' });
});

test('jobs of other gateways and families take no slot; tasks that the gateway has forgotten neither', async () => {
  const { clock, run, take } = scene({ c: 1e9 });
  run('a', {}, { gateway: 'https://other.example' });
  run('b', {}, { family: 'gamma' });
  run('c');
  run('forgotten-1');
  run('forgotten-2');
  await clock.until(clock.sleep(61_000));
  // Two looks fit into this time, but not a whole pause.
  expect((await clock.until(take())).atMs).toBeLessThan(61_000 + 5000);
});

test('jobs that another key made take no slot of this one', async () => {
  const { clock, run, take, asked } = scene({ a: 1e9, b: 1e9, c: 1e9 });
  for (const id of ['a', 'b', 'c']) run(id, {}, { keyId: id === 'c' ? 'other' : 'own' });
  expect((await clock.until(take())).atMs).toBe(0);
  expect(asked).toEqual([]);
});

test('a family without a documented limit counts nothing', async () => {
  const ends = Object.fromEntries(Array.from({ length: 30 }, (_, at) => [`t${at}`, 1e9]));
  const { clock, run, take, asked } = scene(ends, 'personal', betaFamily);
  for (const id of Object.keys(ends)) run(id);
  expect((await clock.until(take())).atMs).toBe(0);
  expect(asked).toEqual([]);
});

test('a task that was made just now and is not known yet keeps its slot', async () => {
  const { clock, run, take } = scene({ a: 1e9, b: 1e9 });
  for (const id of ['a', 'b', 'young']) run(id);
  await expect(clock.until(take({}, 50_000))).rejects.toMatchObject({ kind: 'rate_limited' });
  expect((await clock.until(take())).atMs).toBeGreaterThanOrEqual(60_000);
});

test('a create without an answer holds a slot for as long as its task is likely to run', async () => {
  const { clock, run, take, left, kept } = scene({ a: 1e9, b: 1e9 });
  for (const id of ['a', 'b']) run(id);
  const untilIso = new Date(clock.now() + 15 * 60_000).toISOString();
  const lost = left.begin(intent({ gateway, settings: {} }));
  left.append(lost, { event: 'sent' });
  left.append(lost, { event: 'unknown', message: 'no reply' });
  const told =
    `1 slot is kept for a job of unknown outcome: ${lost} until ${untilIso}; ` +
    `gw jobs list --status unknown shows them, and this frees one: gw jobs resolve ${lost} --as ID|none`;
  const taking = take({}, 600_000);
  const refused = expect(clock.until(taking)).rejects.toMatchObject({
    kind: 'rate_limited',
    facts: { hint: expect.stringContaining(told) },
  });
  await clock.until(clock.sleep(1_000));
  expect(kept).toEqual([told]);
  await refused;
  expect((await clock.until(take())).atMs).toBeGreaterThanOrEqual(15 * 60_000);
});

test('at a sandbox that runs tasks faster such a task is likely to run as much shorter', async () => {
  const { left, clock, take, run } = scene({ a: 1e9, b: 1e9 });
  for (const id of ['a', 'b']) run(id);
  const lost = left.begin(intent({ gateway, settings: {} }));
  left.append(lost, { event: 'sent' });
  left.append(lost, { event: 'unknown', message: 'no reply' });
  expect((await clock.until(take({}, 3_600_000, 20))).atMs).toBeLessThan(60_000);
});

test('a slot that another gw frees is taken within a second, and the gateway is not asked for it', async () => {
  const { clock, run, take, ledger, asked } = scene({ a: 1e9, b: 1e9, c: 1e9 });
  const keys = ['a', 'b', 'c'].map((id) => run(id));
  const taken = take();
  await clock.until(clock.sleep(3_000));
  const looks = asked.length;
  const hold = await ledger.hold(keys[1] ?? '');
  ledger.append(keys[1] ?? '', {
    event: 'final',
    state: 'succeeded',
    status: 'succeeded',
    record: {},
    serverDateMs: 0,
  });
  hold?.release();
  const { atMs } = await clock.until(taken);
  expect(atMs).toBeLessThanOrEqual(4_000);
  expect(asked).toHaveLength(looks);
});

test('first come, first served: each is told how many are before it, and one that has died holds nobody up', async () => {
  const { clock, run, take, notes, dir } = scene({ a: 40_000, b: 80_000, c: 120_000 });
  for (const id of ['a', 'b', 'c']) run(id);
  const order: string[] = [];
  const taking: Promise<unknown>[] = [];
  for (const name of ['first', 'second', 'third']) {
    taking.push(take().then(() => order.push(name)));
    await clock.until(clock.sleep(30));
    const line = readdirSync(path.join(dir, 'locks')).find((each) => each.endsWith('.line')) ?? '';
    // A dead process left a ticket between the first and the second one.
    if (name === 'first') {
      const dead = { pid: 2 ** 30, host: hostOf(), started: '', nonce: 'ab', atMs: 0 };
      writeFileSync(path.join(dir, 'locks', line, '2'), JSON.stringify(dead));
    }
  }
  await clock.until(Promise.all(taking));
  expect(order).toEqual(['first', 'second', 'third']);
  expect(notes.map((note) => /(\d+ before you|you are next)$/.exec(note)?.[1])).toEqual([
    ...[undefined, '1 before you', '2 before you', 'you are next', '1 before you', 'you are next'],
  ]);
});

test('only the first in line looks at the tasks', async () => {
  const { clock, run, take, asked } = scene({ a: 30_000, b: 60_000, c: 90_000 });
  for (const id of ['a', 'b', 'c']) run(id);
  const taking = [take(), take(), take()];
  await clock.until(clock.sleep(1_000));
  expect(asked).toHaveLength(3);
  await clock.until(Promise.all(taking));
});

test('a task that another gw follows is looked at by that one', async () => {
  const { clock, ledger, run, take, asked } = scene({ a: 1e9, b: 1e9, c: 90_000 });
  const [key = ''] = ['a', 'b', 'c'].map((id) => run(id));
  mkdirSync(path.dirname(ledger.lockOf(key)), { recursive: true });
  writeFileSync(ledger.lockOf(key), stopped());
  await clock.until(take());
  expect(new Set(asked.flatMap(({ ids }) => ids))).toEqual(new Set(['b', 'c']));
});
