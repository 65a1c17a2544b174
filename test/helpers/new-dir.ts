import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import * as path from 'node:path';
import { closing } from './closing.ts';

/** A new directory, which is removed when the test has ended; one that is made outside a test, with the run. */
export function newDir(): string {
  const dir = mkdtempSync(path.join(tmpdir(), 'gw-test-'));
  closing({ close: () => rmSync(dir, { recursive: true, force: true }) });
  return dir;
}
