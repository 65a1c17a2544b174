import * as net from 'node:net';
import * as tls from 'node:tls';
import { describe, expect, onTestFinished, test } from 'vitest';
import { Door } from '../../src/machines/door.ts';
import { makeCertificate } from '../../src/sandbox/certificate.ts';
import { forward, held, type Place, pause, until } from '../cli/place.ts';
import { listening } from '../helpers/listening.ts';
import { openRedisProxy } from './redis-proxy.ts';
import { alpha, image, openStudio as open, paid, type Studio, write as writeRows } from './studio.ts';

// @module-tag redis-server
// A Redis that is silent, that refuses commands, or that holds data which gw never wrote. These are the deterministic cases
// of test/torture/machines.torture.ts.

async function openStudio(options?: Parameters<typeof open>[0]) {
  const studio = await open(options);
  const proxy = await openRedisProxy(studio.redis.port);
  return { ...studio, proxy, env: { ...studio.env, GW_TIMEOUT: '3s', GW_REDIS_URL: proxy.url } };
}

const write = (laptop: Place, rows: readonly object[]) => writeRows({ laptop }, rows);
const batch = (place: Place, env: Record<string, string>, command: string, ...words: string[]) =>
  place.start(['batch', command, 'day.jsonl', '--redis', ...words], { env });
const rowKey = (prefix: string, at: number) => `${prefix}:row:day/r${at}`;
const prefixOf = async ({ redis }: Studio) =>
  ((await redis.client.keys('*:row:day/*'))[0] ?? '').replace(/:row:.*/, '');

/** A row that waits on the queue; `env` connects to Redis without the proxy. */
async function handedOver() {
  const studio = await openStudio();
  const laptop = studio.machine();
  write(laptop, [alpha]);
  const env = { ...studio.env, GW_REDIS_URL: studio.redis.url };
  expect((await batch(laptop, env, 'run', '--detach').ended).code).toBe(0);
  return { studio, laptop, env };
}

test('a Redis that falls silent: what runs is looked at and saved, and the worker ends as unavailable', async () => {
  const studio = await openStudio(held);
  const laptop = studio.machine();
  write(laptop, [alpha]);
  const anna = studio.machine();
  const worker = anna.start(['worker', '--redis', '--name', 'anna'], { env: studio.env });
  const handed = await batch(laptop, studio.env, 'run', '--detach').ended;
  expect(handed.code, handed.err).toBe(0);
  await until('it runs', () => worker.err().includes(': task '));
  studio.proxy.fault = 'swallow';
  await forward(studio.sandbox);
  const { code, err } = await worker.ended;
  expect(code, err).toBe(8);
  expect(err).toMatch(
    /error: Redis has been away for \d+ s: Redis at redis:\/\/127\.0\.0\.1:\d+ does not answer/,
  );
  expect(anna.files().filter((name) => name.endsWith('.mp4'))).toHaveLength(1);
  studio.proxy.fault = 'none';
  const next = anna.start(['worker', '--redis', '--name', 'anna'], { env: studio.env });
  const followed = await batch(laptop, studio.env, 'run').ended;
  expect(followed.code, followed.err).toBe(0);
  expect(anna.files().filter((name) => name.endsWith('.mp4'))).toHaveLength(1);
  expect(paid(studio)).toHaveLength(1);
  next.child.kill('SIGTERM');
  expect((await next.ended).code).toBe(143);
});

test('a row that its worker saved while Redis was away has all its events', async () => {
  const { studio, laptop, env } = await handedOver();
  const anna = studio.machine();
  const away = studio.proxy.at('accepted', 'READONLY');
  // However long the output takes, the worker does not end before it has been saved.
  anna.start(['worker', '--redis'], { env: { ...studio.env, GW_TIMEOUT: '10m' } });
  const following = batch(laptop, env, 'run', '--events');
  await away;
  await until('the output is saved', () => anna.files().some((name) => name.endsWith('.mp4')));
  studio.proxy.fault = 'none';
  const { code, out, err } = await following.ended;
  expect(code, err).toBe(0);
  const events = out
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line).event);
  expect(events.filter((event) => event !== 'intent')).toEqual([
    'accepted',
    'status',
    'download',
    'saved',
    'result',
  ]);
});

