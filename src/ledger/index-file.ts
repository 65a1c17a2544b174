import * as crypto from 'node:crypto';
import * as fs from 'node:fs';
import * as path from 'node:path';
import { crc32 } from 'node:zlib';
import type { Job, JobState } from './event.ts';
import type { Wanted } from './ledger.ts';

// What the journals say, in one line a job: who it is, where it stands and where its lines are. The file saves reading and
// nothing else: the journals decide, and one that is missing, stale, damaged or of another build is made anew from them.
//
// It is made of blocks, each read and summed only when it is asked for: the rows of the jobs, about in the order of time, and
// their names, sorted. At the end stand a table of the blocks and where it begins.

/** Raised whenever a row, a name, or what makes a job settled, changes. */
const FORMAT = 'gw-index-2';
const NAME = 'index';
const FRESH = /^index\.[0-9a-f]+\.fresh$/;
/** What a killed process was writing is put away after this time. */
const ABANDONED_MS = 600_000;
const ROWS_A_BLOCK = 256;
const NAMES_A_BLOCK = 512;
/** While the index is made, its names are in runs; as many of about one length become one. */
const MOST_ALIKE = 16;

/** How much of a journal the rows stand for. */
export interface ReadJournal {
  readonly name: string;
  /** The file's number (inode). */
  readonly number: number;
  readonly bytes: number;
  /** How many newlines stand in them. */
  readonly newlines: number;
  /** A sum of what stands before that byte: a number that was given to another file does not bring the same text. */
  readonly tail: number;
}

/** A stretch of a journal that holds lines of a job: the journal's place in the list, first and last byte. */
export type Span = readonly [journal: number, startByte: number, endByte: number];

/** A job as far as it can be told without its lines. */
export interface Row {
  /** Its place among the rows, which it keeps. */
  readonly slot: number;
  readonly key: string;
  readonly createdAtMs: number;
  readonly state: JobState;
  readonly family: string;
  /** Nothing is left to do for it, unless a line is added. */
  readonly isSettled: boolean;
  readonly spans: readonly Span[];
}

/** The index is damaged, or that of other journals. */
export class StaleIndex extends Error {}

class TwoRows extends Error {}

/** What the blocks are, in the order in which they stand in the file. */
interface Table {
  readonly facts: IndexFacts;
  readonly count: number;
  readonly rows: readonly RowFacts[];
  readonly names: readonly NameFacts[];
}
/** How many of the jobs are not settled, and when the newest of them was created. */
type RowFacts = readonly [bytes: number, sum: number, open: number, newestMs: number];
type NameFacts = readonly [bytes: number, sum: number, first: string];

/** Lines that stand together: in memory since they were made, or in a file that is open. */
abstract class Block<Facts extends RowFacts | NameFacts> {
  /** `facts` as they stand in the table: there are very many blocks, of which a command reads a few. */
  constructor(
    readonly facts: Facts,
    private readonly place: Buffer | number,
    private readonly at = 0,
  ) {}

  read(): Buffer {
    return typeof this.place === 'number' ? readAt(this.place, this.at, this.facts[0]) : this.place;
  }

  lines(): string[] {
    return textOf(this.read(), this.facts[1]).split('\n');
  }
}
class RowBlock extends Block<RowFacts> {
  get open() {
    return this.facts[2];
  }
  get newestMs() {
    return this.facts[3];
  }
}
class NameBlock extends Block<NameFacts> {
  get first() {
    return this.facts[2];
  }
}
type AnyBlock = RowBlock | NameBlock;
type Run = readonly NameBlock[];
/** The format, and how long the table before it is and its sum. */
const TRAILER_BYTES = 40;

export interface IndexFacts {
  readonly journals: readonly ReadJournal[];
  /** The lines that could not be read: the journal's place in the list, and the line's number from 1. */
  readonly unreadable: readonly (readonly [journal: number, line: number])[];
}

