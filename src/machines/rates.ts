import { RateLimiterMemory, RateLimiterRedis, RateLimiterRes } from 'rate-limiter-flexible';
import type { RatePool } from '../gateway/limits.ts';
import type { SharedRate } from '../jobs/watch/rate.ts';
import { type Door, Silent, within } from './door.ts';

// The rate of requests over all workers, counted in Redis by its clock, in windows of five seconds, so that no sixty
// seconds exceed the documented rate. While Redis is away or silent, each worker keeps to an even pace of its own.

const WINDOW_S = 5;
/** The number of windows that sixty seconds can overlap. */
const WINDOWS = 60 / WINDOW_S + 1;
const MAX_HOLD_S = 3_600;
/** How soon a hold is checked again, because another worker may have ended it. */
const LONGEST_HELD_SLEEP_MS = 5_000;
/** Longest wait for a turn: a request that is pending when Redis goes away is answered only when Redis is back. */
const ANSWER_MS = 2_000;
/** How soon to check whether Redis has answered. */
const ASK_MS = 5;

/** The turns of one pool's requests; creates and lookups share them. */
export class PoolRate implements SharedRate {
  readonly #limiter: RateLimiterRedis;
  readonly #own: RateLimiterMemory;
  readonly #key: string;
  readonly #holdKey: string;
  #heldUntilMs = 0;
  /** Whether a turn is being requested or is available, or the monotonic time of the next request. */
  #asked: 'asked' | 'given' | number = 0;

  constructor(
    private readonly door: Door,
    prefix: string,
    { name, requestsPerMinute }: RatePool,
  ) {
    const points = Math.max(1, Math.floor(requestsPerMinute / WINDOWS));
    this.#key = name;
    this.#holdKey = `${prefix}:rate:${name}:creates`;
    this.#own = new RateLimiterMemory({ points, duration: WINDOW_S });
    this.#limiter = new RateLimiterRedis({
      storeClient: door.redis,
      keyPrefix: `${prefix}:rate`,
      points,
      duration: WINDOW_S,
      rejectIfRedisNotReady: true,
      insuranceLimiter: this.#own,
    });
  }

  /** Takes a turn; returns 0, or the milliseconds until another attempt. */
  async #take(): Promise<number> {
    const limiter = this.door.awayMs() > 0 ? this.#own : this.#limiter;
    try {
      await within(ANSWER_MS, limiter.consume(this.#key)).catch((error: unknown) => {
        if (error instanceof Silent) return this.#own.consume(this.#key);
        throw error;
      });
      return 0;
    } catch (error) {
      if (error instanceof RateLimiterRes) return Math.max(1, error.msBeforeNext);
      throw error;
    }
  }

  /** Waits for a turn of a create. Throws the signal's reason. */
  async turn(sleep: (ms: number) => Promise<void>): Promise<void> {
    for (let heldMs = await this.#heldMs(); heldMs > 0; heldMs = await this.#heldMs())
      await sleep(Math.min(heldMs, LONGEST_HELD_SLEEP_MS));
    for (let waitMs = await this.#take(); waitMs > 0; waitMs = await this.#take()) await sleep(waitMs);
  }

  /** Returns 0 if a turn is available; otherwise undefined, and a turn is requested from Redis. */
  take(): number | undefined {
    if (this.#asked === 'given') {
      this.#asked = 0;
      return 0;
    }
    if (this.#asked === 'asked' || this.#asked > performance.now()) return undefined;
    this.#asked = 'asked';
    this.#take().then(
      (waitMs) => {
        this.#asked = waitMs === 0 ? 'given' : performance.now() + waitMs;
      },
      () => {
        this.#asked = 'given';
      },
    );
    return undefined;
  }

  againInMs(): number {
    return typeof this.#asked === 'number' ? Math.max(ASK_MS, this.#asked - performance.now()) : ASK_MS;
  }

  /** Holds back the creates of all workers for this time; lookups go on. */
  holdCreates(delayMs: number): void {
    const heldMs = Math.min(MAX_HOLD_S * 1000, Math.ceil(delayMs));
    this.#heldUntilMs = performance.now() + heldMs;
    this.door.redis.set(this.#holdKey, '1', 'PX', heldMs).catch(() => {
      // If Redis is away, only this worker is held back.
    });
  }

  async #heldMs(): Promise<number> {
    const ownMs = this.#heldUntilMs - performance.now();
    if (this.door.awayMs() > 0) return ownMs;
    return Math.max(ownMs, await this.door.redis.pttl(this.#holdKey).catch(() => 0));
  }

  /** Holds back all requests of all workers for this time. */
  hold(delayMs: number): void {
    void this.#limiter.block(this.#key, Math.min(MAX_HOLD_S, Math.ceil(delayMs / 1000))).catch(() => {
      // If Redis is away, only this worker is held back.
    });
  }
}
