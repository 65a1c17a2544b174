import { expect, test } from 'vitest';
import { renameFile } from '../../src/disk/durable-directory.ts';

/** A disk that refuses a rename `refusals` times, and then renames. */
function disk(code: string, refusals: number) {
  let tries = 0;
  const rename = () => {
    tries += 1;
    if (tries <= refusals) throw Object.assign(new Error(code), { code });
  };
  return { rename, tries: () => tries };
}

test.each([
  ['win32', 'EPERM', 3, 4],
  ['win32', 'EBUSY', 7, 8],
  ['win32', 'EACCES', 1, 2],
] as const)('on %s a rename that ends with %s is tried again', (platform, code, refusals, tries) => {
  const held = disk(code, refusals);
  renameFile('a', 'b', { platform, rename: held.rename });
  expect(held.tries()).toBe(tries);
});

test.each([
  ['win32', 'EBUSY', 9],
  ['win32', 'ENOENT', 1],
  ['linux', 'EBUSY', 1],
] as const)('on %s %s is told after %i tries', (platform, code, tries) => {
  const held = disk(code, 100);
  expect(() => renameFile('a', 'b', { platform, rename: held.rename })).toThrow(code);
  expect(held.tries()).toBe(tries);
});