/** What goes into the index of one job, and takes the place of the row of its slot. */
export interface NewRow {
  readonly key: string;
  readonly id: string | undefined;
  readonly externalId: string | undefined;
  readonly slot: number | undefined;
  /** Of `rowText`; undefined where no line says that there is a job. */
  readonly text: string | undefined;
}

/** A row without its slot, as it is kept. */
export const rowText = (
  { createdAtMs, key, state, family }: Job,
  isSettled: boolean,
  spans: readonly Span[],
): string => JSON.stringify([isSettled ? 1 : 0, createdAtMs, key, state, family, ...spans.flat()]);
const OPEN_ROW = '[0,';
const createdAtIn = (text: string): number => Number(text.slice(OPEN_ROW.length, text.indexOf(',', 3)));

function rowOf(text: string, slot: number): Row {
  const [settled, createdAtMs, key, state, family, ...flat] = JSON.parse(text);
  const spans: Span[] = [];
  for (let at = 0; at < flat.length; at += 3) spans.push([flat[at], flat[at + 1], flat[at + 2]]);
  return { slot, key, createdAtMs, state, family, isSettled: settled === 1, spans };
}

type Aged = Pick<Row, 'createdAtMs' | 'spans'>;

/** Older first; of equal times the one that was seen first. */
export function byAge(left: Aged, right: Aged): number {
  const [leftAt = [0, 0, 0], rightAt = [0, 0, 0]] = [left.spans[0], right.spans[0]];
  return left.createdAtMs - right.createdAtMs || leftAt[0] - rightAt[0] || leftAt[1] - rightAt[1];
}

// A name is kept as JSON, a comma and the slot of its job. A mark behind tells a key, one before it an external ID.
const KEY_MARK = '!';
const named = (name: string): string => `${JSON.stringify(name)},`;
const namedOutside = (externalId: string): string => `=${named(externalId)}`;

function* namesOf({ key, id, externalId }: NewRow, slot: number): Generator<string> {
  yield `${named(key)}${slot}${KEY_MARK}`;
  if (id !== undefined && id !== key) yield `${named(id)}${slot}`;
  if (externalId !== undefined && externalId !== key && externalId !== id) {
    yield `${namedOutside(externalId)}${slot}`;
  }
}
const endOfName = (line: string): number => line.lastIndexOf(',');

/** How the names begin that a job may be looked for by; undefined where none is said. */
export function beginningsOf({ beginning, externalId, ids }: Wanted): string[] | undefined {
  if (ids) return ids.map(named);
  if (beginning !== undefined) return [beginningWith(beginning)];
  return externalId === undefined ? undefined : [named(externalId), namedOutside(externalId)];
}
/** How keys and task IDs are kept that begin with a text. */
export const beginningWith = (text: string): string => JSON.stringify(text).slice(0, -1);

/** The jobs of journals, as they are kept for the next process. */
export class Index {
  /** The lines of a block of rows and of one of each run of names that were read last: what is asked next is often near. */
  readonly #lastRead = new Map<number, { readonly block: AnyBlock; readonly lines: string[] }>();

  private constructor(
    readonly facts: IndexFacts,
    /** How many jobs there are. */
    readonly count: number,
    private readonly rows: readonly RowBlock[],
    /** Made when a name is looked for first. */
    private readonly makeRuns: () => readonly Run[],
    private readonly fd: number | undefined,
  ) {}

  #runs: readonly Run[] | undefined;
  private get runs(): readonly Run[] {
    this.#runs ??= this.makeRuns();
    return this.#runs;
  }

  static readonly empty = new Index({ journals: [], unreadable: [] }, 0, [], () => [], undefined);

