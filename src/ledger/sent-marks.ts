import * as fs from 'node:fs';
import * as path from 'node:path';
import { ensureDirectory, syncDirectory } from '../disk/durable-directory.ts';
import { errorCode } from '../errors.ts';
import { isJobKey } from './job-key.ts';
import { namesIn } from './journal-files.ts';

// A job that is made once for a key is found by that key alone. Where the disk has lost its lines, or made them unreadable,
// the key would seem free and the job be paid for again. So an empty file says beside the journals that it was sent.

const NAME = 'sent';

/** Marks a job as sent, durably: between the line that says so and the first byte. Throws the system's error. */
export function markSent(dir: string, key: string): void {
  const marks = path.join(dir, NAME);
  ensureDirectory(marks);
  try {
    fs.closeSync(fs.openSync(path.join(marks, key), 'wx', 0o600));
  } catch (error) {
    if (errorCode(error) === 'EEXIST') return;
    throw error;
  }
  syncDirectory(marks);
}

/** When a job was marked, Unix milliseconds of the file system; undefined where it is not. Throws the system's error. */
export const sentMarkMs = (dir: string, key: string): number | undefined =>
  isJobKey(key) ? fs.statSync(path.join(dir, NAME, key), { throwIfNoEntry: false })?.mtimeMs : undefined;

/** The jobs that are marked. Throws the system's error. */
export const sentMarks = (dir: string): string[] => namesIn(path.join(dir, NAME)).filter(isJobKey);
