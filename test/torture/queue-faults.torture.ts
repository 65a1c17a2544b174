import * as fs from 'node:fs';
import * as path from 'node:path';
import { expect, test } from 'vitest';
import { type Ended, openSandbox, Place, pause, type Running, sha256Of, until } from '../cli/place.ts';
import { openRedis } from '../machines/redis.ts';
import { openRedisProxy, type RedisFault } from '../machines/redis-proxy.ts';
import { isLong, tell } from './torture.ts';

// @module-tag redis-server
// Combines each fault of a Redis with each step of a row. Whatever happens, the gateway has at most one task of the row, every
// command ends, and the row can afterwards be saved, or closed and made.

const faults = [
  ...(['swallow', 'delay', 'cut', 'reset'] as const),
  ...(['READONLY', 'OOM', 'LOADING', 'NOAUTH', 'BUSY'] as const),
  ...(['redis stopped', 'gw stopped', 'ten minutes ahead', 'ten minutes behind'] as const),
];
type Fault = (typeof faults)[number];

const faketime = { LD_PRELOAD: '/usr/$LIB/faketime/libfaketimeMT.so.1', FAKETIME_DONT_FAKE_MONOTONIC: '1' };
const clocks: Partial<Record<Fault, Record<string, string>>> = {
  'ten minutes ahead': { ...faketime, FAKETIME: '+10m' },
  'ten minutes behind': { ...faketime, FAKETIME: '-10m' },
};

/** Text in the Redis command that begins a step, and the process that sends the command. */
const steps = {
  taking: { text: '"step":"taken"', by: 'worker' },
  'before sending': { text: '"step":"sending"', by: 'worker' },
  accepted: { text: '"step":"accepted"', by: 'worker' },
  looking: { text: '', by: 'worker' },
  saving: { text: '"step":"ended"', by: 'worker' },
  ending: { text: '"step":"saved"', by: 'worker' },
  'hand-over': { text: 'handed_over', by: 'run' },
  follow: { text: 'xread', by: 'run' },
  status: { text: 'hgetall', by: 'status' },
  cancel: { text: 'cancelled', by: 'cancel' },
} as const;
type Step = keyof typeof steps;

const kinds = {
  alpha: { command: 'video alpha', model: '2.0-fast', resolution: '480p', duration: 4 },
  beta: { command: 'video beta', duration: 3 },
  gamma: { command: 'video gamma', resolution: '768P', ratio: '16:9', duration: 4 },
  image: { command: 'image create', model: 'img-2', size: '256x256' },
} as const;
type Kind = keyof typeof kinds;

/** A command that takes longer fails the test. */
const LONGEST_MS = 100_000;
const FAULT_MS = 7_000;

interface Cell {
  readonly kind: Kind;
  readonly fault: Fault;
  readonly step: Step;
}

