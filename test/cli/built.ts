import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import * as fs from 'node:fs';
import { tmpdir } from 'node:os';
import * as path from 'node:path';

// The gw that is spawned: built from the sources as they are now, in a directory of its own, so that a build that
// somebody starts beside the tests cannot take dist/ away under a running gw. Made once for one state of the sources,
// by whichever test file comes first.

const root = path.join(import.meta.dirname, '../..');
const sources = ['bin', 'src', 'package.json', 'tsconfig.json'];
const OLD_MS = 3_600_000;
const LONGEST_BUILD_MS = 300_000;

export interface Built {
  /** `bin/gw.js`. */
  readonly script: string;
  /** What runs it: a Node and that script, or the one file that GW_TEST_BINARY names. */
  readonly command: readonly [string, ...string[]];
  /** A code cache that all runs share, as all runs of one user do. */
  readonly cacheDir: string;
}

let built: Built | undefined;

/** Builds gw where that is not done yet; safe in several processes at once. */
export function builtGw(): Built {
  built ??= build();
  return built;
}

function build(): Built {
  const builds = process.env.GW_TEST_BUILDS ?? tmpdir();
  const dir = path.join(builds, `gw-built-${process.getuid?.() ?? 0}-${digestOfSources()}`);
  const script = path.join(dir, 'bin', 'gw.js');
  const binary = process.env.GW_TEST_BINARY;
  const command: Built['command'] = binary === undefined ? [process.execPath, script] : [binary];
  const result = { script, command, cacheDir: path.join(dir, 'cache') };
  if (markUsed(dir)) return result;
  const fresh = fs.mkdtempSync(path.join(builds, 'gw-building-'));
  for (const name of sources) fs.cpSync(path.join(root, name), path.join(fresh, name), { recursive: true });
  fs.symlinkSync(path.join(root, 'node_modules'), path.join(fresh, 'node_modules'));
  execFileSync(process.execPath, ['bin/build.js'], { cwd: fresh, timeout: LONGEST_BUILD_MS });
  try {
    fs.renameSync(fresh, dir);
  } catch {
    // Another test file was faster; its build is as good.
    fs.rmSync(fresh, { recursive: true });
  }
  markUsed(dir);
  removeOld(dir);
  return result;
}

const useOf = (dir: string) => path.join(dir, 'used');

/** Marks a build as in use, for a suite may begin with one that is hours old. False where there is no such build. */
export function markUsed(dir: string): boolean {
  try {
    // Written rather than dated, which would take the time of a shifted clock.
    fs.writeFileSync(useOf(dir), 'x');
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
    return false;
  }
}

function digestOfSources(): string {
  const hash = createHash('sha256');
  const add = (file: string): void => {
    const stats = fs.statSync(file);
    if (!stats.isDirectory()) hash.update(`${file} ${stats.mtimeMs} ${stats.size}\n`);
    else for (const name of fs.readdirSync(file).sort()) add(path.join(file, name));
  };
  for (const name of sources) add(path.join(root, name));
  return hash.digest('hex').slice(0, 16);
}

/**
 * Removes this user's builds that were last used an hour before this one. Files are compared, not a clock, which may be
 * shifted.
 */
export function removeOld(kept: string): void {
  const parent = path.dirname(kept);
  const nowMs = fs.statSync(useOf(kept)).mtimeMs;
  for (const name of fs.readdirSync(parent)) {
    const dir = path.join(parent, name);
    const isOurs = name.startsWith(`gw-built-${process.getuid?.() ?? 0}-`);
    if (!isOurs || !/-[0-9a-f]{16}$/.test(name) || dir === kept) continue;
    const stats = [useOf(dir), dir]
      .map((file) => fs.statSync(file, { throwIfNoEntry: false }))
      .find((each) => each !== undefined);
    if (stats && stats.mtimeMs < nowMs - OLD_MS) fs.rmSync(dir, { recursive: true, force: true });
  }
}
