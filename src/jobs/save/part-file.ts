import { createHash, type Hash } from 'node:crypto';
import * as fs from 'node:fs';
import * as path from 'node:path';
import { DiskFault, faultReason } from '../../disk/disk-fault.ts';
import { ensureDirectory } from '../../disk/durable-directory.ts';
import { errorCode } from '../../errors.ts';
import { can, quietly } from '../../host.ts';
import type { Job, LedgerEvent, SavedFile } from '../../ledger/event.ts';
import { type FileType, SNIFF_BYTES, sniff } from '../../media/signatures.ts';
import { isPartName, newPartName } from './output-path.ts';

const READ_BYTES = 1024 * 1024;

/**
 * The file in which an output is collected, beside its target: hidden, mode 0600, created exclusively, and recorded
 * before it exists. A part holds bytes of only one version of the server's file and is never truncated: a new start is
 * a new part. So even if two processes write to one part, they write the same bytes at the same places.
 */
export class PartFile {
  /** The first bytes are kept in memory: an image's type must be known even if its disk cannot be read. */
  private beginning = Buffer.alloc(0);
  isOpen = true;

  private constructor(
    readonly fd: number,
    readonly path: string,
    /** A strong ETag, or undefined. */
    readonly etag: string | undefined,
    public totalBytes: number | undefined,
    /** Number of bytes written so far. */
    public bytes: number,
    private readonly hash: Hash,
  ) {}

  /** Makes an empty part in the directory, after `record` was called. Throws DiskFault. */
  static create(dir: string, facts: Omit<PartFacts, 'path'>, record: (part: PartFacts) => void): PartFile {
    const file = path.join(dir, newPartName());
    record({ ...facts, path: file });
    try {
      const fd = fs.openSync(file, 'wx+', 0o600);
      return new PartFile(fd, file, facts.etag, facts.totalBytes, 0, createHash('sha256'));
    } catch (error) {
      throw DiskFault.of(`${file} cannot be made`, error, false);
    }
  }

  /**
   * Opens a part that an earlier process left, if it can be continued: it is gw's own, in one of these directories, a
   * regular file without other names (unless complete: then it may be published already), complete or with a strong
   * ETag, and written since the last boot, because bytes lost in a system crash read as zeros. If the clock was set
   * back, this cannot be known, so it is not reopened. The digest is computed again. Throws the signal's reason.
   */
  static async reopen(recorded: RecordedPart, where: PartPlace): Promise<PartFile | undefined> {
    const { path: file, etag, totalBytes, to } = recorded;
    const isTold = recorded.startedAtMs <= where.nowMs;
    // A part that was about to be renamed had been synced to disk, so a crash cannot have damaged it.
    const outlivedCrash = to !== undefined || (isTold && recorded.startedAtMs > where.bootedAtMs);
    if (!isPartIn(file, where) || !outlivedCrash) return undefined;
    const fd = openExisting(file, totalBytes);
    if (fd === undefined) return undefined;
    try {
      const stats = fs.fstatSync(fd);
      const isComplete = totalBytes !== undefined && stats.size === totalBytes;
      const isUsable =
        isOwnFile(stats) &&
        (isComplete || (etag !== undefined && stats.nlink === 1 && stats.size <= (totalBytes ?? stats.size)));
      if (isUsable) {
        const hash = createHash('sha256');
        await hashFile(fd, stats.size, hash, where.signal);
        return new PartFile(fd, file, etag, totalBytes, stats.size, hash);
      }
    } catch (error) {
      fs.closeSync(fd);
      throw where.signal.aborted ? where.signal.reason : DiskFault.of(`${file} cannot be read`, error);
    }
    fs.closeSync(fd);
    return undefined;
  }

  get isComplete(): boolean {
    return this.totalBytes !== undefined && this.bytes === this.totalBytes;
  }

  get isResumable(): boolean {
    return this.etag !== undefined || this.isComplete;
  }

  /** Appends a chunk; the system may need several writes. Throws DiskFault. */
  append(chunk: Uint8Array): void {
    let done = 0;
    try {
      while (done < chunk.length) {
        const written = fs.writeSync(this.fd, chunk, done, chunk.length - done, this.bytes);
        if (written === 0) throw Object.assign(new Error('no byte was written'), { code: 'ENOSPC' });
        const piece = chunk.subarray(done, done + written);
        this.hash.update(piece);
        if (this.bytes < SNIFF_BYTES && this.beginning.length === this.bytes) {
          this.beginning = Buffer.concat([this.beginning, piece.subarray(0, SNIFF_BYTES - this.bytes)]);
        }
        done += written;
        this.bytes += written;
      }
    } catch (error) {
      throw DiskFault.of(`${path.dirname(this.path)} cannot be written`, error);
    }
  }

