import * as crypto from 'node:crypto';
import * as fs from 'node:fs';
import * as path from 'node:path';
import { crc32 } from 'node:zlib';
import { renameFile } from '../disk/durable-directory.ts';

// The table of contents of the journals: one line for each job says who it is and where its lines stand. The file only
// saves reading: the journals decide, and a file that is missing, damaged or out of date is made again from them.
//
// It holds the rows of the jobs, oldest first, in pieces; a hash of each name with the number of its piece, in pages; and at
// the end a table of both. Pieces and pages are read, and checked by their sums, only when they are needed.

/** Raised whenever a row, a hash or the meaning of a settled job changes. */
const FORMAT = 'gw-contents-1';
const NAME = 'contents';
const FRESH = /^contents\.[0-9a-f]+\.fresh$/;
/** A file that a killed process was writing is removed after this time. */
const ABANDONED_MS = 600_000;
const ROWS_A_PIECE = 256;
const NAMES_A_PAGE = 512;
/** More pieces than this never stand in the file: a name is kept as its hash times this plus its piece. */
const MOST_PIECES = 2 ** 20;
/** The format, the length of the table that stands before it, and that table's sum. */
const TRAILER_BYTES = 40;

/** How much of a journal has been read. */
export interface ReadJournal {
  readonly name: string;
  /** The file's number (inode). */
  readonly number: number;
  readonly bytes: number;
  /** How many newlines stand in them. */
  readonly newlines: number;
  /** A sum of the text before that byte: another file that was given the same number has other text there. */
  readonly tail: number;
}

/** A stretch of a journal that holds lines of a job: the journal's place in the list, first and last byte. */
export type Span = readonly [journal: number, startByte: number, endByte: number];

/** A job as far as it can be told without its lines. */
export interface Row {
  readonly key: string;
  readonly createdAtMs: number;
  readonly id: string | undefined;
  readonly externalId: string | undefined;
  /** The beginning of its body's digest. */
  readonly body: string;
  /** Nothing is left to do for it unless a line is added. */
  readonly isSettled: boolean;
  readonly spans: readonly Span[];
}

/** What was read when the contents were written. */
export interface Read {
  readonly journals: readonly ReadJournal[];
  /** The lines that could not be read: the journal's place in the list, and the line's number from 1. */
  readonly unreadable: readonly (readonly [journal: number, line: number])[];
}

/** `pieces`: length, sum, number of unsettled jobs, creation of the newest. `pages`: sum, count and first entry. An older gw reads `count`. */
interface Table extends Read {
  readonly count: number;
  readonly pieces: readonly (readonly [bytes: number, sum: number, open: number, newestMs: number])[];
  readonly pages: readonly (readonly [sum: number, count: number, first: number])[];
}

/** The contents are damaged, or those of other journals. */
export class StaleContents extends Error {}

/** As much of a body's digest as a row keeps. */
export const bodyOf = (sha256: string): string => sha256.slice(0, 16);

type Aged = Pick<Row, 'createdAtMs' | 'spans'>;

/** Older first; of equal times the one that was seen first. */
export function byAge(left: Aged, right: Aged): number {
  const [leftAt = [0, 0, 0], rightAt = [0, 0, 0]] = [left.spans[0], right.spans[0]];
  return left.createdAtMs - right.createdAtMs || leftAt[0] - rightAt[0] || leftAt[1] - rightAt[1];
}

