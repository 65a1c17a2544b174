import { execFileSync } from 'node:child_process';
import * as path from 'node:path';
import { expect, test } from 'vitest';

// A folder that exists does not grow: a new capability brings a folder of its own, or takes something away first.

test('nothing is above its ceiling; node test/house.js --lower follows what has become less', () => {
  const said = execFileSync(process.execPath, [path.join(import.meta.dirname, 'house.js'), '--check'], {
    encoding: 'utf8',
  });
  expect(said).toBe('');
});