  /** The index of a ledger as it was written last; undefined where there is none that can be used. */
  static open(dir: string): Index | undefined {
    let fd: number | undefined;
    try {
      const opened = fs.openSync(path.join(dir, NAME), 'r');
      fd = opened;
      const trailerAt = fs.fstatSync(opened).size - TRAILER_BYTES;
      const trailer = readAt(opened, trailerAt, TRAILER_BYTES).toString('latin1');
      const [format, tableBytes, sum] = trailer.trim().split(/ +/);
      if (format !== FORMAT) throw new StaleIndex();
      const bytes = Number(tableBytes);
      const table = textOf(readAt(opened, trailerAt - bytes, bytes), Number(sum));
      const { facts, count, rows, names }: Table = JSON.parse(table);
      let at = 0;
      const rowBlocks: RowBlock[] = [];
      for (const row of rows) {
        rowBlocks.push(new RowBlock(row, opened, at));
        at += row[0];
      }
      const makeRuns = (): Run[] => [
        names.map((name) => {
          at += name[0];
          return new NameBlock(name, opened, at - name[0]);
        }),
      ];
      return new Index(facts, count, rowBlocks, makeRuns, opened);
    } catch {
      if (fd !== undefined) fs.closeSync(fd);
      return undefined;
    }
  }

  /**
   * Keeps it for the next process, all names in one run; where it cannot be kept, that costs that process time, and nothing
   * is said of it. False where a job has two rows: then nothing is kept. Throws StaleIndex where it is damaged.
   */
  write(dir: string): boolean {
    const fresh = path.join(dir, `${NAME}.${crypto.randomBytes(6).toString('hex')}.fresh`);
    let isBegun = false;
    try {
      const fd = fs.openSync(fresh, 'wx', 0o600);
      isBegun = true;
      let nowMs: number;
      try {
        for (const block of this.rows) fs.writeFileSync(fd, block.read());
        const names: NameFacts[] = [];
        for (const lines of cut(this.#namesInOrder(), NAMES_A_BLOCK)) {
          const block = nameBlock(lines);
          fs.writeFileSync(fd, block.read());
          names.push(block.facts);
        }
        const rows = this.rows.map(({ facts }) => facts);
        const table: Table = { facts: this.facts, count: this.count, rows, names };
        const end = Buffer.from(JSON.stringify(table));
        fs.writeFileSync(fd, end);
        fs.writeFileSync(fd, `\n${FORMAT} ${end.length} ${crc32(end)}`.padEnd(TRAILER_BYTES));
        nowMs = fs.fstatSync(fd).mtimeMs;
      } finally {
        fs.closeSync(fd);
      }
      fs.renameSync(fresh, path.join(dir, NAME));
      removeAbandoned(dir, nowMs);
      return true;
    } catch (error) {
      if (isBegun) fs.rmSync(fresh, { force: true });
      if (error instanceof StaleIndex) throw error;
      return !(error instanceof TwoRows) && !this.#hasTwoRows();
    }
  }

  /** The names of all runs, sorted. Throws TwoRows where two jobs have one key. */
  *#namesInOrder(): Generator<string> {
    let lastKey: string | undefined;
    for (const line of merged(this.runs)) {
      if (line.endsWith(KEY_MARK)) {
        const key = line.slice(0, endOfName(line));
        if (key === lastKey) throw new TwoRows();
        lastKey = key;
      }
      yield line;
    }
  }

  #hasTwoRows(): boolean {
    try {
      for (const _ of this.#namesInOrder());
      return false;
    } catch (error) {
      if (error instanceof TwoRows) return true;
      throw error;
    }
  }

  /** The same with all that lies in the file in memory: Windows replaces no file that is open. */
  inMemory(): Index {
    if (this.fd === undefined) return this;
    const rows = this.rows.map((block) => new RowBlock(block.facts, block.read()));
    const runs = this.runs.map((run) => run.map((block) => new NameBlock(block.facts, block.read())));
    this.close();
    return new Index(this.facts, this.count, rows, () => runs, undefined);
  }

  /** Lets go of the file: what lies there can be read no longer. */
  close(): void {
    if (this.fd !== undefined) fs.closeSync(this.fd);
  }

