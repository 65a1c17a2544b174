import * as fs from 'node:fs';
import * as path from 'node:path';
import { crc32 } from 'node:zlib';
import { type Line, linesOf } from '../disk/read-lines.ts';
import { errorCode, usage } from '../errors.ts';
import type { Job, JobState, LedgerLine } from './event.ts';
import { addLine, type Draft, jobOf, newDraft, salvage } from './fold.ts';
import {
  beginningsOf,
  beginningWith,
  byAge,
  Index,
  type NewRow,
  type ReadJournal,
  type Row,
  rowText,
  type Span,
  StaleIndex,
} from './index-file.ts';
import { journals } from './journal-files.ts';
import type { UnreadableLine, Wanted } from './ledger.ts';
import { headOf, keyIn, parseLine } from './parse-line.ts';
import { endOfLastLine } from './rewrite-journal.ts';
import type { IsSettled } from './settled.ts';

/** How much may be read line by line at each start before it goes into the index: this, and a share of what is in it. */
const FOLD_BYTES = 1 << 18;
const FOLD_SHARE = 1 / 2048;
/** As much is folded before what is settled goes into the index, so that the size of a journal does not matter. */
const SLICE_BYTES = 1 << 20;
/** As many jobs that are not settled may wait for the rest of their lines before they go into the index too. */
const MOST_WAITING = 10_000;
const TAIL_BYTES = 256;
/** Lines of one job that stand further apart are two stretches. */
const GAP_BYTES = 1 << 16;
/** As much of a job is read to see what it asked for: an intent with a long prompt. */
const INTENT_BYTES = 1 << 13;
const PIECE_BYTES = 1 << 16;
/** So often is looked again where the journals are rewritten meanwhile. */
const MOST_TRIES = 5;
/** What a job that is settled cannot be. */
const openStates: ReadonlySet<JobState> = new Set(['intent', 'sent', 'unknown', 'running']);

/** A job of which lines were seen that are not in the index yet; once it is settled only its new row is kept. */
interface Entry extends Writable<NewRow> {
  spans: readonly Span[];
  draft: Draft | undefined;
  createdAtMs: number;
}
type Writable<T> = { -readonly [K in keyof T]: T[K] };

/** As much of a job as its place among others needs. */
type Seen = Pick<Entry, 'key' | 'createdAtMs' | 'spans'>;

/** A line that was read, and where its number, from 1, is told if it is damaged. */
interface Unfolded {
  readonly found: Line;
  readonly file: string;
  readonly journal: number;
  readonly number: number;
  readonly unreadable: Unreadable;
}
type Unreadable = (readonly [journal: number, line: number])[];

/**
 * The jobs of a ledger, and the one way to find them. The index says where the lines of each job are and is read
 * piece by piece; what was appended since is folded here and goes into the index when there is much of it. Records and
 * prompts stay on the disk until their job is asked for.
 */
export class JobIndex {
  #index = Index.empty;
  #isLoaded = false;
  #entries = new Map<string, Entry>();
  #keysOfId = new Map<string, Set<string>>();
  /** Lines that were read and come after all that is folded of their jobs. Who looks for a body needs few of them. */
  #unfolded: Unfolded[] = [];
  #read: ReadJournal[] = [];
  #unreadable: Unreadable = [];
  /** The same of what has no newline yet and may still be being written. */
  #torn: Unreadable = [];

  constructor(
    private readonly dir: string,
    /** Loads what tells a settled job; only where the index is written. */
    private readonly loadSettled: () => Promise<IsSettled>,
  ) {}

  /** The jobs that are wanted, newest first. Throws the system's error, and GwError `usage` for a newer format. */
  find(wanted: Wanted): Promise<Job[]> {
    return this.#answer(() => this.#find(wanted));
  }