async function tryCell(
  { kind, fault, step }: Cell,
  timeout: string,
): Promise<{ how: string; longestMs: number }> {
  const cleaning: (() => unknown)[] = [];
  const after = (clean: () => unknown) => void cleaning.unshift(clean);
  let longestMs = 0;
  let isOver = false;
  const what = `${kind}, ${fault}, ${step}, --timeout ${timeout}`;
  const endOf = async (running: Running): Promise<Ended> => {
    const sinceMs = performance.now();
    const ended = await Promise.race([running.ended, pause(LONGEST_MS)]);
    longestMs = Math.max(longestMs, performance.now() - sinceMs);
    if (!ended) throw new Error(`${what}: no end: ${running.err()}`);
    if (ended.err.includes('fault of gw')) throw new Error(`${what}: ${ended.err}`);
    return ended;
  };
  try {
    const sandbox = await openSandbox({ speed: 20 }, after);
    const redis = await openRedis({ appendOnly: true }, after);
    const proxy = await openRedisProxy(redis.port, after);
    const place = () => {
      const made = new Place(sandbox);
      after(() => made.close());
      return made;
    };
    const [laptop, anna] = [place(), place()];
    const direct = { GW_INTERVAL: '200ms', GW_TIMEOUT: timeout, GW_REDIS_URL: redis.url };
    const troubled = { ...direct, GW_REDIS_URL: proxy.url, ...clocks[fault] };
    fs.writeFileSync(
      path.join(laptop.cwd, 'day.jsonl'),
      `${JSON.stringify({ id: 'r0', prompt: 'a fox', ...kinds[kind] })}\n`,
    );
    const creates = () =>
      sandbox.requests.filter(({ server, method }) => server === 'api' && method === 'POST');
    // A create of family B may be sent again under its external ID: the gateway still has one task.
    const paid = () =>
      kind === 'beta'
        ? new Set(creates().flatMap((each) => each.acceptedTaskId ?? [])).size
        : creates().length;
    const batch = (command: string, env: Record<string, string>, ...words: string[]) =>
      laptop.start(['batch', command, 'day.jsonl', '--redis', ...words], { env });
    let worker: Running | undefined;
    // The fault may end a worker sooner or later; then another worker takes its place.
    const work = (env: Record<string, string>): Running => {
      worker = anna.start(['worker', '--redis', '--name', 'anna'], { env });
      void worker.ended.then(() => !isOver && work(direct));
      return worker;
    };

    const { text, by } = steps[step];
    const isWorker = by === 'worker';
    if (by === 'status' || by === 'cancel')
      expect((await endOf(batch('run', direct, '--detach'))).code).toBe(0);
    const first = isWorker ? work(troubled) : undefined;
    if (first) await until('the worker is there', () => first.err().includes('takes rows'), 60_000);
    // Wait until the step is reached or its process ends: a process ends early when the queue refuses its request.
    const injected: RedisFault = (
      fault.startsWith('redis') || fault.startsWith('gw') || fault.startsWith('ten') ? 'none' : fault
    ) as RedisFault;
    const reached = text === '' ? undefined : proxy.at(text, injected);
    const handed = isWorker ? batch('run', direct, '--detach') : batch(by, troubled);
    const victim = first ?? handed;
    if (isWorker) expect((await endOf(handed)).code).toBe(0);
    const isLooked = () =>
      sandbox.requests.some(({ method, server }) => method === 'GET' && server === 'api');
    // A batch follows a row for ever when no worker is left.
    if (step === 'looking') {
      await until('it is looked at', isLooked, 60_000);
      proxy.fault = injected;
    } else await Promise.race([reached, victim.ended, pause(20_000)]);
    if (fault === 'redis stopped') redis.signal('SIGSTOP');
    if (fault === 'gw stopped') victim.child.kill('SIGSTOP');
    await pause(FAULT_MS);
    proxy.fault = 'none';
    if (fault === 'redis stopped') redis.signal('SIGCONT');
    if (fault === 'gw stopped') victim.child.kill('SIGCONT');

    // `gw batch run` follows the batch to its end, so the test stops it.
    if (victim === handed && by === 'run') {
      await pause(500);
      handed.child.kill('SIGTERM');
    }
    let [isSaved, how] = [false, 'saved'];
    if (victim === handed && (await endOf(handed)).code === 0 && by === 'cancel')
      how = 'taken out, then saved';
    worker ??= work(direct);
    for (let tries = 0; tries < 5 && !isSaved; tries += 1) {
      const run = await endOf(batch('run', direct, ...(tries > 0 ? ['--retry-failed'] : [])));
      isSaved = run.code === 0;
      if (run.code === 14 || /may have been created/.test(run.err)) {
        how = 'unknown, closed, saved';
        const task = sandbox.requests.find(
          ({ acceptedTaskId }) => acceptedTaskId !== undefined,
        )?.acceptedTaskId;
        const as = paid() === 0 ? 'none' : task;
        if (as === undefined) throw new Error(`${what}: an image was made and is unknown: ${run.err}`);
        const line = ['jobs', 'resolve', 'day/r0', '--as', as, '--redis'];
        expect((await endOf(laptop.start(line, { env: direct }))).code, what).toBe(0);
      }
      if (!isSaved && tries === 4)
        throw new Error(`${what}: not saved: exit ${run.code}: ${run.err}\n${worker.err()}`);
    }
    if (paid() !== 1) throw new Error(`${what}: ${paid()} creates`);
    const rowKey = (await redis.client.keys('*:row:day/r0'))[0] ?? '';
    const [file] = JSON.parse((await redis.client.hget(rowKey, 'files')) ?? '[]') as {
      path: string;
      sha256: string;
    }[];
    if (!file || sha256Of(file.path) !== file.sha256)
      throw new Error(`${what}: the file is not what was recorded`);
    isOver = true;
    worker.child.kill('SIGTERM');
    await endOf(worker);
    return { how, longestMs };
  } finally {
    isOver = true;
    for (const clean of cleaning) await clean();
  }
}

if (isLong) {
  test('fault x step x kind: one task at most, no command without an end, every row is saved', {
    timeout: 3_600_000,
  }, async () => {
    const only = process.env.GW_CELL ?? '';
    const cells = (Object.keys(kinds) as Kind[])
      .flatMap((kind) =>
        faults.flatMap((fault) =>
          (Object.keys(steps) as Step[])
            // An image has no task to look at.
            .filter((step) => !(kind === 'image' && step === 'looking'))
            .map((step) => ({ kind, fault, step })),
        ),
      )
      .filter(({ kind, fault, step }) => `${kind}, ${fault}, ${step}`.includes(only));
    const outcomes: Record<string, number> = {};
    const wrong: string[] = [];
    let longestMs = 0;
    const left = [...cells.entries()];
    const worker = async () => {
      for (let next = left.shift(); next !== undefined; next = left.shift()) {
        const [at, cell] = next;
        try {
          const tried = await tryCell(cell, at % 2 === 0 ? '3s' : '30s');
          outcomes[tried.how] = (outcomes[tried.how] ?? 0) + 1;
          longestMs = Math.max(longestMs, tried.longestMs);
        } catch (error) {
          wrong.push((error as Error).message);
          console.log((error as Error).message);
        }
      }
    };
    await Promise.all(Array.from({ length: 4 }, worker));
    console.log(
      `faults of Redis: ${cells.length} cells, ${JSON.stringify(outcomes)}, longest command ${Math.round(longestMs)} ms`,
    );
    tell('faults of Redis at each step', { cells: cells.length });
    expect(wrong).toEqual([]);
  });
}
