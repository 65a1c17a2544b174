import * as crypto from 'node:crypto';
import * as fs from 'node:fs';
import * as path from 'node:path';
import { linesOf } from '../disk/read-lines.ts';
import { errorCode } from '../errors.ts';
import type { Job, JobState, LedgerLine } from './event.ts';
import { addLine, type Draft, jobOf, newDraft, salvage } from './fold.ts';
import {
  emptyIndex,
  type IndexContent,
  OPEN_ROW,
  type ReadJournal,
  type Row,
  readIndex,
  readRow,
  rowText,
  type Span,
  writeIndex,
} from './index-file.ts';
import { journals } from './journal-files.ts';
import type { UnreadableLine, Wanted } from './ledger.ts';
import { keyIn, parseLine } from './parse-line.ts';
import { endOfLastLine } from './rewrite-journal.ts';
import type { IsSettled } from './settled.ts';

/** How much may be read line by line at each start before it goes into the index: this, and a share of what is in it. */
const FOLD_BYTES = 1 << 18;
const FOLD_SHARE = 1 / 256;
/** As much is folded before it goes into the index, so that its size does not matter. */
const SLICE_BYTES = 1 << 24;
const TAIL_BYTES = 256;
/** Lines of one job that stand further apart are two stretches. */
const GAP_BYTES = 1 << 16;
/** More names than this are looked for in one pass over all rows. */
const SEARCHED_ONE_BY_ONE = 16;
/** What a job that is settled cannot be. */
const openStates: ReadonlySet<JobState> = new Set(['intent', 'sent', 'unknown', 'running']);

/** A job of which lines were seen that are not in the index yet. */
interface Entry {
  readonly key: string;
  readonly spans: Span[];
  /** Its row in the index, which this takes the place of: first byte, and the one after the last. */
  readonly row: readonly [startByte: number, endByte: number] | undefined;
  /** What its lines say; gone once the job is settled, and then `text` is its row. */
  draft: Draft | undefined;
  text: string | undefined;
  createdAtMs: number;
}

/** A row did not lead to its job: the index is that of other journals. */
class StaleIndex extends Error {}

/**
 * The jobs of a ledger, and the one way to find them. The index says where the lines of each job are and is searched as it
 * lies in its file; what was appended since is folded here and goes into the index when there is much of it. Records and
 * prompts stay on the disk until their job is asked for.
 */
export class JobIndex {
  #index: IndexContent = emptyIndex;
  #isLoaded = false;
  #entries = new Map<string, Entry>();
  #keysOfId = new Map<string, Set<string>>();
  #read: ReadJournal[] = [];
  #unreadable: (readonly [journal: number, line: number])[] = [];
  /** The same of what has no newline yet and may still be being written. */
  #torn: (readonly [journal: number, line: number])[] = [];

  constructor(
    private readonly dir: string,
    /** Loads what tells a settled job; only where the index is written. */
    private readonly loadSettled: () => Promise<IsSettled>,
  ) {}

  /** The jobs that are wanted, newest first. Throws the system's error, and GwError `usage` for a newer format. */
  async find(wanted: Wanted): Promise<Job[]> {
    try {
      await this.#refresh();
      return this.#find(wanted);
    } catch (error) {
      if (!(error instanceof StaleIndex)) throw error;
      await this.#readAnew();
      return this.#find(wanted);
    }
  }

