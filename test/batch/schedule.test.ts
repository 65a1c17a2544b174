import { expect, test } from 'vitest';
import { schedule } from '../../src/batch/schedule.ts';

interface Work {
  readonly name: string;
  readonly pool: string;
}

async function* rowsOf(...rows: readonly Work[]): AsyncGenerator<Work> {
  yield* rows;
}

/** Work that ends when the test ends it, and the largest number of rows that ran at once. */
function bench(most: Readonly<Record<string, number>>, rows: AsyncIterator<Work>, atOnce = 100) {
  const begun: string[] = [];
  const open = new Map<string, () => void>();
  let isStopped = false;
  let peak = 0;
  const results = schedule({
    rows,
    placeOf: ({ pool }: Work) => ({ pool, most: most[pool] ?? 1 }),
    atOnce,
    work: async ({ name }) => {
      begun.push(name);
      await new Promise<void>((end) => {
        open.set(name, end);
        peak = Math.max(peak, open.size);
      });
      open.delete(name);
      return name;
    },
    isStopped: () => isStopped,
  });
  return {
    begun,
    results,
    peak: () => peak,
    end: (name: string) => open.get(name)?.(),
    stop: () => {
      isStopped = true;
    },
  };
}
const settle = () => new Promise((resolve) => setImmediate(resolve));

test('rows begin in their order, as many of a pool as it has places, and no pool holds up another', async () => {
  const alpha = ['a1', 'a2', 'a3'].map((name) => ({ name, pool: 'alpha' }));
  const one = bench({ alpha: 2, image: 1 }, rowsOf(...alpha, { name: 'i1', pool: 'image' }));
  const first = one.results.next();
  await settle();
  expect(one.begun).toEqual(['a1', 'a2', 'i1']);
  one.end('a2');
  expect(await first).toEqual({ done: false, value: 'a2' });
  const second = one.results.next();
  await settle();
  expect(one.begun).toEqual(['a1', 'a2', 'i1', 'a3']);
  for (const name of ['a1', 'i1', 'a3']) one.end(name);
  const rest = [(await second).value];
  for await (const name of one.results) rest.push(name);
  expect(rest.sort()).toEqual(['a1', 'a3', 'i1']);
});

test('no more than the sum run at once', async () => {
  const rows = Array.from({ length: 9 }, (_, at) => ({ name: `r${at}`, pool: `p${at % 3}` }));
  const one = bench({ p0: 9, p1: 9, p2: 9 }, rowsOf(...rows), 2);
  const done: string[] = [];
  const all = (async () => {
    for await (const name of one.results) done.push(name);
  })();
  for (let turn = 0; turn < 40; turn += 1) {
    await settle();
    for (const name of one.begun) one.end(name);
  }
  await all;
  expect(done).toHaveLength(9);
  expect(one.peak()).toBe(2);
});

test('what a row comes to is handed over before the next one begins: it may be the end of all', async () => {
  const one = bench({ a: 1 }, rowsOf(...['1', '2'].map((name) => ({ name, pool: 'a' }))));
  const done: string[] = [];
  const all = (async () => {
    for await (const name of one.results) {
      done.push(name);
      one.stop();
    }
  })();
  await settle();
  one.end('1');
  await settle();
  // This does nothing, because the second row has not begun.
  one.end('2');
  await all;
  expect(one.begun).toEqual(['1']);
  expect(done).toEqual(['1']);
});

test('what has begun is brought to its end when no more may begin', async () => {
  const one = bench({ a: 2 }, rowsOf(...['1', '2', '3', '4'].map((name) => ({ name, pool: 'a' }))));
  const first = one.results.next();
  await settle();
  one.stop();
  one.end('1');
  expect((await first).value).toBe('1');
  const second = one.results.next();
  await settle();
  one.end('2');
  expect((await second).value).toBe('2');
  expect((await one.results.next()).done).toBe(true);
  expect(one.begun).toEqual(['1', '2']);
});

test('a fault of reading is thrown when what has begun has ended, and ten thousand rows are not held at once', async () => {
  let read = 0;
  async function* many(): AsyncGenerator<Work> {
    for (; read < 10_000; read += 1) yield { name: `${read}`, pool: 'a' };
    throw new Error('the manifest changed');
  }
  const done: string[] = [];
  const results = schedule({
    rows: many(),
    placeOf: ({ pool }) => ({ pool, most: 3 }),
    atOnce: 10,
    work: async ({ name }) => {
      await settle();
      expect(read - Number(name)).toBeLessThan(200);
      return name;
    },
    isStopped: () => false,
  });
  await expect(async () => {
    for await (const name of results) done.push(name);
  }).rejects.toThrow('the manifest changed');
  expect(done.length).toBeGreaterThan(9_900);
});
