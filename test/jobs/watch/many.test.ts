import { getEventListeners, once } from 'node:events';
import { describe, expect, test } from 'vitest';
import { asTheyEnd, createTurns, sideBySide } from '../../../src/jobs/watch/turns.ts';

describe('turns', () => {
  test('at most so many at once, the soonest due first, of equals the first to come', async () => {
    const turns = createTurns(2);
    const begun: string[] = [];
    const ends = new Map<string, () => void>();
    const work = (name: string) => () => {
      begun.push(name);
      return new Promise<string>((resolve) => ends.set(name, () => resolve(name)));
    };
    const jobs = [
      turns.take(50, work('a')),
      turns.take(40, work('b')),
      turns.take(30, work('c')),
      turns.take(10, work('d')),
      turns.take(30, work('e')),
      turns.take(20, work('f')),
    ];
    await Promise.resolve();
    for (const name of ['a', 'b', 'd', 'f', 'c', 'e']) {
      ends.get(name)?.();
      await new Promise((resolve) => setImmediate(resolve));
    }
    expect(begun).toEqual(['a', 'b', 'd', 'f', 'c', 'e']);
    expect(await Promise.all(jobs)).toEqual(['a', 'b', 'c', 'd', 'e', 'f']);
  });

  test('work that fails gives its place back', async () => {
    const turns = createTurns(1);
    const failed = turns.take(1, () => Promise.reject(new Error('no')));
    const next = turns.take(2, async () => 'yes');
    await expect(failed).rejects.toThrow('no');
    expect(await next).toBe('yes');
  });
});

describe('results as they end', () => {
  test('come in the order of their ends', async () => {
    const ends: (() => void)[] = [];
    const work = [0, 1, 2].map((at) => new Promise<number>((resolve) => ends.push(() => resolve(at))));
    const seen: number[] = [];
    const all = (async () => {
      for await (const at of asTheyEnd(work)) seen.push(at);
    })();
    for (const at of [2, 0, 1]) ends[at]?.();
    await all;
    expect(seen).toEqual([2, 0, 1]);
  });

  test('a failure is thrown', async () => {
    const all = async () => {
      for await (const _ of asTheyEnd([Promise.reject(new Error('no')), new Promise(() => {})]));
    };
    await expect(all()).rejects.toThrow('no');
  });
});

test('work side by side ends with the parent signal, with its reason, and leaves nothing on it', async () => {
  const parent = new AbortController();
  const signals: AbortSignal[] = [];
  const ended = sideBySide(['short', 'long'], parent.signal, async (input, signal) => {
    signals.push(signal);
    if (input === 'long') await once(signal, 'abort');
    return input;
  });
  expect((await ended.next()).value).toBe('short');
  expect(getEventListeners(parent.signal, 'abort')).toHaveLength(1);
  parent.abort('enough');
  expect((await ended.next()).value).toBe('long');
  expect((await ended.next()).done).toBe(true);
  expect(signals.map(({ aborted }) => aborted)).toEqual([false, true]);
  expect(signals[1]?.reason).toBe('enough');
  expect(getEventListeners(parent.signal, 'abort')).toEqual([]);
});

test('work side by side that begins after the parent signal is aborted has an aborted signal', async () => {
  const begun = sideBySide([1], AbortSignal.abort('enough'), async (_, signal) => signal.reason);
  expect((await begun.next()).value).toBe('enough');
});

test('work side by side is aborted when other work fails', async () => {
  const signals: AbortSignal[] = [];
  const failing = sideBySide([1, 2], new AbortController().signal, async (input, signal) => {
    signals.push(signal);
    if (input === 1) throw new Error('no');
    await new Promise(() => {});
  });
  await expect(failing.next()).rejects.toThrow('no');
  expect(signals[1]?.aborted).toBe(true);
});
