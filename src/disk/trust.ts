import * as fs from 'node:fs';
import * as os from 'node:os';
import * as path from 'node:path';
import { type ErrorKind, GwError, shellQuote } from '../errors.ts';
import { quietly } from '../host.ts';

/** A file or directory to check, and how strictly. */
export interface Trusted {
  /** The path, and its name in messages: `the configuration file`. */
  readonly file: string;
  readonly what: string;
  readonly kind: ErrorKind;
  readonly platform: NodeJS.Platform;
  /** True if other users may not even read it. */
  readonly secret?: boolean;
  /** False if another user may own it, as with a key file that was handed over. */
  readonly ownedByUser?: boolean;
  /** The environment variable that moves it elsewhere. */
  readonly setting?: 'GW_STATE_DIR' | 'GW_CONFIG_DIR';
}

/**
 * Throws GwError if another user owns a file or directory, or others may write to it (promises, section 5); its hint is
 * the chown or chmod to run, or says that the disk keeps no permissions. POSIX only.
 */
export function refuseUntrusted(stat: fs.Stats, trusted: Trusted): void {
  const { file, what, kind, platform, secret = false, ownedByUser = true, setting } = trusted;
  if (platform === 'win32' || !(stat.isFile() || stat.isDirectory())) return;
  const userId = process.getuid?.();
  if (ownedByUser && userId !== undefined && stat.uid !== userId) {
    // A container may have no name for its user.
    const name = quietly(() => os.userInfo().username) ?? userId;
    throw new GwError(kind, `${what} ${file} belongs to another user (uid ${stat.uid})`, {
      hint: `run: chown ${name} ${shellQuote(file)}`,
    });
  }
  if ((stat.mode & (secret ? 0o077 : 0o022)) === 0) return;
  const mode = (stat.mode & 0o777).toString(8).padStart(3, '0');
  const fault = secret ? 'is open to other users' : 'may be written by other users';
  const wanted = stat.isDirectory() ? (secret ? '700' : 'go-w') : secret ? '600' : 'go-w';
  const elsewhere = setting ? `set ${setting} to a directory` : 'move it to a place';
  const hint = keepsPermissions(stat.isDirectory() ? file : path.dirname(file))
    ? `run: chmod ${wanted} ${shellQuote(file)}`
    : `this disk keeps no permissions: ${elsewhere} on another one`;
  throw new GwError(kind, `${what} ${file} ${fault} (mode ${mode})`, { hint });
}

/** True if the directory's file system keeps the permissions of new entries, or if none can be created there. */
function keepsPermissions(dir: string): boolean {
  try {
    const trial = fs.mkdtempSync(path.join(dir, '.gw-'));
    try {
      return (fs.statSync(trial).mode & 0o077) === 0;
    } finally {
      fs.rmdirSync(trial);
    }
  } catch {
    return true;
  }
}