  /** The file's type by its first bytes; undefined if gw does not know it. Throws DiskFault. */
  fileType(): FileType | undefined {
    const isKept = this.beginning.length >= Math.min(SNIFF_BYTES, this.bytes);
    return sniff(isKept ? this.beginning : this.read(0, SNIFF_BYTES));
  }

  /** Bytes at an offset, fewer at the file's end. Throws DiskFault. */
  read(offset: number, count: number): Uint8Array {
    const buffer = Buffer.alloc(Math.max(0, Math.min(count, this.bytes - offset)));
    try {
      let done = 0;
      while (done < buffer.length) {
        const got = fs.readSync(this.fd, buffer, done, buffer.length - done, offset + done);
        if (got === 0) break;
        done += got;
      }
      return buffer.subarray(0, done);
    } catch (error) {
      throw DiskFault.of(`${this.path} cannot be read`, error);
    }
  }

  /** SHA-256 of everything written, in hexadecimal. */
  sha256(): string {
    return this.hash.copy().digest('hex');
  }

  /** Closes it; a second call does nothing. */
  close(): void {
    if (!this.isOpen) return;
    this.isOpen = false;
    fs.closeSync(this.fd);
  }
}

/** Where a part that is continued may be, and the times that its age is compared with. */
export interface PartPlace {
  /** The target's directory, and the refuge for parts that cannot be written there. */
  readonly dirs: readonly string[];
  readonly bootedAtMs: number;
  readonly nowMs: number;
  readonly signal: AbortSignal;
}

export const isPartIn = (file: string, { dirs }: PartPlace): boolean =>
  isPartName(path.basename(file)) && dirs.some((dir) => path.dirname(file) === path.resolve(dir));

/** True if an open file is regular and belongs to this user. */
export const isOwnFile = (stats: fs.Stats): boolean =>
  stats.isFile() && stats.uid === (process.getuid?.() ?? stats.uid);

export interface PartHome {
  readonly dir: string;
  /** The reason if it is already known that the output cannot be saved to its target. */
  readonly fault?: DiskFault;
}

/** The part file of an output: in its home or, once that disk has failed, in the refuge with the bytes so far. */
export class GrowingPart {
  /** The part of an earlier process, or the bytes so far. */
  part: PartFile | undefined;
  /** Why the part is in the refuge instead of its home. */
  fault: DiskFault | undefined;
  protected dir: string;

  constructor(
    home: PartHome,
    private readonly refuge: string,
    private readonly record: (facts: PartFacts | undefined) => void,
  ) {
    this.dir = home.dir;
    this.fault = home.fault;
  }

  /** Creates the part. Throws DiskFault. */
  create(facts: Omit<PartFacts, 'path'> = {}): void {
    this.part = PartFile.create(this.dir, facts, this.record);
  }

  /** Appends a chunk. Throws DiskFault if the refuge cannot store it either. */
  append(chunk: Uint8Array): void {
    const endsAt = (this.part?.bytes ?? 0) + chunk.length;
    // After a move to the refuge, only the rest of the chunk is written.
    this.orFlee(() => this.part?.append(chunk.subarray(chunk.length - (endsAt - this.part.bytes))));
  }

  /** Runs an action; if the disk fails, moves to the refuge and runs it once more. Throws DiskFault. */
  orFlee(act: () => void): void {
    try {
      act();
    } catch (error) {
      if (!(error instanceof DiskFault) || !this.flee(error)) throw error;
      act();
    }
  }

  /** Drops a part whose disk cannot be read; true if it may be fetched again into the refuge. */
  beginElsewhere(fault: DiskFault): boolean {
    if (this.dir === this.refuge || this.fault !== undefined) return false;
    this.discard();
    return this.flee(fault);
  }

  /** Moves the part to the refuge; false if that is impossible. */
  private flee(fault: DiskFault): boolean {
    const { refuge } = this;
    if (this.dir === refuge) return false;
    const isMoved = can(() => {
      ensureDirectory(refuge);
      this.part = this.part && movePart(this.part, refuge, this.record);
      this.dir = refuge;
    });
    this.fault = fault;
    return isMoved;
  }

  /** Closes and removes the part, and records that; one that cannot be removed stays recorded. */
  discard(warn: (text: string) => void = () => {}): void {
    const { part } = this;
    if (!part) return;
    this.part = undefined;
    part.close();
    // A ledger that cannot be written must not make a saved output a failed one.
    if (dropPart(part.path, warn)) quietly(() => this.record(undefined));
  }
}

/**
 * Makes a part in another directory with the bytes of one whose disk has failed. The old one is closed and removed if
 * possible. Throws DiskFault, and then changes nothing.
 */
