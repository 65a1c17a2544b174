import { describe, expect, test } from 'vitest';
import { GwError, Interrupted } from '../../src/errors.ts';
import type { TaskView } from '../../src/gateway/task.ts';
import { type PollOptions, poll } from '../../src/jobs/poll.ts';
import { scriptedClock } from '../http/scripted-clock.ts';
import { errorOf } from '../http/test-client.ts';

const MINUTE_MS = 60_000;
const output = { role: 'video', url: 'https://example.com/v.mp4' } as unknown as TaskView['outputs'][number];
const view = (state: TaskView['state'], outputs: TaskView['outputs'] = []) =>
  ({ id: 't-1', status: state, state, statusKnown: true, outputs }) as TaskView;
const running = view('running');
const done = view('succeeded', [output]);
const failing = (kind: GwError['kind'], retryAtMs?: number) =>
  new GwError(kind, `it is ${kind}`, { retryAtMs });

/** A wait of a task whose looks come to these, one after the other; the last one repeats. */
function scene(looks: readonly (TaskView | Error)[], more: Partial<PollOptions<{ view: TaskView }>> = {}) {
  const clock = scriptedClock();
  const startMs = clock.steady();
  const abort = new AbortController();
  const asked: number[] = [];
  const troubles: string[] = [];
  const wait = poll({
    async look() {
      asked.push(clock.steady() - startMs);
      const next = looks[Math.min(asked.length, looks.length) - 1];
      if (next === undefined || next instanceof Error) throw next;
      return { view: next };
    },
    intervalMs: { min: 10_000, max: 10_000 },
    deadlineMs: startMs + 60 * MINUTE_MS,
    clock,
    random: () => 0,
    signal: abort.signal,
    onUpdate: () => {},
    onTrouble: (error) => troubles.push(error.kind),
    taskId: 't-1',
    ...more,
  });
  return { wait, asked, troubles, clock, startMs, abort };
}

describe('a task that is not found', () => {
  test('three looks in a row end the wait, two do not', async () => {
    const gone = scene([failing('not_found')]);
    expect(await errorOf(gone.wait)).toMatchObject({ kind: 'not_found' });
    expect(gone.asked).toEqual([10_000, 20_000, 30_000]);
    const back = scene([failing('not_found'), failing('not_found'), running, failing('not_found'), done]);
    expect(await back.wait).toEqual({ view: done });
    expect(back.asked).toHaveLength(5);
  });

  test('another failure between them starts the count anew', async () => {
    const missing = failing('not_found');
    const { wait, asked } = scene([missing, missing, failing('unavailable'), missing, missing, done]);
    expect(await wait).toEqual({ view: done });
    expect(asked).toHaveLength(6);
  });

  test('while it is young, only the end of its youth counts', async () => {
    const { wait, asked } = scene([failing('not_found')], { youngUntilMs: 5_000 + 95_000 });
    expect(await errorOf(wait)).toMatchObject({ kind: 'not_found' });
    expect(asked.at(-1)).toBe(100_000);
  });
});

describe('a gateway that does not answer', () => {
  test('is given up after fifteen minutes and twenty looks, not before', async () => {
    const { wait, asked } = scene([failing('unavailable')]);
    expect(await errorOf(wait)).toMatchObject({ kind: 'unavailable' });
    expect(asked.at(-1)).toBe(10_000 + 15 * MINUTE_MS);
    const slow = scene([failing('unavailable')], { intervalMs: { min: 5 * MINUTE_MS, max: 5 * MINUTE_MS } });
    expect(await errorOf(slow.wait)).toMatchObject({ kind: 'wait_timeout' });
  });

  test('one look that is answered starts the fifteen minutes anew', async () => {
    const looks = Array.from({ length: 160 }, (_, at) => (at === 80 ? running : failing('unavailable')));
    const { wait, asked } = scene([...looks, done]);
    expect(await wait).toEqual({ view: done });
    expect(asked).toHaveLength(161);
  });

  test.each(['auth', 'wait_timeout'] as const)('%s ends the wait at once', async (kind) => {
    const { wait, asked } = scene([failing(kind)]);
    expect(await errorOf(wait)).toMatchObject({ kind });
    expect(asked).toHaveLength(1);
  });
});

describe('the end of the wait', () => {
  const short = { deadlineMs: 5_000 + 25_000 };

  test('one last look at the deadline takes what has just finished', async () => {
    const { wait, asked } = scene([running, running, done], short);
    expect(await wait).toEqual({ view: done });
    expect(asked).toEqual([10_000, 20_000, 25_000]);
  });

  test.each([
    ['runs on', running],
    ['cannot be seen', failing('unavailable')],
  ])('a task that %s then is a timeout, and looked at once more only', async (_, last) => {
    const { wait, asked } = scene([running, running, last], short);
    expect(await errorOf(wait)).toMatchObject({ kind: 'wait_timeout', facts: { taskId: 't-1' } });
    expect(asked).toEqual([10_000, 20_000, 25_000]);
  });

  test('a gateway that wants to be left alone for longer ends the wait at once, and says when', async () => {
    const at = Date.parse('2026-11-20T13:00:00Z');
    const { wait, asked, clock, startMs } = scene([failing('rate_limited', at)], short);
    const error = await errorOf(wait);
    expect(error).toMatchObject({ kind: 'wait_timeout', facts: { retryAtMs: at } });
    expect(error.message).toContain('2026-11-20T13:00:00');
    expect([asked, clock.steady() - startMs]).toEqual([[10_000], 10_000]);
  });

  test('Retry-After is kept to, and never shortens the pace', async () => {
    const now = Date.parse('2026-11-20T12:00:00Z');
    const { wait, asked } = scene([
      failing('rate_limited', now + 70_000),
      failing('rate_limited', now + 70_001),
      done,
    ]);
    expect(await wait).toEqual({ view: done });
    expect(asked).toEqual([10_000, 70_000, 80_000]);
  });
});

test('a finished task without an output is asked three more times', async () => {
  const empty = view('succeeded');
  const never = scene([empty]);
  expect(await never.wait).toEqual({ view: empty });
  expect(never.asked).toHaveLength(4);
  const late = scene([empty, empty, empty, done]);
  expect(await late.wait).toEqual({ view: done });
  const none = scene([{ ...empty, hasNoFiles: true }]);
  await none.wait;
  expect(none.asked).toHaveLength(1);
});

test('an interrupt ends it with its reason, while it sleeps or looks', async () => {
  const { wait, abort, asked } = scene([running]);
  const reason = new Interrupted('SIGINT');
  queueMicrotask(() => abort.abort(reason));
  expect(await errorOf(wait)).toBe(reason);
  expect(asked.length).toBeLessThan(3);
});
