import * as fs from 'node:fs';
import * as path from 'node:path';
import { ShortWrite } from './disk-fault.ts';
import { syncDirectory } from './durable-directory.ts';
import type { Step } from './lock-file.ts';

/** The system calls of an append, a parameter so that each can be made to fail. */
export type AppendCalls = Pick<
  typeof fs,
  'openSync' | 'fstatSync' | 'writeSync' | 'fdatasyncSync' | 'fsyncSync' | 'closeSync'
>;

/** The system could not make written data durable; what is on the disk is unknown from here on. */
export class FailedSync extends Error {
  override readonly name = 'FailedSync';
  constructor(override readonly cause: unknown) {
    super('sync failed');
  }
}

/**
 * Appends one line to a journal, durable when this returns. One write() of "\n"+json+"\n" on an O_APPEND descriptor:
 * lines of several processes never mix, and a torn line never reaches into the next one. Returns the number of the file
 * (its inode) that took it, which may have lost its name meanwhile.
 * Throws the system's error, ShortWrite, or FailedSync.
 */
export function appendLine(
  file: string,
  json: string,
  { calls = fs, step = () => {} }: { readonly calls?: AppendCalls; readonly step?: Step } = {},
): number {
  const { O_APPEND, O_CREAT, O_WRONLY } = fs.constants;
  step('open the journal');
  const fd = calls.openSync(file, O_APPEND | O_CREAT | O_WRONLY, 0o600);
  try {
    // An empty file is new, so its name may not be durable yet; nobody writes to it before the directory is synced.
    const { size, ino } = calls.fstatSync(fd);
    if (size === 0) syncOrThrow(() => syncDirectory(path.dirname(file), calls));
    const bytes = Buffer.from(`\n${json}\n`);
    step('write the line');
    const written = calls.writeSync(fd, bytes, 0, bytes.length);
    if (written !== bytes.length) throw new ShortWrite(`${written} of ${bytes.length} bytes written`);
    syncOrThrow(() => calls.fdatasyncSync(fd));
    step('look whether the journal kept its name');
    return ino;
  } finally {
    calls.closeSync(fd);
  }
}

function syncOrThrow(sync: () => void): void {
  try {
    sync();
  } catch (error) {
    throw new FailedSync(error);
  }
}
