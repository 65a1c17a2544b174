import { GwError } from '../errors.ts';
import type { TaskFamily } from '../gateway/task.ts';
import type { Clock } from '../host.ts';
import type { Client, RetryPause } from '../http/client.ts';
import { backoffMs, DEFAULT_DEADLINE_MS } from '../http/retry.ts';
import { mayHoldLongNumber } from './long-number.ts';
import type { TaskLook } from './look.ts';
import type { LookOptions } from './looker.ts';
import { Pace } from './pace.ts';
import type { SharedRate } from './rate-file.ts';
import { type LookOutcome, readable, readLook } from './read-look.ts';

interface LaneOptions {
  readonly client: Client;
  readonly family: TaskFamily;
  readonly clock: Clock;
  readonly random: () => number;
  readonly requestsPerMinute: number;
  /** The tasks that are going to be looked at, with how many look. */
  readonly followed: ReadonlyMap<string, number>;
  /** The rate as other processes keep it; this process's own when absent. */
  readonly shared?: SharedRate | undefined;
}

/** A request that is to be sent again. */
interface Again {
  readonly deadlineMs: number | undefined;
  readonly go: () => void;
  readonly refuse: (error: GwError) => void;
}

/** One who asks for a task and waits for the answer. */
interface Ask {
  readonly id: string;
  readonly options: LookOptions;
  /** Steady milliseconds until when it waits for others. */
  readonly dueMs: number;
  /** How many tasks its request may ask for: fewer where a larger request was refused. */
  maxIds: number;
  /** Set while its request is under way. */
  leave?: () => void;
  readonly settle: (outcome: LookOutcome) => void;
}

/** The rest is left to creates, and to other machines of the same account. */
const SHARE_OF_RATE = 0.8;
const MAX_IN_FLIGHT = 16;
/** Longest pause that a timer can make. */
const LONGEST_NAP_MS = 2 ** 31 - 1;
/** Longest sum of the IDs in one request: addresses beyond some kilobytes are refused along the way. */
const MAX_ID_CHARS = 4_000;

/**
 * One rate: looks wait here in order, as many in one request as the gateway takes, and requests leave at an even pace
 * below the documented rate ("Limits"), never in a burst.
 */
export class LookLane {
  readonly #options: LaneOptions;
  readonly #pace: Pace;
  readonly #again: Again[] = [];
  readonly #waiting = new Set<Ask>();
  /** Tasks that the gateway refused when they were asked for alone; they must not spoil a request again. */
  readonly #loners = new Set<string>();
  #inFlight = 0;
  /** How many requests in a row were too many. */
  #tooMany = 0;
  #nap: AbortController | undefined;
  #isRunning = false;

  constructor(options: LaneOptions) {
    this.#options = options;
    const spacingMs = 60_000 / (options.requestsPerMinute * SHARE_OF_RATE);
    this.#pace = new Pace(options.clock, spacingMs, options.shared);
  }

  look(id: string, options: LookOptions): Promise<TaskLook> {
    const { signal, patienceMs = 0 } = options;
    signal.throwIfAborted();
    const { clock, family, followed } = this.#options;
    return new Promise((resolve, reject) => {
      const ask: Ask = {
        id,
        options,
        dueMs: clock.steady() + patienceMs,
        maxIds: this.#loners.has(id) ? 1 : family.query.maxIds,
        settle: (outcome) => {
          signal.removeEventListener('abort', abort);
          if ('look' in outcome) resolve(outcome.look);
          else reject(outcome.error);
        },
      };
      const abort = () => {
        this.#waiting.delete(ask);
        ask.leave?.();
        reject(signal.reason);
        this.wake();
      };
      signal.addEventListener('abort', abort, { once: true });
      this.#waiting.add(ask);
      const isEnough = this.#waiting.size >= Math.min(family.query.maxIds, followed.size);
      if (!this.#isRunning) void this.#run();
      else if (isEnough || this.#pace.heldMs() > 0) this.wake();
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
      const again = this.#again.shift();
      if (again) {
        again.go();
        continue;
      }
      this.#inFlight += 1;
      void this.#send(this.#take()).finally(() => {
        this.#inFlight -= 1;
        this.wake();
      });
    }
    this.#isRunning = false;
  }

  #hasWork(): boolean {
    return this.#again.length > 0 || this.#waiting.size > 0;
  }

  /** How long until the next request may leave, in milliseconds; what is sent again goes before what is new. */
  #pauseMs(): number {
    if (this.#again.length === 0) {
      if (this.#inFlight >= MAX_IN_FLIGHT) return Number.POSITIVE_INFINITY;
      const gatherMs = this.#gatherMs(this.#options.clock.steady());
      if (gatherMs > 0) return gatherMs;
    }
    return this.#pace.readyInMs();
  }

  /** Whoever cannot wait as long as the gateway asks is told so at once. */
  #refuseHeld(): void {
    const heldMs = this.#pace.heldMs();
    if (heldMs === 0) return;
    const { clock } = this.#options;
    const untilMs = clock.steady() + heldMs;
    const isBeyond = (deadlineMs = clock.steady() + DEFAULT_DEADLINE_MS) => untilMs > deadlineMs;
    const retryAtMs = clock.now() + heldMs;
    const held = () =>
      new GwError(
        'rate_limited',
        `the gateway asks not to be asked before ${new Date(retryAtMs).toISOString()}`,
        {
          retryAtMs,
        },
      );
    for (const ask of [...this.#waiting]) {
      if (!isBeyond(ask.options.deadlineMs)) continue;
      this.#waiting.delete(ask);
      ask.settle({ error: held() });
    }
    for (const again of this.#again.filter(({ deadlineMs }) => isBeyond(deadlineMs))) {
      this.#again.splice(this.#again.indexOf(again), 1);
      again.refuse(held());
    }
  }

