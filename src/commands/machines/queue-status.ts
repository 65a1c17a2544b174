import type { Context } from '../../context.ts';
import { GwError } from '../../errors.ts';
import { type LogEntry, type RowState, rowStates } from '../../machines/row.ts';
import { type openRows, soundRows } from '../batch/flags.ts';
import { Memory } from './memory.ts';
import { openQueue } from './open.ts';

// What is asked of a queue beside the run that follows it: where its rows stand, what was done with one, and to take them out.

type Input = Awaited<ReturnType<typeof openRows>>;

/** Rows that are asked for in one go. */
const AT_ONCE = 200;

export interface MachinesStatus {
  readonly rows: number;
  readonly counts: Readonly<Record<RowState | 'not_handed_over', number>>;
  readonly workers: readonly string[] | undefined;
  readonly slots: readonly {
    readonly pool: string;
    readonly taken: number;
    readonly of: number;
    readonly waiting: number;
  }[];
  readonly toSave: number;
}

/** The keys of a manifest's rows. Throws `usage` where it has a fault. */
async function* keysOf(input: Input): AsyncGenerator<string[]> {
  let keys: string[] = [];
  for await (const { key } of soundRows(input)) {
    keys.push(key);
    if (keys.length === AT_ONCE) {
      yield keys;
      keys = [];
    }
  }
  yield keys;
}

/** Where the rows of a batch stand on the queue, and who works. */
export async function statusOnMachines(input: Input, redis: string, ctx: Context): Promise<MachinesStatus> {
  const queue = await openQueue(redis, ctx);
  try {
    const counts = Object.fromEntries([...rowStates, 'not_handed_over'].map((state) => [state, 0])) as Record<
      RowState | 'not_handed_over',
      number
    >;
    let rows = 0;
    for await (const keys of keysOf(input)) {
      rows += keys.length;
      for (const record of await queue.store.read(keys)) counts[record?.state ?? 'not_handed_over'] += 1;
    }
    const { pools, save } = await queue.engine.counts(queue.pools);
    return {
      rows,
      counts,
      workers: await queue.engine.workers(),
      slots: pools.map(({ name, taken, atOnce, waiting }) => ({ pool: name, taken, of: atOnce, waiting })),
      toSave: save.taken + save.waiting,
    };
  } finally {
    await queue.close().catch(() => {});
  }
}

/** The log of one row: who did what, when, at which attempt. Throws `not_found` for a row that the queue does not know. */
export async function logOnMachines(key: string, redis: string, ctx: Context): Promise<LogEntry[]> {
  const queue = await openQueue(redis, ctx);
  try {
    const entries = await queue.store.log(key);
    if (entries.length > 0) return entries;
    throw new GwError('not_found', `the queue knows no row ${key}`, {
      hint: 'a row is named by its id, or by its whole key NAME/id',
    });
  } finally {
    await queue.close().catch(() => {});
  }
}

/** Takes out of the queue what was not sent yet; how many rows that were, and how many are left. */
export async function cancelOnMachines(
  input: Input,
  redis: string,
  ctx: Context,
): Promise<{ readonly cancelled: number; readonly left: number }> {
  const queue = await openQueue(redis, ctx);
  try {
    const memory = await Memory.open(input.name, ctx);
    let cancelled = 0;
    let left = 0;
    for await (const keys of keysOf(input)) {
      const out: { key: string; round: number; pool: string }[] = [];
      const records = await queue.store.read(keys);
      for (const [at, key] of keys.entries()) {
        const { round, pool } = records[at] ?? {};
        const isOut = (await queue.store.step(key, 'cancelled', { host: queue.host })) === 'ok';
        if (isOut && round !== undefined && pool !== undefined) out.push({ key, round, pool });
        if (isOut) cancelled += 1;
        else left += 1;
      }
      await queue.engine.remove(out);
      memory.takenBack(out.map(({ key }) => key));
    }
    return { cancelled, left };
  } finally {
    await queue.close().catch(() => {});
  }
}
