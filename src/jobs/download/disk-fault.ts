import * as fs from 'node:fs';
import * as os from 'node:os';
import { errorCode } from '../../errors.ts';

const reasons: Readonly<Record<string, string>> = {
  ENOSPC: 'the disk is full',
  EDQUOT: 'the disk quota is used up',
  EIO: 'the disk reports an input/output error',
  EFBIG: 'the file would be larger than this file system or the process limit allows',
  EROFS: 'the file system is read-only',
  EACCES: 'permission is denied',
  EPERM: 'the operation is not permitted',
  ENOENT: 'it does not exist',
  ENOTDIR: 'a part of the path is not a directory',
  EEXIST: 'a file stands where a directory is expected',
  ENAMETOOLONG: 'the name is too long for this file system',
  ELOOP: 'it is a loop of symbolic links',
  EMFILE: 'too many files are open',
  ENFILE: 'too many files are open',
};

/** Why a file-system call failed, in words. */
export function faultReason(error: unknown): string {
  const code = isQuota(error) ? 'EDQUOT' : errorCode(error);
  if (code === undefined) return error instanceof Error ? error.message : String(error);
  return reasons[code] ?? code;
}

/** Node has no name for EDQUOT and says UNKNOWN. */
function isQuota(error: unknown): boolean {
  const { errno } = error as { errno?: unknown };
  return errno === -os.constants.errno.EDQUOT;
}

/** The disk failed, or has too little room: what has arrived stays for `gw jobs sync`. */
export class DiskFault extends Error {
  override readonly name = 'DiskFault';
  constructor(
    message: string,
    /** False where what stands on the disk can no longer be trusted, as after a failed fsync. */
    readonly keepsPart: boolean,
  ) {
    super(message);
  }
}

/** A DiskFault about a file or directory, from what a system call threw. */
export function diskFault(what: string, error: unknown, keepsPart = true): DiskFault {
  return new DiskFault(`${what}: ${faultReason(error)}`, keepsPart);
}

/** Bytes that this user may still write in a directory's file system; undefined where it does not say. */
export function freeBytes(dir: string): number | undefined {
  try {
    const { bavail, bsize, blocks } = fs.statfsSync(dir);
    return blocks === 0 ? undefined : bavail * bsize;
  } catch {
    return undefined;
  }
}

/** Bytes for people. */
export function sayBytes(bytes: number): string {
  const units = ['bytes', 'KB', 'MB', 'GB', 'TB'];
  let value = bytes;
  let unit = 0;
  while (value >= 1024 && unit < units.length - 1) {
    value /= 1024;
    unit++;
  }
  return `${unit === 0 || value >= 100 ? Math.floor(value) : value.toFixed(1)} ${units[unit]}`;
}
