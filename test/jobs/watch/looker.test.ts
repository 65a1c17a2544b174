import { describe, expect, test } from 'vitest';
import { GwError } from '../../../src/errors.ts';
import { alphaFamily } from '../../../src/gateway/alpha/task.ts';
import { betaFamily } from '../../../src/gateway/beta/task.ts';
import { type AccountType, accountLimits, fourKLimits, poolOf } from '../../../src/gateway/limits.ts';
import type { TaskFamily } from '../../../src/gateway/task.ts';
import type { Client } from '../../../src/http/client.ts';
import { createLooker, type LookOptions } from '../../../src/jobs/watch/looker.ts';
import { poll } from '../../../src/jobs/watch/poll.ts';
import { VirtualClock } from '../../helpers/virtual-clock.ts';
import { fakeTasks, mostInAMinute } from '../fake-client.ts';

const idsOf = (count: number) =>
  Array.from({ length: count }, (_, at) => `task-${String(at).padStart(5, '0')}`);
const never = () => new AbortController().signal;
/** The options of a look at a task that the gateway took at this steady time. */
const madeAt = (ms: number) => ({ job: { acceptedAtMs: new VirtualClock().now() + ms, createdAtMs: 0 } });

const lookerOf = (
  client: Client,
  clock: VirtualClock,
  family: TaskFamily = betaFamily,
  account: AccountType = 'personal',
) => createLooker({ client, family, clock, account, random: () => 0.5 });

/** Follows tasks without a ledger, as `wait` does, until each has succeeded. */
async function waitForAll(
  family: TaskFamily,
  count: number,
  options: { account?: 'enterprise' | 'personal'; lastsMs: number; settings?: Record<string, unknown> },
) {
  const clock = new VirtualClock();
  let seed = 1;
  const random = () => {
    seed = (seed * 16_807) % 2_147_483_647;
    return seed / 2_147_483_647;
  };
  const fake = fakeTasks(clock, (_, atMs) => (atMs < options.lastsMs ? 'queued' : 'succeeded'), {
    latencyMs: 40,
  });
  const account = options.account ?? 'enterprise';
  const looker = createLooker({ client: fake.client, family, clock, account, random });
  const pool = poolOf({ family: family.name, settings: options.settings ?? {} }, account);
  const looks = new Map<string, number>();
  const ids = idsOf(count);
  for (const id of ids) looker.follow(id);
  const all = ids.map(async (id) => {
    const look = await poll({
      look: (signal) =>
        looker.look(id, { signal, retries: 0, pool, patienceMs: family.pollIntervalMs.max * 0.2 }),
      intervalMs: family.pollIntervalMs,
      deadlineMs: 10 * 3_600_000,
      firstDelayMs: 0,
      clock,
      random,
      signal: never(),
      taskId: id,
      onUpdate: () => void looks.set(id, (looks.get(id) ?? 0) + 1),
      onTrouble: (error) => {
        throw error;
      },
    });
    expect(look.view).toMatchObject({ id, state: 'succeeded' });
  });
  await clock.until(Promise.all(all));
  return { asked: fake.asked, rounds: Math.max(...looks.values()), looks };
}

describe.each([alphaFamily, betaFamily])('a task of $name that is not known yet', (family) => {
  async function lookFor(options: Partial<LookOptions>, { retries = 4, retryAfterMs = 0 } = {}) {
    const clock = new VirtualClock();
    const { client, asked } = fakeTasks(clock, (_, atMs) => (atMs < 9000 ? undefined : 'queued'), {
      fail: () => {
        const retryAtMs = clock.now() + retryAfterMs;
        if (retryAfterMs > 0 && clock.steady() < 9000)
          throw new GwError('not_found', 'HTTP 404', { retryAtMs });
      },
    });
    const looker = lookerOf({ ...client, retries }, clock, family);
    const [look] = await clock.until(
      Promise.allSettled([looker.look('young', { signal: never(), ...options })]),
    );
    const end = look.status === 'fulfilled' ? look.value.view.status : look.reason.kind;
    return [end, ...asked.map(({ atMs }) => atMs)];
  }

  test('is asked for again every 2 s while it is young', async () => {
    const times = [0, 2000, 4000, 6000, 8000, 10_000];
    expect(await lookFor(madeAt(0))).toEqual(['queued', ...times]);
  });

  test('is told of before 30 s have passed, and again', async () => {
    const clock = new VirtualClock();
    const { client } = fakeTasks(clock, () => undefined);
    const toldMs: number[] = [];
    const note = () => void toldMs.push(clock.steady());
    const looker = createLooker({ client, clock, family, account: 'personal', random: () => 0.5, note });
    const look = looker.look('young', { signal: never(), ...madeAt(0) });
    await clock.until(Promise.allSettled([look]));
    expect(toldMs).toEqual([24_000, 48_000]);
  });

  test('is asked for again at the time that the gateway names', async () => {
    expect(await lookFor(madeAt(0), { retryAfterMs: 7_000 })).toEqual(['queued', 0, 7000, 14_000]);
  });

  test.each([
    ['once it is old', madeAt(-55_000), 4, [0, 2000, 4000]],
    ['after the end of the look', { ...madeAt(0), deadlineMs: 3000 }, 4, [0, 2000]],
    ['with --retries 0', madeAt(0), 0, [0]],
    ['if nothing says that it is young', {}, 4, [0]],
  ])('is not asked for again %s', async (_, options, retries, times) => {
    expect(await lookFor(options, { retries })).toEqual(['not_found', ...times]);
  });
});

