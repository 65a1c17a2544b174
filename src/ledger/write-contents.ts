import * as crypto from 'node:crypto';
import * as fs from 'node:fs';
import * as path from 'node:path';
import { crc32 } from 'node:zlib';
import { renameFile } from '../disk/durable-directory.ts';
import {
  byAge,
  type Contents,
  FORMAT,
  MOST_PIECES,
  NAME,
  NAMES_A_PAGE,
  namesOf,
  type Read,
  type Row,
  rowOf,
  StaleContents,
  type Table,
  TRAILER_BYTES,
} from './contents.ts';
import { type IsSettled, loadSettled } from './settled.ts';

const FRESH = /^contents\.[0-9a-f]+\.fresh$/;
/** A temporary file of a killed process is removed after this time. */
const ABANDONED_MS = 600_000;
const ROWS_A_PIECE = 256;

const textOf = ({ key, createdAtMs, id, externalId, body, isSettled, spans }: Row): string =>
  JSON.stringify([isSettled ? 1 : 0, createdAtMs, key, id, externalId, body, ...spans.flat()]);

/** New rows, oldest first; `replaced` are the keys whose old rows they replace. */
interface Change {
  readonly added: readonly Row[];
  readonly replaced: ReadonlySet<string>;
}

/** Rewrites the table of contents. Most runs only read it and do not load this class. */
export class ContentsWriter {
  constructor(readonly isSettled: IsSettled) {}

  /**
   * Writes contents with a change. Returns false if the file cannot be written: that only costs the next process time,
   * so nothing is reported. Throws StaleContents if the old contents are damaged.
   */
  write(contents: Contents, dir: string, change: Change, read: Read): boolean {
    const fresh = path.join(dir, `${NAME}.${crypto.randomBytes(6).toString('hex')}.fresh`);
    let fd: number | undefined;
    try {
      fd = fs.openSync(fresh, 'wx', 0o600);
      const table = JSON.stringify({ ...read, ...writeRows(fd, contents, change) });
      fs.writeFileSync(fd, table);
      fs.writeFileSync(fd, `\n${FORMAT} ${Buffer.byteLength(table)} ${crc32(table)}`.padEnd(TRAILER_BYTES));
      const nowMs = fs.fstatSync(fd).mtimeMs;
      fs.closeSync(fd);
      fd = undefined;
      contents.close();
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
}

export const loadWriter = async (): Promise<ContentsWriter> => new ContentsWriter(await loadSettled());

/** The index of the first piece that a change affects; the last piece has room for more rows. */
function firstChanged(contents: Contents, { added, replaced }: Change): number {
  const { pieces } = contents.table;
  const oldestMs = added[0]?.createdAtMs ?? Number.POSITIVE_INFINITY;
  const behind = pieces.findIndex(([, , , newestMs]) => newestMs >= oldestMs);
  const changed = [...replaced].flatMap((key) => contents.piecesOf(key));
  return Math.max(0, Math.min(behind === -1 ? pieces.length - 1 : behind, ...changed));
}

/** The rows from a piece on, merged with the added ones, oldest first. */
function* rowsWith(contents: Contents, { added, replaced }: Change, from: number): Generator<Row> {
  let next = 0;
  for (let at = from; at < contents.table.pieces.length; at += 1) {
    for (const text of contents.textsOf(at)) {
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

/** Writes all rows and names; returns their part of the table. Throws the system's error. */
function writeRows(fd: number, contents: Contents, change: Change): Omit<Table, keyof Read> {
  const kept = firstChanged(contents, change);
  const pieces = contents.table.pieces.slice(0, kept);
  const names: number[] = [];
  for (const at of pieces.keys()) fs.writeFileSync(fd, contents.piece(at));
  for (const rows of cut(rowsWith(contents, change, kept), ROWS_A_PIECE)) {
    for (const row of rows) {
      for (const name of namesOf(row)) names.push(crc32(name) * MOST_PIECES + pieces.length);
    }
    const bytes = Buffer.from(rows.map(textOf).join('\n'));
    fs.writeFileSync(fd, bytes);
    const open = rows.filter((row) => !row.isSettled).length;
    pieces.push([bytes.length, crc32(bytes), open, rows.at(-1)?.createdAtMs ?? 0]);
  }
  const pages: [number, number, number][] = [];
  for (const page of cut(namesWith(contents, names, kept), NAMES_A_PAGE)) {
    const bytes = Buffer.from(Float64Array.from(page).buffer);
    fs.writeFileSync(fd, bytes);
    pages.push([crc32(bytes), page.length, page[0] ?? 0]);
  }
  return { pieces, pages };
}

/** The names in the kept pieces, merged with the added ones. */
function* namesWith(contents: Contents, added: readonly number[], kept: number): Generator<number> {
  const rest = Float64Array.from(added).sort();
  let next = 0;
  for (let at = 0; at < contents.table.pages.length; at += 1) {
    for (const entry of contents.page(at)) {
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

/** `nowMs` is a time of the file system, whose clock dates the files. */
function removeAbandoned(dir: string, nowMs: number): void {
  for (const name of fs.readdirSync(dir).filter((each) => FRESH.test(each))) {
    const file = path.join(dir, name);
    const { mtimeMs = nowMs } = fs.statSync(file, { throwIfNoEntry: false }) ?? {};
    if (nowMs - mtimeMs > ABANDONED_MS) fs.rmSync(file, { force: true });
  }
}
