import type { QueuedRow } from '../../machines/engine.ts';
import type { RowRecord } from '../../machines/row.ts';
import { needsOf } from '../../shots/chains.ts';
import { creates } from '../batch/row-command.ts';
import type { OpenQueue } from './open.ts';

// Rows that wait for other rows are stored in Redis but are on no queue, so they hold no slot. The worker that saves a
// row puts the rows that waited for it on their queue, so no other machine is needed.

export const neededBy = (row: RowRecord['row']): string[] => needsOf(row, creates).map(({ key }) => key);

/** Puts those rows on their queue that are to be created and no longer wait for another row. */
export async function giveOut(keys: readonly string[], { store, engine }: OpenQueue, first = false) {
  const records = await store.read(keys);
  const waiting = records.flatMap((record) => (record?.state === 'waiting' && !record.fault ? record : []));
  const needed = [...new Set(waiting.flatMap(({ row }) => neededBy(row)))];
  const before = await store.read(needed);
  const saved = new Set(before.flatMap((record) => (record?.state === 'saved' ? record.row.key : [])));
  const ready = waiting.filter(({ row }) => neededBy(row).every((key) => saved.has(key)));
  await engine.add(
    ready.map(({ row: { key }, round, pool: queue }): QueuedRow => ({ key, round, queue })),
    { first },
  );
}

/** Puts the rows that waited for this one on their queue, ahead of rows that wait for none. */
export async function giveOutNext(key: string, queue: OpenQueue): Promise<void> {
  const followers = await queue.store.followers(key);
  if (followers.length > 0) await giveOut(followers, queue, true);
}
