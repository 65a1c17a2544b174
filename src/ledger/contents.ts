import * as fs from 'node:fs';
import * as path from 'node:path';
import { crc32 } from 'node:zlib';
import { quietly } from '../host.ts';
import type { Wanted } from './ledger.ts';

// The table of contents of the journals: one row per job with its names and the positions of its lines. The file only
// saves reading: the journals decide, and a file that is missing, damaged or out of date is rebuilt from them. It holds
// the rows of the jobs in pieces, oldest first; then pages with the hash of each name and the number of its piece; at
// the end a table of both. Pieces and pages are read, and verified by their checksums, only when they are needed.

/** Raise this when a row, a hash or the meaning of a settled job changes. */
export const FORMAT = 'gw-contents-2';
export const NAME = 'contents';
export const NAMES_A_PAGE = 512;
/** The file never has more pieces: a name is stored as its hash times this number, plus its piece. */
export const MOST_PIECES = 2 ** 20;
/** Length of the trailer: the format, the length of the table before it, and the table's checksum. */
export const TRAILER_BYTES = 40;

/** How much of a journal has been read. */
export interface ReadJournal {
  readonly name: string;
  /** The file's inode. */
  readonly number: number;
  readonly bytes: number;
  readonly newlines: number;
  /** Checksum of the text before that byte: it detects another file that was given the same inode. */
  readonly tail: number;
}

/** A range of a journal that holds lines of a job: the journal's index, first and last byte. */
export type Span = readonly [journal: number, startByte: number, endByte: number];

/** The facts about a job that are known without reading its lines. */
export interface Row {
  readonly key: string;
  readonly createdAtMs: number;
  readonly id: string | undefined;
  readonly externalId: string | undefined;
  /** The first characters of its body's digest. */
  readonly body: string;
  /** True if nothing is left to do for the job unless a line is added. */
  readonly isSettled: boolean;
  readonly spans: readonly Span[];
}

/** The journals as they had been read when the contents were written. */
export interface Read {
  readonly journals: readonly ReadJournal[];
  /** The lines that could not be read: the journal's index, and the line number from 1. */
  readonly unreadable: readonly (readonly [journal: number, line: number])[];
}

/** `pieces`: length, checksum, unsettled jobs, newest creation. `pages`: checksum, count, first entry. */
export interface Table extends Read {
  readonly pieces: readonly (readonly [bytes: number, sum: number, open: number, newestMs: number])[];
  readonly pages: readonly (readonly [sum: number, count: number, first: number])[];
}

/** The contents are damaged, or belong to other journals. */
export class StaleContents extends Error {}

/** The part of a body's digest that a row keeps. */
export const bodyOf = (sha256: string): string => sha256.slice(0, 16);

type Aged = Pick<Row, 'createdAtMs' | 'spans'>;

/** Compares by creation time; for equal times, the job that was seen first comes first. */
export function byAge(left: Aged, right: Aged): number {
  const [leftAt = [0, 0, 0], rightAt = [0, 0, 0]] = [left.spans[0], right.spans[0]];
  return left.createdAtMs - right.createdAtMs || leftAt[0] - rightAt[0] || leftAt[1] - rightAt[1];
}

