import * as fs from 'node:fs';
import * as path from 'node:path';
import { promisify } from 'node:util';
import { DiskFault, faultReason, kindOf } from '../../disk/disk-fault.ts';
import { renameFile } from '../../disk/durable-directory.ts';
import { quietly } from '../../host.ts';
import { type DiskWays, isThere, waysOf } from './disk-ways.ts';
import { besideOf, besidePart, isPartName, misnamed, newPartName } from './output-path.ts';
import { dropPart, type PartFile } from './part-file.ts';
import { type Beside, isReplaceable, removeBeside, replaceBeside, writeBeside } from './sidecar.ts';
import { copyWhole, isMoved, isSameFile, PartGone, takeName, type Whole } from './take-name.ts';

/** The highest suffix that is tried: `-1`, `-2`, … */
const MAX_COPIES = 9_999;
/** How often a name is looked at whose file changes at each look; then the next name is tried. */
const MAX_LOOKS = 20;

const fsync = (fd: number): Promise<void> => promisify(fs.fsync)(fd);

export interface PublishOptions {
  readonly dir: string;
  /** What the disk of that directory supports. */
  readonly ways: DiskWays;
  /** The name to try after `copy` names were taken; 0 is the first. */
  readonly name: (copy: number) => string;
  /** The extension for the type of the bytes: gw warns of a name with another type's extension. */
  readonly extension?: string | undefined;
  /** Whether to replace an existing regular file. */
  readonly force: boolean;
  /** Called for each name with `force`; calls `tell` before it looks at other jobs. */
  readonly mayReplace: (final: string, tell: () => void) => Promise<boolean>;
  /** True if an earlier process gave the name to this very output but recorded nothing. */
  readonly isOurs?: ((final: string) => Promise<boolean>) | undefined;
  readonly mode: number;
  /** The text of the file beside it, which gets its name at the same time (`--sidecar`). */
  readonly sidecar?: string | undefined;
  readonly warn?: ((text: string) => void) | undefined;
  /** Called before a name is taken without a link: after a kill, nothing else tells whose file has it. */
  readonly onName?: ((part: NamedPart) => void) | undefined;
  readonly signal?: AbortSignal | undefined;
}

/** A complete file that is to get a name: a part, or an output that is already on disk. */
export interface Source {
  readonly path: string;
  readonly bytes: number;
  readonly sha256: string;
  /** The part, if it must still be synced to disk. */
  readonly open?: PartFile | undefined;
}

/** What a later process needs to know about a part that was about to get a name. */
export interface NamedPart {
  readonly path: string;
  readonly totalBytes: number;
  readonly to: string;
  readonly sha256: string;
}

/** A complete part as a source. */
export const wholePart = (open: PartFile): Source => {
  const { path, bytes } = open;
  return { path, bytes, sha256: open.sha256(), open };
};

/**
 * Gives a complete part its final name: fsync, close, the first free name by a way that the disk supports (with
 * `force`: `rename()` over a regular file), fsync of the directory. A part on another disk is first copied beside its
 * target. The part's own name stays, except after a rename. If an earlier call was killed before it was recorded, the
 * same call finds the name that already is this file. Returns the final path. Throws DiskFault, or PartGone.
 */
export async function publish(source: Source, options: PublishOptions): Promise<string> {
  const final = await new Publication(source, options).run();
  await syncDirectory(options.dir);
  const odd = misnamed(final, options.extension);
  if (odd !== undefined) options.warn?.(odd);
  return final;
}

class Publication {
  /** The path to which a source in another directory is copied first. */
  private readonly copy: string;
  private isCopied = false;

  constructor(
    private readonly source: Source,
    private readonly options: PublishOptions,
  ) {
    const name = path.basename(source.path);
    this.copy = path.join(options.dir, isPartName(name) ? name : newPartName());
  }

  async run(): Promise<string> {
    const { source, options } = this;
    if (source.open?.isOpen) await settle(source.open, options.mode);
    try {
      return await this.takeFirst();
    } finally {
      if (this.isCopied) dropPart(this.copy, options.warn);
    }
  }

  /** True if the source is copied: it is on another disk, or is a file that must stay where it is. */
  private get isElsewhere(): boolean {
    const { dir, base } = path.parse(this.source.path);
    return dir !== path.resolve(this.options.dir) || !isPartName(base);
  }

  private get whole(): Whole {
    const { path, sha256 } = this.source;
    const { mode, signal } = this.options;
    return { path, sha256, mode, signal };
  }

  private tell(to: string): void {
    const { path: file, bytes: totalBytes, sha256 } = this.source;
    const part = isPartName(path.basename(file)) ? file : this.copy;
    this.options.onName?.({ path: part, totalBytes, to, sha256 });
  }

  private async takeFirst(): Promise<string> {
    const { dir, name, force } = this.options;
    for (let copy = 0; copy <= MAX_COPIES; copy++) {
      const final = path.join(dir, name(copy));
      if (await (force ? this.replace(final) : this.takeFree(final))) return final;
    }
    throw new DiskFault(`${path.join(dir, name(0))} and ${MAX_COPIES} names after it are taken`, true);
  }

  private async takeFree(final: string): Promise<boolean> {
    const { sidecar, isOurs } = this.options;
    if (sidecar !== undefined && isSameFile(this.source.path, final)) return true;
    if (await isOurs?.(final)) return true;
    if (sidecar !== undefined && isThere(final)) return false;
    // The sidecar goes first: if the output's name is taken it is removed, and after a kill the next run finds it.
    const beside = await this.takeBeside(final);
    if (beside === 'taken') return false;
    if (await this.take(final)) return true;
    if (beside === 'made') fs.rmSync(besideOf(final), { force: true });
    return false;
  }

