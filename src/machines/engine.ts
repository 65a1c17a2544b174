import { type Job, Queue, WaitingError, Worker } from 'bullmq';
import type { AccountType } from '../gateway/limits.ts';
import { digestOf, fenceOf, type Stage } from './row.ts';
import type { RowStore } from './store.ts';

// The queues: BullMQ gives rows out, finds those whose worker died, and counts the slots. A pool's queue gives out as many
// rows as the account runs tasks of that pool, over all workers; a row leaves it when its task has ended, and its output is
// brought home by a row of the queue `save`.

/** What a queue holds of a row: everything else stands in the row's own record. */
interface Ticket {
  readonly key: string;
  readonly round: number;
}

/** BullMQ's name of it: a row that is put on the queue twice in a round is there once. */
const ticketOf = ({ key, round }: Ticket): string => `${digestOf(key)}-${round}`;

const SAVE = 'save';

/** A worker that says nothing for so long has lost its rows; the next look for such rows is at most `STALLED_MS` later. */
const LOCK_MS = 15_000;
const STALLED_MS = 5_000;
/** How soon a slot that nobody was told of is taken. */
const DRAIN_S = 1;
/** A row may lose any number of workers. */
const NO_END = 1_000_000_000;
/** Events of BullMQ's own that are kept; nothing reads them. */
const MAX_ENGINE_EVENTS = 100;

/** Tasks that run at once in a pool. */
export interface Pool {
  readonly name: string;
  readonly atOnce: number;
}

/** A row that was given out. */
export interface Given {
  readonly key: string;
  readonly stage: Stage;
  readonly fence: number;
  /** Which taking of this stage it is, from 1. */
  readonly attempt: number;
}

/** What became of a row that was given out: it leaves the queue, or goes back to its front for another worker. */
export type Put = 'done' | 'back';

export interface PoolCount extends Pool {
  /** Rows that were given out; of a pool of tasks: the slots that are taken. */
  readonly taken: number;
  readonly waiting: number;
}

export class Engine {
  readonly #store: RowStore;
  readonly #queues = new Map<string, Queue<Ticket>>();
  readonly #workers: Worker<Ticket>[] = [];

  constructor(store: RowStore) {
    this.#store = store;
  }

