import type { Clock } from '../host.ts';

/** The retries that all requests of a process share, so that a thousand rows cannot overload a failing gateway. */
export type RetryBudget = ReturnType<typeof createRetryBudget>;

const CAPACITY = 60;
const PER_SECOND = 1;
const PER_SUCCESS = 0.5;

/** A full budget: 60 retries, plus 1 each second and 1 for two successes. Waits asked for by the server are free. */
export function createRetryBudget(clock: Pick<Clock, 'steady'>) {
  let left = CAPACITY;
  let lastMs = clock.steady();
  return {
    /** Takes one retry; false if none is left. */
    take(): boolean {
      const nowMs = clock.steady();
      left = Math.min(CAPACITY, left + (Math.max(0, nowMs - lastMs) / 1000) * PER_SECOND);
      lastMs = nowMs;
      if (left < 1) return false;
      left -= 1;
      return true;
    },
    /** Adds half a retry after a successful request. */
    earn(): void {
      left = Math.min(CAPACITY, left + PER_SUCCESS);
    },
  };
}
