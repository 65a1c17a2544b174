import { execFileSync } from 'node:child_process';
import * as path from 'node:path';
import { expect, test } from 'vitest';

// An existing folder must not grow: a new capability gets its own folder, or other code is removed first.

test('nothing is above its ceiling; node test/house.js --lower follows what has become less', () => {
  const said = execFileSync(process.execPath, [path.join(import.meta.dirname, 'house.js'), '--check'], {
    encoding: 'utf8',
  });
  expect(said).toBe('');
});
