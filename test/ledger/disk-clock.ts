import * as fs from 'node:fs';
import * as os from 'node:os';
import * as path from 'node:path';
import { threadId } from 'node:worker_threads';

/**
 * The time as the file system has it, which dates locks: what shifts the clock of a process (the suite runs so in CI) does
 * not shift that one.
 */
export const diskClock = {
  now: (): number => {
    const file = path.join(os.tmpdir(), `.gw-now-${process.pid}-${threadId}`);
    fs.writeFileSync(file, '');
    const { mtimeMs } = fs.statSync(file);
    fs.rmSync(file);
    return Math.floor(mtimeMs);
  },
};
