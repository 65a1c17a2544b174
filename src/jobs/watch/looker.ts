import { type AccountType, poolOf, type RatePool } from '../../gateway/limits.ts';
import type { TaskFamily } from '../../gateway/task.ts';
import { BEAT_MS, sleepAloud } from '../../host.ts';
import type { RetryPause } from '../../http/client.ts';
import { CALL_LIMIT_MS } from '../../http/retry.ts';
import type { Job } from '../../ledger/event.ts';
import { mayHoldLongNumber } from '../job-view.ts';
import { type Ask, LookBatch, readLook } from './batch.ts';
import type { JobDeps } from './follow.ts';
import { readable, type TaskLook, youngUntilMs } from './look.ts';
import { LONGEST_TIMER_MS, whileYoung } from './poll.ts';
import { Pace, type SharedRate } from './rate.ts';

/** Queries tasks of one family on one gateway for this whole process: requests are shared and paced. */
export interface Looker {
  /**
   * Announces that a task will be queried; the returned function withdraws that (once). A request waits for the other
   * followed tasks, as long as its patience allows, so that they share one request.
   */
  follow(id: string): () => void;
  /** True if a task is announced and not withdrawn. */
  isFollowed(id: string): boolean;
  /**
   * Queries one task's record. Throws what the client throws, `not_found` for a task that the reply does not name,
   * `unavailable` for a record that cannot be read, or the signal's reason.
   */
  look(id: string, options: LookOptions): Promise<TaskLook>;
  /** Counts a create against the same rate limit: the next query leaves later. */
  spend(pool: RatePool): void;
}

export interface LookOptions {
  readonly signal: AbortSignal;
  /** Number of retries, by default the client's; a poll handles failures itself and passes 0. */
  readonly retries?: number;
  /** The rate limit that the query counts against; by default the account's ordinary one. */
  readonly pool?: RatePool | undefined;
  /** Steady time in ms until which an answer is useful (default: two minutes); a longer pause ends the query. */
  readonly deadlineMs?: number | undefined;
  /** How long the query may wait for others to share its request, in milliseconds. */
  readonly patienceMs?: number;
  /** The job of the task, if the ledger knows it: while it is young, "not found" may only mean "not known yet". */
  readonly job?: Pick<Job, 'acceptedAtMs' | 'createdAtMs'> | undefined;
}

export interface LookerOptions extends Pick<JobDeps, 'client' | 'clock' | 'random'> {
  readonly family: TaskFamily;
  readonly account: AccountType;
  /** Is told now and then why no query leaves, or why one is repeated. */
  readonly note?: ((line: string) => void) | undefined;
  /** A pool's rate that all processes share; by default each process has its own. */
  readonly rateOf?: ((pool: string) => SharedRate) | undefined;
}

/** Makes a looker. A process must have only one for each family and gateway, so that the rates are shared. */
export function createLooker(options: LookerOptions): Looker {
  const { family, account } = options;
  const ordinary = poolOf({ family: family.name, settings: {} }, account);
  const followed = new Map<string, number>();
  const queues = new Map<string, LookQueue>();
  const queueOf = (pool: RatePool): LookQueue => {
    const known = queues.get(pool.name);
    if (known) return known;
    const made = new LookQueue(options, pool, followed);
    queues.set(pool.name, made);
    return made;
  };
  return {
    spend: (pool) => queueOf(pool).spend(),
    isFollowed: (id) => followed.has(id),
    follow(id) {
      followed.set(id, (followed.get(id) ?? 0) + 1);
      let isFollowed = true;
      return () => {
        if (!isFollowed) return;
        isFollowed = false;
        const left = (followed.get(id) ?? 1) - 1;
        if (left > 0) followed.set(id, left);
        else followed.delete(id);
        for (const queue of queues.values()) queue.wake();
      };
    },
    look: (id, asked) =>
      whileYoung(() => queueOf(asked.pool ?? ordinary).look(id, asked), {
        ...options,
        ...asked,
        youngUntilMs: asked.job && youngUntilMs(asked.job, options.clock),
      }),
  };
}

/** Requests that leave evenly arrive less evenly; this margin keeps each minute's count below the documented rate. */
const SHARE_OF_RATE = 0.97;
const MAX_IN_FLIGHT = 16;

/**
 * The queries of one rate limit: they wait in order, share requests as far as the gateway allows, and requests leave
 * evenly below the documented rate ("Limits"), never in a burst.
 */
class LookQueue {
  readonly #pace: Pace;
  readonly #batch: LookBatch;
  /** Requests that wait to be sent again, in order; each waits for its turn like any other. */
  readonly #again = new Set<Again>();
  #inFlight = 0;
  #nap: AbortController | undefined;
  #isRunning = false;

  /** `followed` holds the tasks that will be queried, with the number of followers of each. */
  constructor(
    private readonly options: LookerOptions,
    { name, requestsPerMinute }: RatePool,
    followed: ReadonlyMap<string, number>,
  ) {
    const spacingMs = Math.ceil(60_000 / (requestsPerMinute * SHARE_OF_RATE));
    const spacing = () => Math.ceil(spacingMs / options.client.speed());
    this.#pace = new Pace({ ...options, spacing, shared: options.rateOf?.(name) });
    this.#batch = new LookBatch(options.family.query.maxIds, followed);
  }

  /** Counts a request that is not a query. */
  spend(): void {
    this.#pace.spend();
  }