describe('many tasks of family B', () => {
  test('300 are asked for in at most one request for each 50 a round', async () => {
    const { asked, rounds } = await waitForAll(betaFamily, 300, { lastsMs: 10 * 60_000 });
    expect(rounds).toBeGreaterThan(10);
    expect(asked.length).toBeLessThanOrEqual(rounds * (300 / 50));
    expect(Math.max(...asked.map(({ ids }) => ids.length))).toBe(50);
  });

  test('a few are asked for together, in one request a round', async () => {
    const { asked, rounds } = await waitForAll(betaFamily, 7, { lastsMs: 60_000 });
    expect(rounds).toBeGreaterThan(4);
    expect(asked.length).toBe(rounds);
    expect(asked.every(({ ids }) => ids.length === 7)).toBe(true);
  });

  test('a look that nobody else follows does not wait for company', async () => {
    const clock = new VirtualClock();
    const { client, asked } = fakeTasks(clock, () => 'queued');
    const looker = lookerOf(client, clock);
    await clock.until(looker.look('alone', { signal: never(), patienceMs: 4000 }));
    expect(asked).toEqual([{ atMs: 0, ids: ['alone'] }]);
  });

  test('one that waits for the others waits no longer than its patience', async () => {
    const clock = new VirtualClock();
    const { client, asked } = fakeTasks(clock, () => 'queued');
    const looker = lookerOf(client, clock);
    looker.follow('here');
    looker.follow('elsewhere');
    await clock.until(looker.look('here', { signal: never(), patienceMs: 4000 }));
    expect(asked).toEqual([{ atMs: 4000, ids: ['here'] }]);
  });

  test('a task that the reply leaves out is not found; the others are', async () => {
    const clock = new VirtualClock();
    const { client } = fakeTasks(clock, (id) => (id === 'b' ? undefined : 'queued'));
    const looker = lookerOf(client, clock);
    const looks = ['a', 'b', 'c'].map((id) => looker.look(id, { signal: never() }));
    const [a, b, c] = await clock.until(Promise.allSettled(looks));
    expect([a?.status, b?.status, c?.status]).toEqual(['fulfilled', 'rejected', 'fulfilled']);
    expect(b).toMatchObject({ reason: { kind: 'not_found', facts: { taskId: 'b' } } });
  });

  test('a request that fails fails for each of its tasks', async () => {
    const clock = new VirtualClock();
    const { client, asked } = fakeTasks(clock, () => 'queued', {
      fail: () => {
        throw new GwError('unavailable', 'HTTP 503');
      },
    });
    const looker = lookerOf(client, clock);
    const looks = ['a', 'b', 'c'].map((id) => looker.look(id, { signal: never() }));
    const ends = await clock.until(Promise.allSettled(looks));
    expect(ends.map((end) => (end.status === 'rejected' ? end.reason.kind : ''))).toEqual(
      Array(3).fill('unavailable'),
    );
    expect(asked).toHaveLength(1);
  });

  test('a task for which the gateway refuses a whole request is found out, and spoils no other', async () => {
    const clock = new VirtualClock();
    const { client, asked } = fakeTasks(clock, () => 'queued', {
      fail: ({ ids }) => {
        if (ids.includes('task-00033')) throw new GwError('rejected', 'HTTP 400');
      },
    });
    const looker = lookerOf(client, clock);
    const round = () =>
      clock.until(Promise.allSettled(idsOf(50).map((id) => looker.look(id, { signal: never() }))));
    const ends = await round();
    expect(ends.flatMap((end, at) => (end.status === 'rejected' ? [at] : []))).toEqual([33]);
    const first = asked.length;
    expect(first).toBeLessThan(20);
    await round();
    expect(asked.length - first).toBe(2);
  });

  test('the addresses of requests stay short, however long the IDs are', async () => {
    const clock = new VirtualClock();
    const { client, asked } = fakeTasks(clock, () => 'queued');
    const looker = lookerOf(client, clock);
    const ids = idsOf(60).map((id) => `${id}-${'x'.repeat(110)}`);
    await clock.until(Promise.all(ids.map((id) => looker.look(id, { signal: never() }))));
    expect(asked.map(({ ids }) => ids.length)).toEqual([33, 27]);
  });

  test('whoever gives up leaves the others their answer; when all have, the request ends', async () => {
    const clock = new VirtualClock();
    let ended = false;
    const { client } = fakeTasks(clock, () => 'queued', {
      fail: async (_, { signal }) => {
        await clock.sleep(30_000, signal).catch((error) => {
          ended = true;
          throw error;
        });
      },
    });
    const looker = lookerOf(client, clock);
    const [one, two] = [new AbortController(), new AbortController()];
    const first = looker.look('a', { signal: one.signal });
    const second = looker.look('b', { signal: two.signal });
    void clock.sleep(1000).then(() => one.abort(new Error('enough')));
    await expect(clock.until(first)).rejects.toThrow('enough');
    await expect(clock.until(second)).resolves.toMatchObject({ view: { id: 'b' } });
    expect(ended).toBe(false);
    const third = looker.look('c', { signal: two.signal });
    void clock.sleep(1000).then(() => two.abort(new Error('enough')));
    await expect(clock.until(third)).rejects.toThrow('enough');
    await clock.until(clock.sleep(1));
    expect(ended).toBe(true);
  });
});