function movePart(part: PartFile, dir: string, record: (facts: PartFacts) => void): PartFile {
  const { path: from, etag, totalBytes } = part;
  const moved = PartFile.create(dir, { etag, totalBytes }, record);
  try {
    while (moved.bytes < part.bytes) {
      const block = part.read(moved.bytes, READ_BYTES);
      if (block.length === 0) break;
      moved.append(block);
    }
    if (moved.sha256() !== part.sha256()) {
      throw new DiskFault(`${from} does not hold what was written to it`, false);
    }
  } catch (error) {
    moved.close();
    removePart(moved.path);
    record({ path: from, etag, totalBytes });
    throw error;
  }
  // A disk that has failed may allow neither.
  quietly(() => part.close());
  quietly(() => removePart(from));
  return moved;
}

/** Removes a part file if it still exists; other files are never touched. */
export function removePart(file: string): void {
  if (!isPartName(path.basename(file))) return;
  try {
    fs.unlinkSync(file);
  } catch (error) {
    if (errorCode(error) !== 'ENOENT' && errorCode(error) !== 'ENOTDIR') throw error;
  }
}

/** Removes a useless part; false, with a warning, if its disk does not let it go: that may cost no output. */
export function dropPart(file: string, warn?: (text: string) => void, what = file): boolean {
  try {
    removePart(file);
    return true;
  } catch (error) {
    warn?.(`${what} could not be removed: ${faultReason(error)}`);
    return false;
  }
}

/** Opens an existing part; a complete one only for reading, because some disks allow nothing else. */
function openExisting(file: string, totalBytes: number | undefined): number | undefined {
  const { O_RDONLY, O_RDWR, O_NOFOLLOW = 0, O_NONBLOCK = 0 } = fs.constants;
  // One that is gone or no longer writable is fetched from its start.
  return quietly(() => {
    const isWhole = totalBytes !== undefined && fs.lstatSync(file).size === totalBytes;
    // Windows cannot sync a file that is open only for reading.
    const access = isWhole && process.platform !== 'win32' ? O_RDONLY : O_RDWR;
    return fs.openSync(file, access | O_NOFOLLOW | O_NONBLOCK);
  });
}

/** Adds a file's first bytes to a digest, with constant memory. */
export async function hashFile(fd: number, bytes: number, hash: Hash, signal: AbortSignal): Promise<void> {
  const buffer = Buffer.allocUnsafe(READ_BYTES);
  for (let done = 0; done < bytes; ) {
    signal.throwIfAborted();
    const got = await new Promise<number>((resolve, reject) => {
      fs.read(fd, buffer, 0, Math.min(READ_BYTES, bytes - done), done, (error, count) =>
        error ? reject(error) : resolve(count),
      );
    });
    if (got === 0) throw Object.assign(new Error('the file became shorter'), { code: 'EIO' });
    hash.update(buffer.subarray(0, got));
    done += got;
  }
}

/** A part file as an earlier run recorded it. */
export type RecordedPart = Job['parts'][string];

/**
 * The facts that a later process needs to continue a part. `etag` is strong, with its quotes; without one only the
 * process that began the part can finish it. `to` is the name that the complete part is about to get.
 */
type PartFacts = Omit<RecordedPart, 'startedAtMs'>;

/**
 * Records the facts of a download, and holds what earlier runs of the job recorded. Each call returns once the fact is
 * durable. If it throws, that output stops before the action that should have been recorded.
 */
export interface DownloadJournal {
  /** Downloads of this job recorded before this run. */
  readonly downloadsSoFar: number;
  /** Parts by role. */
  readonly parts: Readonly<Record<string, RecordedPart>>;
  readonly files: readonly SavedFile[];
  aboutToGet(role: string): void;
  /** The last waiting time that each server asked for, by role. */
  readonly waits: NonNullable<Job['held']>;
  held(role: string, forMs: number): void;
  /** True if GETs are no longer counted in the ledger: then each output is requested once. */
  isUncounted?(): boolean;
  /** True if a job of the ledger has a file with that path. */
  isRecorded?(path: string): Promise<boolean>;
  /** The output's part is about to be made or, if undefined, is gone. */
  part(role: string, part: PartFacts | undefined): void;
  saved(file: SavedFile): void;
}

/** The journal of a job's outputs, which `note` writes; `job` holds what earlier runs recorded. */
export const journalOf = (
  job: Pick<Job, 'downloads' | 'held' | 'parts' | 'files'> | undefined,
  note: (event: LedgerEvent) => void,
): DownloadJournal => ({
  downloadsSoFar: job?.downloads ?? 0,
  parts: job?.parts ?? {},
  files: job?.files ?? [],
  aboutToGet: (role) => note({ event: 'get', role }),
  waits: job?.held ?? {},
  held: (role, forMs) => note({ event: 'held', role, forMs }),
  part: (role, part) => note({ event: 'part', role, ...part }),
  saved: (file) => note({ event: 'saved', ...file }),
});
