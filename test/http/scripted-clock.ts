import type { Clock } from '../../src/host.ts';

/** Time that stands still but for sleeps, which pass at once and are written down. */
export function scriptedClock(
  startMs = Date.parse('2026-11-20T12:00:00Z'),
): Clock & { readonly sleeps: number[]; sleptMs(): number } {
  let passedMs = 0;
  const sleeps: number[] = [];
  return {
    sleeps,
    // A long wait is told of, and so sleeps in pieces.
    sleptMs: () => passedMs,
    now: () => startMs + passedMs,
    steady: () => 5_000 + passedMs,
    async sleep(ms, signal) {
      signal?.throwIfAborted();
      sleeps.push(ms);
      passedMs += ms;
    },
  };
}
