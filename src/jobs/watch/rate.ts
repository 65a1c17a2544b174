import * as crypto from 'node:crypto';
import * as fs from 'node:fs';
import * as path from 'node:path';
import { ensureDirectory } from '../../disk/durable-directory.ts';
import { tryLock } from '../../disk/lock-file.ts';
import { readRegular } from '../../disk/small-file.ts';
import { GwError } from '../../errors.ts';
import type { Clock } from '../../host.ts';
import { backoffMs, DEFAULT_DEADLINE_MS } from '../../http/retry.ts';

/** How soon to ask again whose turn it is, where another process is being given one, and how often. */
const BUSY_PAUSE_MS = 5;
const MAX_BUSY = 40;
/** A turn this much further off than a few processes' spacing is no turn but the gateway's word on waiting. */
const HOLD_MS = 10_000;
const PROCESSES = 8;

interface PaceOptions {
  readonly clock: Clock;
  readonly random: () => number;
  /** Milliseconds between two requests: of a sandbox they become fewer once it has told its speed. */
  readonly spacing: () => number;
  readonly shared: SharedRate | undefined;
}

/** When requests of one rate may leave: evenly, after those of other processes, and never while the gateway holds them back. */
export class Pace {
  #nextMs = Number.NEGATIVE_INFINITY;
  #heldUntilMs = Number.NEGATIVE_INFINITY;
  /** The turn taken of all processes' turns, until a request leaves. */
  #turnMs: number | undefined;
  #busy = 0;
  /** How many requests in a row were too many. */
  #tooMany = 0;

  constructor(private readonly options: PaceOptions) {}

