// Two threads take turns through one word of shared memory. This file imports nothing, because it is bundled with the actors.

/** The actor waits before a step until it is told to go on. */
export const AT_A_STEP = 2;
/** The actor takes its step. */
export const RUNNING = 1;
export const DONE = 0;

/** Records the state of an actor, and wakes the thread that waits for a change. */
export function tell(state: Int32Array, at: number, stands: number): void {
  Atomics.store(state, at, stands);
  Atomics.notify(state, at);
}

/**
 * Waits until an actor leaves a state, up to a limit after each wake-up; returns false if the actor stays in it. A thread may
 * send its wake-up late, in a later wait, so only the recorded state counts.
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