test.each(['status', 'cancel', 'run'] as const)(
  'batch %s ends where Redis falls silent under it, and at once where it is told to',
  async (command) => {
    const studio = await openStudio();
    const laptop = studio.machine();
    write(laptop, [alpha]);
    expect((await batch(laptop, studio.env, 'run', '--detach').ended).code).toBe(0);
    const text = { status: 'hgetall', cancel: 'cancelled', run: 'xread' }[command];
    for (const signal of [undefined, 'SIGTERM'] as const) {
      const reached = studio.proxy.at(text, 'swallow');
      // With the longer timeout nothing but the signal ends it before the test is over.
      const env = { ...studio.env, ...(signal && { GW_TIMEOUT: '10m' }) };
      const running = batch(laptop, env, command);
      await reached;
      if (signal) running.child.kill(signal);
      const { code, err } = await running.ended;
      expect(code, err).toBe(signal ? 143 : 8);
      studio.proxy.fault = 'none';
    }
  },
);

test('Redis counts as away since a question that it did not answer, not since its connection was closed for that', async () => {
  const { proxy } = await openStudio();
  const door = await Door.open(proxy.url, { answerMs: 1_500 });
  onTestFinished(() => door.end());
  proxy.fault = 'swallow';
  // The connection is closed when this ping has gone unanswered for 1,500 ms, 500 ms before the second one is given up.
  door.redis.ping().catch(() => {});
  await pause(500);
  await expect(door.ask((redis) => redis.ping())).rejects.toThrow('does not answer');
  expect(door.awayMs()).toBeGreaterThan(500);
});

test('Redis is there again as soon as its connection is, before anything is asked of it', async () => {
  const { proxy } = await openStudio();
  const door = await Door.open(proxy.url);
  onTestFinished(() => door.end());
  proxy.fault = 'reset';
  await until('it is away', () => door.awayMs() > 0);
  proxy.fault = 'none';
  await until('it is there', () => door.awayMs() === 0);
});

test('a server that never answers is named so, even where the client has no time to notice at once', async () => {
  const server = net.createServer((client) => {
    client.on('error', () => {});
    client.once('data', () => {
      const endMs = performance.now() + 500;
      while (performance.now() < endMs);
    });
  });
  onTestFinished(() => void server.close());
  const { port } = await listening(server);
  await expect(Door.open(`redis://127.0.0.1:${port}`, { answerMs: 300 })).rejects.toThrow(
    `Redis at redis://127.0.0.1:${port} cannot be reached: no answer`,
  );
});

test('a Redis whose certificate is not trusted is told with the flag that names its root', async () => {
  const server = tls.createServer(makeCertificate('localhost', Date.now()));
  server.on('tlsClientError', () => {});
  onTestFinished(() => void server.close());
  const { port } = await listening(server);
  await expect(Door.open(`rediss://127.0.0.1:${port}`)).rejects.toMatchObject({
    message: expect.stringContaining('self-signed certificate'),
    facts: { hint: expect.stringContaining('name its root with --cacert FILE') },
  });
});

