import { randomBytes } from 'node:crypto';
import * as fs from 'node:fs';
import * as path from 'node:path';
import { ensureDirectory, replaceFile } from '../disk/durable-directory.ts';
import { isAlive, isOfThisMachine, ownIdentity, type ProcessIdentity } from '../disk/lock-file.ts';
import { readRegular } from '../disk/small-file.ts';
import { NewerFormat, refuseNewer } from '../formats.ts';

// The running listeners of this user, so that a create can find one (`--callback-url auto`). Each has a file that only
// this user can read, because its URL is all that a caller needs.

interface Listener extends ProcessIdentity {
  readonly url: string;
  /** Unix milliseconds. */
  readonly sinceMs: number;
}

const directoryIn = (stateDir: string): string => path.join(stateDir, 'listeners');

/** Records that this process listens at a URL; returns the function that removes the record. Throws the system's error. */
export function announce(stateDir: string, url: string, sinceMs: number): () => void {
  const dir = directoryIn(stateDir);
  ensureDirectory(dir);
  const name = randomBytes(8).toString('hex');
  const file = path.join(dir, `${name}.json`);
  const listener: Listener = { ...ownIdentity(), url, sinceMs };
  // No reader sees a partial file, because readers accept only names that end in .json.
  replaceFile(file, JSON.stringify(listener));
  return () => fs.rmSync(file, { force: true });
}

/**
 * The URL of the latest listener that still runs; undefined if none does. Throws the system's error, and NewerFormat for
 * the file of a newer gw.
 */
export function runningUrl(stateDir: string): string | undefined {
  const dir = directoryIn(stateDir);
  if (!fs.existsSync(dir)) return undefined;
  let newest: Listener | undefined;
  for (const name of fs.readdirSync(dir).filter((each) => each.endsWith('.json'))) {
    const file = path.join(dir, name);
    const found = read(file);
    if (found === undefined || !isOfThisMachine(found)) continue;
    if (!isAlive(found)) fs.rmSync(file, { force: true });
    else if (newest === undefined || found.sinceMs >= newest.sinceMs) newest = found;
  }
  return newest?.url;
}

/** A listener's file contains one line. */
const MAX_BYTES = 1 << 16;

function read(file: string): Listener | undefined {
  try {
    const kept = JSON.parse(readRegular(file, MAX_BYTES).toString()) as Partial<Listener> & {
      readonly v?: unknown;
    };
    refuseNewer('listeners', kept.v, file);
    const { pid, host, started, url, sinceMs } = kept;
    const isWhole =
      typeof pid === 'number' &&
      typeof host === 'string' &&
      typeof started === 'string' &&
      typeof url === 'string' &&
      typeof sinceMs === 'number';
    return isWhole ? { pid, host, started, url, sinceMs } : undefined;
  } catch (error) {
    if (error instanceof NewerFormat) throw error;
    // The file was just removed, or is no listener's file.
    return undefined;
  }
}
