import { endOfLastLine } from '../disk/read-lines.ts';
import { usage } from '../errors.ts';
import { formatOf } from '../formats.ts';
import { bodyOf, byAge, Contents, type ReadJournal, type Row, StaleContents } from './contents.ts';
import type { Job, JobState } from './event.ts';
import { addLine, addLostSending, type Draft, jobOf, newDraft, salvage } from './fold.ts';
import type { JobNames, UnreadableLine, Wanted } from './ledger.ts';
import { MOST_TRIES, OpenJournals, tailOf } from './open-journals.ts';
import { jobOfLine, keyIn, parseLine } from './parse-line.ts';
import { sentMarkMs, sentMarks } from './sent-marks.ts';
import type { ContentsWriter } from './write-contents.ts';

/** Journal bytes that may stay outside the contents and be parsed at each start: this, plus a share of the total. */
const READ_BYTES = 1 << 18;
const READ_SHARE = 1 / 1024;
/** The maximum read before contents are written, so that the size of the journals does not matter. */
const SLICE_BYTES = 1 << 23;
/** Lines of one job that are further apart than this form two spans. */
const GAP_BYTES = 1 << 16;
const openStates: ReadonlySet<JobState> = new Set(['intent', 'sent', 'unknown', 'running']);

/** A job with lines that are not yet in the contents. If it already has a row, this includes the row's facts. */
type Recent = { -readonly [K in keyof Row]: Row[K] } & { hasIntent: boolean; readonly hasRow: boolean };

type Unreadable = (readonly [journal: number, line: number])[];

interface Seen {
  readonly contents: Contents;
  readonly recent: ReadonlyMap<string, Recent>;
  readonly journals: OpenJournals;
}

/** A range of a journal to read, and a list for its unreadable lines. */
interface Reading {
  readonly journals: OpenJournals;
  readonly contents: Contents;
  readonly how: 'heads' | 'whole';
  readonly at: number;
  readonly bytes: number;
  readonly newlines: number;
  readonly end: number;
  readonly unreadable: Unreadable;
}

/**
 * The only way to find jobs. The contents say where each job's lines are; lines appended since are read at each start,
 * and go into the contents once there are many. A job's own lines are read when it is requested, and then freed.
 */
export class JobFinder {
  #contents: Contents | undefined;
  #recent = new Map<string, Recent>();
  #read: ReadJournal[] = [];
  #unreadable: Unreadable = [];
  /** Unreadable lines without a newline, which may still be being written. */
  #torn: Unreadable = [];
  #paths: readonly string[] = [];
  #cannotWrite = false;
  #writer: ContentsWriter | undefined;

  constructor(
    private readonly dir: string,
    private readonly loadWriter: () => Promise<ContentsWriter>,
    private readonly completed: (damaged: Job) => Promise<Job>,
  ) {}

  /**
   * Yields the requested jobs, newest first, and reads each in turn. Throws the system's error, and GwError `usage` for
   * a newer format.
   */
  async *each(wanted: Wanted): AsyncGenerator<Job> {
    const names = wanted.ids && new Set(wanted.ids);
    const told = new Set<string>();
    for (let tries = 1; ; tries += 1) {
      const seen = await this.#upToDate();
      try {
        for (const found of this.#foundIn(seen, wanted, told)) {
          const job = found.isDamaged ? await this.completed(found) : found;
          if (!isWanted(job, wanted, names)) continue;
          told.add(job.key);
          yield job;
          if (told.size === wanted.limit) return;
        }
        return;
      } catch (error) {
        this.#forgetAfter(error, seen.contents, tries);
      } finally {
        seen.journals.close();
      }
    }
  }

