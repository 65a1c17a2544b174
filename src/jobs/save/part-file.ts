import { createHash, type Hash } from 'node:crypto';
import * as fs from 'node:fs';
import * as path from 'node:path';
import { DiskFault } from '../../disk/disk-fault.ts';
import { ensureDirectory } from '../../disk/durable-directory.ts';
import { errorCode } from '../../errors.ts';
import type { Job, LedgerEvent, SavedFile } from '../../ledger/event.ts';
import { SNIFF_BYTES } from '../../media/signatures.ts';
import { isPartName, newPartName } from './output-path.ts';

const READ_BYTES = 1024 * 1024;

/**
 * The file that an output grows in, beside its target: hidden, 0600, made exclusively, and recorded before it exists.
 * A part holds bytes of one version of the server's file only and is never cut short: a fresh start is a fresh part.
 * So even two processes that write to one part write the same bytes at the same places.
 */
export class PartFile {
  /** The first bytes as they came: what an image is must be known also where its disk cannot be read. */
  private beginning = Buffer.alloc(0);

  private constructor(
    readonly fd: number,
    readonly path: string,
    /** Strong, or none. */
    readonly etag: string | undefined,
    public totalBytes: number | undefined,
    /** Written so far. */
    public bytes: number,
    private readonly hash: Hash,
    public isOpen = true,
  ) {}

  /** Makes an empty part in the directory. `record` stands before the file does. Throws DiskFault. */
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
   * Opens what an earlier process left, if it can be gone on with: a part of ours in one of these directories, a regular file
   * without other names (unless it is complete: then it may have been published already), with a strong tag or
   * complete, and written since the machine was started, because bytes that a crash of the system lost read as zeros: where
   * the clock was set back nobody can tell. Its digest is computed anew. Aborting throws the signal's reason.
   */
  static async reopen(recorded: RecordedPart, where: PartPlace): Promise<PartFile | undefined> {
    const { path: file, etag, totalBytes, to } = recorded;
    const isTold = recorded.startedAtMs <= where.nowMs;
    // What was about to get its name had been brought to the disk.
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

  /** Writes a chunk behind what there is; the system may take it in pieces. Throws DiskFault. */
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

  /** The first bytes, at most `count`. */
  head(count: number): Uint8Array {
    const isKept = this.beginning.length >= Math.min(count, this.bytes);
    return isKept ? this.beginning.subarray(0, count) : this.read(0, count);
  }

  /** Bytes from a place in the file, fewer at its end. Throws DiskFault. */
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

  /** Closes it; a second time does nothing. */
  close(): void {
    if (!this.isOpen) return;
    this.isOpen = false;
    fs.closeSync(this.fd);
  }
}

/** Where a part may lie that is gone on with, and when that is. */
export interface PartPlace {
  /** Beside its target, and where the parts grow that cannot grow there. */
  readonly dirs: readonly string[];
  readonly bootedAtMs: number;
  readonly nowMs: number;
  readonly signal: AbortSignal;
}

export const isPartIn = (file: string, { dirs }: PartPlace): boolean =>
  isPartName(path.basename(file)) && dirs.some((dir) => path.dirname(file) === path.resolve(dir));

/** Whether an open file is a regular one of this user's. */
export const isOwnFile = (stats: fs.Stats): boolean =>
  stats.isFile() && stats.uid === (process.getuid?.() ?? stats.uid);

export interface PartHome {
  readonly dir: string;
  /** Why the output is not saved where it was wanted, where that is known already. */
  readonly fault?: DiskFault;
}

/** The one part file of an output: in its home, or in the refuge from where its disk has failed, with what had come of it. */
export class GrowingPart {
  /** What an earlier process left, or what has come so far. */
  part: PartFile | undefined;
  /** Why the part lies in the refuge, where it was to lie elsewhere. */
  fault: DiskFault | undefined;
  protected dir: string;

  constructor(
    home: PartHome,
    private readonly refuge: string | undefined,
    private readonly record: (facts: PartFacts | undefined) => void,
  ) {
    this.dir = home.dir;
    this.fault = home.fault;
  }

  /** Throws DiskFault. */
  create(facts: Omit<PartFacts, 'path'> = {}): void {
    this.part = PartFile.create(this.dir, facts, this.record);
  }

