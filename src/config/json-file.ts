import * as fs from 'node:fs';
import * as path from 'node:path';
import { diskFault, isDiskFault } from '../disk/disk-fault.ts';
import { ensureDirectory, syncDirectory } from '../disk/durable-directory.ts';
import type { LockFile } from '../disk/lock-file.ts';
import { waitForLock } from '../disk/wait-for-lock.ts';
import { errorCode, GwError, usage } from '../errors.ts';
import type { Clock } from '../host.ts';

/** Reads a JSON file; undefined where it is missing. Throws GwError `usage` naming the path where it is not readable JSON. */
export function readJsonFile(file: string, what: string): unknown {
  let text: string;
  try {
    text = fs.readFileSync(file, 'utf8');
  } catch (error) {
    if (errorCode(error) === 'ENOENT') return undefined;
    throw usage(
      `the ${what} ${file} cannot be read: ${diskFault(error).reason}`,
      `${diskFault(error).remedy}.`,
    );
  }
  try {
    return JSON.parse(text);
  } catch {
    const state = text.trim() === '' ? 'is empty' : 'is not valid JSON';
    throw usage(`the ${what} ${file} ${state}`, 'Correct it or move it away; gw never clears it by itself.');
  }
}

/**
 * Runs `change` while no other process may write to the directory, so that none undoes another's change.
 * Throws GwError `usage` where the lock cannot be had within 10 s or the directory not be written.
 */
export async function withWriterLock<T>(
  dir: string,
  clock: Pick<Clock, 'now' | 'steady' | 'sleep'>,
  change: () => Promise<T>,
): Promise<T> {
  let lock: LockFile | undefined;
  try {
    ensureDirectory(dir);
    lock = await waitForLock(path.join(dir, 'write.lock'), clock);
    return await change();
  } catch (error) {
    throw isDiskFault(error) ? cannotWrite(dir, error) : error;
  } finally {
    lock?.release();
  }
}

/**
 * Replaces a JSON file (0600) as a whole and durably; call it within the writer lock. `conf` writes a file beside it,
 * which takes the place of the old one only when all of it is there: a full disk may take a part without an error.
 * Throws the system's error.
 */
export async function writeJsonFile(file: string, value: Record<string, unknown>): Promise<void> {
  const target = realPath(file);
  const dir = path.dirname(target);
  const staged = `.${path.basename(target, '.json')}.next`;
  const stagedFile = path.join(dir, `${staged}.json`);
  const text = `${JSON.stringify(value, null, 2)}\n`;
  fs.rmSync(stagedFile, { force: true });
  try {
    const { default: Conf } = await import('conf');
    new Conf({
      cwd: dir,
      configName: staged,
      fileExtension: 'json',
      configFileMode: 0o600,
      accessPropertiesByDotNotation: false,
      serialize: () => text,
    }).store = value;
    if (fs.readFileSync(stagedFile, 'utf8') !== text) {
      throw new GwError('usage', `${file} could not be written: the disk is full`, {
        hint: 'Free some space; the old file is unchanged.',
      });
    }
    fs.renameSync(stagedFile, target);
    syncDirectory(dir);
  } finally {
    fs.rmSync(stagedFile, { force: true });
  }
}

/** Where a link leads: a file that is linked into place stays a link. */
function realPath(file: string): string {
  try {
    return fs.realpathSync(file);
  } catch {
    return file;
  }
}

function cannotWrite(dir: string, error: unknown): GwError {
  const { reason, remedy } = diskFault(error);
  return usage(
    `the configuration in ${dir} could not be written: ${reason}`,
    `${remedy}, or set GW_CONFIG_DIR.`,
  );
}
