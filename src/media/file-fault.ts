import type { Stats } from 'node:fs';
import { errorCode, type GwError, usage } from '../errors.ts';

const reasons: Readonly<Record<string, string>> = {
  ENOENT: 'no such file',
  ENOTDIR: 'no such file (a part of its path is a file, not a directory)',
  EACCES: 'cannot be read: permission denied',
  EPERM: 'cannot be read: permission denied',
  ELOOP: 'cannot be read: its symbolic links go in circles',
  ENAMETOOLONG: 'no such file (the name is too long)',
  EISDIR: 'is a directory, not a file',
};

/** A failed file-system call on an input as the error a person reads; `named` is the flag with its value. */
export function fileFault(error: unknown, named: string, hint?: string): GwError {
  const code = errorCode(error);
  return usage(`${named}: ${reasons[code ?? ''] ?? `cannot be read${code ? ` (${code})` : ''}`}`, hint);
}

/** What a path leads to where that is no regular file; none for a regular file. */
export function oddKind(
  stats: Pick<Stats, 'isFile' | 'isDirectory' | 'isFIFO' | 'isSocket'>,
): string | undefined {
  if (stats.isFile()) return undefined;
  if (stats.isDirectory()) return 'a directory';
  if (stats.isFIFO()) return 'a pipe';
  if (stats.isSocket()) return 'a socket';
  return 'a device';
}
