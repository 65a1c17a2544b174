import * as fs from 'node:fs';
import { DiskFault } from '../../disk/disk-fault.ts';
import { sha256OfFile } from '../../disk/small-file.ts';
import { type DiskWays, isThere } from './disk-ways.ts';

const BLOCK_BYTES = 1024 * 1024;

/** The file is no longer there under its name: another process took or removed it. */
export class PartGone extends Error {
  override readonly name = 'PartGone';
}

/** A whole file that is to get a name. */
export interface Whole {
  readonly path: string;
  /** Of its bytes, in hexadecimal. */
  readonly sha256: string;
  /** Permissions of the file under its new name, where that is a copy. */
  readonly mode: number;
  readonly signal?: AbortSignal | undefined;
}

/**
 * Gives a whole file a name that nothing has, in the ways of its disk: a second name, else a rename onto the name that
 * a file of one byte has taken, else a copy that is compared by its digest. What fails is done in the next way, whatever the error.
 * `tell` comes before the name is taken otherwise than by a link: after a kill nothing else says whose file stands there.
 * False where something has the name; then nothing is changed. Throws DiskFault, or PartGone.
 */
export async function takeName(
  whole: Whole,
  to: string,
  ways: Pick<DiskWays, 'links' | 'renames'>,
  tell: () => void = () => {},
): Promise<boolean> {
  const { path: from } = whole;
  if (ways.links) {
    try {
      fs.linkSync(from, to);
      return true;
    } catch {
      // What stands there, if anything, says more than the error.
    }
  }
  if (isThere(to)) return isSameFile(from, to);
  if (!isThere(from)) throw new PartGone(`${from} is gone`);
  tell();
  if (ways.renames) {
    if (!reserve(to, from)) return false;
    try {
      fs.renameSync(from, to);
      return true;
    } catch {
      fs.rmSync(to, { force: true });
    }
    if (!isThere(from)) throw new PartGone(`${from} is gone`);
  }
  return copyWhole(whole, to);
}

/**
 * Whether a file could take the name that holds the first byte of the one to come; false where something has it. An empty one
 * would do, were it not that a mounted cloud drive may bring it there after the rename.
 */
function reserve(to: string, from: string): boolean {
  let fd: number;
  try {
    fd = fs.openSync(to, 'wx', 0o600);
  } catch (error) {
    if (isThere(to)) return false;
    throw DiskFault.of(`${to} cannot be made`, error);
  }
  try {
    try {
      fs.writeSync(fd, firstByte(from));
    } finally {
      fs.closeSync(fd);
    }
    return true;
  } catch (error) {
    fs.rmSync(to, { force: true });
    throw DiskFault.of(`${to} cannot be written`, error);
  }
}

function firstByte(file: string): Uint8Array {
  const fd = fs.openSync(file, 'r');
  try {
    const buffer = Buffer.alloc(1);
    return buffer.subarray(0, fs.readSync(fd, buffer, 0, 1, 0));
  } finally {
    fs.closeSync(fd);
  }
}

/** Whether two names are those of one file: a disk without second names may give the number of one file to another. */
export function isSameFile(one: string, other: string): boolean {
  const [there, here] = [other, one].map((file) =>
    fs.lstatSync(file, { bigint: true, throwIfNoEntry: false }),
  );
  return there !== undefined && there.nlink > 1n && there.dev === here?.dev && there.ino === here.ino;
}

/**
 * Copies a whole file to a name that nothing has, written from its start to its end, on the disk when this returns, and
 * read back. False where something has the name. Throws DiskFault, and leaves nothing of its own then.
 */
export async function copyWhole({ path: from, sha256, mode, signal }: Whole, to: string): Promise<boolean> {
  let fd: number;
  try {
    fd = fs.openSync(to, 'wx', mode);
  } catch (error) {
    if (isThere(to)) return false;
    throw DiskFault.of(`${to} cannot be made`, error);
  }
  try {
    try {
      for await (const block of fs.createReadStream(from, { highWaterMark: BLOCK_BYTES })) {
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

/** One block after the other: such disks take no byte out of its turn. */
function write(fd: number, block: Uint8Array): void {
  for (let done = 0; done < block.length; ) {
    const written = fs.writeSync(fd, block, done, block.length - done);
    if (written === 0) throw Object.assign(new Error('no byte was written'), { code: 'ENOSPC' });
    done += written;
  }
}
