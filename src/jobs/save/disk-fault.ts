import type { Stats } from 'node:fs';
import * as fs from 'node:fs';
import { isDiskFault, diskFault as systemFault } from '../../disk/disk-fault.ts';
import { errorCode } from '../../errors.ts';

/** Why a file-system call failed, in words. */
export function faultReason(error: unknown): string {
  if (isDiskFault(error) || errorCode(error) !== undefined) return systemFault(error).reason;
  return error instanceof Error ? error.message : String(error);
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

/** What stands under a name, in words. */
export function kindOf(stats: Stats): string {
  if (stats.isDirectory()) return 'a directory';
  if (stats.isSymbolicLink()) return 'a symbolic link';
  if (stats.isFIFO()) return 'a fifo';
  if (stats.isSocket()) return 'a socket';
  return stats.isFile() ? 'a file' : 'a device';
}
