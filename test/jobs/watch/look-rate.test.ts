import * as fs from 'node:fs';
import * as path from 'node:path';
import { describe, expect, test } from 'vitest';
import { GwError } from '../../../src/errors.ts';
import { alphaFamily } from '../../../src/gateway/alpha/task.ts';
import { betaFamily } from '../../../src/gateway/beta/task.ts';
import { accountLimits, poolOf } from '../../../src/gateway/limits.ts';
import type { Client } from '../../../src/http/client.ts';
import { createLooker } from '../../../src/jobs/watch/looker.ts';
import { openRateFile } from '../../../src/jobs/watch/rate.ts';
import { VirtualClock } from '../../helpers/virtual-clock.ts';
import { tempDir } from '../../ledger/fixtures.ts';
import { fakeTasks, mostInAMinute } from '../fake-client.ts';

const MINUTE_MS = 60_000;
const never = () => new AbortController().signal;
const idsOf = (count: number) => Array.from({ length: count }, (_, at) => `task-${at}`);

const lookerOf = (client: Client, clock: VirtualClock, family = alphaFamily) =>
  createLooker({ client, family, clock, account: 'personal', random: () => 0.5 });

/** A gateway that answers 429 until `untilMs`; its replies name `toldMs` as the end. */
function busyUntil(clock: VirtualClock, untilMs: number, toldMs: number | undefined = untilMs) {
  return fakeTasks(clock, () => 'queued', {
    fail: ({ atMs }) => {
      if (atMs >= untilMs) return;
      const retryAtMs = toldMs === undefined ? undefined : clock.now() - clock.steady() + toldMs;
      throw new GwError('rate_limited', 'HTTP 429', { retryAtMs });
    },
  });
}

describe("the gateway's word on waiting", () => {
  test('is obeyed for as long as it says', async () => {
    const clock = new VirtualClock();
    const { client, asked } = busyUntil(clock, 3 * MINUTE_MS);
    const looker = lookerOf(client, clock);
    const deadlineMs = 10 * MINUTE_MS;
    const looks = idsOf(5).map((id) => looker.look(id, { signal: never(), retries: 0, deadlineMs }));
    await clock.until(Promise.allSettled(looks));
    expect(asked).toHaveLength(5);
    expect(asked[1]?.atMs).toBe(3 * MINUTE_MS);
  });

  test('ends at once every look that cannot wait so long, and says when to come back', async () => {
    const clock = new VirtualClock();
    const { client, asked } = busyUntil(clock, 60 * MINUTE_MS);
    const looker = lookerOf(client, clock);
    const retryAtMs = clock.now() + 60 * MINUTE_MS;
    const looks = idsOf(20).map((id, at) =>
      looker.look(id, { signal: never(), retries: 0, ...(at % 2 && { deadlineMs: 30 * MINUTE_MS }) }),
    );
    const ends = await clock.until(Promise.allSettled(looks));
    expect(clock.steady()).toBeLessThan(1000);
    expect(asked).toHaveLength(1);
    for (const end of ends)
      expect(end).toMatchObject({ reason: { kind: 'rate_limited', facts: { retryAtMs } } });
    // A later look gets the same error without a request.
    const late = clock.until(looker.look('late', { signal: never() }));
    await expect(late).rejects.toMatchObject({ kind: 'rate_limited', facts: { retryAtMs } });
    expect(asked).toHaveLength(1);
  });

  test('where it names no moment, looks still become fewer', async () => {
    const clock = new VirtualClock();
    const { client, asked } = busyUntil(clock, 20_000, undefined);
    const looker = lookerOf(client, clock);
    const looks = idsOf(60).map((id) => looker.look(id, { signal: never(), retries: 0 }));
    await clock.until(Promise.allSettled(looks));
    expect(asked.filter(({ atMs }) => atMs < 20_000).length).toBeLessThan(15);
  });
});

describe('what is sent again', () => {
  /** A client that fails each request `failures` times, and pauses between its retries as the real client does. */
  function retrying(clock: VirtualClock, failures: number, isRateLimited = false, delayMs = 100) {
    const fake = fakeTasks(clock, () => 'queued');
    const send: Client['send'] = async (endpoint, input, options = {}) => {
      for (let tries = 0; tries < failures; tries += 1) {
        fake.asked.push({ atMs: clock.steady(), ids: [] });
        await options.pause?.({ delayMs, isRateLimited, tell() {} });
      }
      return fake.client.send(endpoint, input, options);
    };
    return { client: { send, speed: () => 1 } as unknown as Client, asked: fake.asked };
  }

  test('creates count against the rate too, in this process and over all', async () => {
    const locks = path.join(tempDir(), 'locks');
    for (const rateOf of [undefined, (pool: string) => openRateFile(locks, [pool])]) {
      const clock = new VirtualClock();
      const { client, asked } = fakeTasks(clock, () => 'queued');
      const options = { client, family: alphaFamily, clock, account: 'personal', random: () => 0.5 } as const;
      const looker = createLooker({ ...options, rateOf });
      const creates = idsOf(40).map(() => {
        looker.spend(poolOf({ family: 'alpha', settings: {} }, 'personal'));
        return { ids: [], atMs: clock.steady() };
      });
      await clock.until(Promise.all(idsOf(200).map((id) => looker.look(id, { signal: never() }))));
      const all = [...creates, ...asked];
      expect(mostInAMinute(all)).toBeLessThanOrEqual(accountLimits.personal.requestsPerMinute);
    }
  });

  test('counts against the rate like what is new', async () => {
    const clock = new VirtualClock();
    const { client, asked } = retrying(clock, 2);
    const looker = lookerOf(client, clock);
    await clock.until(Promise.all(idsOf(200).map((id) => looker.look(id, { signal: never() }))));
    expect(asked).toHaveLength(600);
    expect(mostInAMinute(asked)).toBeLessThanOrEqual(accountLimits.personal.requestsPerMinute);
  });

  test('the first 429 holds all others back', async () => {
    const clock = new VirtualClock();
    const { client, asked } = retrying(clock, 1, true, 15_000);
    const looker = lookerOf(client, clock);
    await clock.until(Promise.all(idsOf(3).map((id) => looker.look(id, { signal: never() }))));
    expect(asked.filter(({ atMs }) => atMs < 15_000)).toHaveLength(1);
  });

  test('ends with its signal while it waits for its turn', async () => {
    const clock = new VirtualClock();
    const { client } = retrying(clock, 1, true, 100_000);
    const looker = lookerOf(client, clock);
    const interrupt = new AbortController();
    const look = looker.look('a', { signal: interrupt.signal });
    void clock.sleep(1000).then(() => interrupt.abort(new Error('enough')));
    await expect(clock.until(look)).rejects.toThrow('enough');
  });
});

