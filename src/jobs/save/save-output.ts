import { createHash } from 'node:crypto';
import * as fs from 'node:fs';
import * as path from 'node:path';
import { DiskFault, faultReason } from '../../disk/disk-fault.ts';
import { ensureDirectory } from '../../disk/durable-directory.ts';
import { GwError } from '../../errors.ts';
import type { TaskOutput } from '../../gateway/task.ts';
import type { SavedFile } from '../../ledger/event.ts';
import { type FileType, SNIFF_BYTES, sniff } from '../../media/signatures.ts';
import { OutputFetch } from './fetch-output.ts';
import type { GetBudget } from './get-output.ts';
import { type OutputPath, outputPath } from './output-path.ts';
import { forgetPart, hashFile, PartFile, type RecordedPart } from './part-file.ts';
import { PartSink } from './part-sink.ts';
import { PartGone, publish } from './publish.ts';
import type { SaveInput } from './save-outputs.ts';
import { missingEnd } from './verify-part.ts';

/** From a slow network to a dead one. */
const CONNECT_MS = 10_000;
/** A part that other processes keep taking away is begun this often. */
const MAX_ROUNDS = 3;
const COPY_BYTES = 1024 * 1024;

export interface SaveShared {
  readonly budget: GetBudget;
  readonly bootedAtMs: number;
  readonly warn: (text: string) => void;
}

/** The way of one output from its link to its final name. */
export class SaveOutput {
  private readonly place: OutputPath;
  private readonly sink: PartSink;
  private recorded: RecordedPart | undefined;

  constructor(
    private readonly output: TaskOutput,
    index: number,
    private readonly input: SaveInput,
    private readonly shared: SaveShared,
  ) {
    const { names, plan, journal, onProgress } = input;
    const { role, type } = output;
    this.place = outputPath(plan.target, names, output, index);
    this.recorded = journal.parts[role];
    const name = role === type ? names.id : `${names.id} ${role}`;
    this.sink = new PartSink(
      {
        dir: this.place.dir,
        role,
        type,
        journal,
        freeBytes: input.freeBytes,
        onBytes: (bytes, totalBytes) => onProgress?.({ role, name, bytes, totalBytes }),
      },
      undefined,
    );
  }

  /** Throws what a failure is made of: GwError, DiskFault, the signal's reason. */
  async run(): Promise<SavedFile> {
    const { place, sink, input, output } = this;
    const there = await this.savedBefore();
    if (there) return there;
    try {
      ensureDirectory(place.dir, 0o777);
    } catch (error) {
      throw DiskFault.of(`${place.dir} cannot be made`, error);
    }
    sink.part ??= await this.earlierPart();
    const fetch = new OutputFetch(output, sink, {
      transport: input.transport,
      clock: input.clock,
      random: input.random,
      signal: input.signal,
      silenceMs: input.silenceMs,
      connectMs: input.connectMs ?? CONNECT_MS,
      userAgent: input.userAgent,
      deadlineMs: input.deadlineMs,
      countGet: () => this.shared.budget.take(output.role),
      refreshLink: () => input.refreshLink(output.role),
    });
    for (let round = 1; ; round++) {
      const { part, fileType } = await fetch.run();
      try {
        return await this.publish(part, fileType);
      } catch (error) {
        if (!(error instanceof PartGone) || round === MAX_ROUNDS) throw error;
        sink.discard();
      }
    }
  }

  /** Whether what has arrived is of use to a later process. */
  get isResumable(): boolean {
    return this.sink.part?.isResumable ?? this.recorded !== undefined;
  }

  /** Ends the work on this output; says whether a part file stays. */
  abandon(keep: boolean): boolean {
    const { part } = this.sink;
    try {
      if (part && keep) part.close();
      else if (part) this.sink.discard();
      else if (!keep) this.dropRecorded();
    } catch (error) {
      this.shared.warn(`a part file could not be removed: ${faultReason(error)}`);
    }
    return keep && (part !== undefined || this.recorded !== undefined);
  }

  /** What an earlier run saved: where it belongs it stays, elsewhere it is copied, and nothing is fetched. */
  private async savedBefore(): Promise<SavedFile | undefined> {
    const { journal, signal } = this.input;
    const saved = journal.files.findLast(({ role }) => role === this.output.role);
    const fd = saved && (await openSaved(saved, signal));
    if (!saved || fd === undefined) return undefined;
    try {
      this.dropRecorded();
      if (isAtTarget(saved.path, this.place, extensionOf(fd) ?? '')) return saved;
      return await this.copy(fd, saved);
    } finally {
      fs.closeSync(fd);
    }
  }

