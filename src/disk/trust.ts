import * as fs from 'node:fs';
import * as os from 'node:os';
import * as path from 'node:path';
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
  /** The variable that puts it elsewhere. */
  readonly setting?: 'GW_STATE_DIR' | 'GW_CONFIG_DIR';
}

/**
 * Throws GwError with the chown or chmod to run where another user owns a file or directory, or others may write to it
 * (promises, section 5), or that its disk keeps no permissions. POSIX only.
 */
export function refuseUntrusted(stat: fs.Stats, trusted: Trusted): void {
  const { file, what, kind, platform, secret = false, ownedByUser = true, setting } = trusted;
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
  const elsewhere = setting ? `set ${setting} to a directory` : 'move it to a place';
  const hint = keepsPermissions(stat.isDirectory() ? file : path.dirname(file))
    ? `run: chmod ${wanted} ${shellQuote(file)}`
    : `this disk keeps no permissions: ${elsewhere} on another one`;
  throw new GwError(kind, `${what} ${file} ${fault} (mode ${mode})`, { hint });
}

/** Whether what is made in a directory has the permissions that it was made with; true where nothing can be made there. */
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

function userName(userId: number): string {
  try {
    return os.userInfo().username;
  } catch {
    // A container may have no name for its user.
    return String(userId);
  }
}
