import * as crypto from 'node:crypto';
import * as fs from 'node:fs';
import * as path from 'node:path';

// Room on the disk that is kept for the one line that must not be lost: the ID of what was paid for.

/** Enough for the longest ID, on file systems that give out space in large pieces too. */
const RESERVE_BYTES = 1 << 16;
const fileIn = (dir: string): string => path.join(dir, 'reserve');

/** Makes the reserve where there is none. Where there is no room for it nothing is said: the next write tells. */
export function keepReserve(dir: string): void {
  const file = fileIn(dir);
  if (fs.existsSync(file)) return;
  try {
    const fd = fs.openSync(file, 'wx', 0o600);
    try {
      // Nothing that a file system could store in less.
      fs.writeFileSync(fd, crypto.randomBytes(RESERVE_BYTES));
      fs.fsyncSync(fd);
    } finally {
      fs.closeSync(fd);
    }
  } catch {
    giveUpReserve(dir);
  }
}

/** Gives the room back to the disk; whether there was any. */
export function giveUpReserve(dir: string): boolean {
  try {
    fs.unlinkSync(fileIn(dir));
    return true;
  } catch {
    return false;
  }
}