  /** The jobs that may match and have not been yielded yet. */
  *#foundIn(seen: Seen, wanted: Wanted, told: ReadonlySet<string>): Generator<Job> {
    const there = new Set<string>();
    for (const place of placesIn(seen, wanted)) {
      if (wanted.ids) there.add(place.key);
      if (told.has(place.key)) continue;
      const job = this.#jobOf(place, seen.journals);
      if (!job && !('hasRow' in place)) throw new StaleContents();
      if (job) yield job;
    }
    for (const key of wanted.ids ?? this.#marked(seen)) {
      const job = there.has(key) || told.has(key) ? undefined : this.#folded(newDraft(key));
      if (job) yield job;
    }
  }

  async names<T>(read: (names: Iterable<JobNames>) => T): Promise<T> {
    for (let tries = 1; ; tries += 1) {
      const { contents, recent, journals } = await this.#upToDate();
      try {
        return read(namesOf(contents, recent));
      } catch (error) {
        this.#forgetAfter(error, contents, tries);
      } finally {
        journals.close();
      }
    }
  }

  /** Throws NewerFormat if any journal holds a line of a newer format, or the system's error. */
  refuseNewer(): void {
    for (let tries = 1; ; tries += 1) {
      try {
        const seen = this.#look();
        seen?.journals.close();
        if (!seen) this.#checkFormats();
        return;
      } catch (error) {
        this.#forgetAfter(error, this.#contents, tries);
      }
    }
  }

  /** Checks the formats of lines that are not in the contents yet; it keeps nothing in memory. */
  #checkFormats(): void {
    const known = `{"v":${formatOf('ledger')},`;
    const journals = OpenJournals.open(this.dir);
    try {
      for (const [at, { bytes }] of journals.files.entries()) {
        for (const { text } of journals.linesOf(at, this.#read[at]?.bytes ?? 0, bytes)) {
          if (!text.startsWith(known)) parseLine(text, this.#paths[at] ?? '');
        }
      }
    } finally {
      journals.close();
    }
  }

  get unreadable(): UnreadableLine[] {
    return [...this.#unreadable, ...this.#torn].map(([at, line]) => ({ path: this.#paths[at] ?? '', line }));
  }

  /** Drops contents that turned out stale; newer ones may be usable. Rethrows any other error. */
  #forgetAfter(error: unknown, contents: Contents | undefined, tries: number): void {
    if (!(error instanceof StaleContents)) throw error;
    if (tries === MOST_TRIES) {
      throw usage(
        'the ledger is being rewritten again and again',
        'wait for gw jobs prune to end, then run this again',
      );
    }
    if (this.#contents === contents) this.#take(Contents.empty);
  }

  /** Builds a job from the lines in its spans; undefined if no line proves that there is a job. */
  #jobOf({ key, spans }: Pick<Row, 'key' | 'spans'>, journals: OpenJournals): Job | undefined {
    const draft = newDraft(key);
    const quoted = JSON.stringify(key);
    for (const span of spans) {
      for (const [at, text] of journals.textOf(span).split('\n').entries()) {
        if (!text.includes(quoted)) continue;
        const line = parseLine(text, this.#paths[span[0]] ?? '');
        if (line === 'bad') this.#tellOfDamage(span[0], journals.newlinesBefore(span) + at + 1);
        if (typeof line === 'string') salvage(draft, text);
        else if (line.job === key) addLine(draft, line);
      }
    }
    return this.#folded(draft);
  }

  #folded(draft: Draft): Job | undefined {
    const { key, sentAtMs } = draft.job;
    const markedAtMs = sentAtMs === undefined ? sentMarkMs(this.dir, key) : undefined;
    if (markedAtMs !== undefined) addLostSending(draft, markedAtMs);
    return jobOf(draft);
  }

  /** Jobs marked as sent that have no line. If all lines are readable, only a search for the key finds them. */
  #marked({ contents, recent }: Seen): Iterable<string> {
    if (this.unreadable.length === 0) return [];
    const there = new Set([...contents.newestFirst({})].map(({ key }) => key));
    return sentMarks(this.dir).filter((key) => !there.has(key) && !recent.has(key));
  }

  /** Reports a damaged line, unless it is already known. */
  #tellOfDamage(journal: number, line: number): void {
    const known = [...this.#unreadable, ...this.#torn];
    if (!known.some(([at, each]) => at === journal && each === line)) this.#unreadable.push([journal, line]);
  }

  /** Reads the lines that were appended, or everything again if the journals were replaced. */
  async #upToDate(): Promise<Seen> {
    for (let tries = 1; ; ) {
      try {
        // No await between look and return: this process may search for several jobs at once.
        const seen = this.#look();
        if (seen) return seen;
        this.#writer ??= await this.loadWriter();
      } catch (error) {
        this.#forgetAfter(error, this.#contents, tries);
        tries += 1;
      }
    }
  }

  /** Undefined if so many lines are new that they must first go into the contents, which need the writer. */
  #look(): Seen | undefined {
    const journals = OpenJournals.open(this.dir);
    let isDone = false;
    try {
      const contents = this.#contents ?? this.#take(Contents.open(this.dir));
      if (!journals.goOnFrom(this.#read)) throw new StaleContents();
      this.#paths = journals.paths;
      const inContents = bytesOf(contents.table.journals);
      const isDue =
        !this.#cannotWrite && bytesOf(journals.files) - inContents > READ_BYTES + inContents * READ_SHARE;
      if (isDue && !this.#writer) return undefined;
      if (isDue && this.#writer) {
        this.#readOn(journals, contents, 'heads');
        if (bytesOf(this.#read) > inContents) {
          this.#write(contents, journals, this.#writer);
          return this.#look();
        }
      }
      this.#readOn(journals, contents, 'whole');
      isDone = true;
      return { contents, journals, recent: this.#recent };
    } finally {
      if (!isDone) journals.close();
    }
  }

  #take(contents: Contents): Contents {
    this.#contents?.close();
    this.#contents = contents;
    this.#recent = new Map();
    this.#read = [...contents.table.journals];
    this.#unreadable = [...contents.table.unreadable];
    return contents;
  }

  /** Moves the recent jobs into the contents. If that fails, each process reads all new lines itself. */
  #write(contents: Contents, journals: OpenJournals, writer: ContentsWriter): void {
    const rows: Row[] = [];
    // Newest first: the journals are read best in that order.
    for (const recent of [...this.#recent.values()].reverse()) {
      const job = this.#jobOf(recent, journals);
      if (!job) continue;
      const { createdAtMs, id, externalId, bodySha256 } = job;
      const body = bodyOf(bodySha256);
      const isSettled = writer.isSettled(job);
      rows.push(Object.assign(recent, { createdAtMs, id, externalId, body, isSettled }));
    }
    const read = { journals: this.#read, unreadable: this.#unreadable };
    const replaced = new Set([...this.#recent.values()].filter((each) => each.hasRow).map(({ key }) => key));
    const change = { added: rows.sort(byAge), replaced };
    this.#cannotWrite = !writer.write(contents, this.dir, change, read);
    this.#take(Contents.open(this.dir, contents));
  }

  /** Reads new lines: all of them, or with `heads` one slice and only the job of each line. */
  #readOn(journals: OpenJournals, contents: Contents, how: 'heads' | 'whole'): void {
    this.#torn = [];
    let room = how === 'heads' ? SLICE_BYTES : Number.POSITIVE_INFINITY;
    for (const [at, { name, number, fd, bytes: size }] of journals.files.entries()) {
      const { bytes, newlines } = this.#read[at] ?? { bytes: 0, newlines: 0 };
      if (fd === undefined || (this.#read[at] && size === bytes)) continue;
      let sliceEnd = Math.min(size, bytes + room);
      let end = Math.max(bytes, endOfLastLine(fd, sliceEnd));
      // A line may be longer than a slice.
      while (end === bytes && sliceEnd < size) {
        sliceEnd = Math.min(size, sliceEnd + SLICE_BYTES);
        end = Math.max(bytes, endOfLastLine(fd, sliceEnd));
      }
      const reading = { journals, contents, how, at };
      const added = this.#readLines({ ...reading, bytes, newlines, end, unreadable: this.#unreadable });
      this.#read[at] = { name, number, bytes: end, newlines: newlines + added, tail: tailOf(fd, end) };
      room -= end - bytes;
      if (sliceEnd < size) return;
      // Text without a final newline may still be being written, so it is read again next time.
      const rest = { bytes: end, newlines: newlines + added, end: size, unreadable: this.#torn };
      if (how === 'whole') this.#readLines({ ...reading, ...rest });
    }
  }

  /** Reads the lines of a journal up to a byte; returns the number of newlines in that range. */
  #readLines({ journals, contents, how, at, bytes, newlines, end, unreadable }: Reading): number {
    if (end <= bytes) return 0;
    // After the last line there are only newlines.
    let count = end - bytes;
    const file = this.#paths[at] ?? '';
    for (const { text, startByte, endByte, newlines: before } of journals.linesOf(at, bytes, end)) {
      count = before + end - endByte;
      const head = how === 'heads' ? jobOfLine(text) : undefined;
      const line = head ? 'foreign' : parseLine(text, file);
      const key = head ?? (typeof line === 'string' ? keyIn(text) : line.job);
      if (line === 'bad') unreadable.push([at, newlines + before + 1]);
      if (key === undefined) continue;
      const recent = this.#recent.get(key) ?? recentOf(key, contents);
      this.#recent.set(recent.key, recent);
      recent.spans = extended(recent.spans, [at, startByte, endByte]);
      if (typeof line === 'string') continue;
      if (line.event === 'accepted') recent.id ??= line.id;
      const isIntent = line.event === 'intent' && !recent.hasIntent;
      if (isIntent || recent.createdAtMs === 0) recent.createdAtMs = line.t;
      if (!isIntent) continue;
      recent.hasIntent = true;
      recent.externalId = line.externalId;
      recent.body = bodyOf(line.bodySha256);
    }
    return count;
  }
}

/** The rows and recent jobs that may match, newest first; for equal times, the one seen later comes first. */
function* placesIn({ contents, recent }: Seen, wanted: Wanted): Generator<Row | Recent> {
  const { bodySha256, externalId, sinceMs, states } = wanted;
  const ids = wanted.ids ?? (externalId === undefined ? undefined : [externalId]);
  const isOpen = wanted.isOpen || states?.every((state) => openStates.has(state));
  const mayBe = (row: Row) => bodySha256 === undefined || row.body === bodyOf(bodySha256(row.externalId));
  const names = ids && new Set<string | undefined>(ids);
  // Other jobs may become recent while a caller processes one.
  const isRecent = new Set(recent.keys());
  const waiting = [...recent.values()]
    // An intent that cannot be read may hold any external ID.
    .filter(
      (job) => !names || !job.hasIntent || [job.key, job.id, job.externalId].some((name) => names.has(name)),
    )
    .filter(mayBe)
    .sort(byAge);
  const rows = ids ? contents.named(ids) : contents.newestFirst({ isOpen, sinceMs });
  for (const row of rows) {
    if (isRecent.has(row.key) || !mayBe(row)) continue;
    for (let last = waiting.at(-1); last && byAge(last, row) > 0; last = waiting.at(-1)) {
      yield last;
      waiting.pop();
    }
    yield row;
  }
  yield* waiting.reverse();
}

function* namesOf(contents: Contents, recent: Seen['recent']): Generator<JobNames> {
  for (const names of contents.names()) if (!recent.has(names.key)) yield names;
  yield* recent.values();
}

function recentOf(key: string, contents: Contents): Recent {
  const row = contents.named([key]).find((each) => each.key === key);
  const { id, externalId, createdAtMs = 0, body = '', isSettled = false, spans = [] } = row ?? {};
  const hasRow = row !== undefined;
  // The key is copied: a substring would keep the whole line in memory. A spread would take five times the memory.
  const own = Buffer.from(key).toString();
  return { key: own, id, externalId, createdAtMs, body, isSettled, spans, hasIntent: hasRow, hasRow };
}

/** Adds a span to a job's spans, and merges it with the last one if they are close. */
function extended(spans: Row['spans'], added: Row['spans'][number]): Row['spans'] {
  const [journal, startByte, endByte] = added;
  const last = spans.at(-1);
  if (last?.[0] === journal && startByte >= last[1] && startByte - last[2] <= GAP_BYTES) {
    return spans.with(-1, [journal, last[1], Math.max(last[2], endByte)]);
  }
  // A spread would reserve room for sixteen more.
  return spans.concat([added]);
}

function isWanted(job: Job, wanted: Wanted, names: ReadonlySet<string> | undefined): boolean {
  const { bodySha256, externalId, family, gateway, sinceMs, states, where } = wanted;
  return (
    (!names || names.has(job.key) || (job.id !== undefined && names.has(job.id))) &&
    (externalId === undefined || job.externalId === externalId) &&
    (!bodySha256 || job.bodySha256 === bodySha256(job.externalId)) &&
    (family === undefined || job.family === family) &&
    (gateway === undefined || job.gateway === gateway) &&
    (sinceMs === undefined || job.createdAtMs >= sinceMs) &&
    (!states || states.includes(job.state)) &&
    (where?.(job) ?? true)
  );
}

const bytesOf = (journals: readonly Pick<ReadJournal, 'bytes'>[]): number =>
  journals.reduce((sum, { bytes }) => sum + bytes, 0);