  /** The same with rows that are new, or take the place of others. */
  with(added: readonly NewRow[], facts: IndexFacts): Index {
    const rows = [...this.rows];
    const changed = new Map<number, string[]>();
    const names: string[] = [];
    let { count } = this;
    for (const row of added) {
      const { slot = count, text } = row;
      if (text === undefined) continue;
      if (slot === count) count += 1;
      const at = Math.floor(slot / ROWS_A_BLOCK);
      const block = this.rows[at];
      const lines = changed.get(at) ?? block?.lines() ?? [];
      changed.set(at, lines);
      lines[slot % ROWS_A_BLOCK] = text;
      names.push(...namesOf(row, slot));
    }
    for (const [at, lines] of changed) {
      const bytes = Buffer.from(lines.join('\n'));
      const open = lines.filter((line) => line.startsWith(OPEN_ROW)).length;
      const newestMs = Math.max(...lines.map(createdAtIn));
      rows[at] = new RowBlock([bytes.length, crc32(bytes), open, newestMs], bytes);
    }
    const runs = [...this.runs];
    let run = nameBlocks(names.sort());
    for (;;) {
      const from = runs.findIndex(({ length }) => length <= 2 * run.length);
      if (from === -1 || runs.length - from < MOST_ALIKE) break;
      run = nameBlocks(merged([...runs.splice(from), run]));
    }
    if (run.length > 0) runs.push(run);
    return new Index(facts, count, rows, () => runs, this.fd);
  }

  /** When the newest job was created. */
  get newestMs(): number {
    return this.rows.reduce((newest, block) => Math.max(newest, block.newestMs), Number.NEGATIVE_INFINITY);
  }

  /** Rows, the newest first; with `slots` only those, with `isOpen` those that are not settled, with `sinceMs` no older ones. */
  *newestFirst({
    slots,
    isOpen,
    sinceMs = Number.NEGATIVE_INFINITY,
  }: {
    readonly slots?: ReadonlySet<number> | undefined;
    readonly isOpen?: boolean | undefined;
    readonly sinceMs?: number | undefined;
  }): Generator<Row> {
    const places = slots && new Set([...slots].map((slot) => Math.floor(slot / ROWS_A_BLOCK)));
    const blocks: { readonly at: number; readonly block: RowBlock }[] = [];
    for (const at of places ?? this.rows.keys()) {
      const block = this.rows[at];
      if (block && !(isOpen && block.open === 0) && block.newestMs >= sinceMs) blocks.push({ at, block });
    }
    blocks.sort((left, right) => right.block.newestMs - left.block.newestMs);
    // A clock may have stepped back: a row waits until no block can hold a newer one.
    const waiting: Row[] = [];
    for (const { at, block } of blocks) {
      for (let row = waiting.at(-1); row && row.createdAtMs > block.newestMs; row = waiting.at(-1)) {
        yield row;
        waiting.pop();
      }
      for (const [line, text] of this.#lines(ROWS, block).entries()) {
        const slot = at * ROWS_A_BLOCK + line;
        if ((!slots || slots.has(slot)) && !(isOpen && !text.startsWith(OPEN_ROW))) {
          waiting.push(rowOf(text, slot));
        }
      }
      waiting.sort(byAge);
    }
    yield* waiting.reverse();
  }

  /** The slots of the jobs that have a name which begins in one of these ways. */
  slotsOf(beginnings: readonly string[]): Set<number> {
    const slots = new Set<number>();
    for (const line of this.#linesWith(beginnings)) {
      slots.add(Number.parseInt(line.slice(endOfName(line) + 1), 10));
    }
    return slots;
  }

  /** The names that begin in one of these ways. */
  namesWith(beginnings: readonly string[]): Set<string> {
    const names = new Set<string>();
    for (const line of this.#linesWith(beginnings)) {
      names.add(JSON.parse(line.slice(0, endOfName(line))));
    }
    return names;
  }