  /** Takes a name that is free, and no other. */
  private async take(final: string): Promise<boolean> {
    const { ways } = this.options;
    if (!this.isElsewhere) return takeName(this.whole, final, ways, () => this.tell(final));
    if (isThere(final)) return false;
    this.tell(final);
    if (!ways.links && !ways.renames) return copyWhole(this.whole, final);
    await this.makeCopy();
    return takeName({ ...this.whole, path: this.copy }, final, ways);
  }

  private async makeCopy(): Promise<void> {
    if (this.isCopied && isThere(this.copy)) return;
    if (!(await copyWhole(this.whole, this.copy)))
      throw new DiskFault(`${this.copy} stands there already`, true);
    this.isCopied = true;
  }

  /** Takes the name beside an output; if the disk does not allow it, the output has no sidecar, with a warning. */
  private async takeBeside(final: string): Promise<Beside | undefined> {
    const { ways, warn } = this.options;
    const text = this.besideText();
    if (text === undefined) return undefined;
    try {
      return await writeBeside(final, text, (whole, to) => takeName(whole, to, ways, () => this.tell(final)));
    } catch (error) {
      warn?.(`${besideOf(final)} could not be written: ${faultReason(error)}`);
      return undefined;
    }
  }

  private besideText() {
    const { sidecar: text, mode } = this.options;
    return text === undefined ? undefined : { text, mode, trial: besidePart(this.copy) };
  }

  private async replace(final: string): Promise<boolean> {
    const taken = await this.takeOver(final);
    if (taken === undefined) return false;
    const beside = this.besideText();
    try {
      if (beside) replaceBeside(final, beside);
      else if (taken === 'replaced') removeBeside(final, this.source.sha256);
    } catch (error) {
      const what = beside ? 'written' : 'removed';
      this.options.warn?.(`${besideOf(final)} could not be ${what}: ${faultReason(error)}`);
    }
    return true;
  }

  /** Takes a free name, or the place of what may be replaced; what comes there meanwhile is asked about anew. */
  private async takeOver(final: string): Promise<'free' | 'replaced' | undefined> {
    const { sidecar, ways, mayReplace, warn } = this.options;
    for (let look = 0; look < MAX_LOOKS; look += 1) {
      const before = fs.lstatSync(final, { throwIfNoEntry: false });
      if (sidecar !== undefined && !isReplaceable(final)) return undefined;
      if (!(await mayReplace(final, () => before && this.tell(final)))) break;
      if (before && ways.renames && this.isElsewhere) await this.makeCopy();
      const there = fs.lstatSync(final, { throwIfNoEntry: false });
      if (there?.ino !== before?.ino || there?.mtimeMs !== before?.mtimeMs) continue;
      if (there && !there.isFile())
        throw new DiskFault(`${final} is not replaced: it is ${kindOf(there)}`, true);
      if (there && ways.renames) return await this.renameOver(final);
      if (there) remove(final);
      const isTaken = await (there ? copyWhole(this.whole, final) : this.take(final));
      if (isTaken) return there ? 'replaced' : 'free';
    }
    warn?.(`${final} is not replaced: it is another output of this command, or newer than --force`);
    return undefined;
  }

  private async renameOver(final: string): Promise<'replaced'> {
    const from = this.isElsewhere ? this.copy : this.source.path;
    try {
      renameFile(from, final);
    } catch (error) {
      if (await isMoved({ ...this.whole, path: from }, final)) return 'replaced';
      if (!isThere(from)) throw new PartGone(`${from} is gone`);
      throw DiskFault.of(`${final} cannot be replaced`, error);
    }
    return 'replaced';
  }
}

/** Writes the sidecar (--sidecar) of an output that already has its name, or warns that it cannot. */
export async function addBeside(final: string, text: string | undefined, warn: (text: string) => void) {
  if (text === undefined) return;
  const dir = path.dirname(final);
  const beside = { text, mode: 0o666 & ~process.umask(), trial: besidePart(path.join(dir, newPartName())) };
  try {
    const made = await writeBeside(final, beside, (whole, to) => takeName(whole, to, waysOf(dir)));
    if (made === 'taken') warn(`${besideOf(final)} is another file and stays: ${final} has no sidecar`);
  } catch (error) {
    warn(`${besideOf(final)} could not be written: ${faultReason(error)}`);
  }
}

/** Syncs bytes and permissions to disk, and then closes the part in any case. */
async function settle(part: PartFile, mode: number): Promise<void> {
  // A disk that stores no permissions still stores the bytes.
  quietly(() => fs.fchmodSync(part.fd, mode));
  try {
    await fsync(part.fd);
    part.close();
  } catch (error) {
    part.close();
    // After a failed fsync the state is unknown, and a second fsync would succeed without having written the data.
    throw DiskFault.of(`${part.path} could not be brought safely to disk`, error, false);
  }
}

function remove(file: string): void {
  try {
    fs.unlinkSync(file);
  } catch (error) {
    throw DiskFault.of(`${file} cannot be replaced`, error);
  }
}

/** Syncs the directory, which makes a new name durable; if the disk refuses, nothing is lost. */
async function syncDirectory(dir: string): Promise<void> {
  let fd: number | undefined;
  try {
    fd = fs.openSync(dir, 'r');
    await fsync(fd);
  } catch {
    // The file itself is on the disk.
  } finally {
    if (fd !== undefined) fs.closeSync(fd);
  }
}
