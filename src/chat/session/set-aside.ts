import * as fs from 'node:fs';
import * as path from 'node:path';
import { syncDirectory } from '../../disk/durable-directory.ts';

/** So that the name with the time behind it is still one of a session. */
const MAX_STEM = 80;

/**
 * Gives a session's file a free name of its own, `NAME.20261120t120000z`; call it under the session's lock. Returns the
 * name of the session that it is now, undefined where there was no file. Throws the system's error.
 */
export function setAside(file: string, nowMs: number): string | undefined {
  if (!fs.existsSync(file)) return undefined;
  const stem = path.basename(file, '.jsonl').slice(0, MAX_STEM);
  const time = new Date(nowMs)
    .toISOString()
    .replace(/\.\d+|[-:]/g, '')
    .toLowerCase();
  for (let count = 0; ; count += 1) {
    const name = `${stem}.${time}${count === 0 ? '' : `-${count}`}`;
    const target = path.join(path.dirname(file), `${name}.jsonl`);
    if (fs.existsSync(target)) continue;
    fs.renameSync(file, target);
    syncDirectory(path.dirname(file));
    return name;
  }
}
