import * as fs from 'node:fs';
import { readLines } from '../disk/read-lines.ts';
import { errorCode } from '../errors.ts';
import type { Job } from './event.ts';
import { JobFold } from './fold.ts';
import { isJobKey } from './job-key.ts';
import { journals } from './journal-files.ts';
import { parseLine } from './parse-line.ts';
import type { Skips } from './read-jobs.ts';
import { endOfLastLine } from './rewrite-journal.ts';

/** How much of a journal has been read. */
interface ReadJournal {
  readonly path: string;
  readonly number: number;
  readonly bytes: number;
  /** What stands before that byte: a number that was given to another file does not bring the same text. */
  readonly tail: string;
}

const TAIL_BYTES = 256;

/**
 * The jobs of a ledger that is asked again and again: what was read stays folded, and only what was appended since is
 * read. Where a journal was rewritten or has gone, everything is read anew.
 */
export class LiveJobs {
  #fold = new JobFold();
  #read: readonly ReadJournal[] = [];
  #skipped = 0;

  constructor(private readonly dir: string) {}

  /** All jobs, newest first. */
  list(skips: Skips): Job[] {
    this.#refresh(skips);
    return this.#fold.jobs();
  }

  /** As `findJobs`. */
  findMany(idsOrKeys: Iterable<string>, skips: Skips, gateway?: string): Map<string, Job> {
    this.#refresh(skips);
    const found = new Map<string, Job>();
    for (const id of idsOrKeys) {
      const isOwn = (job: Job) => gateway === undefined || job.gateway === gateway;
      const job = (isJobKey(id) && this.#fold.job(id)) || this.#fold.jobsOfTask(id).find(isOwn);
      if (job) found.set(id, job);
    }
    return found;
  }

  #refresh(skips: Skips): void {
    const files = journals(this.dir).flatMap((journal) => journal.files);
    const isGrown = this.#read.every((read, at) => read.path === files[at] && isStillThere(read));
    if (!isGrown) {
      this.#fold = new JobFold();
      this.#read = [];
      this.#skipped = 0;
    }
    const before = this.#read;
    const after: ReadJournal[] = [];
    // Lines that are seen twice count once, so a failure on the way costs no more than reading them again.
    for (const [at, file] of files.entries()) {
      const read = this.#readOn(file, before[at], skips);
      if (!read) break;
      after.push(read);
    }
    this.#read = after;
    skips.lines += this.#skipped;
  }

  /** Reads what a journal has more than before; undefined where it has gone meanwhile. */
  #readOn(file: string, before: ReadJournal | undefined, skips: Skips): ReadJournal | undefined {
    const startByte = before?.bytes ?? 0;
    let fd: number;
    try {
      fd = fs.openSync(file, 'r');
    } catch (error) {
      if (errorCode(error) === 'ENOENT') return undefined;
      throw error;
    }
    try {
      const { ino, size } = fs.fstatSync(fd);
      if (before && size === startByte) return before;
      const endByte = Math.max(startByte, endOfLastLine(fd, size));
      this.#skipped += this.#take(file, startByte, endByte);
      // What follows the last whole line may still be being written, and is looked at again.
      if (size > endByte) skips.lines += this.#take(file, endByte, size);
      return { path: file, number: ino, bytes: endByte, tail: tailOf(fd, endByte) };
    } finally {
      fs.closeSync(fd);
    }
  }

  /** Folds the lines between two bytes; returns how many could not be read. */
  #take(file: string, startByte: number, endByte: number): number {
    let skipped = 0;
    for (const text of readLines(file, undefined, endByte, startByte)) {
      const line = parseLine(text, file);
      if (line === 'bad') skipped += 1;
      else if (line !== 'foreign') this.#fold.add(line);
    }
    return skipped;
  }
}

function isStillThere({ path, number, bytes, tail }: ReadJournal): boolean {
  let fd: number;
  try {
    fd = fs.openSync(path, 'r');
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
  return tail.toString('latin1', 0, count);
}
