import { describe, expect, test } from 'vitest';
import { asTheyEnd, childSignals, createTurns } from '../../../src/jobs/watch/turns.ts';

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

test('child signals end with their parent, with its reason, and leave nothing on it', () => {
  const parent = new AbortController();
  const children = childSignals(parent.signal);
  const [first, second] = [children.open(), children.open()];
  first.close();
  parent.abort('enough');
  expect([first.signal.aborted, second.signal.aborted, second.signal.reason]).toEqual([
    false,
    true,
    'enough',
  ]);
  expect(children.open().signal.aborted).toBe(true);
});