describe('a Redis that refuses', () => {
  test('from the start: every command ends with a kind and a sentence', async () => {
    const studio = await openStudio();
    const laptop = studio.machine();
    write(laptop, [alpha]);
    const rows = [
      ['READONLY', 8, 'it is a replica and takes no changes'],
      ['OOM', 8, 'its memory is full'],
      ['LOADING', 8, 'it is still loading its data'],
      ['BUSY', 8, 'a script keeps it busy'],
      ['CLUSTERDOWN', 8, 'its cluster is down'],
      ['NOAUTH', 3, 'it wants a password'],
    ] as const;
    for (const [fault, exit, sentence] of rows) {
      studio.proxy.fault = fault;
      const words = [
        ['batch', 'run', 'day.jsonl', '--redis'],
        ['worker', '--redis'],
      ];
      for (const { code, err } of await Promise.all(
        words.map((each) => laptop.run(each, { env: studio.env })),
      )) {
        expect([code, err]).toEqual([exit, expect.stringContaining(sentence)]);
        expect(err).not.toContain('fault of gw');
      }
    }
  });

  test('with a word of another program under a key that all commands ask for: each ends with a sentence', async () => {
    const { studio, laptop, env } = await handedOver();
    await studio.redis.client.set(`${await prefixOf(studio)}:meta`, 'theirs');
    for (const words of ['batch run day.jsonl --redis', 'batch status day.jsonl --redis', 'worker --redis']) {
      const { code, err } = await laptop.run(words.split(' '), { env });
      expect([code, err]).toEqual([
        8,
        expect.stringContaining("one of gw's keys holds something else there"),
      ]);
    }
  });

  test.each(['alpha:wait', 'alpha:stalled'])(
    'with a word of another program in place of %s: its worker says so and ends',
    async (name) => {
      const { studio, env } = await handedOver();
      const queue = `${await prefixOf(studio)}:${name}`;
      await studio.redis.client.del(queue);
      await studio.redis.client.set(queue, 'theirs');
      const { code, err } = await studio.machine().start(['worker', '--redis'], { env }).ended;
      expect([code, err]).toEqual([
        8,
        expect.stringContaining("one of gw's keys holds something else there"),
      ]);
      expect(paid(studio)).toHaveLength(0);
    },
  );

  test.each(['READONLY', 'OOM'] as const)(
    '%s, in mid-run: a worker asks at most 100 times a second, and ends',
    async (fault) => {
      const studio = await openStudio();
      const laptop = studio.machine();
      write(laptop, [image, image, image, image]);
      const worker = studio.machine().start(['worker', '--redis'], { env: studio.env });
      await until('the worker is there', () => worker.err().includes('takes rows'));
      const elsewhere = { ...studio.env, GW_REDIS_URL: studio.redis.url };
      studio.proxy.fault = fault;
      expect((await batch(laptop, elsewhere, 'run', '--detach').ended).code).toBe(0);
      const [sinceMs, before] = [performance.now(), studio.proxy.commands];
      const { code, err } = await worker.ended;
      expect(code, err).toBe(8);
      const seconds = Math.max(1, (performance.now() - sinceMs) / 1000);
      expect((studio.proxy.commands - before) / seconds).toBeLessThan(100);
      expect(paid(studio)).toHaveLength(0);
    },
  );
});

describe('rows that gw never wrote', () => {
  test('twice as many as there are slots, and tickets of none: each ends with its reason, every good row is saved', async () => {
    const studio = await openStudio();
    const laptop = studio.machine();
    write(
      laptop,
      Array.from({ length: 12 }, () => alpha),
    );
    const elsewhere = { ...studio.env, GW_TIMEOUT: '60s' };
    expect((await batch(laptop, elsewhere, 'run', '--detach').ended).code).toBe(0);
    const prefix = await prefixOf(studio);
    const { client } = studio.redis;
    for (let at = 0; at < 6; at += 1) {
      const row = JSON.parse((await client.hget(rowKey(prefix, at), 'row')) ?? '');
      const forced = JSON.stringify({ ...row, said: { ...row.said, force: true } });
      const poison =
        [
          ['row', '{'],
          ['family', 'delta'],
          ['files', '7'],
          ['row', forced],
        ][at % 4] ?? [];
      await client.hset(rowKey(prefix, at), ...(poison as [string, string]));
      if (at === 4) await client.hset(rowKey(prefix, at), 'sender', 'anna');
      if (at < 5) continue;
      await client.set(rowKey(prefix, at), 'no hash');
      await client.set(`${prefix}:next:day/r${at}`, 'no set');
    }
    const tickets = await client.lrange(`${prefix}:alpha:wait`, 0, -1);
    await client.hset(`${prefix}:alpha:${tickets[0]}`, 'data', '{');
    await client.hset(`${prefix}:alpha:${tickets[1]}`, 'data', '7');
    await client.set(`${prefix}:log:day/r6`, 'no list');
    const worker = studio.machine().start(['worker', '--redis', '--name', 'anna'], { env: elsewhere });
    const { code, out, err } = await batch(laptop, elsewhere, 'run').ended;
    expect(code, err).toBe(13);
    expect(out.trimEnd().split('\n')).toHaveLength(6);
    for (let at = 0; at < 6; at += 1) {
      expect(err).toContain(`error: day.jsonl:${at + 1}: the queue's record of day/r${at} cannot be used: `);
      expect(await client.llen(`${prefix}:log:day/r${at}`)).toBeLessThanOrEqual(5);
    }
    expect(err + worker.err()).not.toContain('fault of gw');
    expect(err).toContain('day/r1 cannot be used: family: is not alpha\n');
    expect(err).toContain('day/r2 cannot be used: files: its value is none that gw writes\n');
    // The same command would hand none of them over anew, and a row that was sent is unknown.
    expect(err).toMatch(
      /12 rows: 6 saved, 5 failed, 1 of unknown outcome; create anew what failed with: gw batch run day.jsonl --redis --retry-failed; gw jobs sync/,
    );
    expect(paid(studio)).toHaveLength(6);
    const status = await batch(laptop, elsewhere, 'status').ended;
    expect(status).toMatchObject({ code: 0, out: expect.stringMatching(/6 saved\n6 failed\n/) });
    for (const key of ['day/r4', 'day/r5']) {
      const none = ['jobs', 'resolve', key, '--as', 'none', '--redis'];
      expect(await laptop.run(none, { env: elsewhere })).toMatchObject({ code: 0 });
    }
    // The rows that failed without being sent are handed over again.
    const again = await batch(laptop, elsewhere, 'run', '--retry-failed').ended;
    expect(again.code, again.err).toBe(0);
    expect(paid(studio)).toHaveLength(12);
  });
});