  /** The keys and task IDs that begin with one of these. */
  async names(beginnings: readonly string[]): Promise<string[]> {
    await this.#refresh();
    const { rows } = this.#index;
    const isFew = beginnings.length <= SEARCHED_ONE_BY_ONE;
    const found = isFew
      ? beginnings.flatMap((beginning) => [...this.#rowsFor({ beginning })])
      : rows.toString('utf8').split('\n').filter(Boolean).map(readRow);
    const added = [...this.#entries.values()].map(({ key, draft }) => ({ key, id: draft?.job.id }));
    const names = new Set(
      [...found, ...added].flatMap(({ key, id }) => (id === undefined ? [key] : [key, id])),
    );
    return [...names].filter((name) => !isFew || beginnings.some((beginning) => name.startsWith(beginning)));
  }

  /** How many jobs there are. */
  async count(): Promise<number> {
    await this.#refresh();
    const added = [...this.#entries.values()].filter((entry) => !entry.row && this.#jobOfEntry(entry));
    return this.#index.count + added.length;
  }

  /** The lines that the last look could not read. */
  get unreadable(): UnreadableLine[] {
    return [...this.#unreadable, ...this.#torn].map(([at, line]) => ({ path: this.#pathOf(at), line }));
  }

  #find(wanted: Wanted): Job[] {
    const names = wanted.ids && new Set(wanted.ids);
    const found: Job[] = [];
    for (const job of this.#newestFirst(wanted)) {
      if (found.length === wanted.limit) break;
      if (isWanted(job, wanted, names)) found.push(job);
    }
    return found;
  }

  /** Jobs that may be wanted; of equal times the later seen comes first. */
  *#newestFirst(wanted: Wanted): Generator<Job> {
    const entries = this.#entriesFor(wanted).sort(byAge).reverse();
    for (const row of this.#rowsFor(wanted)) {
      if (this.#entries.has(row.key)) continue;
      for (let entry = entries[0]; entry && byAge(entry, row) > 0; entry = entries[0]) {
        const job = this.#jobOfEntry(entry);
        entries.shift();
        if (job) yield job;
      }
      yield this.#jobOfRow(row);
    }
    for (const entry of entries) {
      const job = this.#jobOfEntry(entry);
      if (job) yield job;
    }
  }

  #entriesFor({ ids }: Wanted): Entry[] {
    if (ids === undefined) return [...this.#entries.values()];
    const keys = new Set(ids.flatMap((id) => [id, ...(this.#keysOfId.get(id) ?? [])]));
    return [...keys].map((key) => this.#entries.get(key)).filter((entry) => entry !== undefined);
  }

  #jobOfEntry({ draft, spans, key }: Entry): Job | undefined {
    return jobOf(draft ?? this.#draftOf(key, spans));
  }

  #jobOfRow({ key, spans }: Row): Job {
    const job = jobOf(this.#draftOf(key, spans));
    if (!job) throw new StaleIndex();
    return job;
  }

  /** What a job's lines say, read from where they stand. */
  #draftOf(key: string, spans: readonly Span[]): Draft {
    const draft = newDraft(key);
    for (const [journal, startByte, endByte] of spans) {
      const file = this.#pathOf(journal);
      for (const found of linesOf(file, { needle: JSON.stringify(key), startByte, endByte })) {
        const line = parseLine(found.text, file);
        if (line === 'bad') this.#tellOfDamage(journal, found.startByte);
        if (typeof line === 'string') salvage(draft, found.text);
        else if (line.job === key) addLine(draft, line);
      }
    }
    return draft;
  }

  /** A line that was whole when the index was made. */
  #tellOfDamage(journal: number, startByte: number): void {
    let newlines = 0;
    for (const line of linesOf(this.#pathOf(journal), { endByte: startByte })) newlines = line.newlines;
    const isKnown = this.#unreadable.some(([at, line]) => at === journal && line > newlines);
    if (!isKnown) this.#unreadable.push([journal, newlines + 3]);
  }

  #pathOf(journal: number): string {
    const name = this.#read[journal]?.name;
    if (name === undefined) throw new StaleIndex();
    return path.join(this.dir, name);
  }

  /** The rows of jobs that may be wanted, newest first. */
  *#rowsFor(wanted: Wanted): Generator<Row> {
    const { rows } = this.#index;
    const { family, ids, sinceMs, states } = wanted;
    const needles = needlesOf(wanted);
    if (needles) {
      const starts = new Set(needles.flatMap((needle) => [...startsOfLinesWith(rows, needle)]));
      for (const start of [...starts].sort((left, right) => right - left)) yield rowAt(rows, start);
      return;
    }
    const names = ids && new Set(ids);
    for (let end = rows.length; end > 0; ) {
      const start = end < 2 ? 0 : rows.lastIndexOf(0x0a, end - 2) + 1;
      const row = rowAt(rows, start, end);
      end = start;
      if (sinceMs !== undefined && row.createdAtMs < sinceMs) return;
      const isMeant =
        (!names || names.has(row.key) || (row.id !== undefined && names.has(row.id))) &&
        (family === undefined || family === row.family) &&
        (!states || !row.isSettled || states.includes(row.state));
      if (isMeant) yield row;
    }
  }

  /** Reads what the journals have more than before, and everything where what was read is no longer there. */
  async #refresh(): Promise<void> {
    if (!this.#isLoaded) this.#take(readIndex(this.dir) ?? emptyIndex);
    const names = namesIn(this.dir);
    const isGrown = this.#read.every((read, at) => read.name === names[at] && isStillThere(this.dir, read));
    if (!isGrown) return this.#readAnew();
    const indexed = bytesOf(this.#index.journals);
    const isDue = this.#sizeOf(names) - indexed > FOLD_BYTES + indexed * FOLD_SHARE;
    this.#readOn(names, isDue ? await this.loadSettled() : undefined);
  }

  async #readAnew(): Promise<void> {
    const isDue = this.#sizeOf(namesIn(this.dir)) > FOLD_BYTES;
    const isSettled = isDue ? await this.loadSettled() : undefined;
    this.#take(emptyIndex);
    this.#readOn(namesIn(this.dir), isSettled);
  }

  #sizeOf(names: readonly string[]): number {
    return names.reduce((sum, name) => sum + sizeOf(path.join(this.dir, name)), 0);
  }

  #take(index: IndexContent): void {
    this.#index = index;
    this.#isLoaded = true;
    this.#entries = new Map();
    this.#keysOfId = new Map();
    this.#read = [...index.journals];
    this.#unreadable = [...index.unreadable];
  }

  /** Folds what the journals have more than before; with `isSettled` it goes into the index. */
  #readOn(names: readonly string[], isSettled?: IsSettled): void {
    this.#torn = [];
    for (const [at, name] of names.entries()) {
      let end: 'more' | 'whole' | 'gone';
      do {
        end = this.#readSlice(at, name, isSettled);
        if (isSettled) this.#intoIndex(isSettled);
      } while (end === 'more');
      if (end === 'gone') break;
    }
    if (isSettled) writeIndex(this.dir, this.#index);
  }

  /** Folds the next slice of a journal that has gone on; tells whether there is more of it, or whether it has gone. */
  #readSlice(at: number, name: string, isSettled: IsSettled | undefined): 'more' | 'whole' | 'gone' {
    const before = this.#read[at] ?? { bytes: 0, newlines: 0 };
    let fd: number;
    try {
      fd = fs.openSync(path.join(this.dir, name), 'r');
    } catch (error) {
      if (errorCode(error) === 'ENOENT') return 'gone';
      throw error;
    }
    try {
      const { ino, size } = fs.fstatSync(fd);
      if (before.bytes > 0 && size === before.bytes) return 'whole';
      // Jobs that were folded away may go on in this very journal, and are read from it.
      this.#read[at] ??= { name, number: ino, bytes: 0, newlines: 0, tail: tailOf(fd, 0) };
      let sliceEnd = before.bytes;
      let end: number;
      do {
        sliceEnd = Math.min(size, sliceEnd + SLICE_BYTES);
        end = Math.max(before.bytes, endOfLastLine(fd, sliceEnd));
      } while (end === before.bytes && sliceEnd < size);
      const newlines = before.newlines + this.#fold(at, name, before, end, this.#unreadable, isSettled);
      this.#read[at] = { name, number: ino, bytes: end, newlines, tail: tailOf(fd, end) };
      if (sliceEnd < size) return 'more';
      // What has no newline yet may still be being written, and is looked at again.
      this.#fold(at, name, { bytes: end, newlines }, size, this.#torn, undefined);
      return 'whole';
    } finally {
      fs.closeSync(fd);
    }
  }

  /** Folds the lines of a journal up to a byte; returns how many newlines stand there. */
  #fold(
    at: number,
    name: string,
    from: { readonly bytes: number; readonly newlines: number },
    endByte: number,
    unreadable: (readonly [journal: number, line: number])[],
    isSettled: IsSettled | undefined,
  ): number {
    if (endByte <= from.bytes) return 0;
    const file = path.join(this.dir, name);
    // Behind the last line there is nothing but newlines.
    let newlines = endByte - from.bytes;
    for (const found of linesOf(file, { startByte: from.bytes, endByte })) {
      newlines = found.newlines + endByte - found.endByte;
      const line = parseLine(found.text, file);
      const key = typeof line === 'string' ? keyIn(found.text) : line.job;
      if (line === 'bad') unreadable.push([at, from.newlines + found.newlines + 1]);
      if (key === undefined) continue;
      const entry = this.#entryOf(key, line);
      // Its own lines so far, before this one is among them.
      entry.draft ??= this.#draftOf(key, entry.spans);
      entry.text = undefined;
      extend(entry.spans, [at, found.startByte, found.endByte]);
      if (typeof line === 'string') salvage(entry.draft, found.text);
      else addLine(entry.draft, line);
      entry.createdAtMs = entry.draft.job.createdAtMs;
      if (typeof line === 'string') continue;
      if (line.event === 'accepted' && !isSettled) this.#nameKey(line.id, key);
      if (isSettled && mayEndIt.has(line.event)) foldAway(entry, isSettled);
    }
    return newlines;
  }

  #nameKey(id: string, key: string): void {
    const keys = this.#keysOfId.get(id);
    if (keys) keys.add(key);
    else this.#keysOfId.set(id, new Set([key]));
  }

  /** The entry of a job: one that is here, one of the index that goes on, or a new one. */
  #entryOf(key: string, line: LedgerLine | string): Entry {
    const known = this.#entries.get(key);
    if (known) return known;
    const base = { key, draft: undefined, text: undefined, createdAtMs: 0 };
    let entry: Entry = { ...base, spans: [], row: undefined };
    // A job begins with its intent; what goes on without one began in the index.
    if (typeof line === 'string' || line.event !== 'intent') {
      const { rows } = this.#index;
      for (const start of startsOfLinesWith(rows, JSON.stringify(key))) {
        const row = rowAt(rows, start);
        if (row.key !== key) continue;
        entry = {
          ...base,
          spans: row.spans.map((span): Span => [...span]),
          row: [start, endOfLine(rows, start)],
        };
        if (row.id !== undefined) this.#nameKey(row.id, key);
      }
    }
    this.#entries.set(key, entry);
    return entry;
  }

  /** Puts what was folded into the index. */
  #intoIndex(isSettled: IsSettled): void {
    const { rows } = this.#index;
    const edits: { start: number; end: number; text: string }[] = [];
    let { count } = this.#index;
    for (const entry of [...this.#entries.values()].sort(byAge)) {
      const text = entry.text ?? rowOf(entry, isSettled);
      if (text === undefined) continue;
      const start = entry.row?.[0] ?? placeOf(rows, entry);
      edits.push({ start, end: entry.row?.[1] ?? start, text });
      if (!entry.row) count += 1;
    }
    const pieces: Buffer[] = [];
    let copied = 0;
    for (const { start, end, text } of edits.sort(
      (left, right) => left.start - right.start || left.end - right.end,
    )) {
      pieces.push(rows.subarray(copied, start), Buffer.from(text));
      copied = end;
    }
    pieces.push(rows.subarray(copied));
    this.#take({ journals: this.#read, unreadable: this.#unreadable, count, rows: Buffer.concat(pieces) });
  }
}

/** The events after which a job may be settled. */
const mayEndIt: ReadonlySet<LedgerLine['event']> = new Set(['saved', 'part', 'refused', 'lost']);

function foldAway(entry: Entry, isSettled: IsSettled): void {
  const job = entry.draft && jobOf(entry.draft);
  if (!job || !isSettled(job)) return;
  entry.text = rowText({ ...job, externalId: job.externalId, isSettled: true, spans: entry.spans });
  entry.draft = undefined;
}

function rowOf({ draft, spans }: Entry, isSettled: IsSettled): string | undefined {
  const job = draft && jobOf(draft);
  return job && rowText({ ...job, externalId: job.externalId, isSettled: isSettled(job), spans });
}

/** Where the row of a new job belongs. */
function placeOf(rows: Buffer, entry: Entry): number {
  let end = rows.length;
  while (end > 0) {
    const start = end < 2 ? 0 : rows.lastIndexOf(0x0a, end - 2) + 1;
    if (byAge(rowAt(rows, start, end), entry) <= 0) break;
    end = start;
  }
  return end;
}

/** Adds a stretch to those of a job; what stands near the last one is one with it. */
function extend(spans: Span[], [journal, startByte, endByte]: Span): void {
  const last = spans.at(-1);
  if (last?.[0] === journal && startByte >= last[1] && startByte - last[2] <= GAP_BYTES) {
    last[2] = Math.max(last[2], endByte);
  } else spans.push([journal, startByte, endByte]);
}

type Aged = Pick<Row, 'createdAtMs' | 'spans'>;

/** Older first; of equal times the one that was seen first. */
function byAge(left: Aged, right: Aged): number {
  const [leftAt = [0, 0, 0], rightAt = [0, 0, 0]] = [left.spans[0], right.spans[0]];
  return left.createdAtMs - right.createdAtMs || leftAt[0] - rightAt[0] || leftAt[1] - rightAt[1];
}

/** Texts of which one stands in the row of every job that may be wanted; undefined where all rows are to be looked at. */
function needlesOf({ beginning, externalId, ids, isOpen, states }: Wanted): string[] | undefined {
  if (ids && ids.length <= SEARCHED_ONE_BY_ONE) return ids.map((id) => `,${JSON.stringify(id)},`);
  if (ids) return undefined;
  if (beginning !== undefined) return [`,${JSON.stringify(beginning).slice(0, -1)}`];
  if (externalId !== undefined) return [`,${JSON.stringify(externalId)},`];
  return isOpen || states?.every((state) => openStates.has(state)) ? [OPEN_ROW] : undefined;
}

function isWanted(job: Job, wanted: Wanted, names: ReadonlySet<string> | undefined): boolean {
  const { beginning, externalId, family, gateway, sinceMs, states, where } = wanted;
  return (
    (!names || names.has(job.key) || (job.id !== undefined && names.has(job.id))) &&
    (beginning === undefined || job.key.startsWith(beginning) || (job.id?.startsWith(beginning) ?? false)) &&
    (externalId === undefined || job.externalId === externalId) &&
    (family === undefined || job.family === family) &&
    (gateway === undefined || job.gateway === gateway) &&
    (sinceMs === undefined || job.createdAtMs >= sinceMs) &&
    (!states || states.includes(job.state)) &&
    (where?.(job) ?? true)
  );
}

function* startsOfLinesWith(rows: Buffer, needle: string): Generator<number> {
  for (let hit = rows.indexOf(needle); hit !== -1; ) {
    yield rows.lastIndexOf(0x0a, hit) + 1;
    hit = rows.indexOf(needle, endOfLine(rows, hit));
  }
}

const endOfLine = (rows: Buffer, at: number): number => rows.indexOf(0x0a, at) + 1;

const rowAt = (rows: Buffer, start: number, end = endOfLine(rows, start)): Row =>
  readRow(rows.toString('utf8', start, end));

const namesIn = (dir: string): string[] =>
  journals(dir).flatMap(({ files }) => files.map((file) => path.basename(file)));

const bytesOf = (read: readonly ReadJournal[]): number => read.reduce((sum, { bytes }) => sum + bytes, 0);

const sizeOf = (file: string): number => fs.statSync(file, { throwIfNoEntry: false })?.size ?? 0;

function isStillThere(dir: string, { name, number, bytes, tail }: ReadJournal): boolean {
  let fd: number;
  try {
    fd = fs.openSync(path.join(dir, name), 'r');
  } catch {
    return false;
  }
  try {
    const { ino, size } = fs.fstatSync(fd);
    return ino === number && size >= bytes && tailOf(fd, bytes) === tail;
  } finally {
    fs.closeSync(fd);
  }
}

function tailOf(fd: number, endByte: number): string {
  const tail = Buffer.alloc(Math.min(TAIL_BYTES, endByte));
  const count = fs.readSync(fd, tail, 0, tail.length, endByte - tail.length);
  return crypto.createHash('sha256').update(tail.subarray(0, count)).digest('base64');
}
