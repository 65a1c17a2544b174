import * as fs from 'node:fs';
import * as path from 'node:path';
import { expect, it } from 'vitest';
import { openLedger } from '../../src/ledger/open-ledger.ts';
import { bundle, runNode } from './bundle.ts';
import { tempDir } from './fixtures.ts';

const appendMany = bundle(path.join(import.meta.dirname, 'scripts', 'append-many.ts'));
const open = (dir: string) => openLedger({ dir, clock: { now: () => Date.now() }, keepPrompts: true });

it('eight processes that write at once lose nothing', async () => {
  const dir = tempDir();
  const writers = Array.from({ length: 8 }, (_, number) =>
    runNode(appendMany, dir, '150', `writer ${number}`),
  );
  const keys = (await Promise.all(writers.map((writer) => writer.finished))).flatMap(({ out }) =>
    out.trim().split('\n'),
  );
  expect(keys).toHaveLength(1200);
  const ledger = open(dir);
  expect(new Set((await ledger.find()).map((job) => job.key))).toEqual(new Set(keys));
  expect(ledger.unreadable).toEqual([]);
});

it('twenty killed writers lose nothing that was acknowledged', async () => {
  const dir = tempDir();
  const acknowledged: string[] = [];
  for (let round = 0; round < 10; round++) {
    const writers = [0, 1].map((number) => runNode(appendMany, dir, '1000000', `round ${round} ${number}`));
    await Promise.all(writers.map((writer) => writer.printed('gw-')));
    await new Promise((resolve) => setTimeout(resolve, Math.random() * 40));
    for (const writer of writers) writer.child.kill('SIGKILL');
    for (const { out, signal } of await Promise.all(writers.map((writer) => writer.finished))) {
      expect(signal).toBe('SIGKILL');
      acknowledged.push(...out.split('\n').filter((key) => key.length === 29));
    }
  }
  const ledger = open(dir);
  const kept = new Set((await ledger.find()).map((job) => job.key));
  expect(acknowledged.length).toBeGreaterThan(20);
  expect(acknowledged.filter((key) => !kept.has(key))).toEqual([]);
  expect(ledger.unreadable.length).toBeLessThanOrEqual(20);
  expect(fs.readdirSync(path.join(dir, 'ledger')).filter((name) => name.includes('.jsonl'))).toHaveLength(1);
});
