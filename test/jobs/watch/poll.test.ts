import { expect, test } from 'vitest';
import { GwError } from '../../../src/errors.ts';
import type { TaskView } from '../../../src/gateway/task.ts';
import { youngUntilMs } from '../../../src/jobs/watch/look.ts';
import { type Look, nextDelayMs, poll } from '../../../src/jobs/watch/poll.ts';
import type { Job } from '../../../src/ledger/event.ts';
import { scriptedClock } from '../../http/scripted-clock.ts';
import { errorOf } from '../../http/test-client.ts';

// The results of the looks decide when a wait ends. They come in the given order, and the last one repeats.

const output = { role: 'video', type: 'video', url: 'https://example.com/a.mp4' };
const view = (state: TaskView['state']): Look => ({
  view: { state, status: state, outputs: state === 'succeeded' ? [output] : [] } as unknown as TaskView,
});
const notFound = new GwError('not_found', 'no such task');
const sick = new GwError('unavailable', 'HTTP 503');

type Options = Parameters<typeof poll<Look>>[0];

function world(looks: readonly (Look | GwError)[], changes: Partial<Options> = {}) {
  const clock = scriptedClock();
  const startMs = clock.steady();
  let looked = 0;
  const options: Options = {
    look: async () => {
      const said = looks[Math.min(looked, looks.length - 1)] as Look | GwError;
      looked += 1;
      if (said instanceof GwError) throw said;
      return said;
    },
    intervalMs: { min: 10_000, max: 10_000 },
    deadlineMs: startMs + 24 * 3_600_000,
    clock,
    random: () => 0,
    signal: new AbortController().signal,
    onUpdate: () => {},
    onTrouble: () => {},
    taskId: 'task-1',
    ...changes,
  };
  return { options, looked: () => looked, tookMs: () => clock.steady() - startMs, startMs };
}

test('two looks that find nothing do not end it', async () => {
  const here = world([notFound, notFound, view('running'), notFound, notFound, view('succeeded')]);
  expect((await poll(here.options)).view.state).toBe('succeeded');
});

test('three in a row do', async () => {
  const here = world([notFound]);
  expect(await errorOf(poll(here.options))).toBe(notFound);
  expect(here.looked()).toBe(3);
});

test.each(['auth', 'balance', 'rejected'] as const)('one that is refused (%s) does', async (kind) => {
  const here = world([new GwError(kind, 'refused', { retryAtMs: Number.MAX_SAFE_INTEGER })]);
  expect(await errorOf(poll(here.options))).toMatchObject({ kind });
  expect(here.looked()).toBe(1);
});

test('a gateway that answers nothing is given up after 15 minutes, and not before', async () => {
  const here = world([sick]);
  expect(await errorOf(poll(here.options))).toBe(sick);
  // Ten seconds pass before the first failed look, from which the 15 minutes count.
  expect(here.tookMs()).toBe(15 * 60_000 + 10_000);
});

test('not for twenty failures that took longer to come than to pass', async () => {
  const here = world([sick], { intervalMs: { min: 100_000, max: 100_000 } });
  expect(await errorOf(poll(here.options))).toBe(sick);
  expect(here.looked()).toBe(20);
});

test('a task that ended while gw slept towards the end of the wait is no timeout', async () => {
  const { startMs } = world([]);
  const here = world([view('running'), view('succeeded')], { deadlineMs: startMs + 15_000 });
  expect((await poll(here.options)).view.state).toBe('succeeded');
  expect([here.looked(), here.tookMs()]).toEqual([2, 15_000]);
});

test('a gateway that asks not to be asked before a time is not asked before it', async () => {
  const waits = async (retryAfterMs: number) => {
    const { options } = world([]);
    const busy = new GwError('rate_limited', 'HTTP 429', {
      retryAtMs: options.clock.now() + 10_000 + retryAfterMs,
    });
    const here = world([busy, view('succeeded')]);
    await poll(here.options);
    return here.tookMs();
  };
  // The first look comes after a pause of ten seconds.
  expect(await waits(300_000)).toBe(310_000);
  expect(await waits(3_000)).toBe(20_000);
});

test('one that asks for longer than the wait lasts ends it at once, and says when', async () => {
  const { options, startMs } = world([]);
  const retryAtMs = options.clock.now() + 3_600_000;
  const busy = new GwError('rate_limited', 'HTTP 429', { retryAtMs });
  const here = world([busy], { deadlineMs: startMs + 600_000 });
  const error = await errorOf<GwError>(poll(here.options));
  expect(error).toMatchObject({ kind: 'wait_timeout', facts: { retryAtMs } });
  expect([here.looked(), here.tookMs()]).toEqual([1, 10_000]);
});

test.each([
  { what: 'the shortest at first', min: 10_000, max: 60_000, elapsed: 0, random: 0, pause: 10_000 },
  { what: 'up to a tenth longer', min: 10_000, max: 60_000, elapsed: 0, random: 1, pause: 11_000 },
  { what: 'a tenth of the wait', min: 10_000, max: 60_000, elapsed: 300_000, random: 0.5, pause: 31_500 },
  { what: 'never above the longest', min: 10_000, max: 60_000, elapsed: 900_000, random: 1, pause: 60_000 },
  { what: 'always the one that was given', min: 7_000, max: 7_000, elapsed: 0, random: 1, pause: 7_000 },
  { what: 'as fast as the gateway', min: 10_000, max: 60_000, elapsed: 0, random: 0, speed: 50, pause: 200 },
  { what: 'no faster than 50 ms', min: 10_000, max: 60_000, elapsed: 0, random: 0, speed: 1e6, pause: 50 },
  { what: 'a shorter one as it is', min: 20, max: 20, elapsed: 0, random: 0, speed: 1e6, pause: 20 },
  { what: 'no slower', min: 10_000, max: 60_000, elapsed: 0, random: 0, speed: 0.5, pause: 10_000 },
])('the pause between two looks is $what', ({ min, max, elapsed, random, speed = 1, pause }) => {
  const pace = { intervalMs: { min, max }, random: () => random, speed: () => speed };
  expect(nextDelayMs(pace, elapsed)).toBeCloseTo(pause);
});

test('a task is young from when the gateway took it, however long its job waited for a slot before', () => {
  const job = { createdAtMs: 0, acceptedAtMs: 300_000 } as Job;
  const clock = { now: () => 310_000, steady: () => 5_000, sleep: async () => {} };
  expect(youngUntilMs(job, clock)).toBe(55_000);
});
