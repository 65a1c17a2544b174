import type { GwError } from '../errors.ts';
import type { Clock } from '../host.ts';
import type { RetryPause } from '../http/client.ts';
import type { Pace } from './pace.ts';

/** A request that is to be sent again. */
interface Again {
  readonly deadlineMs: number | undefined;
  readonly go: () => void;
  readonly refuse: (error: GwError) => void;
}

interface ResendOptions {
  readonly pace: Pace;
  readonly clock: Clock;
  /** What there is to do has changed. */
  readonly onChange: () => void;
  /** There is something to do, also for one who has stopped. */
  readonly onWork: () => void;
}

/** Requests that are to be sent again: each waits for its turn like any other. */
export class Resends {
  readonly #options: ResendOptions;
  /** In the order in which they wait. */
  readonly #again = new Set<Again>();

  constructor(options: ResendOptions) {
    this.#options = options;
  }

  get isEmpty(): boolean {
    return this.#again.size === 0;
  }

  /**
   * The pause of a request before it is sent again, until its turn has come. `deadlines` are those of all whom it asks
   * for: the last of them counts, and none where one of them has none. Throws the signal's reason, or why there is no turn.
   */
  async pause(
    { delayMs, isRateLimited }: RetryPause,
    deadlines: readonly (number | undefined)[],
    signal: AbortSignal,
  ): Promise<void> {
    const { pace, clock, onChange, onWork } = this.#options;
    if (isRateLimited) {
      pace.hold(delayMs);
      onChange();
    }
    await clock.sleep(delayMs, signal);
    signal.throwIfAborted();
    const known = deadlines.filter((each) => each !== undefined);
    await new Promise<void>((go, refuse) => {
      const again: Again = {
        deadlineMs: known.length === deadlines.length ? Math.max(...known) : undefined,
        go: () => {
          signal.removeEventListener('abort', abort);
          go();
        },
        refuse,
      };
      const abort = () => {
        this.#again.delete(again);
        refuse(signal.reason);
        onChange();
      };
      signal.addEventListener('abort', abort, { once: true });
      this.#again.add(again);
      onWork();
    });
  }

  /** Sends the one that has waited longest; false where there is none. */
  sendNext(): boolean {
    const [again] = this.#again;
    if (again === undefined) return false;
    this.#again.delete(again);
    again.go();
    return true;
  }

  /** Ends the waiting of each for which `refusalOf` its deadline has an error. */
  refuse(refusalOf: (deadlineMs: number | undefined) => GwError | undefined): void {
    for (const again of this.#again) {
      const error = refusalOf(again.deadlineMs);
      if (!error) continue;
      this.#again.delete(again);
      again.refuse(error);
    }
  }
}
