import * as fs from 'node:fs';
import * as path from 'node:path';
import { errorCode } from '../errors.ts';

/** Codes of systems and file systems that cannot sync a directory at all (Windows, some network mounts). */
const cannotSync = new Set(['EPERM', 'EINVAL', 'EISDIR', 'ENOTSUP', 'EBADF']);

/** Makes the names in a directory durable. Throws the system's error where the disk failed to. */
export function syncDirectory(dir: string, files: Pick<typeof fs, 'fsyncSync'> = fs): void {
  let fd: number;
  try {
    fd = fs.openSync(dir, 'r');
  } catch (error) {
    if (cannotSync.has(errorCode(error) ?? '') || errorCode(error) === 'EACCES') return;
    throw error;
  }
  try {
    files.fsyncSync(fd);
  } catch (error) {
    if (!cannotSync.has(errorCode(error) ?? '')) throw error;
  } finally {
    fs.closeSync(fd);
  }
}

/** For what is gw's own. */
const PRIVATE = 0o700;

/**
 * Makes a directory (0700 unless said) with its parents, durably; one that is there already is left as it is. Throws the
 * system's error. One level at a time, because Node's recursive mkdir calls a read-only file system a missing path and never ends
 * on file systems that make no directories.
 */
export function ensureDirectory(dir: string, mode: number = PRIVATE): void {
  if (isDirectory(dir)) return;
  const parent = path.dirname(dir);
  if (parent !== dir) ensureDirectory(parent, mode);
  try {
    fs.mkdirSync(dir, { mode });
  } catch (error) {
    if (errorCode(error) !== 'EEXIST' || !isDirectory(dir)) throw error;
    return;
  }
  syncDirectory(parent);
}

/** What lies below a file is not there: Node 20 throws ENOTDIR for it, newer ones do not. */
function isDirectory(dir: string): boolean {
  try {
    return fs.statSync(dir, { throwIfNoEntry: false })?.isDirectory() ?? false;
  } catch (error) {
    if (errorCode(error) === 'ENOTDIR') return false;
    throw error;
  }
}
