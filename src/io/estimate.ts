/** From here on an estimate is only approached, never met. */
const EASE_FROM = 0.8;
const EASE_TO = 0.99;

/**
 * How far a job seems to be, 0 to below 0.99, from the time it has run and the time jobs like it took: in step with
 * time at first, then slower and slower, so that it never claims to be finished.
 */
export function estimatedFraction(elapsedMs: number, estimateMs: number): number {
  if (!(estimateMs > 0) || !(elapsedMs > 0)) return 0;
  const share = elapsedMs / estimateMs;
  if (share <= EASE_FROM) return share;
  const room = EASE_TO - EASE_FROM;
  return Math.min(EASE_FROM + room * (1 - Math.exp(-(share - EASE_FROM) / room)), EASE_TO - 1e-6);
}