  /** The keys and task IDs that begin with one of these. */
  names(beginnings: readonly string[]): Promise<string[]> {
    return this.#answer(() => {
      this.#foldOn();
      const names = this.#index.namesWith(beginnings.map(beginningWith));
      for (const { key, draft } of this.#entries.values()) {
        const id = draft?.job.id;
        for (const name of id === undefined ? [key] : [key, id]) {
          if (beginnings.some((beginning) => name.startsWith(beginning))) names.add(name);
        }
      }
      return [...names];
    });
  }

  /** How many jobs there are. */
  count(): Promise<number> {
    return this.#answer(() => {
      this.#foldOn();
      const added = [...this.#entries.values()].filter(
        ({ slot, key }) => slot === undefined && this.#jobOf(key),
      );
      return this.#index.count + added.length;
    });
  }

  /**
   * Looks after what the journals have more than before. An index that turns out to be of no use is made anew; where the
   * journals were rewritten meanwhile, what was read of two forms of one is not believed.
   */
  async #answer<T>(look: () => T): Promise<T> {
    let isStale = false;
    for (let tries = 0; tries < MOST_TRIES; tries += 1) {
      try {
        await (isStale ? this.#readAnew() : this.#refresh());
        const answer = look();
        if (this.#isCurrent(namesIn(this.dir))) return answer;
      } catch (error) {
        if (!(error instanceof StaleIndex)) throw error;
        isStale = true;
      }
    }
    throw usage(
      'the ledger is being rewritten again and again',
      'wait for gw jobs prune to end, then run this again',
    );
  }

  /** Whether what was read is still there, and nothing is missing between. */
  #isCurrent(names: readonly string[]): boolean {
    return this.#read.every((read, at) => read.name === names[at] && isStillThere(this.dir, read));
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
    const { bodySha256 } = wanted;
    const goingOn = bodySha256 && this.#goingOn(bodySha256);
    if (!goingOn) this.#foldOn();
    const seen = goingOn
      ? [...goingOn.values()].filter((each) => each !== undefined)
      : this.#entriesFor(wanted);
    seen.sort(byAge);
    const { newestMs } = this.#index;
    yield* this.#taken(seen, ({ createdAtMs }) => createdAtMs > newestMs);
    const rows = this.#rowsFor(wanted, goingOn);
    for (const row of bodySha256 ? this.#withBody(rows, bodySha256) : rows) {
      if (goingOn?.get(row.key) ?? this.#entries.has(row.key)) continue;
      yield* this.#taken(seen, (each) => byAge(each, row) > 0);
      const job = goingOn?.has(row.key) ? this.#jobOf(row.key) : this.#jobOfRow(row);
      if (job) yield job;
    }
    yield* this.#taken(seen, () => true);
  }

  /** The newest jobs, as long as they are meant; they are left out of `seen`, which has the oldest first. */
  *#taken(seen: Seen[], isMeant: (each: Seen) => boolean): Generator<Job> {
    for (let each = seen.at(-1); each && isMeant(each); each = seen.at(-1)) {
      seen.pop();
      const job = this.#jobOf(each.key);
      if (job) yield job;
    }
  }

  /**
   * The jobs that have lines to be folded, each with its place where such a line may be the intent that asked for a body;
   * undefined where everything must be folded to tell.
   */
  #goingOn(bodySha256: NonNullable<Wanted['bodySha256']>): Map<string, Seen | undefined> | undefined {
    if (this.#entries.size > 0) return undefined;
    const goingOn = new Map<string, Seen | undefined>();
    for (const { found, journal } of this.#unfolded) {
      const { text, startByte, endByte } = found;
      const head = headOf(text);
      if (!head) return undefined;
      const { key, writtenAtMs: createdAtMs } = head;
      const isMeant = text.includes('"intent"') && mayAsk(text, key, bodySha256);
      const spans: Span[] = [[journal, startByte, endByte]];
      goingOn.set(key, goingOn.get(key) ?? (isMeant ? { key, createdAtMs, spans } : undefined));
    }
    return goingOn;
  }

  #entriesFor({ ids }: Wanted): Seen[] {
    if (ids === undefined) return [...this.#entries.values()];
    const keys = new Set(ids.flatMap((id) => [id, ...(this.#keysOfId.get(id) ?? [])]));
    return [...keys].map((key) => this.#entries.get(key)).filter((entry) => entry !== undefined);
  }

  /** A job of which lines were seen that are not in the index. */
  #jobOf(key: string): Job | undefined {
    this.#foldOn(key);
    const entry = this.#entries.get(key);
    return entry && jobOf(entry.draft ?? this.#draftOf(key, entry.spans));
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

  /** The rows of jobs that may be wanted, newest first; of those that go on the row does not tell. */
  *#rowsFor(wanted: Wanted, goingOn: ReadonlyMap<string, unknown> | undefined): Generator<Row> {
    const { family, sinceMs, states } = wanted;
    const beginnings = beginningsOf(wanted);
    const slots = beginnings && this.#index.slotsOf(beginnings);
    const isOpen = !goingOn?.size && (wanted.isOpen || states?.every((state) => openStates.has(state)));
    for (const row of this.#index.newestFirst({ slots, isOpen, sinceMs })) {
      const isMeant =
        goingOn?.has(row.key) ||
        ((family === undefined || family === row.family) &&
          (!states || !row.isSettled || states.includes(row.state)));
      if (isMeant) yield row;
    }
  }

  /** Leaves out the rows of jobs whose intents are of other bodies; what is no intent, or a long one, does not tell. */
  *#withBody(rows: Iterable<Row>, bodySha256: NonNullable<Wanted['bodySha256']>): Generator<Row> {
    // A piece of a journal: the next older job as a rule stands before this one.
    const piece = Buffer.allocUnsafe(PIECE_BYTES);
    let open: { readonly journal: number; readonly fd: number } | undefined;
    let [from, end] = [0, 0];
    try {
      for (const row of rows) {
        const [[journal, startByte] = [0, 0]] = row.spans;
        if (open?.journal !== journal) {
          if (open) fs.closeSync(open.fd);
          open = undefined;
          open = { journal, fd: openJournal(this.#pathOf(journal)) };
          end = 0;
        }
        if (startByte < from || startByte + INTENT_BYTES > end) {
          end = startByte + INTENT_BYTES;
          from = Math.max(0, end - piece.length);
          piece.fill(0, fs.readSync(open.fd, piece, 0, end - from, from));
        }
        const lineEnd = piece.subarray(0, end - from).indexOf(0x0a, startByte - from);
        const line = piece.toString('latin1', startByte - from, lineEnd);
        if (mayAsk(line, row.key, bodySha256)) yield row;
      }
    } finally {
      if (open) fs.closeSync(open.fd);
    }
  }

  /** Reads what the journals have more than before, and everything where what was read is no longer there. */
  async #refresh(): Promise<void> {
    if (!this.#isLoaded) this.#take(Index.open(this.dir) ?? Index.empty);
    const names = namesIn(this.dir);
    if (!this.#isCurrent(names)) return this.#readAnew();
    const indexed = bytesOf(this.#index.facts.journals);
    const isDue = this.#sizeOf(names) - indexed > FOLD_BYTES + indexed * FOLD_SHARE;
    await this.#readOn(names, isDue ? await this.loadSettled() : undefined);
  }

  async #readAnew(sliceBytes = SLICE_BYTES): Promise<void> {
    const isDue = this.#sizeOf(namesIn(this.dir)) > FOLD_BYTES;
    const isSettled = isDue ? await this.loadSettled() : undefined;
    this.#index.close();
    this.#take(Index.empty);
    await this.#readOn(namesIn(this.dir), isSettled, sliceBytes);
  }

  #sizeOf(names: readonly string[]): number {
    return names.reduce((sum, name) => sum + sizeOf(path.join(this.dir, name)), 0);
  }

  #take(index: Index): void {
    this.#index = index;
    this.#isLoaded = true;
    this.#entries = new Map();
    this.#keysOfId = new Map();
    this.#unfolded = [];
    this.#read = [...index.facts.journals];
    this.#unreadable = [...index.facts.unreadable];
  }

  /** Reads what the journals have more than before; with `isSettled` it goes into the index. */
  async #readOn(names: readonly string[], isSettled?: IsSettled, sliceBytes = SLICE_BYTES): Promise<void> {
    this.#torn = [];
    if (isSettled) this.#foldOn();
    for (const [at, name] of names.entries()) {
      let end: 'more' | 'whole';
      do {
        end = this.#readSlice(at, name, isSettled, sliceBytes);
        if (isSettled) this.#foldOn();
        if (isSettled && end === 'more') this.#intoIndex(isSettled);
      } while (end === 'more');
    }
    if (!isSettled) return;
    this.#intoIndex(isSettled, 'all');
    this.#index = this.#index.inMemory();
    // A rewriting that did not come to its end leaves lines twice, and who appends meanwhile an intent: those of a job must meet.
    if (!this.#index.write(this.dir)) return this.#readAnew(Number.POSITIVE_INFINITY);
    this.#take(this.#index);
  }

  /** Reads the next slice of a journal that has gone on; tells whether there is more of it. Throws StaleIndex where it has gone. */
  #readSlice(
    at: number,
    name: string,
    isSettled: IsSettled | undefined,
    sliceBytes: number,
  ): 'more' | 'whole' {
    const known = this.#read[at];
    const before = known ?? { bytes: 0, newlines: 0 };
    let fd: number;
    try {
      fd = fs.openSync(path.join(this.dir, name), 'r');
    } catch (error) {
      if (errorCode(error) !== 'ENOENT') throw error;
      // A link that leads nowhere has no lines; those of a journal that was put away stand elsewhere now.
      if (namesIn(this.dir).includes(name)) return 'whole';
      throw new StaleIndex();
    }
    try {
      // Another file may have taken its place since the last slice.
      if (known && !isSame(fd, known)) throw new StaleIndex();
      const { ino, size } = fs.fstatSync(fd);
      if (before.bytes > 0 && size === before.bytes) return 'whole';
      // Jobs that were folded away may go on in this very journal, and are read from it.
      this.#read[at] ??= { name, number: ino, bytes: 0, newlines: 0, tail: tailOf(fd, 0) };
      let sliceEnd = before.bytes;
      let end: number;
      do {
        sliceEnd = Math.min(size, sliceEnd + sliceBytes);
        end = Math.max(before.bytes, endOfLastLine(fd, sliceEnd));
      } while (end === before.bytes && sliceEnd < size);
      const newlines = before.newlines + this.#readLines(at, name, before, end, this.#unreadable, isSettled);
      const read = { name, number: ino, bytes: end, newlines, tail: tailOf(fd, end) };
      this.#read[at] = read;
      // Its lines were read by its name.
      if (!isStillThere(this.dir, read)) throw new StaleIndex();
      if (sliceEnd < size) return 'more';
      // What has no newline yet may still be being written, and is looked at again.
      this.#readLines(at, name, { bytes: end, newlines }, size, this.#torn, undefined);
      return 'whole';
    } finally {
      fs.closeSync(fd);
    }
  }

  /** Reads the lines of a journal up to a byte, to be folded when they are needed; returns how many newlines stand there. */
  #readLines(
    at: number,
    name: string,
    from: { readonly bytes: number; readonly newlines: number },
    endByte: number,
    unreadable: Unreadable,
    isSettled: IsSettled | undefined,
  ): number {
    if (endByte <= from.bytes) return 0;
    // Behind the last line there is nothing but newlines.
    let newlines = endByte - from.bytes;
    const file = path.join(this.dir, name);
    for (const found of linesOf(file, { startByte: from.bytes, endByte })) {
      newlines = found.newlines + endByte - found.endByte;
      const line = { found, file, journal: at, number: from.newlines + found.newlines + 1, unreadable };
      if (isSettled) this.#fold(line, isSettled);
      else this.#unfolded.push(line);
    }
    return newlines;
  }

  /** Folds the lines that wait for it, or those of one job. */
  #foldOn(key?: string): void {
    const later: Unfolded[] = [];
    for (const line of this.#unfolded) {
      const { text } = line.found;
      const isMeant = key === undefined || (text.includes(key) && headOf(text)?.key === key);
      if (isMeant) this.#fold(line);
      else later.push(line);
    }
    this.#unfolded = later;
  }

  #fold({ found, file, journal, number, unreadable }: Unfolded, isSettled?: IsSettled): void {
    const { text, startByte, endByte } = found;
    const line = parseLine(text, file);
    const key = typeof line === 'string' ? keyIn(text) : line.job;
    if (line === 'bad') unreadable.push([journal, number]);
    if (key === undefined) return;
    const entry = this.#entryOf(key, line, isSettled !== undefined);
    // Its own lines so far, before this one is among them.
    entry.draft ??= this.#draftOf(key, entry.spans);
    entry.text = undefined;
    entry.spans = extended(entry.spans, [journal, startByte, endByte]);
    if (typeof line === 'string') salvage(entry.draft, text);
    else addLine(entry.draft, line);
    entry.createdAtMs = entry.draft.job.createdAtMs;
    if (typeof line === 'string') return;
    if (line.event === 'accepted' && !isSettled) this.#nameKey(line.id, key);
    if (isSettled && mayEndIt.has(line.event)) makeRow(entry, isSettled, true);
  }

  #nameKey(id: string, key: string): void {
    const keys = this.#keysOfId.get(id);
    if (keys) keys.add(key);
    else this.#keysOfId.set(id, new Set([key]));
  }

  /** The entry of a job: one that is here, one of the index that goes on, or a new one. */
  #entryOf(key: string, line: LedgerLine | string, isIndexed: boolean): Entry {
    const known = this.#entries.get(key);
    if (known) return known;
    const entry: Entry = {
      key,
      spans: [],
      slot: undefined,
      id: undefined,
      externalId: undefined,
      text: undefined,
      draft: undefined,
      createdAtMs: 0,
    };
    // A job begins with its intent; what goes on without one began in the index. An intent that stands twice, as a
    // rewriting may leave it, is met as two rows of one key where the index is written.
    if (!isIndexed || typeof line === 'string' || line.event !== 'intent') this.#goesOn(entry);
    this.#entries.set(key, entry);
    return entry;
  }

  /** Joins an entry with the row of its job, where there is one. */
  #goesOn(entry: Entry): void {
    const row = this.#index.rowOf(entry.key);
    if (!row) return;
    entry.slot = row.slot;
    entry.spans = [...row.spans, ...entry.spans];
    entry.draft = this.#draftOf(entry.key, entry.spans);
    entry.text = undefined;
    const { id, createdAtMs } = entry.draft.job;
    entry.createdAtMs = createdAtMs;
    if (id !== undefined) this.#nameKey(id, entry.key);
  }

  /** Puts the jobs that are settled into the index, or all. */
  #intoIndex(isSettled: IsSettled, which?: 'all'): void {
    const entries = [...this.#entries.values()];
    const waiting = entries.filter(({ draft }) => draft !== undefined);
    const isAll = which === 'all' || waiting.length > MOST_WAITING;
    if (isAll) for (const entry of waiting) makeRow(entry, isSettled, false);
    this.#index = this.#index.with(entries, { journals: [...this.#read], unreadable: [...this.#unreadable] });
    this.#entries = new Map(isAll ? [] : waiting.map((entry) => [entry.key, entry]));
  }
}

