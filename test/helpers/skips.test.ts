import { readdirSync, readFileSync } from 'node:fs';
import * as path from 'node:path';
import { expect, test } from 'vitest';
import { packages } from './needs.ts';
import { closingLine } from './skips.ts';

const root = path.join(import.meta.dirname, '../..');

test.each(['README.md', '.github/CONTRIBUTING.md'])('%s has the list of packages', (file) => {
  const text = readFileSync(path.join(root, file), 'utf8');
  expect(text).toContain(`\n$ apt-get install ${[...packages.keys()].join(' ')}\n`);
});

test('the closing line says what is to be installed, and what root is for', () => {
  expect(closingLine(7, new Set(['tmux', 'ffmpeg']))).toMatch(/^7 tests .*: apt-get install ffmpeg tmux$/);
  expect(closingLine(1, new Set(['mount']))).toMatch(/^1 test .*: run them as root/);
  expect(closingLine(2, new Set(['root', 'tmux']))).toMatch(/apt-get install tmux; run them as root/);
});

/** The code of a test file that needs a package or a right, and the tag that declares it. */
const needs: readonly (readonly [use: RegExp, tag: string])[] = [
  [/\bopen(?:Redis|Studio)\(/, 'redis-server'],
  [/\bopenChromium\(/, 'chromium'],
  [/\bmakeSelfSigned\(/, 'openssl'],
  [/\b(?:spawnSync|spawn|execFileSync|execFile|run)\('ff(?:mpeg|probe)'/, 'ffmpeg'],
  [/\b(?:spawnSync|spawn|execFileSync|Running)\('strace'|\bstrace\(/, 'strace'],
  [/\bexecFileSync\('mount'/, 'mount'],
];

test('a test file says by a tag what it needs', () => {
  const files = (readdirSync(path.join(root, 'test'), { recursive: true }) as string[]).filter(
    (file) => /\.(test|torture)\.ts$/.test(file) && !file.endsWith('skips.test.ts'),
  );
  const silent = files.flatMap((file) => {
    const text = readFileSync(path.join(root, 'test', file), 'utf8');
    const says = (tag: string) => new RegExp(`'${tag}'|@module-tag ${tag}|\\bcanTrace\\(`).test(text);
    return needs.filter(([use, tag]) => use.test(text) && !says(tag)).map(([, tag]) => `${file}: ${tag}`);
  });
  expect(silent).toEqual([]);
});
