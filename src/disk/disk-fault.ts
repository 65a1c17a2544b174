import * as fs from 'node:fs';
import * as os from 'node:os';
import { errorCode } from '../errors.ts';
import { quietly } from '../host.ts';

/** Each system error in words for the user, with a remedy. */
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

/** The system wrote fewer bytes than it was given; a full disk may do so without an error. */
export class ShortWrite extends Error {
  override readonly name = 'ShortWrite';
  readonly code = 'ENOSPC';
}

/** The reason for a failed file operation, with the system's code, and a remedy that can begin a sentence. */
export function diskFault(error: unknown): { reason: string; remedy: string } {
  const code = codeOf(error);
  const fault = code === undefined ? undefined : faults[code];
  if (fault) return { reason: `${fault.reason} (${code})`, remedy: fault.remedy };
  return { reason: code ?? 'the system gave no reason', remedy: 'check the path' };
}

/** The system's code of an error. Node has no name for EDQUOT and reports UNKNOWN. */
function codeOf(error: unknown): string | undefined {
  const { errno } = (error ?? {}) as { errno?: unknown };
  return errno === -os.constants.errno.EDQUOT ? 'EDQUOT' : errorCode(error);
}

/** True if the disk or the user's quota is full. */
export const isFull = (error: unknown): boolean => ['ENOSPC', 'EDQUOT'].includes(codeOf(error) ?? '');

/** True for an error of the system, false for a bug in gw. */
export function isDiskFault(error: unknown): boolean {
  return error instanceof ShortWrite || (error instanceof Error && 'syscall' in error);
}

/** The reason for a failed call in words: the system's reason, or the error's own message. */
export function faultReason(error: unknown): string {
  if (isDiskFault(error) || errorCode(error) !== undefined) return diskFault(error).reason;
  return error instanceof Error ? error.message : String(error);
}

/** The disk failed or is full; the part that has arrived stays for `gw jobs sync`. */
export class DiskFault extends Error {
  override readonly name = 'DiskFault';
  constructor(
    message: string,
    /** False if the data on disk can no longer be trusted, as after a failed fsync. */
    readonly keepsPart: boolean,
  ) {
    super(message);
  }

  /** Makes a DiskFault about a file or directory from the error of a system call. */
  static of(what: string, error: unknown, keepsPart = true): DiskFault {
    return new DiskFault(`${what}: ${faultReason(error)}`, keepsPart);
  }
}

/** The longest file name in bytes that common file systems allow. */
export const MAX_NAME_BYTES = 255;

/** Bytes that this user may still write to a directory's file system; undefined if the system does not say. */
export function freeBytes(dir: string): number | undefined {
  const { bavail, bsize, blocks } = quietly(() => fs.statfsSync(dir)) ?? { bavail: 0, bsize: 0, blocks: 0 };
  return blocks === 0 ? undefined : bavail * bsize;
}

/** The kind of a file system entry, in words. */
export function kindOf(
  stats: Pick<fs.Stats, 'isFile' | 'isDirectory' | 'isSymbolicLink' | 'isFIFO' | 'isSocket'>,
): string {
  if (stats.isDirectory()) return 'a directory';
  if (stats.isSymbolicLink()) return 'a symbolic link';
  if (stats.isFIFO()) return 'a pipe';
  if (stats.isSocket()) return 'a socket';
  return stats.isFile() ? 'a file' : 'a device';
}