  look(id: string, options: LookOptions): Promise<TaskLook> {
    const { signal, patienceMs = 0 } = options;
    const nowMs = this.options.clock.steady();
    const { deadlineMs = nowMs + CALL_LIMIT_MS } = options;
    signal.throwIfAborted();
    return new Promise((resolve, reject) => {
      const ask = this.#batch.add({
        id,
        options: { ...options, deadlineMs },
        dueMs: nowMs + patienceMs,
        settle: (outcome) => {
          signal.removeEventListener('abort', abort);
          if ('look' in outcome) resolve(outcome.look);
          else reject(outcome.error);
        },
      });
      const abort = () => {
        this.#batch.withdraw(ask);
        ask.leave?.();
        reject(signal.reason);
        this.wake();
      };
      signal.addEventListener('abort', abort, { once: true });
      if (!this.#isRunning) void this.#run();
      else if (this.#batch.isEnough || this.#pace.heldMs() > 0) this.wake();
    });
  }

  /** Checks again what there is to do. */
  wake(): void {
    this.#nap?.abort();
  }

  async #run(): Promise<void> {
    this.#isRunning = true;
    // Queries that are made in this same turn share the first request.
    await Promise.resolve();
    while (this.#hasWork()) {
      const pauseMs = this.#pauseMs();
      this.#refuseHeld();
      if (!this.#hasWork()) break;
      if (pauseMs > 0) {
        await this.#sleep(pauseMs);
        continue;
      }
      this.#pace.leave();
      const [again] = this.#again;
      if (again) {
        again.go();
        continue;
      }
      this.#inFlight += 1;
      void this.#send(this.#batch.take()).finally(() => {
        this.#inFlight -= 1;
        this.wake();
      });
    }
    this.#isRunning = false;
  }

  #hasWork(): boolean {
    return this.#again.size > 0 || !this.#batch.isEmpty;
  }

  /** Milliseconds until the next request may leave; retries go before new requests. */
  #pauseMs(): number {
    if (this.#again.size === 0) {
      if (this.#inFlight >= MAX_IN_FLIGHT) return Number.POSITIVE_INFINITY;
      const gatherMs = this.#batch.gatherMs(this.options.clock.steady());
      if (gatherMs > 0) return gatherMs;
    }
    return this.#pace.readyInMs();
  }

  /** Ends queries at once that cannot wait as long as the gateway asks. */
  #refuseHeld(): void {
    this.#batch.refuse(this.#pace);
    for (const again of this.#again) {
      const error = this.#pace.refusal(again.deadlineMs);
      if (error) again.refuse(error);
    }
  }

  async #sleep(pauseMs: number): Promise<void> {
    const { clock, note } = this.options;
    const held = this.#pace.refusal(clock.steady() + BEAT_MS);
    const tell = () => void (held && note?.(`${held.message}: waiting`));
    const nap = new AbortController();
    this.#nap = nap;
    if (Number.isFinite(pauseMs)) {
      await sleepAloud(clock, Math.min(pauseMs, LONGEST_TIMER_MS), nap.signal, tell).catch(() => {});
    } else {
      await new Promise((woken) => nap.signal.addEventListener('abort', woken, { once: true }));
    }
    this.#nap = undefined;
  }

  async #send(asks: readonly Ask[]): Promise<void> {
    const { client, clock, family } = this.options;
    const ids = [...new Set(asks.map((ask) => ask.id))];
    const request = new AbortController();
    const present = new Set(asks);
    for (const ask of asks) {
      ask.leave = () => {
        present.delete(ask);
        if (present.size === 0) request.abort(ask.options.signal.reason);
      };
    }
    const retries = asks.every((ask) => ask.options.retries === 0) ? 0 : undefined;
    const deadlineMs = Math.max(...asks.map(({ options }) => options.deadlineMs));
    try {
      const reply = await client.send(family.query.endpoint, family.query.input(ids), {
        signal: request.signal,
        ...(retries !== undefined && { retries }),
        deadlineMs,
        pause: (pause) => this.#pause(pause, deadlineMs, request.signal),
      });
      this.#pace.answered();
      const records = readable(() => family.query.records(reply.json, ids), 'the reply');
      const serverDateMs = reply.serverDateMs ?? clock.now();
      const exact = mayHoldLongNumber(reply.text) ? await import('./exact-record.ts') : undefined;
      for (const { id, settle } of present) {
        const record = records.get(id);
        const recordText = exact?.exactText(reply.text, reply.json, record);
        settle(readLook(family, id, { record, recordText, reply, serverDateMs }));
      }
    } catch (error) {
      this.#pace.failed(error);
      this.#batch.fail(present, ids, error);
      if (!this.#batch.isEmpty && !this.#isRunning) void this.#run();
    }
  }

  /** Waits until a request's turn to be sent again. Throws the signal's reason, or the error if it gets no turn. */
  async #pause(
    { delayMs, isRateLimited, tell }: RetryPause,
    deadlineMs: number,
    signal: AbortSignal,
  ): Promise<void> {
    if (isRateLimited) {
      this.#pace.hold(delayMs);
      this.wake();
    }
    await sleepAloud(this.options.clock, delayMs, signal, tell);
    signal.throwIfAborted();
    await new Promise<void>((resolve, reject) => {
      const leaving = (settle: () => void) => {
        signal.removeEventListener('abort', abort);
        this.#again.delete(again);
        settle();
      };
      const again: Again = {
        deadlineMs,
        go: () => leaving(resolve),
        refuse: (error) => leaving(() => reject(error)),
      };
      const abort = () => {
        again.refuse(signal.reason);
        this.wake();
      };
      signal.addEventListener('abort', abort, { once: true });
      this.#again.add(again);
      if (this.#isRunning) this.wake();
      else void this.#run();
    });
  }
}

/** A request that waits to be sent again. */
interface Again {
  readonly deadlineMs: number;
  readonly go: () => void;
  readonly refuse: (error: unknown) => void;
}