  #queue(name: string): Queue<Ticket> {
    const known = this.#queues.get(name);
    if (known) return known;
    const { redis, prefix } = this.#store;
    const made = new Queue<Ticket>(name, {
      connection: redis,
      prefix,
      skipVersionCheck: true,
      streams: { events: { maxLen: MAX_ENGINE_EVENTS } },
    });
    // A lost connection is seen by whoever opened it.
    made.on('error', () => {});
    this.#queues.set(name, made);
    return made;
  }

  /** Sets how many tasks run at once over all workers. */
  async limit(pools: readonly Pool[]): Promise<void> {
    for (const { name, atOnce } of pools) await this.#queue(name).setGlobalConcurrency(atOnce);
  }

  /** The account whose limits hold, as whoever came first has set it. */
  async account(mine: AccountType): Promise<AccountType> {
    const { redis, prefix } = this.#store;
    await redis.hsetnx(`${prefix}:meta`, 'account', mine);
    return (await redis.hget(`${prefix}:meta`, 'account')) as AccountType;
  }

  async setAccount(account: AccountType): Promise<void> {
    await this.#store.redis.hset(`${this.#store.prefix}:meta`, 'account', account);
  }

  /** Puts rows on the queue of their pool, or on that of what is to be saved; one that is there already stays as it is. */
  async add(rows: readonly { readonly key: string; readonly round: number; readonly queue: string }[]) {
    const names = new Set(rows.map(({ queue }) => queue));
    for (const name of names) {
      await this.#queue(name).addBulk(
        rows
          .filter(({ queue }) => queue === name)
          .map(({ key, round }) => ({
            name: 'row',
            data: { key, round },
            opts: { jobId: ticketOf({ key, round }), removeOnComplete: true, removeOnFail: true },
          })),
      );
    }
  }

  /** Takes rows off the queue of their pool; what was given out already stays until it comes back. */
  async remove(rows: readonly { readonly key: string; readonly round: number; readonly pool: string }[]) {
    await Promise.all(rows.map(({ pool, ...ticket }) => this.#queue(pool).remove(ticketOf(ticket))));
  }

  addToSave(key: string, round: number): Promise<void> {
    return this.add([{ key, round, queue: SAVE }]);
  }

  /**
   * Gives this worker rows: of each pool as many as it has room for, of the queue of outputs `savesAtOnce`. `work` must not
   * throw; `onLost` hears of a row that was given to another because this worker did not answer for a while.
   */
  start({
    pools,
    host,
    atOnce,
    savesAtOnce,
    work,
    onLost,
  }: {
    readonly pools: readonly Pool[];
    readonly host: string;
    readonly atOnce: number | undefined;
    readonly savesAtOnce: number;
    readonly work: (given: Given) => Promise<Put>;
    readonly onLost: (key: string) => void;
  }): void {
    const room = new Room(atOnce ?? Number.POSITIVE_INFINITY, this.#workers);
    for (const pool of pools) {
      const most = Math.min(pool.atOnce, atOnce ?? pool.atOnce);
      this.#open(pool.name, 'task', most, host, (given) => room.hold(() => work(given)), onLost);
    }
    this.#open(SAVE, 'save', savesAtOnce, host, work, onLost);
  }

  #open(
    name: string,
    stage: Stage,
    concurrency: number,
    host: string,
    work: (given: Given) => Promise<Put>,
    onLost: (key: string) => void,
  ): void {
    const { redis, prefix } = this.#store;
    const keys = new Map<string, string>();
    const give = async (job: Job<Ticket>, token?: string): Promise<void> => {
      const { key, round } = job.data;
      const attempt = job.attemptsStarted;
      keys.set(String(job.id), key);
      const put = await work({ key, stage, attempt, fence: fenceOf(round, stage, attempt) });
      if (put === 'done') return;
      // What fails here is found as lost a little later.
      await job.moveToWait(token).catch(() => {});
      throw new WaitingError();
    };
    const worker = new Worker<Ticket>(name, give, {
      connection: redis,
      prefix,
      name: host,
      concurrency,
      drainDelay: DRAIN_S,
      lockDuration: LOCK_MS,
      stalledInterval: STALLED_MS,
      maxStalledCount: NO_END,
      runRetryDelay: 1_000,
      skipVersionCheck: true,
    });
    worker.on('error', () => {});
    worker.on('lockRenewalFailed', (ids) => {
      for (const id of ids) onLost(keys.get(id) ?? '');
    });
    this.#workers.push(worker);
  }

  /** Gives out no more rows, and returns when those that were given out are put back or done. */
  async stop(): Promise<void> {
    await Promise.all(this.#workers.map((worker) => worker.close()));
  }

  /** How many rows of each pool wait and are given out, and what is to be saved. */
  async counts(pools: readonly Pool[]): Promise<{ readonly pools: PoolCount[]; readonly save: PoolCount }> {
    const count = async ({ name, atOnce }: Pool): Promise<PoolCount> => {
      const queue = this.#queue(name);
      const { active = 0, wait = 0 } = await queue.getJobCounts('active', 'wait');
      return { name, atOnce: (await queue.getGlobalConcurrency()) ?? atOnce, taken: active, waiting: wait };
    };
    return {
      pools: await Promise.all(pools.map(count)),
      save: await count({ name: SAVE, atOnce: Number.POSITIVE_INFINITY }),
    };
  }

  /** The hosts whose workers are connected; undefined where the server does not tell. */
  async workers(): Promise<readonly string[] | undefined> {
    try {
      const found = await this.#queue(SAVE).getWorkers();
      return found.map(({ name = '', rawname = '' }) => rawname.split(':w:')[1] ?? name).sort();
    } catch {
      return undefined;
    }
  }

  async close(): Promise<void> {
    await Promise.all([...this.#queues.values()].map((queue) => queue.close()));
  }
}

/** At most so many rows at once over all pools of this worker: once it is full, no pool takes another. */
class Room {
  readonly #most: number;
  readonly #workers: readonly Worker[];
  readonly #waiting: (() => void)[] = [];
  #taken = 0;

  constructor(most: number, workers: readonly Worker[]) {
    this.#most = most;
    this.#workers = workers;
  }

  async hold<T>(work: () => Promise<T>): Promise<T> {
    if (this.#taken >= this.#most) await new Promise<void>((enter) => this.#waiting.push(enter));
    else this.#taken += 1;
    if (this.#taken >= this.#most) this.#pause(true);
    try {
      return await work();
    } finally {
      const next = this.#waiting.shift();
      if (next) next();
      else {
        this.#taken -= 1;
        this.#pause(false);
      }
    }
  }

  #pause(isFull: boolean): void {
    for (const worker of this.#workers) {
      if (worker.name === SAVE || worker.isPaused() === isFull) continue;
      if (isFull) void worker.pause(true);
      else void worker.resume();
    }
  }
}
