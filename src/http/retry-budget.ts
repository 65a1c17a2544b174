import type { Clock } from '../host.ts';

/** Retries that all requests of a process share, so that a thousand rows cannot storm a sick gateway. */
export type RetryBudget = ReturnType<typeof createRetryBudget>;

const CAPACITY = 60;
const PER_SECOND = 1;
const PER_SUCCESS = 0.5;

/** A full budget: 60 retries at once, one more each second and each two successes. Waits that the server asked for are free. */
export function createRetryBudget(clock: Pick<Clock, 'steady'>) {
  let left = CAPACITY;
  let lastMs = clock.steady();
  return {
    /** Takes one retry; false when none is left. */
    take(): boolean {
      const nowMs = clock.steady();
      left = Math.min(CAPACITY, left + (Math.max(0, nowMs - lastMs) / 1000) * PER_SECOND);
      lastMs = nowMs;
      if (left < 1) return false;
      left -= 1;
      return true;
    },
    /** A request that went well earns half a retry. */
    earn(): void {
      left = Math.min(CAPACITY, left + PER_SUCCESS);
    },
  };
}