describe('many tasks of family A', () => {
  test.each([
    ['enterprise', 700],
    ['personal', 210],
  ] as const)(
    'tasks of an %s account stay below its documented requests a minute, and are spread: %i',
    async (account, count) => {
      const { asked, looks } = await waitForAll(alphaFamily, count, { account, lastsMs: 6 * 60_000 });
      expect(mostInAMinute(asked)).toBeLessThanOrEqual(accountLimits[account].requestsPerMinute);
      expect(mostInAMinute(asked)).toBeGreaterThan(accountLimits[account].requestsPerMinute / 2);
      const gaps = asked.slice(1).map(({ atMs }, at) => atMs - (asked[at]?.atMs ?? 0));
      expect(Math.min(...gaps)).toBeGreaterThanOrEqual(60_000 / accountLimits[account].requestsPerMinute);
      // No task is looked at much more rarely than the others.
      expect(Math.max(...looks.values()) - Math.min(...looks.values())).toBeLessThanOrEqual(2);
    },
  );

  test('4k tasks have a rate of their own', async () => {
    const { asked } = await waitForAll(alphaFamily, 40, {
      lastsMs: 5 * 60_000,
      settings: { resolution: '4k' },
    });
    expect(mostInAMinute(asked)).toBeLessThanOrEqual(fourKLimits.requestsPerMinute);
  });

  test('a slow gateway is not asked by more than sixteen at once', async () => {
    const clock = new VirtualClock();
    let open = 0;
    let most = 0;
    const { client } = fakeTasks(clock, () => 'queued', {
      fail: async () => {
        open += 1;
        most = Math.max(most, open);
        await clock.sleep(60_000);
        open -= 1;
      },
    });
    const looker = lookerOf(client, clock, alphaFamily, 'enterprise');
    await clock.until(Promise.all(idsOf(100).map((id) => looker.look(id, { signal: never() }))));
    expect(most).toBe(16);
  });

  test("a 429 holds everybody back for the gateway's own time", async () => {
    const clock = new VirtualClock();
    const { client, asked } = fakeTasks(clock, () => 'queued', {
      fail: ({ ids }) => {
        if (ids[0] !== 'task-00000') return;
        throw new GwError('rate_limited', 'HTTP 429', { retryAtMs: clock.now() + 20_000 });
      },
    });
    const looker = lookerOf(client, clock, alphaFamily, 'enterprise');
    const looks = idsOf(3).map((id) => looker.look(id, { signal: never(), retries: 0 }));
    await clock.until(Promise.allSettled(looks));
    expect(asked.map(({ atMs }) => atMs)).toEqual([0, 20_000, 20_104]);
  });

  test('an unknown task is asked for alone and says so', async () => {
    const clock = new VirtualClock();
    const { client } = fakeTasks(clock, () => undefined);
    const looker = lookerOf(client, clock, alphaFamily, 'enterprise');
    await expect(clock.until(looker.look('gone', { signal: never() }))).rejects.toMatchObject({
      kind: 'not_found',
    });
  });
});
