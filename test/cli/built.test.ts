import * as fs from 'node:fs';
import { tmpdir } from 'node:os';
import * as path from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { markUsed, removeOld } from './built.ts';

const parent = fs.mkdtempSync(path.join(tmpdir(), 'gw-builds-'));
afterAll(() => fs.rmSync(parent, { recursive: true }));

test('a build that another suite uses is left, however long ago it was made', () => {
  const [fresh, inUse, unused] = ['a', 'b', 'c'].map((digit) => {
    const dir = path.join(parent, `gw-built-${process.getuid?.() ?? 0}-${digit.repeat(16)}`);
    fs.mkdirSync(dir);
    return dir;
  }) as [string, string, string];
  expect(markUsed(fresh)).toBe(true);
  expect(markUsed(inUse)).toBe(true);
  const madeS = fs.statSync(path.join(fresh, 'used')).mtimeMs / 1000 - 2 * 3600;
  for (const dir of [inUse, unused]) fs.utimesSync(dir, madeS, madeS);
  removeOld(fresh);
  expect(fs.readdirSync(parent)).toEqual([fresh, inUse].map((dir) => path.basename(dir)));
});

test('a build that is not there is no build in use', () => {
  expect(markUsed(path.join(parent, 'gw-built-0-0123456789abcdef'))).toBe(false);
});
