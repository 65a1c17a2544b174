import { type Job, Queue, WaitingError, Worker } from 'bullmq';
import * as z from 'zod/mini';
import { digestOf } from '../batch/rows.ts';
import { GwError } from '../errors.ts';
import { refuseNewer } from '../formats.ts';
import { type AccountType, accountTypes } from '../gateway/limits.ts';
import { createTurns, type Turns } from '../jobs/watch/turns.ts';
import { jsonOf } from '../json-text.ts';
import { isForeignKey } from './door.ts';
import { fenceOf, type Stage } from './row.ts';
import type { RowStore } from './store.ts';

// The queues: BullMQ gives rows out, finds rows whose worker died, and counts the slots. A pool's queue gives out as many
// rows over all workers as the account may run tasks of that pool. A row leaves it when its task has ended; a row of the
// queue `save` then saves its output.

/** The queue's data of a row; everything else is in the row's own record. */
const ticket = z.object({ key: z.string(), round: z.int() });
type Ticket = z.infer<typeof ticket>;

/** BullMQ's job ID: a row that is added twice in a round is queued only once. */
const ticketOf = ({ key, round }: Ticket): string => `${digestOf(key)}-${round}`;

interface QueuedRow extends Ticket {
  readonly queue: string;
}

const SAVE = 'save';

/** A worker that is silent for this long loses its rows; BullMQ checks for such rows every `STALLED_MS`. */
export const LEASE_MS = 15_000;
const STALLED_MS = 5_000;
/** How soon a free slot is found if no notification came. */
const DRAIN_S = 1;
/** A row may be lost by any number of workers. */
const NO_END = 1_000_000_000;
/** The number of BullMQ's own events that are kept; gw does not read them. */
const MAX_ENGINE_EVENTS = 100;

export interface Pool {
  readonly name: string;
  readonly atOnce: number;
}

export interface Given {
  readonly key: string;
  readonly round: number;
  readonly stage: Stage;
  /** Names the taken row in `onLost`. */
  readonly ticket: string;
  readonly fence: number;
  /** The number of times the row was taken in this stage, from 1. */
  readonly attempt: number;
  /** Extends the lease by another `LEASE_MS` from now; false if the queue has given the row up. */
  keep(): Promise<boolean>;
}

interface Taker {
  readonly host: string;
  /** The maximum of rows over all pools; if absent, the pools' own limits apply. */
  readonly atOnce: number | undefined;
  readonly savesAtOnce: number;
  /** Must not throw. */
  readonly work: (given: Given) => Promise<Put>;
  /** Called with the tickets of rows that go to another worker because this one was silent. */
  readonly onLost: (tickets: readonly string[]) => void;
  /** Called if a queue can give out no more rows, because one of its keys holds other data. */
  readonly onForeign: (error: unknown) => void;
}

/** The outcome of a row that was given out: it leaves the queue, or goes back to its front for another worker. */
export type Put = 'done' | 'back';

export class Engine {
  /** The pools of the account, once they are known. */
  pools: readonly Pool[] = [];
  readonly #queues = new Map<string, Queue<Ticket>>();
  readonly #workers: Worker<unknown>[] = [];
  #room: Room | undefined;

  constructor(private readonly store: RowStore) {}

