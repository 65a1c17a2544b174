import type { Clock } from '../host.ts';

/** Retries that all requests of a process share, so that a thousand rows cannot storm a sick gateway. */
export interface RetryBudget {
  /** Takes one retry; false when none is left. */
  take(): boolean;
  /** A request that went well earns half a retry. */
  earn(): void;
}

const CAPACITY = 60;
const PER_SECOND = 1;
const PER_SUCCESS = 0.5;

/** A full budget: 60 retries at once, one more each second and each two successes. Waits that the server asked for are free. */
export function createRetryBudget(clock: Pick<Clock, 'steady'>, capacity = CAPACITY): RetryBudget {
  let left = capacity;
  let lastMs = clock.steady();
  return {
    take() {
      const nowMs = clock.steady();
      left = Math.min(capacity, left + (Math.max(0, nowMs - lastMs) / 1000) * PER_SECOND);
      lastMs = nowMs;
      if (left < 1) return false;
      left -= 1;
      return true;
    },
    earn() {
      left = Math.min(capacity, left + PER_SUCCESS);
    },
  };
}
