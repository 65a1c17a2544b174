import * as fs from 'node:fs';
import * as path from 'node:path';
import { crc32 } from 'node:zlib';
import { type Line, linesOf } from '../disk/read-lines.ts';
import { type ReadJournal, type Span, StaleContents } from './contents.ts';
import { ifThere, journals } from './journal-files.ts';

/** How much is read at once around a job: the next requested job is usually the one before it. */
const WINDOW_BYTES = 1 << 16;
/** How much text before a position is checked, to see whether the journal is still the one that was read. */
const TAIL_BYTES = 256;
/** How often opening is retried while other processes rewrite the journals. */
export const MOST_TRIES = 5;

const namesIn = (dir: string): string[] =>
  journals(dir).flatMap(({ files }) => files.map((file) => path.basename(file)));

interface OpenJournal {
  readonly name: string;
  /** Undefined for a dangling link, which has no lines. */
  readonly fd: number | undefined;
  /** The file's inode. */
  readonly number: number;
  readonly bytes: number;
}

/** A snapshot of a ledger's journals; its content stays the same while others rewrite them. */
export class OpenJournals {
  readonly files: OpenJournal[] = [];
  #window = { journal: -1, startByte: 0, endByte: 0 };
  #bytes = Buffer.alloc(0);

  private constructor(private readonly dir: string) {}

  /** Opens them. Throws the system's error, and StaleContents if others keep rewriting them. */
  static open(dir: string, tries = MOST_TRIES): OpenJournals {
    const opened = new OpenJournals(dir);
    let isWhole = false;
    try {
      for (const name of namesIn(dir)) {
        const fd = openIfThere(path.join(dir, name));
        const { ino, size } = fd === undefined ? { ino: 0, size: 0 } : fs.fstatSync(fd);
        opened.files.push({ name, fd, number: ino, bytes: size });
      }
      // A journal that just replaced another lacks lines while its former version exists.
      const now = namesIn(dir);
      isWhole = now.length === opened.files.length && opened.files.every(({ name }, at) => name === now[at]);
      if (isWhole) return opened;
    } finally {
      if (!isWhole) opened.close();
    }
    if (tries === 1) throw new StaleContents();
    return OpenJournals.open(dir, tries - 1);
  }

  close(): void {
    for (const { fd } of this.files) if (fd !== undefined) fs.closeSync(fd);
    this.files.length = 0;
  }

  get paths(): string[] {
    return this.files.map(({ name }) => path.join(this.dir, name));
  }

  /** True if these journals still begin with everything that was read before. */
  goOnFrom(read: readonly ReadJournal[]): boolean {
    return read.every(({ name, number, bytes, tail }, at) => {
      const file = this.files[at];
      if (file?.name !== name || file.fd === undefined) return false;
      return file.number === number && file.bytes >= bytes && tailOf(file.fd, bytes) === tail;
    });
  }

  /** The text of a span. Throws the system's error. */
  textOf([journal, startByte, endByte]: Span): string {
    const { startByte: from, endByte: to } = this.#window;
    if (journal !== this.#window.journal || startByte < from || endByte > to) {
      const first = Math.max(0, Math.min(startByte, endByte - WINDOW_BYTES));
      if (this.#bytes.length < endByte - first) this.#bytes = Buffer.allocUnsafe(endByte - first);
      const fd = this.files[journal]?.fd;
      const count = fd === undefined ? 0 : fs.readSync(fd, this.#bytes, 0, endByte - first, first);
      this.#window = { journal, startByte: first, endByte: first + count };
    }
    return this.#bytes.toString('utf8', startByte - this.#window.startByte, endByte - this.#window.startByte);
  }

  linesOf(journal: number, startByte: number, endByte: number): Iterable<Line> {
    const fd = this.files[journal]?.fd;
    return fd === undefined ? [] : linesOf(fd, { startByte, endByte });
  }

  newlinesBefore([journal, startByte]: Span): number {
    // Only newlines precede the first line and follow the last one.
    let newlines = startByte;
    for (const line of this.linesOf(journal, 0, startByte))
      newlines = line.newlines + startByte - line.endByte;
    return newlines;
  }
}

/** Checksum of the text before a position in a journal. */
export function tailOf(fd: number, endByte: number): number {
  const tail = Buffer.alloc(Math.min(TAIL_BYTES, endByte));
  const count = fs.readSync(fd, tail, 0, tail.length, endByte - tail.length);
  return crc32(tail.subarray(0, count));
}

export const openIfThere = (file: string): number | undefined => ifThere(() => fs.openSync(file, 'r'));
