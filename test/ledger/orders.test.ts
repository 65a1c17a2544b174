import { once } from 'node:events';
import * as fs from 'node:fs';
import * as path from 'node:path';
import { Worker } from 'node:worker_threads';
import { expect, test } from 'vitest';
import { hostOf } from '../../src/disk/lock-file.ts';
import { newJobKey } from '../../src/ledger/job-key.ts';
import { openLedger } from '../../src/ledger/open-ledger.ts';
import { intent, journalText, leftLedger, tempDir } from './fixtures.ts';
import { goThrough } from './interleavings.ts';
import { DONE, isLeft, RUNNING } from './turns.ts';

const clock = { now: Date.now };
const place = () => ({ dir: tempDir(), key: newJobKey() });
const jobsIn = (dir: string) => openLedger({ dir, clock, keepPrompts: true }).find();

/** Checks that a create whose reply is lost was sent once and counts as unknown, whatever ran beside it. */
async function isUnknown({ dir, key }: ReturnType<typeof place>, shared: Int32Array): Promise<void> {
  const jobs = await jobsIn(dir);
  expect(jobs.map((job) => [job.key, job.state])).toEqual([[key, 'unknown']]);
  expect(shared[0]).toBe(1);
  expect(journalText(dir)).not.toContain('"interrupted"');
}

/** Checks that a create of family B whose reply is lost is found by its external ID, by its own command or by a sync. */
async function isFound({ dir, key }: ReturnType<typeof place>, shared: Int32Array): Promise<void> {
  const jobs = await jobsIn(dir);
  expect(jobs.map((job) => [job.key, job.state, job.id])).toEqual([[key, 'running', 'task-1']]);
  expect(shared[0]).toBe(1);
  expect(journalText(dir)).not.toMatch(/"event":"(refused|absent)"/);
}

test('a wake-up that comes late, meant for an earlier step, lets nobody go on', async () => {
  const state = new Int32Array(new SharedArrayBuffer(4)).fill(RUNNING);
  const waker = `
    const { state, DONE } = require('node:worker_threads').workerData;
    for (let woken = 0; woken === 0; ) woken = Atomics.notify(state, 0);
    setTimeout(() => {
      Atomics.store(state, 0, DONE);
      Atomics.notify(state, 0);
    }, 100);
  `;
  const ended = once(new Worker(waker, { eval: true, workerData: { state, DONE } }), 'exit');
  isLeft(state, 0, RUNNING);
  expect(state[0]).toBe(DONE);
  await ended;
});

const creates = [
  { create: 'create alpha', check: isUnknown },
  { create: 'create beta', check: isFound },
  { create: 'create image', check: isUnknown },
] as const;

test.each(creates)(
  '$create beside a sync: the job is never called one that was not sent',
  async ({ create, check }) => {
    const orders = await goThrough({ scenes: [create, 'sync'], setUp: place, check, switches: 2 });
    expect(orders).toBeGreaterThan(75);
  },
);

// Alpha is left out, because its steps are those of beta without the look-up.
test.each(['create beta', 'create image'] as const)('%s beside a prune: the job stays', async (create) => {
  const setUp = () => {
    const here = place();
    const left = leftLedger({ dir: here.dir, clock });
    left.append(left.begin(intent()), { event: 'refused', kind: 'rejected', message: 'no' });
    return here;
  };
  const orders = await goThrough({
    ...{ scenes: [create, 'prune'], setUp, switches: 1 },
    check: async (here, shared) => {
      const [job] = await openLedger({ dir: here.dir, clock, keepPrompts: true }).find({ ids: [here.key] });
      expect(job?.state).toBe(create === 'create beta' ? 'running' : 'unknown');
      expect(shared[0]).toBe(1);
    },
  });
  expect(orders).toBeGreaterThan(40);
});

test('two syncs of what a dead process had sent: it may exist, and each says so once at most', async () => {
  const setUp = () => {
    const here = place();
    const left = leftLedger({ dir: here.dir, clock });
    left.begin(intent(), here.key);
    left.append(here.key, { event: 'sent' });
    return here;
  };
  const orders = await goThrough({
    ...{ scenes: ['sync', 'sync'], setUp, switches: 3 },
    check: async ({ dir }) => {
      expect((await jobsIn(dir)).map(({ state }) => state)).toEqual(['unknown']);
      expect(journalText(dir).match(/"event":"unknown"/g)).toHaveLength(1);
    },
  });
  expect(orders).toBeGreaterThan(20);
});

test.each(['', 'and a marker of one that died while it took the lock over'])(
  'two that find the lock of a dead process: never both hold it %s',
  async (marker) => {
    const dead = { pid: 0, host: hostOf(), started: '', nonce: 'ab' };
    const setUp = () => {
      const here = place();
      const lock = path.join(here.dir, 'locks', `${here.key}.lock`);
      fs.mkdirSync(path.dirname(lock), { mode: 0o700 });
      fs.writeFileSync(lock, JSON.stringify(dead));
      if (marker) fs.writeFileSync(`${lock}.ab`, JSON.stringify({ ...dead, nonce: 'cd' }));
      return here;
    };
    const orders = await goThrough({
      ...{ scenes: ['claim', 'claim'], setUp, switches: marker ? 1 : 2 },
      check: async ({ dir }, shared) => {
        expect(shared[1]).toBe(1);
        expect(fs.readdirSync(path.join(dir, 'locks'))).toEqual([]);
      },
    });
    expect(orders).toBeGreaterThan(10);
  },
);