  /** The job of a key. */
  rowOf(key: string): Row | undefined {
    const slots = this.slotsOf([named(key)]);
    if (slots.size === 0) return undefined;
    for (const row of this.newestFirst({ slots })) if (row.key === key) return row;
    return undefined;
  }

  *#linesWith(beginnings: readonly string[]): Generator<string> {
    for (const [at, run] of this.runs.entries()) {
      for (const beginning of [...beginnings].sort()) {
        // What begins like that may begin in the block before.
        let from = Math.max(0, firstWhere(run, ({ first }) => first >= beginning) - 1);
        for (let block = run[from]; block; block = run[from]) {
          const lines = this.#lines(at, block);
          let line = firstWhere(lines, (text) => text >= beginning);
          for (; lines[line]?.startsWith(beginning); line += 1) yield lines[line] ?? '';
          if (line < lines.length) break;
          from += 1;
        }
      }
    }
  }

  #lines(place: number, block: AnyBlock): string[] {
    const last = this.#lastRead.get(place);
    if (last?.block === block) return last.lines;
    const lines = block.lines();
    this.#lastRead.set(place, { block, lines });
    return lines;
  }
}

/** The place of the rows among what was read last; the runs have their numbers. */
const ROWS = -1;

function textOf(bytes: Buffer, sum: number): string {
  if (crc32(bytes) !== sum) throw new StaleIndex();
  return bytes.toString();
}

function nameBlock(lines: readonly string[]): NameBlock {
  const bytes = Buffer.from(lines.join('\n'));
  return new NameBlock([bytes.length, crc32(bytes), lines[0] ?? ''], bytes);
}
const nameBlocks = (sorted: Iterable<string>): NameBlock[] =>
  Array.from(cut(sorted, NAMES_A_BLOCK), nameBlock);

function* cut(lines: Iterable<string>, count: number): Generator<string[]> {
  let piece: string[] = [];
  for (const line of lines) {
    if (piece.push(line) < count) continue;
    yield piece;
    piece = [];
  }
  if (piece.length > 0) yield piece;
}

/** The lines of all runs in order, each once. */
function* merged(runs: readonly Run[]): Generator<string> {
  const heads = runs.map((run) => {
    const lines = linesOfRun(run);
    return { lines, next: lines.next().value };
  });
  for (let last: string | undefined; ; ) {
    let least: (typeof heads)[number] | undefined;
    for (const head of heads) {
      if (head.next !== undefined && (least?.next === undefined || head.next < least.next)) least = head;
    }
    if (least?.next === undefined) return;
    if (least.next !== last) yield least.next;
    last = least.next;
    least.next = least.lines.next().value;
  }
}

function* linesOfRun(run: Run): Generator<string, undefined> {
  for (const block of run) yield* block.lines();
}

/** Where the first of what is sorted stands that a test holds for; behind the end where it holds for none. */
function firstWhere<T>(sorted: readonly T[], holds: (each: T) => boolean): number {
  let [low, high] = [0, sorted.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    const each = sorted[middle];
    if (each !== undefined && holds(each)) high = middle;
    else low = middle + 1;
  }
  return low;
}

function readAt(fd: number, at: number, count: number): Buffer {
  const bytes = Buffer.allocUnsafe(count);
  try {
    if (fs.readSync(fd, bytes, 0, count, at) === count) return bytes;
  } catch {
    // As a file that is too short.
  }
  throw new StaleIndex();
}

/** After jobs were forgotten: their names are not kept either. */
export const removeIndex = (dir: string): void => fs.rmSync(path.join(dir, NAME), { force: true });

/** `nowMs` is the time as the file system has it, which dates the files. */
function removeAbandoned(dir: string, nowMs: number): void {
  for (const name of fs.readdirSync(dir).filter((each) => FRESH.test(each))) {
    const file = path.join(dir, name);
    const { mtimeMs = nowMs } = fs.statSync(file, { throwIfNoEntry: false }) ?? {};
    if (nowMs - mtimeMs > ABANDONED_MS) fs.rmSync(file, { force: true });
  }
}
