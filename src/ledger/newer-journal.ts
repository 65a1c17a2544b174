import * as fs from 'node:fs';
import { errorCode } from '../errors.ts';
import { refuseNewer } from './parse-line.ts';

const tailBytes = 1 << 16;

/**
 * Throws GwError `usage` where the end of a journal holds a line of a newer format: a paid job must not be begun in a
 * ledger that this build could not read back.
 */
export function refuseNewerJournal(file: string): void {
  for (const match of readTail(file).matchAll(/\n\{"v":(\d+)/g)) refuseNewer(Number(match[1]), file);
}

function readTail(file: string): string {
  let fd: number;
  try {
    fd = fs.openSync(file, 'r');
  } catch (error) {
    // Missing: new. Not readable: the append that follows decides.
    if (errorCode(error) !== undefined) return '';
    throw error;
  }
  try {
    const { size } = fs.fstatSync(fd);
    const buffer = Buffer.alloc(Math.min(size, tailBytes));
    const count = fs.readSync(fd, buffer, 0, buffer.length, Math.max(size - buffer.length, 0));
    return buffer.toString('latin1', 0, count);
  } finally {
    fs.closeSync(fd);
  }
}