describe('a rate that processes share', () => {
  test.each([alphaFamily, betaFamily])('is kept by two together: $name', async (family) => {
    const clock = new VirtualClock();
    const locks = path.join(tempDir(), 'locks');
    const fakes = [0, 1].map(() => {
      const fake = fakeTasks(clock, () => 'queued', { latencyMs: 30 });
      const looker = createLooker({
        ...{ client: fake.client, family, clock, account: 'personal', random: () => 0.5 },
        rateOf: (pool) => openRateFile(locks, ['https://gateway.example', 'key', pool]),
      });
      return { ...fake, looker };
    });
    const looks = fakes.flatMap(({ looker }) =>
      idsOf(250).map(async (id) => {
        for (let round = 0; round < 3; round += 1) await looker.look(id, { signal: never() });
      }),
    );
    await clock.until(Promise.all(looks));
    const asked = fakes.flatMap((fake) => fake.asked).sort((one, two) => one.atMs - two.atMs);
    const limit = family === alphaFamily ? accountLimits.personal.requestsPerMinute : 120;
    expect(mostInAMinute(asked)).toBeLessThanOrEqual(limit);
    if (family === alphaFamily) expect(mostInAMinute(asked)).toBeGreaterThan(limit / 2);
    for (const fake of fakes) expect(fake.asked.length).toBeGreaterThan(asked.length / 3);
  });

  test("so is the gateway's word on waiting", async () => {
    const clock = new VirtualClock();
    const locks = path.join(tempDir(), 'locks');
    const { client, asked } = busyUntil(clock, 5 * MINUTE_MS);
    const look = (deadlineMs?: number) =>
      createLooker({
        ...{ client, family: alphaFamily, clock, account: 'personal', random: () => 0.5 },
        rateOf: (pool) => openRateFile(locks, [pool]),
      }).look('a', { signal: never(), retries: 0, deadlineMs });
    await expect(clock.until(look())).rejects.toMatchObject({ kind: 'rate_limited' });
    await expect(clock.until(look())).rejects.toMatchObject({ kind: 'rate_limited' });
    expect(asked).toHaveLength(1);
    await clock.until(look(10 * MINUTE_MS));
    expect(asked[1]?.atMs).toBeGreaterThanOrEqual(5 * MINUTE_MS);
    expect(asked[1]?.atMs).toBeLessThan(5 * MINUTE_MS + 1000);
  });

  test('a look that waits for a pause which another process was told of says so until it goes on', async () => {
    const clock = new VirtualClock();
    const locks = path.join(tempDir(), 'locks');
    const { client, asked } = fakeTasks(clock, () => 'queued');
    openRateFile(locks, ['all']).hold(100_000, clock.now());
    const said: [number, string][] = [];
    const looker = createLooker({
      ...{ client, family: alphaFamily, clock, account: 'personal', random: () => 0.5 },
      rateOf: () => openRateFile(locks, ['all']),
      note: (line) => said.push([clock.steady(), line]),
    });
    await clock.until(looker.look('a', { signal: never() }));
    expect(asked.map(({ atMs }) => atMs)).toEqual([100_000]);
    expect(said.map(([atMs]) => atMs)).toEqual([0, 25_000, 50_000, 75_000]);
    expect(said[3]?.[1]).toBe(
      `the gateway asks not to be asked before ${new Date(clock.now()).toISOString()}: waiting`,
    );
  });

  test('a file that cannot be used, that says nothing, or that comes from a later clock holds nobody back', () => {
    const dir = tempDir();
    const locks = path.join(dir, 'locks');
    const rate = openRateFile(locks, ['a']);
    expect(rate.take(500, 10_000)).toBe(0);
    expect(rate.take(500, 10_000)).toBe(500);
    expect(rate.take(500, 10_250)).toBe(750);
    const [name = ''] = fs.readdirSync(locks);
    expect(fs.readdirSync(locks)).toEqual([expect.stringMatching(/^rate-[0-9a-f]+$/)]);
    expect(rate.take(500, 1000)).toBe(0);
    for (const text of ['', '[', '{}', '[1,"2"]', '[1]', 'null', '[1000,1e999]', ' '.repeat(2000)]) {
      fs.writeFileSync(path.join(locks, name), text);
      expect([rate.take(500, 2000), rate.take(500, 2000)], text).toEqual([0, 500]);
    }
    fs.writeFileSync(path.join(dir, 'file'), '');
    const nowhere = openRateFile(path.join(dir, 'file', 'locks'), ['a']);
    expect([nowhere.take(500, 0), nowhere.take(500, 0)]).toEqual([0, 0]);
    expect(() => nowhere.hold(1000, 0)).not.toThrow();
  });
});
