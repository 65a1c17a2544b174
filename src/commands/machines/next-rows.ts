import type { QueuedRow } from '../../machines/engine.ts';
import type { RowRecord } from '../../machines/row.ts';
import { needsOf } from '../../shots/chains.ts';
import { creates } from '../batch/row-command.ts';
import type { OpenQueue } from './open.ts';

// Rows that wait for rows stand in Redis like any other and are on no queue, so that they hold no slot. The step that saves a
// row puts those on their queue that waited for it: no machine but the workers is needed for that.

export const neededBy = (row: RowRecord['row']): string[] => needsOf(row, creates).map(({ key }) => key);

/** Puts those of some rows on their queue that wait to be made, and for no other row any more. */
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

/** Puts the rows on their queue that waited for this one, before those that wait for nothing. */
export async function giveOutNext(key: string, queue: OpenQueue): Promise<void> {
  const followers = await queue.store.followers(key);
  if (followers.length > 0) await giveOut(followers, queue, true);
}