/** The events after which a job may be settled. */
const mayEndIt: ReadonlySet<LedgerLine['event']> = new Set(['saved', 'part', 'refused', 'lost']);

/** Makes the row of a job that is settled, or of any, and lets go of what its lines say. */
function makeRow(entry: Entry, isSettled: IsSettled, onlySettled: boolean): void {
  const job = entry.draft && jobOf(entry.draft);
  const settled = job !== undefined && isSettled(job);
  if (!job || (onlySettled && !settled)) return;
  entry.id = job.id;
  entry.externalId = job.externalId;
  entry.text = rowText(job, settled, entry.spans);
  entry.draft = undefined;
}

/** Adds a stretch to those of a job; what stands near the last one is one with it. */
function extended(spans: readonly Span[], added: Span): readonly Span[] {
  const [journal, startByte, endByte] = added;
  const last = spans.at(-1);
  if (last?.[0] === journal && startByte >= last[1] && startByte - last[2] <= GAP_BYTES) {
    return [...spans.slice(0, -1), [journal, last[1], Math.max(last[2], endByte)]];
  }
  return [...spans, added];
}

function isWanted(job: Job, wanted: Wanted, names: ReadonlySet<string> | undefined): boolean {
  const { beginning, bodySha256, externalId, family, gateway, sinceMs, states, where } = wanted;
  return (
    (!names || names.has(job.key) || (job.id !== undefined && names.has(job.id))) &&
    (beginning === undefined || job.key.startsWith(beginning) || (job.id?.startsWith(beginning) ?? false)) &&
    (externalId === undefined || job.externalId === externalId) &&
    (!bodySha256 || job.bodySha256 === bodySha256(job.externalId)) &&
    (family === undefined || job.family === family) &&
    (gateway === undefined || job.gateway === gateway) &&
    (sinceMs === undefined || job.createdAtMs >= sinceMs) &&
    (!states || states.includes(job.state)) &&
    (where?.(job) ?? true)
  );
}

