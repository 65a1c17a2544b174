import { spawnSync } from 'node:child_process';
import { accessSync, constants, mkdtempSync, readFileSync, rmdirSync } from 'node:fs';
import { tmpdir } from 'node:os';
import * as path from 'node:path';
import type { TestTagDefinition } from 'vitest/config';

// The requirements of tests beside Node and npm. A test names one by a tag (`{ tags: ['ffmpeg'] }`, or `// @module-tag ffmpeg`
// for a whole file) and is skipped when it is missing. CI, README and CONTRIBUTING have the same list of packages.

/** Debian packages, each with the command that tests run: the package's name unless the list gives another. */
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
  // A container may forbid strace.
  ['strace', () => works('strace', '-f', '-o', '/dev/null', 'true')],
]);

/** Rights that no package gives and that an ordinary user lacks. */
const rights = new Map<string, () => boolean>([
  ['root', () => process.getuid?.() === 0],
  ['mount', canMount],
]);

/** The one-file gw skips these tests, because it has no Node below it; GW_TEST_BINARY selects it (test/cli/built.ts). */
const node: [string, () => boolean] = ['node', () => process.env.GW_TEST_BINARY === undefined];

/** Third-party clients, which `npm run matrix` installs. */
const matrix: [string, () => boolean] = ['matrix', () => process.env.GW_MATRIX !== undefined];

/** The tags for the configuration: a test is skipped when the requirement of its tag is missing. */
export const tags = (): TestTagDefinition[] =>
  [...isThere, ...rights, node, matrix].map(([name, has]) => ({ name, ...(!has() && { skip: true }) }));

/** Whether only root can meet one of these requirements. */
export const needsRoot = (names: readonly string[]): boolean => names.some((name) => rights.has(name));

/** Whether strace may trace here; for tests that use it only for an additional check. */
export const canTrace = (): boolean => isThere.get('strace')?.() ?? false;
