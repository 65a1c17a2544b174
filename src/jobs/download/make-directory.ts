import * as fs from 'node:fs';
import * as path from 'node:path';
import { errorCode } from '../../errors.ts';

/**
 * Makes a directory and those above it, each tried once. Node's own `recursive` never returns where a file system
 * says ENOENT to a mkdir in a directory that exists, as /proc does. Throws what the system call threw.
 */
export function makeDirectory(dir: string): void {
  const missing: string[] = [];
  for (let at = path.resolve(dir); ; at = path.dirname(at)) {
    const stats = fs.statSync(at, { throwIfNoEntry: false });
    if (stats?.isDirectory()) break;
    if (stats) throw Object.assign(new Error(`${at} is not a directory`), { code: 'ENOTDIR' });
    missing.push(at);
    if (at === path.dirname(at)) break;
  }
  for (const at of missing.reverse()) {
    try {
      fs.mkdirSync(at);
    } catch (error) {
      // Another process may have made it in between.
      if (errorCode(error) !== 'EEXIST' || !fs.statSync(at).isDirectory()) throw error;
    }
  }
}
