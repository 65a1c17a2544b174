import { readRows } from '../../batch/rows.ts';
import { type Context, commandFor } from '../../context.ts';
import { GwError, shellQuote, usage } from '../../errors.ts';
import { loadTaskFamily } from '../../gateway/families.ts';
import { chunksOf } from '../../host.ts';
import { type LogEntry, nextAttempt, type RowState, rowStates } from '../../machines/row.ts';
import { type OpenRows, soundRows } from '../batch/flags.ts';
import { noTaskOfImage, unchanged } from '../jobs/task-job.ts';
import { createFollowers } from '../video/followers.ts';
import { Memory } from './memory.ts';
import { type OpenQueue, openQueue, type RedisWords, redisTyped, withRedis } from './open.ts';
import { endOf, ends } from './row-end.ts';

// Commands on a queue besides following it: the state of rows, the log of a row, and taking rows out.

export async function withQueue<T>(
  words: RedisWords,
  ctx: Context,
  ask: (queue: OpenQueue) => Promise<T>,
): Promise<T> {
  const queue = await openQueue(words, 'reader', ctx);
  return ask(queue).finally(() => queue.close().catch(() => {}));
}

/** What blocks workers, and why: one sentence each, with the worker that reports it. */
export const standsOf = async ({ board }: OpenQueue, redis: RedisWords) =>
  (await board.heard()).flatMap(({ host, stands }) =>
    stands.map((what) => ({ host, what: withRedis(what, redis) })),
  );

/** How many rows one request to Redis asks for. */
export const AT_ONCE = 200;

export type MachinesStatus = Awaited<ReturnType<typeof statusOnMachines>>;

/** The --command with which the rows were handed over: the one among the queue's rows that fits all rows. */
async function commandOf(input: OpenRows, { store }: OpenQueue): Promise<string | undefined> {
  const isSound = async (command: string | undefined) => {
    for await (const row of readRows({ ...input, command })) if ('faults' in row) return false;
    return true;
  };
  if (input.command || (await isSound(undefined))) return input.command;
  const records = await store.read(await store.rowsOf(input.name));
  const commands = new Set(records.map((record) => record?.row.command));
  for (const command of commands) if (await isSound(command)) return command;
  return [...commands][0];
}

export function statusOnMachines(input: OpenRows, redis: RedisWords, ctx: Context) {
  return withQueue(redis, ctx, async (queue) => {
    const states = [...rowStates, 'not_handed_over'] as const;
    const counts = Object.fromEntries(states.map((each) => [each, 0])) as Record<
      (typeof states)[number],
      number
    >;
    let rows = 0;
    const wanted = soundRows({ ...input, command: await commandOf(input, queue) });
    for await (const some of chunksOf(wanted, AT_ONCE)) {
      rows += some.length;
      const keys = some.map(({ key }) => key);
      for (const each of await queue.store.read(keys, true)) counts[each?.state ?? 'not_handed_over'] += 1;
    }
    const { pools, save } = await queue.engine.counts();
    return {
      rows,
      counts,
      workers: await queue.engine.workers(),
      slots: pools.map(({ name, taken, atOnce, waiting }) => ({ pool: name, taken, of: atOnce, waiting })),
      toSave: save.taken + save.waiting,
      stands: await standsOf(queue, redis),
    };
  });
}

/** The log of one row: each step with its machine, time and attempt. Throws `not_found` for a row not on the queue. */
export function logOnMachines(key: string, redis: RedisWords, ctx: Context): Promise<LogEntry[]> {
  return withQueue(redis, ctx, async (queue) => {
    const entries = await queue.store.log(key);
    if (entries.length > 0) return entries;
    throw unknownRow(key);
  });
}

const unknownRow = (key: string): GwError =>
  new GwError('not_found', `the queue knows no row ${key}`, {
    hint: 'a row is named by its id, one of a count by id/1, or by its whole key NAME/id',
  });

/** Takes rows that are unsent or of unknown outcome out of the queue. Returns how many. */
export async function takeOut(
  keys: readonly string[],
  { store, engine, host }: OpenQueue,
  memory: Memory,
): Promise<number> {
  const taken: string[] = [];
  for (const key of keys) if ((await store.step(key, 'cancelled', { host })) === 'ok') taken.push(key);
  // Read only now, because a row that was being sent may have been created meanwhile.
  const records = (await store.read(taken)).flatMap((record) => record ?? []);
  const sound = records.filter(({ fault }) => !fault);
  await engine.remove(sound.map(({ row: { key }, round, pool: queue }) => ({ key, round, queue })));
  const unsent = records.filter((record) => !record.fault?.isSent && endOf(record) !== ends.doubtful);
  memory.takenBack(unsent.map(({ row }) => row.key));
  return taken.length;
}

/** Takes out the rows of a batch, also those that the manifest does not hold any more. */
export const cancelOnMachines = (name: string, redis: RedisWords, ctx: Context) =>
  withQueue(redis, ctx, async (queue) => {
    const keys = await queue.store.rowsOf(name);
    const cancelled = await takeOut(keys, queue, await Memory.open(name, ctx));
    return { cancelled, left: keys.length - cancelled };
  });

export type ResolvedRow = Awaited<ReturnType<typeof resolveOnMachines>>;

/**
 * Closes a row of unknown outcome with what the user found out, and updates the queue: `none` makes it wait again, an ID
 * is looked up and continued. Throws `usage` if the outcome is known, and `not_found` for an unknown row.
 */
export const resolveOnMachines = (key: string, as: string, redis: RedisWords, ctx: Context) =>
  withQueue(redis, ctx, async ({ store, engine, host }) => {
    const [record] = await store.read([key], true);
    if (!record) throw unknownRow(key);
    const isNone = as === 'none';
    if (record.fault && isNone) {
      await store.absolve(key);
      return { row_key: key, state: 'failed' as RowState, id: null };
    }
    const isOpen = record.state === 'unknown' || endOf(record) === ends.doubtful;
    if (record.fault || !isOpen)
      throw usage(
        `row ${key} cannot be resolved: ${record.fault ? record.error?.message : `it is ${record.state}`}`,
        record.fault && 'where nothing was made, --as none closes it',
      );
    if (!isNone) {
      const of = record.family === 'image' ? undefined : await loadTaskFamily(record.family);
      if (!of) throw noTaskOfImage(as, `${shellQuote(key)} --as none ${redisTyped(redis)}`);
      const job = { createdAtMs: ctx.clock.now() - (await store.restedMs(key)), acceptedAtMs: undefined };
      const looker = await createFollowers(ctx, { ownRates: true }).looker(of, await ctx.gateway());
      await looker.look(as, { signal: ctx.signal, job }).catch((error: unknown) => {
        throw unchanged(error, as, `row ${key}`);
      });
    }
    const round = record.round + 1;
    const wanted = nextAttempt(record);
    const result = isNone
      ? await store.step(key, 'denied', { host }, { again: true, wanted, round, id: '' })
      : await store.step(key, 'cleared', { host }, { id: as, round });
    // Read before the ticket is added, so that no worker can have changed the row.
    const [now = record] = await store.read([key]);
    if (result === 'ok') await engine.add([{ key, round, queue: record.pool }]);
    ctx.io.note(`go on with it: ${commandFor(`gw batch run MANIFEST ${redisTyped(redis)}`, ctx)}`);
    return { row_key: key, state: now.state, id: now.id ?? null };
  });