const OPEN_ROW = '[0,';
/** Key and task ID of a row where they stand there as they are, which takes a tenth of the time of parsing it. */
const ROW_NAMES = /^\[\d,[^,]*,"([^"\\]*)",(?:null|"([^"\\]*)"),/;

function textOf({ key, createdAtMs, id, externalId, body, isSettled, spans }: Row): string {
  return JSON.stringify([isSettled ? 1 : 0, createdAtMs, key, id, externalId, body, ...spans.flat()]);
}

function rowOf(text: string): Row {
  const [settled, createdAtMs, key, id, externalId, body, ...flat] = JSON.parse(text);
  const spans: Span[] = [];
  for (let at = 0; at < flat.length; at += 3) spans.push([flat[at], flat[at + 1], flat[at + 2]]);
  const names = { key, id: id ?? undefined, externalId: externalId ?? undefined };
  return { ...names, createdAtMs, body, isSettled: settled === 1, spans };
}

const namesOf = ({ key, id = key, externalId = key }: Row): Set<string> => new Set([key, id, externalId]);

/** FNV-1a of 32 bits: fast, and a collision costs no more than a look into one piece. */
function hashOf(name: string): number {
  let hash = 0x811c9dc5;
  for (let at = 0; at < name.length; at += 1) hash = Math.imul(hash ^ name.charCodeAt(at), 0x01000193);
  return hash >>> 0;
}

/** The rows of all jobs whose lines had been read when the file was written. */
export class Contents {
  /** The piece that was read last: what is asked next is often near. */
  #last: { readonly at: number; readonly text: string } | undefined;

  /** Which pages stand in the room for all of them: whoever makes a batch asks for very many names. */
  readonly #pages = new Set<number>();
  readonly #room: ArrayBuffer;
  /** Where each piece begins, and where the pages do. */
  readonly #starts: readonly number[];

  private constructor(
    private readonly table: Table,
    private fd?: number | undefined,
    room = new ArrayBuffer(0),
  ) {
    const roomBytes = table.pages.length * NAMES_A_PAGE * 8;
    this.#room = room.byteLength < roomBytes ? new ArrayBuffer(roomBytes * 2) : room;
    let end = 0;
    this.#starts = [0, ...table.pieces.map(([bytes]) => (end += bytes))];
  }

  static readonly empty = new Contents({ journals: [], unreadable: [], count: 0, pieces: [], pages: [] });

  /** Those that were written last, empty where none can be used. They take the room of those before, which V8 lets go of late. */
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

  /** Closes the file: Windows replaces no file that is open. Nothing can be read from it then. */
  close(): void {
    if (this.fd !== undefined) fs.closeSync(this.fd);
    this.fd = undefined;
    this.#pages.clear();
  }

  get read(): Read {
    return this.table;
  }

  /** Rows, the newest first; with `isOpen` those that are not settled, with `sinceMs` no older ones. */
  *newestFirst({
    isOpen = false,
    sinceMs = Number.NEGATIVE_INFINITY,
  }: {
    readonly isOpen?: boolean | undefined;
    readonly sinceMs?: number | undefined;
  }): Generator<Row> {
    for (let at = this.table.pieces.length - 1; at >= 0; at -= 1) {
      const [, , open = 0, newestMs = 0] = this.table.pieces[at] ?? [];
      if (newestMs < sinceMs) return;
      if (isOpen && open === 0) continue;
      for (const text of this.#piece(at).split('\n').reverse()) {
        if (!isOpen || text.startsWith(OPEN_ROW)) yield rowOf(text);
      }
    }
  }

  /** The names of all jobs. */
  *names(): Generator<Pick<Row, 'key' | 'id'>> {
    for (let at = 0; at < this.table.pieces.length; at += 1) {
      for (const text of this.#piece(at).split('\n')) {
        const [, key, id] = ROW_NAMES.exec(text) ?? [];
        yield key === undefined ? rowOf(text) : { key, id };
      }
    }
  }

  /** The rows of the jobs with one of these keys, task IDs or external IDs, the newest first. */
  named(names: readonly string[]): Row[] {
    const wanted = new Map<number, string[]>();
    for (const name of names) {
      for (const piece of this.#piecesOf(name)) wanted.set(piece, [...(wanted.get(piece) ?? []), name]);
    }
    const rows: Row[] = [];
    for (const [piece, own] of wanted) {
      const quoted = own.map((name) => JSON.stringify(name));
      for (const text of this.#piece(piece).split('\n')) {
        if (!quoted.some((name) => text.includes(name))) continue;
        const row = rowOf(text);
        const has = namesOf(row);
        if (own.some((name) => has.has(name))) rows.push(row);
      }
    }
    return rows.sort(byAge).reverse();
  }

  /**
   * Writes the contents anew with rows, oldest first, that are new or take the place of those of the same key. False where the file cannot
   * be kept: that only costs the next process time, and nothing is said of it. Throws StaleContents where these are damaged.
   */
  write(dir: string, added: readonly Row[], replaced: ReadonlySet<string>, read: Read): boolean {
    const fresh = path.join(dir, `${NAME}.${crypto.randomBytes(6).toString('hex')}.fresh`);
    let fd: number | undefined;
    try {
      fd = fs.openSync(fresh, 'wx', 0o600);
      const table = JSON.stringify({ ...read, ...this.#writeRows(fd, added, replaced) });
      fs.writeFileSync(fd, table);
      fs.writeFileSync(fd, `\n${FORMAT} ${Buffer.byteLength(table)} ${crc32(table)}`.padEnd(TRAILER_BYTES));
      const nowMs = fs.fstatSync(fd).mtimeMs;
      fs.closeSync(fd);
      fd = undefined;
      this.close();
      renameFile(fresh, path.join(dir, NAME));
      removeAbandoned(dir, nowMs);
      return true;
    } catch (error) {
      if (fd !== undefined) fs.closeSync(fd);
      if (fs.existsSync(fresh)) fs.rmSync(fresh);
      if (error instanceof StaleContents) throw error;
      return false;
    }
  }

  /** The first piece that rows change which are new or take the place of others; the last one has room for more. */
  #firstChanged(added: readonly Row[], replaced: ReadonlySet<string>): number {
    const { pieces } = this.table;
    const oldestMs = added[0]?.createdAtMs ?? Number.POSITIVE_INFINITY;
    const behind = pieces.findIndex(([, , , newestMs]) => newestMs >= oldestMs);
    const changed = [...replaced].flatMap((key) => this.#piecesOf(key));
    return Math.max(0, Math.min(behind === -1 ? pieces.length - 1 : behind, ...changed));
  }

  /** The rows from a piece on with others added, oldest first. */
  *#rowsWith(added: readonly Row[], replaced: ReadonlySet<string>, from: number): Generator<Row> {
    let next = 0;
    for (let at = from; at < this.table.pieces.length; at += 1) {
      for (const text of this.#piece(at).split('\n')) {
        const row = rowOf(text);
        for (let other = added[next]; other && byAge(other, row) < 0; other = added[next]) {
          yield other;
          next += 1;
        }
        if (!replaced.has(row.key)) yield row;
      }
    }
    yield* added.slice(next);
  }

  /** Writes all with the rows that are added; gives back what the table says of them. Throws the system's error. */
  #writeRows(
    fd: number,
    added: readonly Row[],
    replaced: ReadonlySet<string>,
  ): Pick<Table, 'count' | 'pieces' | 'pages'> {
    const kept = this.#firstChanged(added, replaced);
    const pieces = this.table.pieces.slice(0, kept);
    const names: number[] = [];
    for (const [at, [bytes, sum]] of pieces.entries())
      fs.writeFileSync(fd, this.#readAt(this.#starts[at] ?? 0, bytes, sum));
    let count = kept * ROWS_A_PIECE;
    for (const rows of cut(this.#rowsWith(added, replaced, kept), ROWS_A_PIECE)) {
      for (const row of rows) {
        for (const name of namesOf(row)) names.push(hashOf(name) * MOST_PIECES + pieces.length);
      }
      const bytes = Buffer.from(rows.map(textOf).join('\n'));
      fs.writeFileSync(fd, bytes);
      const open = rows.filter((row) => !row.isSettled).length;
      pieces.push([bytes.length, crc32(bytes), open, rows.at(-1)?.createdAtMs ?? 0]);
      count += rows.length;
    }
    const pages: [number, number, number][] = [];
    for (const page of cut(this.#namesWith(names, kept), NAMES_A_PAGE)) {
      const bytes = Buffer.from(Float64Array.from(page).buffer);
      fs.writeFileSync(fd, bytes);
      pages.push([crc32(bytes), page.length, page[0] ?? 0]);
    }
    return { count, pieces, pages };
  }

  /** The names of the first pieces, and others. */
  *#namesWith(added: readonly number[], kept: number): Generator<number> {
    const rest = Float64Array.from(added).sort();
    let next = 0;
    for (let at = 0; at < this.table.pages.length; at += 1) {
      for (const entry of this.#page(at)) {
        if (entry % MOST_PIECES >= kept) continue;
        for (let other = rest[next]; other !== undefined && other < entry; other = rest[next]) {
          yield other;
          next += 1;
        }
        yield entry;
      }
    }
    yield* rest.subarray(next);
  }

  #piece(at: number): string {
    if (this.#last?.at === at) return this.#last.text;
    const [bytes = 0, sum = 0] = this.table.pieces[at] ?? [];
    const text = this.#readAt(this.#starts[at] ?? 0, bytes, sum).toString();
    this.#last = { at, text };
    return text;
  }

  #page(at: number): Float64Array {
    const [sum = 0, count = 0] = this.table.pages[at] ?? [];
    const start = at * NAMES_A_PAGE * 8;
    const bytes = Buffer.from(this.#room, start, count * 8);
    if (!this.#pages.has(at)) this.#readAt((this.#starts.at(-1) ?? 0) + start, bytes.length, sum, bytes);
    this.#pages.add(at);
    return new Float64Array(this.#room, start, count);
  }

  /** The pieces that may hold the row of a job of this name. */
  #piecesOf(name: string): number[] {
    const { pages } = this.table;
    const firstOf = (at: number) => pages[at]?.[2] ?? Number.POSITIVE_INFINITY;
    const low = hashOf(name) * MOST_PIECES;
    // Hashes are spread evenly, so the page is near this one.
    let at = Math.floor((low / (2 ** 32 * MOST_PIECES)) * pages.length);
    while (at > 0 && firstOf(at) >= low) at -= 1;
    while (firstOf(at + 1) < low) at += 1;
    const found: number[] = [];
    for (; firstOf(at) < low + MOST_PIECES; at += 1) {
      for (const entry of this.#page(at))
        if (entry >= low && entry < low + MOST_PIECES) found.push(entry - low);
    }
    return found;
  }

  #readAt(at: number, bytes: number, sum: number, into?: Buffer): Buffer {
    if (this.fd === undefined) throw new StaleContents();
    return checked(readAt(this.fd, at, bytes, into), sum);
  }
}

function* cut<T>(values: Iterable<T>, most: number): Generator<T[]> {
  let some: T[] = [];
  for (const value of values) {
    some.push(value);
    if (some.length < most) continue;
    yield some;
    some = [];
  }
  if (some.length > 0) yield some;
}

function readAt(fd: number, at: number, count: number, bytes: Buffer = Buffer.allocUnsafe(count)): Buffer {
  try {
    if (fs.readSync(fd, bytes, 0, count, at) === count) return bytes;
  } catch {
    // As a file that is too short.
  }
  throw new StaleContents();
}

function checked(bytes: Buffer, sum: number): Buffer {
  if (crc32(bytes) !== sum) throw new StaleContents();
  return bytes;
}

/** After jobs were removed: their names are not kept either. */
export const removeContents = (dir: string): void => fs.rmSync(path.join(dir, NAME), { force: true });

/** `nowMs` is the time of the file system, which dates the files. */
function removeAbandoned(dir: string, nowMs: number): void {
  for (const name of fs.readdirSync(dir).filter((each) => FRESH.test(each))) {
    const file = path.join(dir, name);
    const { mtimeMs = nowMs } = fs.statSync(file, { throwIfNoEntry: false }) ?? {};
    if (nowMs - mtimeMs > ABANDONED_MS) fs.rmSync(file, { force: true });
  }
}
