// How two threads take turns over one word of shared memory. It stands alone, because the actors are bundled with it.

/** An actor stands before a step, until it is told to go on. */
export const AT_A_STEP = 2;
/** It takes its step. */
export const RUNNING = 1;
export const DONE = 0;

/** Tells where an actor stands now, and wakes who waits for that. */
export function tell(state: Int32Array, at: number, stands: number): void {
  Atomics.store(state, at, stands);
  Atomics.notify(state, at);
}

/**
 * Waits until an actor stands there no longer, so many milliseconds each time it is woken; false where it still does. Who
 * tells may be held up before it wakes anybody and wake a later wait by that: only where the actor stands counts.
 */
export function isLeft(
  state: Int32Array,
  at: number,
  stands: number,
  limitMs = Number.POSITIVE_INFINITY,
): boolean {
  while (Atomics.load(state, at) === stands) {
    if (Atomics.wait(state, at, stands, limitMs) === 'timed-out') return false;
  }
  return true;
}