  /** For how long from now the gateway wants no request, in milliseconds; 0 where it has said nothing. */
  heldMs(): number {
    return Math.max(0, this.#heldUntilMs - this.options.clock.steady());
  }

  /** In how many milliseconds the next request may leave, 0 for now. To be asked only when there is one. */
  readyInMs(): number {
    const { clock, shared, spacing } = this.options;
    const nowMs = clock.steady();
    if (this.#nextMs > nowMs) return this.#nextMs - nowMs;
    if (this.#turnMs === undefined && shared) {
      const inMs = shared.take(spacing(), clock.now());
      const againInMs = shared.againInMs?.();
      if (inMs === undefined && againInMs !== undefined) return againInMs;
      if (inMs === undefined && this.#busy < MAX_BUSY) {
        this.#busy += 1;
        return BUSY_PAUSE_MS;
      }
      this.#busy = 0;
      this.#turnMs = nowMs + (inMs ?? 0);
      if (this.#turnMs > nowMs + HOLD_MS + PROCESSES * spacing()) this.#heldUntilMs = this.#turnMs;
    }
    return Math.max(0, (this.#turnMs ?? nowMs) - nowMs);
  }

  leave(): void {
    this.#turnMs = undefined;
    this.#nextMs = this.options.clock.steady() + this.options.spacing();
  }

  /** Another request leaves, which is not held up and counts all the same: the turns after it come later. */
  spend(): void {
    const { clock, shared, spacing } = this.options;
    if (shared) shared.take(spacing(), clock.now());
    else this.#nextMs = Math.max(this.#nextMs, clock.steady()) + spacing();
  }

  /** The gateway's word on waiting is meant for everybody who counts against the rate. */
  hold(delayMs: number): void {
    const { clock, shared } = this.options;
    const untilMs = clock.steady() + delayMs;
    if (delayMs <= 0 || untilMs <= this.#heldUntilMs) return;
    this.#heldUntilMs = untilMs;
    this.#nextMs = Math.max(this.#nextMs, untilMs);
    this.#turnMs = undefined;
    shared?.hold(delayMs, clock.now());
  }

  answered(): void {
    this.#tooMany = 0;
  }

  /** A 429 holds everybody back: until the moment that the gateway named, or for longer each time where it named none. */
  failed(error: unknown): void {
    if (!(error instanceof GwError) || error.kind !== 'rate_limited') return;
    const { clock, random } = this.options;
    const { retryAtMs } = error.facts;
    this.hold(retryAtMs === undefined ? backoffMs(this.#tooMany, random) : retryAtMs - clock.now());
    this.#tooMany += 1;
  }

  /**
   * While the gateway holds requests back: what to tell one with this deadline (steady milliseconds, two minutes from now
   * when absent) who cannot wait as long as it asks; nothing for one who can. Otherwise undefined.
   */
  refusal(): ((deadlineMs: number | undefined) => GwError | undefined) | undefined {
    const { clock } = this.options;
    const heldMs = this.heldMs();
    if (heldMs === 0) return undefined;
    const untilMs = clock.steady() + heldMs;
    const retryAtMs = clock.now() + heldMs;
    return (deadlineMs = clock.steady() + DEFAULT_DEADLINE_MS) => {
      if (untilMs <= deadlineMs) return undefined;
      const when = new Date(retryAtMs).toISOString();
      return new GwError('rate_limited', `the gateway asks not to be asked before ${when}`, { retryAtMs });
    };
  }
}

/** A rate that several processes keep together: when the next request may leave, on the wall clock they share. */
export interface SharedRate {
  /**
   * Takes the next turn, `spacingMs` after the one before it. Returns in how many milliseconds it comes; undefined where
   * another process is taking one this very moment. A file that cannot be used shares nothing: the turn is now.
   */
  take(spacingMs: number, nowMs: number): number | undefined;
  /**
   * Where turns are given out elsewhere, and are asked for until one comes: in how many milliseconds to ask again after
   * `take` had none.
   */
  againInMs?(): number;
  /** No request may leave for so long; an hour at most, because the gateway's word may be a mistake. */
  hold(delayMs: number, nowMs: number): void;
}

/** Opens the file of a rate in the directory of locks; `of` names whose rate it is. Nothing is touched before it is used. */
export function openRateFile(locks: string, of: readonly string[]): SharedRate {
  const name = crypto.createHash('sha256').update(JSON.stringify(of)).digest('hex').slice(0, 24);
  const file = path.join(locks, `rate-${name}`);
  const change = (nowMs: number, next: (nextMs: number) => number): number | undefined => {
    try {
      ensureDirectory(locks);
      const lock = tryLock(`${file}.lock`);
      if (!lock) return undefined;
      try {
        const startMs = readNextMs(file, nowMs);
        fs.writeFileSync(file, JSON.stringify([nowMs, next(startMs)]), { mode: 0o600 });
        return startMs - nowMs;
      } finally {
        lock.release();
      }
    } catch {
      return 0;
    }
  };
  return {
    take: (spacingMs, nowMs) => change(nowMs, (nextMs) => nextMs + spacingMs),
    hold: (delayMs, nowMs) => {
      change(nowMs, (nextMs) => Math.max(nextMs, nowMs + Math.min(delayMs, LONGEST_SHARED_HOLD_MS)));
    },
  };
}

const LONGEST_SHARED_HOLD_MS = 3_600_000;
/** Two processes read the clock one after the other. */
const CLOCK_SLACK_MS = 1_000;

/** It holds two numbers. */
const MAX_BYTES = 1024;

/** When the next request may leave; now, where the file says nothing or was written on a clock that has stepped back. */
function readNextMs(file: string, nowMs: number): number {
  try {
    const written: unknown = JSON.parse(readRegular(file, MAX_BYTES).toString());
    const [atMs, nextMs] = Array.isArray(written) ? written : [];
    if (typeof atMs !== 'number' || typeof nextMs !== 'number' || atMs > nowMs + CLOCK_SLACK_MS) return nowMs;
    return Number.isFinite(nextMs) ? Math.max(nowMs, nextMs) : nowMs;
  } catch {
    return nowMs;
  }
}
