import * as fs from 'node:fs';
import * as path from 'node:path';
import { errorCode } from '../errors.ts';

const journalName = /^\d{4,6}-\d{2}\.jsonl$/;
/** The former version of a journal, which exists only while it is being rewritten or after a crash of that. */
const formerName = /^(\d{4,6}-\d{2}\.jsonl)\.[0-9a-f]+\.old$/;

/** `2026-11.jsonl`, the journal of the UTC month of a Unix time in ms. */
export function journalNameAt(timeMs: number): string {
  const date = new Date(timeMs);
  return `${String(date.getUTCFullYear()).padStart(4, '0')}-${String(date.getUTCMonth() + 1).padStart(2, '0')}.jsonl`;
}

/** The events of one month: its journal, preceded by former versions that a crashed rewrite left. */
export interface Journal {
  readonly path: string;
  /** All files to read, in order. */
  readonly files: readonly string[];
}

/** The journals, oldest first; empty if the directory is missing. */
export function journals(dir: string): Journal[] {
  const months = new Map<string, string[]>();
  for (const name of namesIn(dir).sort()) {
    const month = formerName.exec(name)?.[1] ?? name;
    if (!journalName.test(month)) continue;
    const files = months.get(month) ?? [];
    if (name === month) files.push(name);
    else files.unshift(name);
    months.set(month, files);
  }
  return [...months.keys()].sort(byAge).map((month) => ({
    path: path.join(dir, month),
    files: (months.get(month) ?? []).map((name) => path.join(dir, name)),
  }));
}

/** A path for a journal's former version, which `journals` recognizes. */
export const formerPath = (journal: string, nonce: string): string => `${journal}.${nonce}.old`;

/** The result of a call; undefined if its file or directory is missing. Throws the system's other errors. */
export function ifThere<T>(call: () => T): T | undefined {
  try {
    return call();
  } catch (error) {
    if (errorCode(error) === 'ENOENT') return undefined;
    throw error;
  }
}

/** The names in a directory; empty if it is missing. Throws the system's error. */
export const namesIn = (dir: string): string[] => ifThere(() => fs.readdirSync(dir)) ?? [];

/**
 * The journal to append to: this month's, or a newer one that already exists. The clock may go back, but a job's later
 * events must never be in an older file than its first one: a reader that starts at the newest would miss them.
 */
export function currentJournal(dir: string, nowMs: number): string {
  const thisMonth = journalNameAt(nowMs);
  const there = namesIn(dir).filter((name) => journalName.test(name));
  return path.join(dir, [...there, thisMonth].sort(byAge).at(-1) ?? thisMonth);
}

function byAge(left: string, right: string): number {
  return left.length - right.length || (left < right ? -1 : left > right ? 1 : 0);
}