  private async copy(fd: number, saved: SavedFile): Promise<SavedFile> {
    const { place, sink, input } = this;
    ensureDirectory(place.dir, 0o777);
    sink.begin({ do: 'restart', etag: undefined, totalBytes: saved.bytes });
    const buffer = Buffer.allocUnsafe(COPY_BYTES);
    for (let done = 0; done < saved.bytes; ) {
      input.signal.throwIfAborted();
      const got = fs.readSync(fd, buffer, 0, COPY_BYTES, done);
      if (got === 0) break;
      sink.data(buffer.subarray(0, got));
      done += got;
      await new Promise(setImmediate);
    }
    const { part } = sink;
    const fileType = part && sniff(part.head(SNIFF_BYTES));
    if (!part || !fileType || part.sha256() !== saved.sha256) {
      throw new GwError('download', `${saved.path} changed while it was copied`, {
        hint: 'run the command again',
      });
    }
    return this.publish(part, fileType);
  }

  /** The part of an earlier process, opened again; one that is of no use is removed. */
  private async earlierPart(): Promise<PartFile | undefined> {
    if (!this.recorded) return undefined;
    const { clock, signal } = this.input;
    const { bootedAtMs } = this.shared;
    const where = { dir: this.place.dir, bootedAtMs, nowMs: clock.now(), signal };
    const part = await PartFile.reopen(this.recorded, where);
    if (part) this.recorded = undefined;
    else this.dropRecorded();
    return part;
  }

  private dropRecorded(): void {
    const { recorded } = this;
    this.recorded = undefined;
    if (recorded) forgetPart(recorded.path, this.output.role, this.input.journal);
  }

  /** Gives a whole part its final name and records it; only then the part's own name goes. */
  private async publish(part: PartFile, fileType: FileType): Promise<SavedFile> {
    const { place, sink, input, output } = this;
    const { role } = output;
    const sha256 = part.sha256();
    const missing = missingEnd(fileType.format, part);
    const final = await publish(part, {
      dir: place.dir,
      name: (copy) => place.name(fileType.extension, copy),
      force: input.plan.force,
      sidecar: input.sidecar?.(sha256),
      warn: this.shared.warn,
      onRename: (to) => input.journal.part(role, part.renamedTo(to)),
      mode: 0o666 & ~process.umask(),
    });
    const file: SavedFile = { role, path: final, bytes: part.bytes, sha256, type: fileType.mime };
    if (missing !== undefined) this.shared.warn(`${final} may be cut: ${missing}`);
    try {
      input.journal.saved(file);
    } catch (error) {
      throw new GwError(
        'download',
        `${final} is whole, but that could not be recorded: ${faultReason(error)}`,
        {
          hint: 'when the ledger can be written again, gw jobs sync records it',
        },
      );
    }
    try {
      sink.discard();
    } catch (error) {
      this.shared.warn(`${part.path} could not be removed: ${faultReason(error)}`);
    }
    this.warnOfExtension(final, fileType.extension);
    return file;
  }

  private warnOfExtension(final: string, extension: string): void {
    const written = path.extname(final).slice(1).toLowerCase();
    const isKnown = ['mp4', 'mov', 'webm', 'png', 'jpg', 'jpeg', 'webp', 'gif', 'mp3', 'wav'].includes(
      written,
    );
    if (isKnown && written.replace('jpeg', 'jpg') !== extension) {
      this.shared.warn(`${final} holds ${extension.toUpperCase()}, whatever its name says`);
    }
  }
}

/** Whether a file that an earlier run saved is still there as recorded, by its length and SHA-256. */
export async function isAsSaved(saved: SavedFile, signal: AbortSignal): Promise<boolean> {
  const fd = await openSaved(saved, signal);
  if (fd !== undefined) fs.closeSync(fd);
  return fd !== undefined;
}

/**
 * A file that an earlier run saved and that is still there as recorded, by its length and SHA-256, open for reading.
 * The caller closes it. Undefined where it is gone or changed. Aborting throws the signal's reason.
 */
async function openSaved(saved: SavedFile, signal: AbortSignal): Promise<number | undefined> {
  let fd: number;
  try {
    fd = fs.openSync(saved.path, fs.constants.O_RDONLY | (fs.constants.O_NONBLOCK ?? 0));
  } catch {
    return undefined;
  }
  try {
    const stats = fs.fstatSync(fd);
    if (stats.isFile() && stats.size === saved.bytes) {
      const hash = createHash('sha256');
      await hashFile(fd, saved.bytes, hash, signal);
      if (hash.digest('hex') === saved.sha256) return fd;
    }
  } catch {
    signal.throwIfAborted();
  }
  fs.closeSync(fd);
  return undefined;
}

/** The extension of the file's kind, from its first bytes. */
function extensionOf(fd: number): string | undefined {
  const head = Buffer.alloc(SNIFF_BYTES);
  return sniff(head.subarray(0, fs.readSync(fd, head, 0, SNIFF_BYTES, 0)))?.extension;
}

/** Whether a saved file lies where an output belongs: its name, or one that `-1`, `-2`, … made of it. */
function isAtTarget(file: string, place: OutputPath, extension: string): boolean {
  if (path.dirname(file) !== path.resolve(place.dir)) return false;
  const name = path.basename(file);
  const copies = [...name.matchAll(/-(\d{1,4})(?=\.|$)/g)].map((found) => Number(found[1]));
  return [0, ...copies].some((copy) => place.name(extension, copy) === name);
}
