import type * as fs from 'node:fs';
import * as os from 'node:os';
import { type ErrorKind, GwError, shellQuote } from '../errors.ts';

/** What is to be trusted, and how far. */
export interface Trusted {
  /** The file or directory, and what it is called in a message: `the configuration file`. */
  readonly file: string;
  readonly what: string;
  readonly kind: ErrorKind;
  readonly platform: NodeJS.Platform;
  /** Nobody else may read it either. */
  readonly secret?: boolean;
  /** Whether its owner matters; a key file may be handed over by another user. */
  readonly ownedByUser?: boolean;
}

/**
 * Throws GwError with the chown or chmod to run where another user owns a file or directory, or others may write to it
 * (promises, section 5). POSIX only.
 */
export function refuseUntrusted(stat: fs.Stats, trusted: Trusted): void {
  const { file, what, kind, platform, secret = false, ownedByUser = true } = trusted;
  if (platform === 'win32' || !(stat.isFile() || stat.isDirectory())) return;
  const userId = process.getuid?.();
  if (ownedByUser && userId !== undefined && stat.uid !== userId) {
    throw new GwError(kind, `${what} ${file} belongs to another user (uid ${stat.uid})`, {
      hint: `run: chown ${userName(userId)} ${shellQuote(file)}`,
    });
  }
  if ((stat.mode & (secret ? 0o077 : 0o022)) === 0) return;
  const mode = (stat.mode & 0o777).toString(8).padStart(3, '0');
  const fault = secret ? 'is open to other users' : 'may be written by other users';
  const wanted = stat.isDirectory() ? (secret ? '700' : 'go-w') : secret ? '600' : 'go-w';
  throw new GwError(kind, `${what} ${file} ${fault} (mode ${mode})`, {
    hint: `run: chmod ${wanted} ${shellQuote(file)}`,
  });
}

function userName(userId: number): string {
  try {
    return os.userInfo().username;
  } catch {
    // A container may have no name for its user.
    return String(userId);
  }
}
