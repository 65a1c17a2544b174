import type { Clock } from '../../src/host.ts';

/** A clock that only sleeps move on. Each sleep passes at once and is recorded. */
export function scriptedClock(
  startMs = Date.parse('2026-11-20T12:00:00Z'),
): Clock & { readonly sleeps: number[]; sleptMs(): number } {
  let passedMs = 0;
  const sleeps: number[] = [];
  return {
    sleeps,
    // A long wait reports its progress, so it sleeps in pieces.
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