test('what a stranger writes of a row is told as the word of the queue, and its hint runs as printed', async () => {
  const { studio, laptop, env } = await handedOver();
  const { client } = studio.redis;
  const row = rowKey(await prefixOf(studio), 0);
  const words = ['batch', 'run', 'day.jsonl', '--redis', studio.redis.url, '--json'];
  const run = (...more: string[]) => laptop.run([...words, ...more], { env });
  await client.hset(row, { state: 'unknown', sender: 'bert' });
  const hint = `gw jobs resolve day/r0 --as ID|none --redis ${studio.redis.url}`;
  expect((await run()).err).toContain(`${hint}"`);
  expect((await run('--insecure-redis')).err).toContain(`${hint} --insecure-redis"`);
  await client.hset(row, 'state', 'failed');
  const failed = await run();
  expect(failed.err).toContain('day/r0 cannot be used: error: is not there, and the row is failed');
  expect(JSON.parse(failed.out)).toMatchObject({ error: { kind: 'usage' } });
  const told = { kind: 'rate_limited', message: 'HTTP 429', status: 429, retry_at: '2026-11-20T12:10:00Z' };
  await client.hset(row, 'error', JSON.stringify(told));
  expect(JSON.parse((await run()).out)).toMatchObject({ error: told });
  const file = { path: '/etc/passwd', bytes: 1, sha256: '0'.repeat(64), type: 'video/mp4' };
  await client.hset(row, { state: 'saved', files: JSON.stringify([file]) });
  expect(JSON.parse((await run()).out).files).toMatchObject([{ path: '?:/etc/passwd' }]);
});

test('a row that cannot be read is taken out like any other', async () => {
  const { studio, laptop, env } = await handedOver();
  await studio.redis.client.hset(rowKey(await prefixOf(studio), 0), 'row', '{');
  const { code, out, err } = await batch(laptop, env, 'cancel').ended;
  expect([code, out], err).toEqual([0, '1 taken out\n']);
});

test('a row that a newer gw writes while it is followed is told of, and ends nothing else', async () => {
  const studio = await openStudio();
  const laptop = studio.machine();
  write(laptop, [alpha, alpha]);
  const env = { ...studio.env, GW_REDIS_URL: studio.redis.url };
  const following = batch(laptop, env, 'run', '--json');
  await until('it follows', () => following.err().includes('no worker is connected'));
  const row = rowKey(await prefixOf(studio), 0);
  await studio.redis.client.hset(row, 'v', '99');
  const before = await studio.redis.client.hgetall(row);
  studio.machine().start(['worker', '--redis'], { env });
  const { code, out, err } = await following.ended;
  expect(code, err).toBe(13);
  expect(err).toContain('day.jsonl:1: its row is of a newer gw, and stays as it is');
  const statuses = out.trim().split('\n');
  expect(statuses.map((line) => JSON.parse(line).status).sort()).toEqual(['succeeded', 'unknown']);
  expect(await studio.redis.client.hgetall(row)).toEqual(before);
  const next = await batch(laptop, env, 'run').ended;
  expect(next, next.err).toMatchObject({
    code: 2,
    err: expect.stringMatching(/day\/r0 was written by a newer gw/),
  });
});