  /** Writes a chunk behind what there is. Throws DiskFault where the refuge does not take it either. */
  append(chunk: Uint8Array): void {
    const endsAt = (this.part?.bytes ?? 0) + chunk.length;
    // What found no place here goes on there, from where it stopped.
    this.orFlee(() => this.part?.append(chunk.subarray(chunk.length - (endsAt - this.part.bytes))));
  }

  /** Does what the disk may refuse; once, what it refuses is done in the refuge. Throws DiskFault. */
  orFlee(act: () => void): void {
    try {
      act();
    } catch (error) {
      if (!(error instanceof DiskFault) || !this.flee(error)) throw error;
      act();
    }
  }

  /** What came cannot be used, because its disk cannot be read: whether it may be fetched anew, into the refuge. */
  beginElsewhere(fault: DiskFault): boolean {
    if (this.refuge === undefined || this.dir === this.refuge || this.fault !== undefined) return false;
    this.discard();
    return this.flee(fault);
  }

  /** Whether the refuge has taken the part, with what has come of it. */
  private flee(fault: DiskFault): boolean {
    const { refuge } = this;
    if (refuge === undefined || this.dir === refuge) return false;
    try {
      ensureDirectory(refuge);
      this.part = this.part && movePart(this.part, refuge, this.record);
      this.dir = refuge;
      return true;
    } catch {
      return false;
    } finally {
      this.fault = fault;
    }
  }

  /** Closes the part, removes it and records that. */
  discard(): void {
    const { part } = this;
    if (!part) return;
    this.part = undefined;
    part.close();
    removePart(part.path);
    this.record(undefined);
  }
}

/**
 * Begins a part in another directory with the bytes of one whose disk has failed; that one is closed, and its file goes
 * where it can. Throws DiskFault, and leaves everything as it is then.
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
  try {
    part.close();
    removePart(from);
  } catch {
    // A directory that takes no byte may not let one go either.
  }
  return moved;
}

/** Removes a part file of ours, if it is still there; another file is never touched. */
export function removePart(file: string): void {
  if (!isPartName(path.basename(file))) return;
  try {
    fs.unlinkSync(file);
  } catch (error) {
    if (errorCode(error) !== 'ENOENT' && errorCode(error) !== 'ENOTDIR') throw error;
  }
}

/** Removes a part and records that it is gone. */
export function forgetPart(file: string, role: string, journal: DownloadJournal): void {
  removePart(file);
  journal.part(role, undefined);
}

/** Opens a file to go on with; a whole one for reading only, which is all that some disks let one do with it. */
function openExisting(file: string, totalBytes: number | undefined): number | undefined {
  const { O_RDONLY, O_RDWR, O_NOFOLLOW = 0, O_NONBLOCK = 0 } = fs.constants;
  try {
    const isWhole = totalBytes !== undefined && fs.lstatSync(file).size === totalBytes;
    // Windows syncs no file that is open for reading.
    const access = isWhole && process.platform !== 'win32' ? O_RDONLY : O_RDWR;
    return fs.openSync(file, access | O_NOFOLLOW | O_NONBLOCK);
  } catch {
    return undefined; // gone, or no longer a file that can be written: the output is fetched from its start
  }
}

/** Adds a file's first bytes to a digest, in constant memory. */
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
 * What is known of a part file: enough for a later process to go on with it. `etag` is strong, with its quotes; without one the
 * part can only be finished by the process that began it. `to`: the name that it is about to get, on the disk whole.
 */
type PartFacts = Omit<RecordedPart, 'startedAtMs'>;

/**
 * Where the downloader's facts go, and what earlier runs of the same job left. Each call returns when the fact is
 * durable; one that throws stops the output it concerns before anything is done that it should have recorded.
 */
export interface DownloadJournal {
  /** Downloads of this job recorded before this run. */
  readonly downloadsSoFar: number;
  /** By role. */
  readonly parts: Readonly<Record<string, RecordedPart>>;
  readonly files: readonly SavedFile[];
  aboutToGet(role: string): void;
  /** What servers said last on waiting, by role. */
  readonly waits: NonNullable<Job['held']>;
  held(role: string, forMs: number): void;
  /** Whether nothing counts the GETs any more: each output is asked for once. */
  isUncounted?(): boolean;
  /** Whether a job of the ledger has a file of that path. */
  isRecorded?(path: string): Promise<boolean>;
  /** The output's one part file is about to be made, or (undefined) is gone. */
  part(role: string, part: PartFacts | undefined): void;
  saved(file: SavedFile): void;
}

/** The journal of a job's outputs, each fact written down by `note`; `job` is what earlier runs left. */
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
