import { GwError } from '../../errors.ts';
import { type AccountType, poolOf, type RatePool } from '../../gateway/limits.ts';
import type { TaskFamily } from '../../gateway/task.ts';
import type { RetryPause } from '../../http/client.ts';
import { mayHoldLongNumber } from '../job-view.ts';
import { type Ask, LookBatch, readable, readLook } from './batch.ts';
import type { JobDeps } from './follow.ts';
import type { TaskLook } from './look.ts';
import { Pace, type SharedRate } from './rate.ts';

/** Looks at tasks of one family on one gateway for everybody in this process: requests are shared and paced. */
export interface Looker {
  /**
   * Says that a task will be looked at; returns the function that takes it back (once). A request waits for the others that
   * are followed, as far as its patience goes, so that tasks are asked for together.
   */
  follow(id: string): () => void;
  /** Whether somebody has said so of a task and not taken it back. */
  isFollowed(id: string): boolean;
  /**
   * Asks for one task's record. Throws what the client throws, `not_found` for a task that the reply does not name,
   * `unavailable` for a record that cannot be read, or the signal's reason.
   */
  look(id: string, options: LookOptions): Promise<TaskLook>;
  /** A create leaves, which counts against the same rate: the next look comes as much later. */
  spend(pool: RatePool): void;
}

export interface LookOptions {
  readonly signal: AbortSignal;
  /** The client's own number when absent; a poll judges failures itself and takes 0. */
  readonly retries?: number;
  /** The rate that the look counts against; the account's ordinary one when absent. */
  readonly pool?: RatePool | undefined;
  /** Steady milliseconds by which an answer is of use; a gateway that asks to wait longer ends the look at once. Two minutes when absent. */
  readonly deadlineMs?: number | undefined;
  /** How long the look may wait for others to share its request, in milliseconds. */
  readonly patienceMs?: number;
  /** Until when "not found" may only mean "not known yet", Unix milliseconds. */
  readonly retryNotFoundUntilMs?: number | undefined;
}

export interface LookerOptions extends Pick<JobDeps, 'client' | 'clock' | 'random'> {
  readonly family: TaskFamily;
  readonly account: AccountType;
  /** A pool's rate as all processes keep it; each process keeps its own when absent. */
  readonly rateOf?: ((pool: string) => SharedRate) | undefined;
}

/** How long to wait before a task that is not known yet is asked for again. */
const YOUNG_PAUSE_MS = 2_000;

/** Makes a looker: one for each family and gateway in a process, or the rates are not shared. */
export function createLooker(options: LookerOptions): Looker {
  const { family, clock, account } = options;
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
    async look(id, options) {
      const queue = queueOf(options.pool ?? ordinary);
      // A single task's own endpoint says 404, which the client waits out; a list leaves the task out.
      const untilMs = family.query.maxIds > 1 ? options.retryNotFoundUntilMs : undefined;
      const youngUntilMs = untilMs === undefined ? 0 : clock.steady() + (untilMs - clock.now());
      for (;;) {
        try {
          return await queue.look(id, options);
        } catch (error) {
          const isYoung = clock.steady() + YOUNG_PAUSE_MS < youngUntilMs;
          if (!isYoung || !(error instanceof GwError) || error.kind !== 'not_found') throw error;
          await clock.sleep(YOUNG_PAUSE_MS, options.signal);
        }
      }
    },
  };
}

/** Requests that leave evenly arrive a little less evenly; the rest keeps a minute's count below the documented rate. */
const SHARE_OF_RATE = 0.97;
const MAX_IN_FLIGHT = 16;
/** Longest pause that a timer can make. */
const LONGEST_NAP_MS = 2 ** 31 - 1;

/**
 * One rate: looks wait here in order, as many in one request as the gateway takes, and requests leave at an even pace
 * below the documented rate ("Limits"), never in a burst.
 */
class LookQueue {
  readonly #pace: Pace;
  readonly #batch: LookBatch;
  /** Requests that are to be sent again, in the order in which they wait: each for its turn like any other. */
  readonly #again = new Set<Again>();
  #inFlight = 0;
  #nap: AbortController | undefined;
  #isRunning = false;

  /** `followed`: the tasks that are going to be looked at, with how many look. */
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

  /** A request that is no look leaves. */
  spend(): void {
    this.#pace.spend();
  }

  look(id: string, options: LookOptions): Promise<TaskLook> {
    const { signal, patienceMs = 0 } = options;
    signal.throwIfAborted();
    return new Promise((resolve, reject) => {
      const ask = this.#batch.add({
        id,
        options,
        dueMs: this.options.clock.steady() + patienceMs,
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

  /** Looks again at what there is to do. */
  wake(): void {
    this.#nap?.abort();
  }

  async #run(): Promise<void> {
    this.#isRunning = true;
    // Whoever asks in this same turn shares the first request.
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

  /** How long until the next request may leave, in milliseconds; what is sent again goes before what is new. */
  #pauseMs(): number {
    if (this.#again.size === 0) {
      if (this.#inFlight >= MAX_IN_FLIGHT) return Number.POSITIVE_INFINITY;
      const gatherMs = this.#batch.gatherMs(this.options.clock.steady());
      if (gatherMs > 0) return gatherMs;
    }
    return this.#pace.readyInMs();
  }

  /** Whoever cannot wait as long as the gateway asks is told so at once. */
  #refuseHeld(): void {
    const refusalOf = this.#pace.refusal();
    if (!refusalOf) return;
    this.#batch.refuse(refusalOf);
    for (const again of this.#again) {
      const error = refusalOf(again.deadlineMs);
      if (error) again.refuse(error);
    }
  }

  async #sleep(pauseMs: number): Promise<void> {
    const nap = new AbortController();
    this.#nap = nap;
    if (Number.isFinite(pauseMs)) {
      await this.options.clock.sleep(Math.min(pauseMs, LONGEST_NAP_MS), nap.signal).catch(() => {});
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
    const youngUntilMs = ids.length === 1 ? asks[0]?.options.retryNotFoundUntilMs : undefined;
    try {
      const reply = await client.send(family.query.endpoint, family.query.input(ids), {
        signal: request.signal,
        ...(retries !== undefined && { retries }),
        pause: (pause) => this.#pause(pause, asks, request.signal),
        ...(family.query.maxIds === 1 && { retryNotFoundUntilMs: youngUntilMs }),
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

  /** The pause of a request before it is sent again, until its turn has come. Throws the signal's reason, or why there is no turn. */
  async #pause(
    { delayMs, isRateLimited }: RetryPause,
    asks: readonly Ask[],
    signal: AbortSignal,
  ): Promise<void> {
    if (isRateLimited) {
      this.#pace.hold(delayMs);
      this.wake();
    }
    await this.options.clock.sleep(delayMs, signal);
    signal.throwIfAborted();
    // The last of those whom it asks for counts, and none where one of them has no deadline.
    const latestMs = Math.max(...asks.map(({ options }) => options.deadlineMs ?? Number.NaN));
    await new Promise<void>((resolve, reject) => {
      const leaving = (settle: () => void) => {
        signal.removeEventListener('abort', abort);
        this.#again.delete(again);
        settle();
      };
      const again: Again = {
        deadlineMs: Number.isNaN(latestMs) ? undefined : latestMs,
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

/** A request that is to be sent again. */
interface Again {
  readonly deadlineMs: number | undefined;
  readonly go: () => void;
  readonly refuse: (error: unknown) => void;
}
