import * as fs from 'node:fs';
import * as path from 'node:path';

/** A directory, or the closest one above it that is there; a file in the way is returned as it stands. */
export function nearestDirectory(dir: string): string {
  const parent = path.dirname(dir);
  if (parent === dir) return dir;
  try {
    return fs.existsSync(dir) ? dir : nearestDirectory(parent);
  } catch {
    return nearestDirectory(parent);
  }
}
