import * as crypto from 'node:crypto';
import * as fs from 'node:fs';
import * as path from 'node:path';
import { ensureDirectory } from '../../disk/durable-directory.ts';
import { tryLock } from '../../disk/lock-file.ts';
import { readRegular } from '../../disk/small-file.ts';
import { GwError } from '../../errors.ts';
import { type Clock, quietly } from '../../host.ts';
import { backoffMs } from '../../http/retry.ts';

/** How soon, and how often, to try again while another process is taking a turn. */
const BUSY_PAUSE_MS = 5;
const MAX_BUSY = 40;
/** A turn that is this much later than a few processes would cause means that the gateway asked for a pause. */
const HOLD_MS = 10_000;
const PROCESSES = 8;

interface PaceOptions {
  readonly clock: Clock;
  readonly random: () => number;
  /** Milliseconds between two requests; shorter for a sandbox once it has stated its speed. */
  readonly spacing: () => number;
  readonly shared: SharedRate | undefined;
}

/** When requests of one rate limit may leave: evenly, after other processes' requests, not during a pause. */
export class Pace {
  #nextMs = Number.NEGATIVE_INFINITY;
  #heldUntilMs = Number.NEGATIVE_INFINITY;
  /** The turn taken from the shared rate, until a request leaves. */
  #turnMs: number | undefined;
  /** Number of 429 answers in a row. */
  #tooMany = 0;

  constructor(private readonly options: PaceOptions) {}

  /** Milliseconds for which the gateway wants no request; 0 if it asked for no pause. */
  heldMs(): number {
    return Math.max(0, this.#heldUntilMs - this.options.clock.steady());
  }

  /** Milliseconds until the next request may leave, 0 for now. Call it only if there is a request. */
  readyInMs(): number {
    const { clock, shared, spacing } = this.options;
    const nowMs = clock.steady();
    if (this.#nextMs > nowMs) return this.#nextMs - nowMs;
    if (this.#turnMs === undefined && shared) {
      const inMs = shared.take(spacing(), clock.now());
      if (inMs === undefined) return shared.againInMs();
      this.#turnMs = nowMs + inMs;
      if (this.#turnMs > nowMs + HOLD_MS + PROCESSES * spacing()) this.#heldUntilMs = this.#turnMs;
    }
    return Math.max(0, (this.#turnMs ?? nowMs) - nowMs);
  }

  leave(): void {
    this.#turnMs = undefined;
    this.#nextMs = this.options.clock.steady() + this.options.spacing();
  }

  /** Counts a request that leaves without waiting for a turn: the next turns are later. */
  spend(): void {
    const { clock, shared, spacing } = this.options;
    if (shared) shared.take(spacing(), clock.now());
    else this.#nextMs = Math.max(this.#nextMs, clock.steady()) + spacing();
  }

  /** Stops all requests for a time: a pause that the gateway asks for concerns everybody who shares the rate limit. */
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

  /** After a 429 all requests wait: until the time that the gateway named, else longer each time. */
  failed(error: unknown): void {
    if (!(error instanceof GwError) || error.kind !== 'rate_limited') return;
    const { clock, random } = this.options;
    const { retryAtMs } = error.facts;
    this.hold(retryAtMs === undefined ? backoffMs(this.#tooMany, random) : retryAtMs - clock.now());
    this.#tooMany += 1;
  }

  /** The error for a query that is of no use after `deadlineMs` (steady), if the gateway's pause is longer. */
  refusal(deadlineMs: number): GwError | undefined {
    const { clock } = this.options;
    const heldMs = this.heldMs();
    if (heldMs === 0 || clock.steady() + heldMs <= deadlineMs) return undefined;
    const retryAtMs = clock.now() + heldMs;
    const when = new Date(retryAtMs).toISOString();
    return new GwError('rate_limited', `the gateway asks not to be asked before ${when}`, { retryAtMs });
  }
}

/** A rate limit that several processes share: when the next request may leave, by their common wall clock. */
export interface SharedRate {
  /**
   * Takes the next turn, `spacingMs` after the previous one. Returns the milliseconds until it; undefined if there is
   * none yet, as while another process is taking one. If the file cannot be used, nothing is shared and the turn is now.
   */
  take(spacingMs: number, nowMs: number): number | undefined;
  /** Milliseconds until the next try after `take` returned none. */
  againInMs(): number;
  /** Stops all requests for a time; for an hour at most, because the gateway's value may be a mistake. */
  hold(delayMs: number, nowMs: number): void;
}

/** Opens the file of a rate in the directory of locks; `of` identifies it. Nothing is touched before use. */
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
        // Writing over the bytes takes a tenth of the time of a file that is emptied first.
        const flag = fs.statSync(file, { throwIfNoEntry: false })?.size === RATE_BYTES ? 'r+' : 'w';
        const text = JSON.stringify([nowMs, next(startMs)]).padEnd(RATE_BYTES);
        fs.writeFileSync(file, text, { mode: 0o600, flag });
        return startMs - nowMs;
      } finally {
        lock.release();
      }
    } catch {
      return 0;
    }
  };
  let busy = 0;
  return {
    take: (spacingMs, nowMs) => {
      const inMs = change(nowMs, (nextMs) => nextMs + spacingMs);
      busy = inMs === undefined && busy < MAX_BUSY ? busy + 1 : 0;
      return busy === 0 ? (inMs ?? 0) : undefined;
    },
    againInMs: () => BUSY_PAUSE_MS,
    hold: (delayMs, nowMs) => {
      change(nowMs, (nextMs) => Math.max(nextMs, nowMs + Math.min(delayMs, LONGEST_SHARED_HOLD_MS)));
    },
  };
}

const LONGEST_SHARED_HOLD_MS = 3_600_000;
/** Two processes read the clock one after the other. */
const CLOCK_SLACK_MS = 1_000;

/** The file holds two numbers, and spaces up to this size. */
const RATE_BYTES = 64;

/** When the next request may leave; now, if the file is unusable or was written before the clock was set back. */
function readNextMs(file: string, nowMs: number): number {
  const written: unknown = quietly(() => JSON.parse(readRegular(file, RATE_BYTES).toString()));
  const [atMs, nextMs] = Array.isArray(written) ? written : [];
  if (typeof atMs !== 'number' || typeof nextMs !== 'number' || atMs > nowMs + CLOCK_SLACK_MS) return nowMs;
  return Number.isFinite(nextMs) ? Math.max(nowMs, nextMs) : nowMs;
}
