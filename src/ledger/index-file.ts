import * as crypto from 'node:crypto';
import * as fs from 'node:fs';
import * as path from 'node:path';
import { crc32 } from 'node:zlib';
import type { JobState } from './event.ts';

// What the journals say, in one line a job: who it is, where it stands and where its lines are. The file saves reading and
// nothing else: the journals decide, and one that is missing, stale, damaged or of another build is made anew from them.

/** Raised whenever a row, or what makes a job settled, changes. */
const FORMAT = 'gw-index-1';
const NAME = 'index';
const FRESH = /^index\.[0-9a-f]+\.fresh$/;
/** What a killed process was writing is put away after this time. */
const ABANDONED_MS = 600_000;

/** How much of a journal the rows stand for. */
export interface ReadJournal {
  readonly name: string;
  /** The file's number (inode). */
  readonly number: number;
  readonly bytes: number;
  /** How many newlines stand in them. */
  readonly newlines: number;
  /** A digest of what stands before that byte: a number that was given to another file does not bring the same text. */
  readonly tail: string;
}

/** A stretch of a journal that holds lines of a job: the journal's place in the list, first and last byte. */
export type Span = [journal: number, startByte: number, endByte: number];

/** A job as far as it can be told without its lines. */
export interface Row {
  readonly key: string;
  readonly id: string | undefined;
  readonly externalId: string | undefined;
  readonly createdAtMs: number;
  readonly state: JobState;
  readonly family: string;
  /** Nothing is left to do for it, unless a line is added. */
  readonly isSettled: boolean;
  readonly spans: readonly Span[];
}

export interface IndexContent {
  readonly journals: readonly ReadJournal[];
  /** The lines that could not be read: the journal's place in the list, and the line's number from 1. */
  readonly unreadable: readonly (readonly [journal: number, line: number])[];
  readonly count: number;
  /** The rows, oldest first, each a line: to be searched, not to be parsed. */
  readonly rows: Buffer;
}

export const emptyIndex: IndexContent = { journals: [], unreadable: [], count: 0, rows: Buffer.alloc(0) };

/** How a row starts that is not settled. */
export const OPEN_ROW = '[0,';

export const rowText = (row: Row): string =>
  `${JSON.stringify([
    row.isSettled ? 1 : 0,
    row.key,
    row.id ?? 0,
    row.externalId ?? 0,
    row.createdAtMs,
    row.state,
    row.family,
    ...row.spans.flat(),
  ])}\n`;

/** Reads a row that `rowText` wrote; the file's checksum has been looked at. */
export function readRow(text: string): Row {
  const [settled, key, id, externalId, createdAtMs, state, family, ...flat] = JSON.parse(text);
  const spans: Span[] = [];
  for (let at = 0; at < flat.length; at += 3) spans.push([flat[at], flat[at + 1], flat[at + 2]]);
  return {
    ...{ key, id: id || undefined, externalId: externalId || undefined },
    ...{ createdAtMs, state, family, isSettled: settled === 1, spans },
  };
}

/** The index of a ledger as it was written last; undefined where there is none that can be used. */
export function readIndex(dir: string): IndexContent | undefined {
  try {
    const bytes = fs.readFileSync(path.join(dir, NAME));
    const headEnd = bytes.indexOf(0x0a);
    const [format, sum] = bytes.toString('latin1', 0, headEnd).split(' ');
    const body = bytes.subarray(headEnd + 1);
    if (format !== FORMAT || sum !== crc32(body).toString(16)) return undefined;
    const factsEnd = body.indexOf(0x0a);
    const { journals, unreadable, count } = JSON.parse(body.toString('utf8', 0, factsEnd));
    return { journals, unreadable, count, rows: body.subarray(factsEnd + 1) };
  } catch {
    return undefined;
  }
}

/** Keeps an index for the next process; one that cannot be kept costs that process time, and nothing is said of it. */
export function writeIndex(dir: string, { journals, unreadable, count, rows }: IndexContent): void {
  const fresh = path.join(dir, `${NAME}.${crypto.randomBytes(6).toString('hex')}.fresh`);
  try {
    const facts = Buffer.from(`${JSON.stringify({ journals, unreadable, count })}\n`);
    const sum = crc32(rows, crc32(facts)).toString(16);
    const fd = fs.openSync(fresh, 'wx', 0o600);
    let nowMs: number;
    try {
      for (const part of [Buffer.from(`${FORMAT} ${sum}\n`), facts, rows]) fs.writeFileSync(fd, part);
      nowMs = fs.fstatSync(fd).mtimeMs;
    } finally {
      fs.closeSync(fd);
    }
    fs.renameSync(fresh, path.join(dir, NAME));
    removeAbandoned(dir, nowMs);
  } catch {
    fs.rmSync(fresh, { force: true });
  }
}

/** `nowMs` is the time as the file system has it, which dates the files. */
function removeAbandoned(dir: string, nowMs: number): void {
  for (const name of fs.readdirSync(dir).filter((each) => FRESH.test(each))) {
    const file = path.join(dir, name);
    const { mtimeMs = nowMs } = fs.statSync(file, { throwIfNoEntry: false }) ?? {};
    if (nowMs - mtimeMs > ABANDONED_MS) fs.rmSync(file, { force: true });
  }
}