  /** How long the first in line still waits for others. */
  #gatherMs(nowMs: number): number {
    const { family, followed } = this.#options;
    if (this.#waiting.size >= Math.min(family.query.maxIds, followed.size)) return 0;
    const [first] = this.#waiting;
    return first === undefined || first.maxIds === 1 ? 0 : first.dueMs - nowMs;
  }

  async #sleep(pauseMs: number): Promise<void> {
    const nap = new AbortController();
    this.#nap = nap;
    if (Number.isFinite(pauseMs)) {
      await this.#options.clock.sleep(Math.min(pauseMs, LONGEST_NAP_MS), nap.signal).catch(() => {});
    } else {
      await new Promise((woken) => nap.signal.addEventListener('abort', woken, { once: true }));
    }
    this.#nap = undefined;
  }

  /** The next request's share of those who wait, the longest waiting first. */
  #take(): Ask[] {
    const taken: Ask[] = [];
    const ids = new Set<string>();
    let room = Number.POSITIVE_INFINITY;
    let chars = 0;
    for (const ask of this.#waiting) {
      const isNew = !ids.has(ask.id);
      if (isNew && ids.size > 0 && (ids.size >= room || chars + ask.id.length > MAX_ID_CHARS)) break;
      // One that must go with fewer waits for its turn.
      if (isNew && ids.size >= ask.maxIds) continue;
      if (isNew) chars += ask.id.length;
      room = Math.min(room, ask.maxIds);
      ids.add(ask.id);
      taken.push(ask);
      this.#waiting.delete(ask);
    }
    return taken;
  }

  async #send(asks: readonly Ask[]): Promise<void> {
    const { client, clock, family } = this.#options;
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
        pause: (pause) => this.#pauseOf(pause, asks, request.signal),
        ...(family.query.maxIds === 1 && { retryNotFoundUntilMs: youngUntilMs }),
      });
      this.#tooMany = 0;
      const records = readable(() => family.query.records(reply.json, ids), 'the reply');
      const serverDateMs = reply.serverDateMs ?? clock.now();
      const exact = mayHoldLongNumber(reply.text) ? await import('./exact-record.ts') : undefined;
      for (const { id, settle } of present) {
        const record = records.get(id);
        const recordText =
          record === undefined ? undefined : exact?.exactText(reply.text, reply.json, record);
        settle(readLook(family, id, { record, recordText, reply, serverDateMs }));
      }
    } catch (error) {
      this.#fail(present, ids, error);
    }
  }

  /** The pause of a request before it is sent again: it waits for its turn like any other. */
  async #pauseOf(
    { delayMs, isRateLimited }: RetryPause,
    asks: readonly Ask[],
    signal: AbortSignal,
  ): Promise<void> {
    if (isRateLimited) {
      this.#pace.hold(delayMs);
      this.wake();
    }
    await this.#options.clock.sleep(delayMs, signal);
    signal.throwIfAborted();
    const deadlines = asks.map(({ options }) => options.deadlineMs).filter((each) => each !== undefined);
    await new Promise<void>((go, refuse) => {
      const again: Again = {
        deadlineMs: deadlines.length === asks.length ? Math.max(...deadlines) : undefined,
        go: () => {
          signal.removeEventListener('abort', abort);
          go();
        },
        refuse,
      };
      const abort = () => {
        this.#again.splice(this.#again.indexOf(again), 1);
        refuse(signal.reason);
        this.wake();
      };
      signal.addEventListener('abort', abort, { once: true });
      this.#again.push(again);
      if (this.#isRunning) this.wake();
      else void this.#run();
    });
  }

  /** A 429 holds everybody back: until the moment that the gateway named, or for longer each time where it named none. */
  #hold(error: GwError): void {
    const { clock, random } = this.#options;
    const { retryAtMs } = error.facts;
    this.#pace.hold(retryAtMs === undefined ? backoffMs(this.#tooMany, random) : retryAtMs - clock.now());
    this.#tooMany += 1;
  }

  /** A request fails for all whom it asked for; one that was refused is halved, to find out whom it was refused for. */
  #fail(present: ReadonlySet<Ask>, ids: readonly string[], error: unknown): void {
    if (error instanceof GwError && error.kind === 'rate_limited') this.#hold(error);
    const isRefused = error instanceof GwError && (error.kind === 'rejected' || error.kind === 'not_found');
    for (const ask of present) {
      if (isRefused && ids.length > 1) {
        ask.maxIds = Math.ceil(ids.length / 2);
        delete ask.leave;
        this.#waiting.add(ask);
      } else {
        if (isRefused && this.#options.family.query.maxIds > 1) this.#loners.add(ask.id);
        ask.settle({ error });
      }
    }
    if (this.#waiting.size > 0 && !this.#isRunning) void this.#run();
  }
}
