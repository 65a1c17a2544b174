import { GwError } from '../errors.ts';
import type { Clock } from '../host.ts';
import { backoffMs, DEFAULT_DEADLINE_MS } from '../http/retry.ts';
import type { Pace } from './pace.ts';

interface HoldOptions {
  readonly pace: Pace;
  readonly clock: Clock;
  readonly random: () => number;
}

/** What "too many requests" means to everybody who counts against one rate. */
export class RateHold {
  readonly #options: HoldOptions;
  /** How many requests in a row were too many. */
  #tooMany = 0;

  constructor(options: HoldOptions) {
    this.#options = options;
  }

  /** A request was answered. */
  answered(): void {
    this.#tooMany = 0;
  }

  /** A 429 holds everybody back: until the moment that the gateway named, or for longer each time where it named none. */
  failed(error: unknown): void {
    if (!(error instanceof GwError) || error.kind !== 'rate_limited') return;
    const { pace, clock, random } = this.#options;
    const { retryAtMs } = error.facts;
    pace.hold(retryAtMs === undefined ? backoffMs(this.#tooMany, random) : retryAtMs - clock.now());
    this.#tooMany += 1;
  }

  /**
   * While the gateway holds requests back: what to tell one with this deadline (steady milliseconds, two minutes from now
   * when absent) who cannot wait as long as it asks; nothing for one who can. Otherwise undefined.
   */
  refusal(): ((deadlineMs: number | undefined) => GwError | undefined) | undefined {
    const { pace, clock } = this.#options;
    const heldMs = pace.heldMs();
    if (heldMs === 0) return undefined;
    const untilMs = clock.steady() + heldMs;
    const retryAtMs = clock.now() + heldMs;
    return (deadlineMs = clock.steady() + DEFAULT_DEADLINE_MS) => {
      if (untilMs <= deadlineMs) return undefined;
      const when = new Date(retryAtMs).toISOString();
      return new GwError('rate_limited', `the gateway asks not to be asked before ${when}`, { retryAtMs });
    };
  }
}