test('a row of unknown outcome is closed from another machine, and waits again or goes on with the task that was found', async () => {
  const studio = await openStudio({ fault: 'create:reset-after:x2' });
  const [laptop, desk] = [studio.machine(), studio.machine()];
  // All rows are videos: a busy worker may begin with any row, and an image has no task that could be found.
  write(laptop, [alpha, alpha, alpha]);
  const env = { ...studio.env, GW_TIMEOUT: '60s', GW_REDIS_URL: studio.redis.url };
  studio.machine().start(['worker', '--redis', '--name', 'anna', '--concurrency', '1'], { env });
  const lost = await batch(laptop, env, 'run').ended;
  expect(lost.code, lost.err).toBe(13);
  const closings = [
    ...lost.err.matchAll(/close it with: (gw jobs resolve (day\/r\d) --as ID\|none --redis)/g),
  ];
  expect(closings.map(([, , key]) => key)).toHaveLength(2);
  const [first = '', second = ''] = closings.map(([, , key]) => key ?? '');
  // The desk reaches Redis through a slow proxy, so the worker is always faster.
  Object.assign(studio.proxy, { fault: 'delay', delayMs: 700 });
  const slow = { env: { ...env, GW_REDIS_URL: studio.proxy.url } };
  const resolve = (key: string, as: string) =>
    desk.run(['jobs', 'resolve', key, '--as', as, '--redis', '--retries', '0'], slow);
  expect(await resolve(first, 'vt-none-such')).toMatchObject({ code: 4 });
  const task = paid(studio).find(({ acceptedTaskId }) => acceptedTaskId !== undefined)?.acceptedTaskId ?? '';
  expect(await resolve(first, task)).toMatchObject({ code: 0, out: `${first}\trunning\n` });
  // For a row that this machine does not know, GW_REDIS_URL is enough without --redis.
  expect(await desk.run(['jobs', 'resolve', second, '--as', 'none'], slow)).toMatchObject({
    ...{ code: 0, out: `${second}\twaiting\n` },
  });
  expect((await resolve(second, 'none')).code).toBe(2);
  const { code, err } = await batch(laptop, env, 'run').ended;
  expect(code, err).toBe(0);
  expect(paid(studio)).toHaveLength(4);
});

test('a row of unknown outcome is taken out, and is not sent again unasked', async () => {
  const studio = await openStudio({ fault: 'create:reset-after:x1' });
  const laptop = studio.machine();
  write(laptop, [alpha]);
  const env = { ...studio.env, GW_TIMEOUT: '60s', GW_REDIS_URL: studio.redis.url };
  const typed = ['--redis', studio.redis.url];
  const { GW_REDIS_URL: _, ...other } = env;
  const anna = studio.machine().start(['worker', ...typed, '--name', 'anna'], { env: other });
  expect((await batch(laptop, env, 'run').ended).code).toBe(14);
  expect(anna.err()).toContain(`close it with: gw jobs resolve day/r0 --as ID|none ${typed.join(' ')}\n`);
  const kept = /a slot of alpha is kept for day\/r0: .* --redis redis:\/\/127\.0\.0\.1:\d+\n/;
  await until('its slot is told of', () => kept.test(anna.err()));
  expect((await batch(laptop, env, 'cancel').ended).out).toBe('1 taken out\n');
  const { code, out, err } = await batch(laptop, env, 'run', '--json').ended;
  expect(code, err).toBe(13);
  expect(JSON.parse(out)).toMatchObject({ id: expect.stringMatching(/^gw-/), status: 'unknown' });
  expect(err).toContain('it may have been created');
  // The same run again would not send it either.
  expect(err).toMatch(/^1 row: 0 saved, 1 taken out$/m);
  // The gateway may not know a young task yet.
  await studio.faults('query:404:x1');
  const as = String(paid(studio)[0]?.acceptedTaskId);
  const resolved = await laptop.run(['jobs', 'resolve', 'day/r0', '--as', as, '--redis'], { env });
  expect(resolved, resolved.err).toMatchObject({ code: 0, out: 'day/r0\trunning\n' });
  expect(paid(studio)).toHaveLength(1);
});
