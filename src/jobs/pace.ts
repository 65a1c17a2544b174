import type { Clock } from '../host.ts';
import type { SharedRate } from './rate-file.ts';

/** How soon to ask again whose turn it is, where another process is being given one, and how often. */
const BUSY_PAUSE_MS = 5;
const MAX_BUSY = 40;
/** A turn this much further off than a few processes' spacing is no turn but the gateway's word on waiting. */
const HOLD_MS = 10_000;
const PROCESSES = 8;

/** When requests of one rate may leave: evenly, after those of other processes, and never while the gateway holds them back. */
export class Pace {
  readonly #clock: Clock;
  readonly #spacingMs: number;
  readonly #shared: SharedRate | undefined;
  #nextMs = Number.NEGATIVE_INFINITY;
  #heldUntilMs = Number.NEGATIVE_INFINITY;
  /** The turn taken of all processes' turns, until a request leaves. */
  #turnMs: number | undefined;
  #busy = 0;

  constructor(clock: Clock, spacingMs: number, shared: SharedRate | undefined) {
    this.#clock = clock;
    this.#spacingMs = spacingMs;
    this.#shared = shared;
  }

  /** For how long from now the gateway wants no request, in milliseconds; 0 where it has said nothing. */
  heldMs(): number {
    return Math.max(0, this.#heldUntilMs - this.#clock.steady());
  }

  /** In how many milliseconds the next request may leave, 0 for now. To be asked only when there is one. */
  readyInMs(): number {
    const nowMs = this.#clock.steady();
    if (this.#nextMs > nowMs) return this.#nextMs - nowMs;
    if (this.#turnMs === undefined && this.#shared) {
      const inMs = this.#shared.take(this.#spacingMs, this.#clock.now());
      if (inMs === undefined && this.#busy < MAX_BUSY) {
        this.#busy += 1;
        return BUSY_PAUSE_MS;
      }
      this.#busy = 0;
      this.#turnMs = nowMs + (inMs ?? 0);
      if (this.#turnMs > nowMs + HOLD_MS + PROCESSES * this.#spacingMs) this.#heldUntilMs = this.#turnMs;
    }
    return Math.max(0, (this.#turnMs ?? nowMs) - nowMs);
  }

  /** A request leaves. */
  leave(): void {
    this.#turnMs = undefined;
    this.#nextMs = this.#clock.steady() + this.#spacingMs;
  }

  /** The gateway's word on waiting is meant for everybody who counts against the rate. */
  hold(delayMs: number): void {
    const untilMs = this.#clock.steady() + delayMs;
    if (delayMs <= 0 || untilMs <= this.#heldUntilMs) return;
    this.#heldUntilMs = untilMs;
    this.#nextMs = Math.max(this.#nextMs, untilMs);
    this.#turnMs = undefined;
    this.#shared?.hold(delayMs, this.#clock.now());
  }
}