  #queue(name: string): Queue<Ticket> {
    const known = this.#queues.get(name);
    if (known) return known;
    const { door, prefix } = this.store;
    const made = new Queue<Ticket>(name, {
      connection: door.line,
      prefix,
      skipVersionCheck: true,
      streams: { events: { maxLen: MAX_ENGINE_EVENTS } },
    });
    // The owner of the connection notices its loss.
    made.on('error', () => {});
    this.#queues.set(name, made);
    return made;
  }

  /** Sets the number of tasks that run at once over all workers. */
  async limit(): Promise<void> {
    for (const { name, atOnce } of this.pools)
      await this.#change(name, (queue) => queue.setGlobalConcurrency(atOnce));
  }

  #ask<T>(name: string, question: (queue: Queue<Ticket>) => Promise<T>): Promise<T> {
    return this.store.door.ask(() => question(this.#queue(name)));
  }

  #change<T>(name: string, question: (queue: Queue<Ticket>) => Promise<T>): Promise<T> {
    return this.store.door.tell(() => question(this.#queue(name)));
  }

  /** The account type whose limits apply; undefined if none is stored. Throws NewerFormat for a queue of a newer gw. */
  async account(): Promise<AccountType | undefined> {
    const { door, prefix } = this.store;
    const [format, said] = await door.ask((redis) => redis.hmget(`${prefix}:meta`, 'v', 'account'));
    refuseNewer('queue', Number(format ?? 1), `${prefix}:meta`);
    return accountTypes.find((each) => each === said);
  }

  /** As `account`, after storing the own type: a follower always stores it, a worker only if none is stored. */
  async agree(mine: AccountType, as: 'follower' | 'worker' | 'reader'): Promise<AccountType> {
    const { door, prefix } = this.store;
    const known = await this.account();
    if (as === 'reader') return known ?? mine;
    const say = as === 'follower' ? 'hset' : 'hsetnx';
    await door.tell((redis) => redis[say](`${prefix}:meta`, 'account', mine));
    return (await this.account()) ?? mine;
  }

  /**
   * Adds rows to the queue of their pool or to the queue of outputs to save; rows that are there already stay as they
   * are. `first` puts them before the waiting ones.
   */
  async add(rows: readonly QueuedRow[], { first = false } = {}) {
    const names = new Set(rows.map(({ queue }) => queue));
    for (const name of names) {
      const tickets = rows
        .filter(({ queue }) => queue === name)
        .map(({ key, round }) => ({
          name: 'row',
          data: { key, round },
          opts: { jobId: ticketOf({ key, round }), lifo: first, removeOnComplete: true, removeOnFail: true },
        }));
      await this.#change(name, (queue) => queue.addBulk(tickets));
    }
  }

  /** Removes rows from their queues; a row that was given out stays until it comes back. */
  async remove(rows: readonly QueuedRow[]) {
    for (const { queue: name, ...ticket } of rows)
      await this.#change(name, (queue) => queue.remove(ticketOf(ticket)));
  }

  /** Starts giving rows to a worker: from each pool as many as it has room for, and from the queue of outputs. */
  start(taker: Taker): void {
    const { atOnce = Number.POSITIVE_INFINITY, savesAtOnce, work } = taker;
    const room = new Room(atOnce, this.#workers);
    this.#room = room;
    const inRoom = { ...taker, work: (given: Given) => room.hold(() => work(given)) };
    for (const pool of this.pools) this.#open(pool.name, 'task', Math.min(pool.atOnce, atOnce), inRoom);
    this.#open(SAVE, 'save', savesAtOnce, taker);
  }

  #open(name: string, stage: Stage, concurrency: number, { host, work, onLost, onForeign }: Taker): void {
    const { door, prefix } = this.store;
    const give = async (job: Job<unknown>, token?: string): Promise<void> => {
      const read = ticket.safeParse(job.data);
      // An invalid ticket belongs to no row; returning removes it from the queue.
      if (!read.success) return;
      const { key, round } = read.data;
      const attempt = job.attemptsStarted;
      const keep = async () => (await door.tell(() => job.extendLock(token ?? '', LEASE_MS))) === 1;
      const fence = fenceOf(round, stage, attempt);
      const put = await work({ key, round, stage, ticket: String(job.id), attempt, fence, keep });
      if (put === 'done') return;
      // If this fails, the row is found as lost a little later.
      await job.moveToWait(token).catch(() => {});
      throw new WaitingError();
    };
    const worker = new Worker<unknown>(name, give, {
      connection: door.line,
      prefix,
      name: host,
      concurrency,
      drainDelay: DRAIN_S,
      lockDuration: LEASE_MS,
      stalledInterval: STALLED_MS,
      maxStalledCount: NO_END,
      runRetryDelay: 1_000,
      skipVersionCheck: true,
    });
    worker.on('error', (error) => {
      if (error instanceof SyntaxError) this.#dropDamaged(name).catch(() => {});
      if (isForeignKey(error)) door.ask(() => Promise.reject(error)).catch(onForeign);
    });
    worker.on('lockRenewalFailed', onLost);
    this.#workers.push(worker);
  }

  /** Removes tickets that are no JSON, because each would keep a slot; followers of their rows queue them again. */
  async #dropDamaged(name: string): Promise<void> {
    const { redis } = this.store.door;
    const queue = this.#queue(name);
    const active = queue.toKey('active');
    for (const id of await redis.lrange(active, 0, -1)) {
      const fields = await redis.hmget(queue.toKey(id), 'data', 'opts');
      if (fields.every((text) => jsonOf(text ?? '') !== undefined)) continue;
      await redis.lrem(active, 0, id);
      await redis.del(queue.toKey(id), `${queue.toKey(id)}:lock`);
    }
  }

  /** Gives this worker no more rows to create or wait for; outputs are still saved. */
  closeRoom(): void {
    this.#room?.close();
  }

  /** Gives out no more rows, and resolves when the rows given out are put back or done. */
  async stop(): Promise<void> {
    await Promise.all(this.#workers.map((worker) => worker.close()));
  }

  /** For each pool the numbers of waiting rows and of taken slots, and the number of outputs to save. */
  async counts() {
    const count = async ({ name, atOnce }: Pool) => {
      const { active = 0, wait = 0 } = await this.#ask(name, (queue) => queue.getJobCounts('active', 'wait'));
      const most = await this.#ask(name, (queue) => queue.getGlobalConcurrency());
      return { name, atOnce: most ?? atOnce, taken: active, waiting: wait };
    };
    return {
      pools: await Promise.all(this.pools.map(count)),
      save: await count({ name: SAVE, atOnce: Number.POSITIVE_INFINITY }),
    };
  }

  /** For each pool the age of its longest-waiting row, in seconds by Redis's clock; 0 if none waits. */
  oldestWaitingS() {
    return Promise.all(
      this.pools.map(async ({ name }) => {
        const [first] = await this.#ask(name, (queue) => queue.getJobs(['wait'], 0, 0, true));
        if (first === undefined) return { name, seconds: 0 };
        const [seconds] = await this.store.door.ask((redis) => redis.time());
        return { name, seconds: Math.max(0, Number(seconds) - first.timestamp / 1000) };
      }),
    );
  }

  /** The hosts with connected workers; undefined if the server does not tell. */
  async workers(): Promise<readonly string[] | undefined> {
    try {
      const found = await this.#ask(SAVE, (queue) => queue.getWorkers());
      return found.map(({ name = '', rawname = '' }) => rawname.split(':w:')[1] ?? name).sort();
    } catch (error) {
      if (error instanceof GwError) throw error;
      return undefined;
    }
  }

  async close(): Promise<void> {
    await Promise.all([...this.#queues.values()].map((queue) => queue.close()));
  }
}

/** The limit of rows over all pools of this worker. A row that a paused pool had asked for waits, or goes back at the end. */
class Room {
  readonly #turns: Turns;
  #taken = 0;
  #isClosed = false;

  constructor(
    private readonly most: number,
    private readonly workers: readonly Worker[],
  ) {
    this.#turns = createTurns(most);
  }

  hold(work: () => Promise<Put>): Promise<Put> {
    this.#take(1);
    const begin = async () => (this.#isClosed ? 'back' : work());
    return this.#turns.take(0, begin).finally(() => this.#take(-1));
  }

  close(): void {
    this.#isClosed = true;
    this.#take(0);
  }

  #take(rows: number): void {
    this.#taken += rows;
    const isPaused = this.#taken >= this.most || this.#isClosed;
    for (const worker of this.workers) {
      if (worker.name === SAVE || worker.isPaused() === isPaused) continue;
      void (isPaused ? worker.pause(true) : worker.resume());
    }
  }
}
