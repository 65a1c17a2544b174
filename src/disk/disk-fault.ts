import * as fs from 'node:fs';
import * as os from 'node:os';
import { errorCode } from '../errors.ts';

/** What a system error means to the user, and what to do about it. */
const faults: Readonly<Record<string, { reason: string; remedy: string }>> = {
  ENOSPC: { reason: 'the disk is full', remedy: 'free some space' },
  EDQUOT: { reason: 'the disk quota is used up', remedy: 'free some space or raise the quota' },
  EFBIG: { reason: 'the file would pass the size limit', remedy: 'raise the limit (ulimit -f)' },
  EROFS: { reason: 'the file system is read-only', remedy: 'choose a writable directory' },
  EACCES: { reason: 'permission denied', remedy: 'make it writable for this user' },
  EPERM: { reason: 'the operation is not permitted', remedy: 'make it writable for this user' },
  EEXIST: { reason: 'a file stands where a directory is expected', remedy: 'move that file away' },
  ENOTDIR: { reason: 'a part of the path is not a directory', remedy: 'move that file away' },
  EISDIR: { reason: 'a directory stands where a file is expected', remedy: 'move that directory away' },
  ENOENT: { reason: 'a part of the path is missing', remedy: 'create the directory' },
  ELOOP: { reason: 'its symbolic links go in a circle', remedy: 'correct the links' },
  ENAMETOOLONG: { reason: 'the path is too long', remedy: 'choose a shorter directory' },
  EMFILE: { reason: 'too many files are open', remedy: 'raise the limit (ulimit -n)' },
  ENFILE: { reason: 'too many files are open', remedy: 'close some programs' },
  EIO: { reason: 'the disk reports an input/output error', remedy: 'check the disk' },
};

/** A short write: the system took fewer bytes than it was given, which a full disk may do without an error. */
export class ShortWrite extends Error {
  override readonly name = 'ShortWrite';
  readonly code = 'ENOSPC';
}

/** Why a file operation failed, in words with the system's code, and the remedy as the start of a sentence. */
export function diskFault(error: unknown): { reason: string; remedy: string } {
  const code = isQuota(error) ? 'EDQUOT' : errorCode(error);
  const fault = code === undefined ? undefined : faults[code];
  if (fault) return { reason: `${fault.reason} (${code})`, remedy: fault.remedy };
  return { reason: code ?? 'the system gave no reason', remedy: 'check the path' };
}

/** Node has no name for EDQUOT and says UNKNOWN. */
function isQuota(error: unknown): boolean {
  const { errno } = (error ?? {}) as { errno?: unknown };
  return errno === -os.constants.errno.EDQUOT;
}

/** Whether there was no room for what was to be written. */
export const isFull = (error: unknown): boolean =>
  errorCode(error) === 'ENOSPC' || isQuota(error) || errorCode(error) === 'EDQUOT';

/** True for an error that the system raised, false for a fault of gw's own. */
export function isDiskFault(error: unknown): boolean {
  return error instanceof ShortWrite || (error instanceof Error && 'syscall' in error);
}

/** Why a call failed, in words: the system's reason, or what gw says of it. */
export function faultReason(error: unknown): string {
  if (isDiskFault(error) || errorCode(error) !== undefined) return diskFault(error).reason;
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

  /** About a file or directory, from what a system call threw. */
  static of(what: string, error: unknown, keepsPart = true): DiskFault {
    return new DiskFault(`${what}: ${faultReason(error)}`, keepsPart);
  }
}

/** The longest name that the usual file systems take. */
export const MAX_NAME_BYTES = 255;

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
export function kindOf(
  stats: Pick<fs.Stats, 'isFile' | 'isDirectory' | 'isSymbolicLink' | 'isFIFO' | 'isSocket'>,
): string {
  if (stats.isDirectory()) return 'a directory';
  if (stats.isSymbolicLink()) return 'a symbolic link';
  if (stats.isFIFO()) return 'a pipe';
  if (stats.isSocket()) return 'a socket';
  return stats.isFile() ? 'a file' : 'a device';
}
