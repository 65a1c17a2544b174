import type { TaskFamily } from '../gateway/task.ts';
import type { Clock } from '../host.ts';
import type { Client } from '../http/client.ts';
import { mayHoldLongNumber } from './long-number.ts';
import type { TaskLook } from './look.ts';
import { type Ask, LookAsks } from './look-asks.ts';
import type { LookOptions } from './looker.ts';
import { Pace } from './pace.ts';
import type { SharedRate } from './rate-file.ts';
import { RateHold } from './rate-hold.ts';
import { readable, readLook } from './read-look.ts';
import { Resends } from './resends.ts';

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

/** Requests that leave evenly arrive a little less evenly; the rest keeps a minute's count below the documented rate. */
const SHARE_OF_RATE = 0.97;
const MAX_IN_FLIGHT = 16;
/** Longest pause that a timer can make. */
const LONGEST_NAP_MS = 2 ** 31 - 1;

/**
 * One rate: looks wait here in order, as many in one request as the gateway takes, and requests leave at an even pace
 * below the documented rate ("Limits"), never in a burst.
 */
export class LookLane {
  readonly #options: LaneOptions;
  readonly #pace: Pace;
  readonly #hold: RateHold;
  readonly #asks: LookAsks;
  readonly #resends: Resends;
  #inFlight = 0;
  #nap: AbortController | undefined;
  #isRunning = false;

  constructor(options: LaneOptions) {
    const { clock, random, family, followed } = options;
    this.#options = options;
    const spacingMs = Math.ceil(60_000 / (options.requestsPerMinute * SHARE_OF_RATE));
    const pace = new Pace(clock, spacingMs, options.shared);
    this.#pace = pace;
    this.#hold = new RateHold({ pace, clock, random });
    this.#asks = new LookAsks(family.query.maxIds, followed);
    this.#resends = new Resends({
      pace,
      clock,
      onChange: () => this.wake(),
      onWork: () => (this.#isRunning ? this.wake() : void this.#run()),
    });
  }

  look(id: string, options: LookOptions): Promise<TaskLook> {
    const { signal, patienceMs = 0 } = options;
    signal.throwIfAborted();
    return new Promise((resolve, reject) => {
      const ask = this.#asks.add({
        id,
        options,
        dueMs: this.#options.clock.steady() + patienceMs,
        settle: (outcome) => {
          signal.removeEventListener('abort', abort);
          if ('look' in outcome) resolve(outcome.look);
          else reject(outcome.error);
        },
      });
      const abort = () => {
        this.#asks.withdraw(ask);
        ask.leave?.();
        reject(signal.reason);
        this.wake();
      };
      signal.addEventListener('abort', abort, { once: true });
      if (!this.#isRunning) void this.#run();
      else if (this.#asks.isEnough || this.#pace.heldMs() > 0) this.wake();
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
      if (this.#resends.sendNext()) continue;
      this.#inFlight += 1;
      void this.#send(this.#asks.take()).finally(() => {
        this.#inFlight -= 1;
        this.wake();
      });
    }
    this.#isRunning = false;
  }

  #hasWork(): boolean {
    return !this.#resends.isEmpty || !this.#asks.isEmpty;
  }

  /** How long until the next request may leave, in milliseconds; what is sent again goes before what is new. */
  #pauseMs(): number {
    if (this.#resends.isEmpty) {
      if (this.#inFlight >= MAX_IN_FLIGHT) return Number.POSITIVE_INFINITY;
      const gatherMs = this.#asks.gatherMs(this.#options.clock.steady());
      if (gatherMs > 0) return gatherMs;
    }
    return this.#pace.readyInMs();
  }

  /** Whoever cannot wait as long as the gateway asks is told so at once. */
  #refuseHeld(): void {
    const refusalOf = this.#hold.refusal();
    if (!refusalOf) return;
    this.#asks.refuse(refusalOf);
    this.#resends.refuse(refusalOf);
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
    const deadlines = asks.map(({ options }) => options.deadlineMs);
    const retries = asks.every((ask) => ask.options.retries === 0) ? 0 : undefined;
    const youngUntilMs = ids.length === 1 ? asks[0]?.options.retryNotFoundUntilMs : undefined;
    try {
      const reply = await client.send(family.query.endpoint, family.query.input(ids), {
        signal: request.signal,
        ...(retries !== undefined && { retries }),
        pause: (pause) => this.#resends.pause(pause, deadlines, request.signal),
        ...(family.query.maxIds === 1 && { retryNotFoundUntilMs: youngUntilMs }),
      });
      this.#hold.answered();
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
      this.#hold.failed(error);
      this.#asks.fail(present, ids, error);
      if (!this.#asks.isEmpty && !this.#isRunning) void this.#run();
    }
  }
}
