import * as crypto from 'node:crypto';
import * as fs from 'node:fs';
import * as path from 'node:path';
import { ensureDirectory } from '../disk/durable-directory.ts';
import { tryLock } from '../disk/lock-file.ts';

/** A rate that several processes keep together: when the next request may leave, on the wall clock they share. */
export interface SharedRate {
  /**
   * Takes the next turn, `spacingMs` after the one before it. Returns in how many milliseconds it comes; undefined where
   * another process is taking one this very moment. A file that cannot be used shares nothing: the turn is now.
   */
  take(spacingMs: number, nowMs: number): number | undefined;
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
      const lock = tryLock(`${file}.lock`, nowMs);
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

/** When the next request may leave; now, where the file says nothing or was written on a clock that has stepped back. */
function readNextMs(file: string, nowMs: number): number {
  try {
    const written: unknown = JSON.parse(fs.readFileSync(file, 'utf8'));
    const [atMs, nextMs] = Array.isArray(written) ? written : [];
    if (typeof atMs !== 'number' || typeof nextMs !== 'number' || atMs > nowMs + CLOCK_SLACK_MS) return nowMs;
    return Number.isFinite(nextMs) ? Math.max(nowMs, nextMs) : nowMs;
  } catch {
    return nowMs;
  }
}
