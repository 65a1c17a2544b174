import * as fs from 'node:fs';
import * as path from 'node:path';
import { ensureDirectory, syncDirectory } from '../disk/durable-directory.ts';
import { quietly } from '../host.ts';
import { isJobKey } from './job-key.ts';
import { namesIn } from './journal-files.ts';

// A `--once` job is found only by its key. If the disk lost its lines or made them unreadable, the key would seem free
// and the job would be paid again. So an empty file beside the journals marks it as sent.

const NAME = 'sent';

/** Marks a job as sent, durably, after its `sent` line and before the first byte. Throws the system's error. */
export function markSent(dir: string, key: string): void {
  const marks = path.join(dir, NAME);
  ensureDirectory(marks);
  fs.closeSync(fs.openSync(path.join(marks, key), 'a', 0o600));
  syncDirectory(marks);
}

/** Removes a job's mark: its sendings made nothing. If that fails, a kill leaves the outcome unknown. */
export const unmarkSent = (dir: string, key: string): void =>
  void quietly(() => fs.rmSync(path.join(dir, NAME, key)));

/** When a job was marked, in Unix ms of the file system; undefined if it was not. Throws the system's error. */
export const sentMarkMs = (dir: string, key: string): number | undefined =>
  isJobKey(key) ? fs.statSync(path.join(dir, NAME, key), { throwIfNoEntry: false })?.mtimeMs : undefined;

/** The keys of the marked jobs. Throws the system's error. */
export const sentMarks = (dir: string): string[] => namesIn(path.join(dir, NAME)).filter(isJobKey);
