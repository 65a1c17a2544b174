import { spawnSync } from 'node:child_process';
import { accessSync, constants, mkdtempSync, readFileSync, rmdirSync } from 'node:fs';
import { tmpdir } from 'node:os';
import * as path from 'node:path';
import type { TestTagDefinition } from 'vitest/config';

// What tests need beside Node and npm. A test names it by a tag (`{ tags: ['ffmpeg'] }`, or `// @module-tag ffmpeg` for a
// whole file), and is skipped where it is missing. CI, README and CONTRIBUTING have the same list of packages.

/** Debian packages, each with the command that tests run of it: that of its name unless the list says another. */
export const packages = new Map(
  readFileSync(path.join(import.meta.dirname, '../../.ci/packages'), 'utf8')
    .trim()
    .split('\n')
    .map((line) => {
      const [name = '', command = name] = line.split(' ');
      return [name, command];
    }),
);

function isInstalled(command: string): boolean {
  return (process.env.PATH ?? '').split(path.delimiter).some((dir) => {
    try {
      accessSync(path.join(dir, command), constants.X_OK);
      return true;
    } catch {
      return false;
    }
  });
}

const works = (command: string, ...args: string[]) =>
  spawnSync(command, args, { stdio: 'ignore' }).status === 0;

function canMount(): boolean {
  const dir = mkdtempSync(path.join(tmpdir(), 'gw-tests-mount-'));
  const mounted = works('mount', '-t', 'tmpfs', '-o', 'size=64k', 'tmpfs', dir);
  if (mounted) spawnSync('umount', [dir]);
  rmdirSync(dir);
  return mounted;
}

const isThere = new Map<string, () => boolean>([
  ...[...packages].map(([name, command]) => [name, () => isInstalled(command)] as const),
  // A container may forbid it.
  ['strace', () => works('strace', '-f', '-o', '/dev/null', 'true')],
]);

/** What no package gives; an ordinary user has none of it. */
const rights = new Map<string, () => boolean>([
  ['root', () => process.getuid?.() === 0],
  ['mount', canMount],
]);

/** What gw as one file is not asked: a Node below it, which GW_TEST_BINARY leaves out (test/cli/built.ts). */
const node: [string, () => boolean] = ['node', () => process.env.GW_TEST_BINARY === undefined];

/** The clients of others, which `npm run matrix` installs. */
const matrix: [string, () => boolean] = ['matrix', () => process.env.GW_MATRIX !== undefined];

/** For the configuration: a test with the tag of something that is missing is skipped. */
export const tags = (): TestTagDefinition[] =>
  [...isThere, ...rights, node, matrix].map(([name, has]) => ({ name, ...(!has() && { skip: true }) }));

/** Whether only root has what a test needs. */
export const needsRoot = (names: readonly string[]): boolean => names.some((name) => rights.has(name));

/** Whether the strace of a package may trace here; for what is only checked more closely with it. */
export const canTrace = (): boolean => isThere.get('strace')?.() ?? false;
