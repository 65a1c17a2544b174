import { GwError } from '../errors.ts';
import type { TaskFamily } from '../gateway/task.ts';
import type { Clock } from '../host.ts';
import type { Client } from '../http/client.ts';
import type { TaskLook } from './look.ts';
import type { LookOptions } from './looker.ts';
import { type LookOutcome, readable, readLook } from './read-look.ts';

interface LaneOptions {
  readonly client: Client;
  readonly family: TaskFamily;
  readonly clock: Clock;
  readonly requestsPerMinute: number;
  /** The tasks that are going to be looked at, with how many look. */
  readonly followed: ReadonlyMap<string, number>;
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

/** What is left to creates and to other processes of the same account. */
const SHARE_OF_RATE = 0.8;
const MAX_IN_FLIGHT = 16;
/** Rates are by the minute; whom a longer wait concerns is told by its own look. */
const LONGEST_HOLD_MS = 60_000;
/** Longest sum of the IDs in one request: addresses beyond some kilobytes are refused along the way. */
const MAX_ID_CHARS = 4_000;

/**
 * One rate: looks wait here in order, as many in one request as the gateway takes, and requests leave at an even pace
 * below the documented rate ("Limits"), never in a burst.
 */
export class LookLane {
  readonly #options: LaneOptions;
  readonly #spacingMs: number;
  readonly #waiting = new Set<Ask>();
  /** Tasks that the gateway refused when they were asked for alone; they must not spoil a request again. */
  readonly #loners = new Set<string>();
  #inFlight = 0;
  #nextMs = Number.NEGATIVE_INFINITY;
  #nap: AbortController | undefined;
  #isRunning = false;

  constructor(options: LaneOptions) {
    this.#options = options;
    this.#spacingMs = 60_000 / (options.requestsPerMinute * SHARE_OF_RATE);
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
      if (!this.#isRunning) void this.#run();
      else if (this.#waiting.size >= Math.min(family.query.maxIds, followed.size)) this.wake();
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
    while (this.#waiting.size > 0) {
      const pauseMs = this.#pauseMs();
      if (pauseMs > 0) {
        await this.#sleep(pauseMs);
        continue;
      }
      this.#nextMs = this.#options.clock.steady() + this.#spacingMs;
      this.#inFlight += 1;
      void this.#send(this.#take()).finally(() => {
        this.#inFlight -= 1;
        this.wake();
      });
    }
    this.#isRunning = false;
  }

  /** How long until the next request may leave, in milliseconds. */
  #pauseMs(): number {
    if (this.#inFlight >= MAX_IN_FLIGHT) return Number.POSITIVE_INFINITY;
    const nowMs = this.#options.clock.steady();
    return Math.max(this.#nextMs - nowMs, this.#gatherMs(nowMs));
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
      await this.#options.clock.sleep(pauseMs, nap.signal).catch(() => {});
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
        ...(family.query.maxIds === 1 && { retryNotFoundUntilMs: youngUntilMs }),
      });
      const records = readable(() => family.query.records(reply.json, ids), 'the reply');
      const serverDateMs = reply.serverDateMs ?? clock.now();
      for (const { id, settle } of present) {
        settle(readLook(family, id, { record: records.get(id), reply, serverDateMs }));
      }
    } catch (error) {
      this.#fail(present, ids, error);
    }
  }

  /** The gateway's word on waiting is meant for everybody who counts against the rate. */
  #hold(untilMs: number | undefined): void {
    const { clock } = this.#options;
    const holdMs = Math.min((untilMs ?? 0) - clock.now(), LONGEST_HOLD_MS);
    this.#nextMs = Math.max(this.#nextMs, clock.steady() + holdMs);
  }

  /** A request fails for all whom it asked for; one that was refused is halved, to find out whom it was refused for. */
  #fail(present: ReadonlySet<Ask>, ids: readonly string[], error: unknown): void {
    if (error instanceof GwError && error.kind === 'rate_limited') this.#hold(error.facts.retryAtMs);
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
