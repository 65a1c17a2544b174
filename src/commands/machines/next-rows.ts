import { isOver, type RowRecord } from '../../machines/row.ts';
import { needsOf } from '../../shots/chains.ts';
import { creates } from '../batch/row-command.ts';
import type { OpenQueue } from './open.ts';

// Rows that wait for other rows are stored in Redis but are on no queue, so they hold no slot. The worker that saves a
// row puts the rows that waited for it on their queue, so no other machine is needed.

export const neededBy = (row: RowRecord['row']): string[] => needsOf(row, creates).map(({ key }) => key);

/** Puts the unfinished ones of these rows on their queue, except those that still wait for another row. */
export async function giveOut(keys: readonly string[], { store, engine }: OpenQueue, first = false) {
  const records = await store.read(keys);
  const open = records.flatMap((record) => (record && !isOver(record.state) ? record : []));
  const needs = ({ state, row }: RowRecord) => (state === 'waiting' ? neededBy(row) : []);
  const before = await store.read([...new Set(open.flatMap(needs))]);
  const saved = new Set(before.flatMap((record) => (record?.state === 'saved' ? record.row.key : [])));
  const ready = open.filter((record) => needs(record).every((key) => saved.has(key)));
  const tickets = ready.map(({ row, round, state, pool }) => ({
    key: row.key,
    round,
    queue: state === 'ended' ? 'save' : pool,
  }));
  await engine.add(tickets, { first });
}

/** Puts the rows that waited for this one on their queue, ahead of rows that wait for none. */
export async function giveOutNext(key: string, queue: OpenQueue): Promise<void> {
  const followers = await queue.store.followers(key);
  if (followers.length > 0) await giveOut(followers, queue, true);
}