const namesIn = (dir: string): string[] =>
  journals(dir).flatMap(({ files }) => files.map((file) => path.basename(file)));

const bytesOf = (read: readonly ReadJournal[]): number => read.reduce((sum, { bytes }) => sum + bytes, 0);

const sizeOf = (file: string): number => fs.statSync(file, { throwIfNoEntry: false })?.size ?? 0;

function isStillThere(dir: string, read: ReadJournal): boolean {
  let fd: number;
  try {
    fd = fs.openSync(path.join(dir, read.name), 'r');
  } catch {
    return false;
  }
  try {
    return isSame(fd, read);
  } finally {
    fs.closeSync(fd);
  }
}

/**
 * Whether a line may be the intent of a job that asked for a body; true where that is not told. It is looked at as text,
 * because a thousand times a second it is not.
 */
function mayAsk(line: string, key: string, bodySha256: NonNullable<Wanted['bodySha256']>): boolean {
  if (!line.includes(`"job":${JSON.stringify(key)},"event":"intent"`)) return true;
  if (!line.includes('"externalId":"')) return line.includes(bodySha256(undefined));
  for (const [, id] of line.matchAll(/"externalId":"(?:([\w.:-]+)")?/g)) {
    if (id === undefined || line.includes(bodySha256(id))) return true;
  }
  return false;
}

/** Throws StaleIndex where it has gone. */
function openJournal(file: string): number {
  try {
    return fs.openSync(file, 'r');
  } catch (error) {
    throw errorCode(error) === 'ENOENT' ? new StaleIndex() : error;
  }
}

/** Whether a file is the one that was read, with all that was read of it. */
function isSame(fd: number, { number, bytes, tail }: ReadJournal): boolean {
  const { ino, size } = fs.fstatSync(fd);
  return ino === number && size >= bytes && tailOf(fd, bytes) === tail;
}

function tailOf(fd: number, endByte: number): number {
  const tail = Buffer.alloc(Math.min(TAIL_BYTES, endByte));
  const count = fs.readSync(fd, tail, 0, tail.length, endByte - tail.length);
  return crc32(tail.subarray(0, count));
}
