import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import * as path from 'node:path';
import { closing } from './closing.ts';

/** Makes a directory that is removed when the test ends; one made outside a test is removed when the run ends. */
export function newDir(): string {
  const dir = mkdtempSync(path.join(tmpdir(), 'gw-test-'));
  closing({ close: () => rmSync(dir, { recursive: true, force: true }) });
  return dir;
}
