import * as fs from 'node:fs';
import * as path from 'node:path';
import { errorCode } from '../errors.ts';

const journalName = /^\d{4,6}-\d{2}\.jsonl$/;

/** `2026-11.jsonl`, the journal of the UTC month of a Unix millisecond. */
export function journalNameAt(timeMs: number): string {
  const date = new Date(timeMs);
  return `${String(date.getUTCFullYear()).padStart(4, '0')}-${String(date.getUTCMonth() + 1).padStart(2, '0')}.jsonl`;
}

/** The names of the journals in a directory, oldest first; none where the directory is missing. */
export function journalNames(dir: string): string[] {
  try {
    return fs
      .readdirSync(dir)
      .filter((name) => journalName.test(name))
      .sort(byAge);
  } catch (error) {
    if (errorCode(error) === 'ENOENT') return [];
    throw error;
  }
}

/** The paths of the journals that may hold events from a Unix millisecond on, oldest first. */
export function journalPaths(dir: string, sinceMs?: number): string[] {
  const names = journalNames(dir);
  if (sinceMs === undefined) return names.map((name) => path.join(dir, name));
  const first = journalNameAt(sinceMs);
  return names.filter((name) => byAge(name, first) >= 0).map((name) => path.join(dir, name));
}

/**
 * The journal to write to: this month's, or a newer one that is already there. Time may step back, but a job's later
 * events must never stand in an older file than its first, or a reader that starts at the newest would miss them.
 */
export function currentJournal(dir: string, nowMs: number): string {
  const thisMonth = journalNameAt(nowMs);
  const newest = journalNames(dir).at(-1);
  return path.join(dir, newest !== undefined && byAge(newest, thisMonth) > 0 ? newest : thisMonth);
}

function byAge(left: string, right: string): number {
  return left.length - right.length || (left < right ? -1 : left > right ? 1 : 0);
}
