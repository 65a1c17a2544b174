import * as fs from 'node:fs';
import * as path from 'node:path';
import { DiskFault } from '../../disk/disk-fault.ts';
import { headOf, sha256OfFile } from '../../disk/small-file.ts';
import { can, quietly } from '../../host.ts';
import { type DiskWays, isThere } from './disk-ways.ts';

/** The file no longer exists under its name: another process took or removed it. */
export class PartGone extends Error {
  override readonly name = 'PartGone';
}

/** A complete file that is to get a name. */
export interface Whole {
  readonly path: string;
  /** SHA-256 of its bytes, in hexadecimal. */
  readonly sha256: string;
  /** Permissions of the file under its new name, if it is a copy. */
  readonly mode: number;
  readonly signal?: AbortSignal | undefined;
}

/**
 * Gives a complete file a free name by a way that its disk supports: a hard link; else a rename over a reserved file of
 * one byte; else a copy that is verified by its digest. If a way fails with any error, the next is tried. `tell` is
 * called before a name is taken without a link: after a kill, nothing else tells whose file has it. False if the name
 * is taken; then nothing is changed. Throws DiskFault, or PartGone.
 */
export async function takeName(
  whole: Whole,
  to: string,
  ways: Pick<DiskWays, 'links' | 'renames'>,
  tell: () => void = () => {},
): Promise<boolean> {
  const { path: from } = whole;
  // If linking fails, whether a file exists under the name says more than the error.
  if (ways.links && can(() => fs.linkSync(from, to))) return true;
  if (isThere(to)) return isSameFile(from, to);
  if (!isThere(from)) throw new PartGone(`${from} is gone`);
  tell();
  if (ways.renames) {
    if (!reserve(to, from)) return false;
    try {
      fs.renameSync(from, to);
      return true;
    } catch {
      if (await isMoved(whole, to)) return true;
      fs.rmSync(to, { force: true });
    }
    if (!isThere(from)) throw new PartGone(`${from} is gone`);
  }
  return copyWhole(whole, to);
}

/** True if the file has its name although the rename failed: a file server may lose its answer, and refuse the repeat. */
export const isMoved = async ({ path: from, sha256 }: Whole, to: string): Promise<boolean> =>
  !isThere(from) && (await sha256OfFile(to).catch(() => '')) === sha256;

/**
 * Reserves the name with a file that holds the first byte of the coming one; false if the name is taken. The file is
 * not empty, because a mounted cloud drive may write an empty one there after the rename.
 */
function reserve(to: string, from: string): boolean {
  const fd = openNew(to, 0o600);
  if (fd === undefined) return false;
  try {
    try {
      fs.writeSync(fd, headOf(from, 1));
    } finally {
      fs.closeSync(fd);
    }
    return true;
  } catch (error) {
    fs.rmSync(to, { force: true });
    throw DiskFault.of(`${to} cannot be written`, error);
  }
}

/** Opens a new file for writing; undefined if the name is taken. Throws DiskFault. */
function openNew(file: string, mode: number): number | undefined {
  try {
    return fs.openSync(file, 'wx', mode);
  } catch (error) {
    if (isThere(file)) return undefined;
    throw DiskFault.of(`${file} cannot be made`, error);
  }
}

const foldedName = (file: string): string => path.basename(file).normalize('NFC').toLowerCase();

/** The same text for all paths that may name one file. */
export const placeOf = (file: string): string =>
  path.join(
    quietly(() => fs.realpathSync.native(path.dirname(file))) ?? path.dirname(file),
    foldedName(file),
  );

/** Undefined also for a path that cannot be looked at, such as one on a disk that is not there any more. */
const statsOf = (file: string) => quietly(() => fs.lstatSync(file, { bigint: true, throwIfNoEntry: false }));

/** True if two paths name one file, also by a link to its folder, or on a disk that takes upper and lower case as one. */
export function isSamePlace(one: string, other: string): boolean {
  if (one === other) return true;
  if (foldedName(one) !== foldedName(other)) return false;
  const [mine, theirs] = [one, other].map(statsOf);
  return mine !== undefined && mine.dev === theirs?.dev && mine.ino === theirs.ino;
}

/** True if two names belong to one file; a disk without hard links may give two files the same inode. */
export function isSameFile(one: string, other: string): boolean {
  const [there, here] = [other, one].map(statsOf);
  return there !== undefined && there.nlink > 1n && there.dev === here?.dev && there.ino === here.ino;
}

/**
 * Copies a complete file to a free name; the copy is written from start to end, synced, and read back. False if the
 * name is taken. Throws DiskFault, and then leaves no file of its own.
 */
export async function copyWhole({ path: from, sha256, mode, signal }: Whole, to: string): Promise<boolean> {
  const fd = openNew(to, mode);
  if (fd === undefined) return false;
  try {
    try {
      for await (const block of fs.createReadStream(from, { highWaterMark: 1 << 20 })) {
        signal?.throwIfAborted();
        write(fd, block);
      }
      fs.fsyncSync(fd);
    } finally {
      fs.closeSync(fd);
    }
    if ((await sha256OfFile(to)) === sha256) return true;
    throw new DiskFault(`${to} does not hold what was written to it`, true);
  } catch (error) {
    fs.rmSync(to, { force: true });
    signal?.throwIfAborted();
    throw error instanceof DiskFault ? error : DiskFault.of(`${to} cannot be written`, error);
  }
}

/** Writes blocks in order: such disks accept only sequential writes. */
function write(fd: number, block: Uint8Array): void {
  for (let done = 0; done < block.length; ) {
    const written = fs.writeSync(fd, block, done, block.length - done);
    if (written === 0) throw Object.assign(new Error('no byte was written'), { code: 'ENOSPC' });
    done += written;
  }
}