const OPEN_ROW = '[0,';
/** Reads key and task ID from a row's text if they are not escaped: ten times faster than parsing the row. */
const ROW_NAMES = /^\[\d,[^,]*,"([^"\\]*)",(?:null|"([^"\\]*)"),/;

export function rowOf(text: string): Row {
  const [settled, createdAtMs, key, id, externalId, body, ...flat] = JSON.parse(text);
  const spans: Span[] = [];
  for (let at = 0; at < flat.length; at += 3) spans.push([flat[at], flat[at + 1], flat[at + 2]]);
  const names = { key, id: id ?? undefined, externalId: externalId ?? undefined };
  return { ...names, createdAtMs, body, isSettled: settled === 1, spans };
}

export const namesOf = ({ key, id = key, externalId = key }: Row): Set<string> =>
  new Set([key, id, externalId]);

/** The rows of all jobs whose lines had been read when the file was written. */
export class Contents {
  /** Caches the piece that was read last, because the next question is often about a near job. */
  #last: { readonly at: number; readonly text: string } | undefined;

  /** The pages that are already loaded into `room`: a batch looks up very many names. */
  readonly #pages = new Set<number>();
  readonly #room: ArrayBuffer;
  /** The offset of each piece, and last the offset of the pages. */
  readonly #starts: readonly number[];

  private constructor(
    readonly table: Table,
    private fd?: number | undefined,
    room = new ArrayBuffer(0),
  ) {
    const roomBytes = table.pages.length * NAMES_A_PAGE * 8;
    this.#room = room.byteLength < roomBytes ? new ArrayBuffer(roomBytes * 2) : room;
    let end = 0;
    this.#starts = [0, ...table.pieces.map(([bytes]) => (end += bytes))];
  }

  static readonly empty = new Contents({ journals: [], unreadable: [], pieces: [], pages: [] });

  /** The contents written last; empty if unusable. They reuse the buffer of `before`, which V8 would free late. */
  static open(dir: string, before?: Contents): Contents {
    let fd: number | undefined;
    try {
      fd = fs.openSync(path.join(dir, NAME), 'r');
      const trailerAt = fs.fstatSync(fd).size - TRAILER_BYTES;
      const [format, bytes, sum] = readAt(fd, trailerAt, TRAILER_BYTES).toString('latin1').trim().split(' ');
      if (format !== FORMAT) throw new StaleContents();
      const table = checked(readAt(fd, trailerAt - Number(bytes), Number(bytes)), Number(sum));
      return new Contents(JSON.parse(table.toString()), fd, before ? before.#room : undefined);
    } catch {
      if (fd !== undefined) fs.closeSync(fd);
      return Contents.empty;
    }
  }

  /** Closes the file, after which nothing can be read from it: Windows cannot replace an open file. */
  close(): void {
    if (this.fd !== undefined) fs.closeSync(this.fd);
    this.fd = undefined;
    this.#pages.clear();
  }

  /** Yields rows, newest first; with `isOpen` only unsettled ones, with `sinceMs` none older. */
  *newestFirst({ isOpen, sinceMs }: Pick<Wanted, 'isOpen' | 'sinceMs'>): Generator<Row> {
    for (let at = this.table.pieces.length - 1; at >= 0; at -= 1) {
      const [, , open = 0, newestMs = 0] = this.table.pieces[at] ?? [];
      if (sinceMs !== undefined && newestMs < sinceMs) return;
      if (isOpen && open === 0) continue;
      for (const text of this.textsOf(at).reverse()) {
        if (!isOpen || text.startsWith(OPEN_ROW)) yield rowOf(text);
      }
    }
  }

  *names(): Generator<Pick<Row, 'key' | 'id'>> {
    for (let at = 0; at < this.table.pieces.length; at += 1) {
      for (const text of this.textsOf(at)) {
        const [, key, id] = ROW_NAMES.exec(text) ?? [];
        yield key === undefined ? rowOf(text) : { key, id };
      }
    }
  }

  /** The rows of the jobs with one of these keys, task IDs or external IDs, newest first. */
  named(names: readonly string[]): Row[] {
    const wanted = new Map<number, string[]>();
    for (const name of names) {
      for (const piece of this.piecesOf(name)) wanted.set(piece, [...(wanted.get(piece) ?? []), name]);
    }
    const rows: Row[] = [];
    for (const [piece, own] of wanted) {
      const quoted = own.map((name) => JSON.stringify(name));
      for (const text of this.textsOf(piece)) {
        if (!quoted.some((name) => text.includes(name))) continue;
        const row = rowOf(text);
        const has = namesOf(row);
        if (own.some((name) => has.has(name))) rows.push(row);
      }
    }
    return rows.sort(byAge).reverse();
  }

  /** The rows of a piece as lines of text. */
  textsOf(at: number): string[] {
    if (this.#last?.at !== at) this.#last = { at, text: this.piece(at).toString() };
    return this.#last.text.split('\n');
  }

  piece(at: number): Buffer {
    const [bytes = 0, sum = 0] = this.table.pieces[at] ?? [];
    return this.#readAt(this.#starts[at] ?? 0, bytes, sum);
  }

  /** The entries of a page: hashes with the numbers of their pieces. */
  page(at: number): Float64Array {
    const [sum = 0, count = 0] = this.table.pages[at] ?? [];
    const start = at * NAMES_A_PAGE * 8;
    const bytes = Buffer.from(this.#room, start, count * 8);
    if (!this.#pages.has(at)) this.#readAt((this.#starts.at(-1) ?? 0) + start, bytes.length, sum, bytes);
    this.#pages.add(at);
    return new Float64Array(this.#room, start, count);
  }

  /** The pieces that may hold the row of a job with this name. */
  piecesOf(name: string): number[] {
    const { pages } = this.table;
    const firstOf = (at: number) => pages[at]?.[2] ?? Number.POSITIVE_INFINITY;
    const low = crc32(name) * MOST_PIECES;
    // Hashes are spread evenly, so the page is near this index.
    let at = Math.floor((low / (2 ** 32 * MOST_PIECES)) * pages.length);
    while (at > 0 && firstOf(at) >= low) at -= 1;
    while (firstOf(at + 1) < low) at += 1;
    const found: number[] = [];
    for (; firstOf(at) < low + MOST_PIECES; at += 1) {
      for (const entry of this.page(at))
        if (entry >= low && entry < low + MOST_PIECES) found.push(entry - low);
    }
    return found;
  }

  #readAt(at: number, bytes: number, sum: number, into?: Buffer): Buffer {
    if (this.fd === undefined) throw new StaleContents();
    return checked(readAt(this.fd, at, bytes, into), sum);
  }
}

function readAt(fd: number, at: number, count: number, bytes: Buffer = Buffer.allocUnsafe(count)): Buffer {
  // A read error counts like a file that is too short.
  if (quietly(() => fs.readSync(fd, bytes, 0, count, at)) === count) return bytes;
  throw new StaleContents();
}

function checked(bytes: Buffer, sum: number): Buffer {
  if (crc32(bytes) !== sum) throw new StaleContents();
  return bytes;
}

/** Deletes the contents after jobs were removed, so that the names of those jobs are not kept either. */
export const removeContents = (dir: string): void => fs.rmSync(path.join(dir, NAME), { force: true });
