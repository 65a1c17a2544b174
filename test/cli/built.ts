import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import * as fs from 'node:fs';
import { tmpdir } from 'node:os';
import * as path from 'node:path';

// The gw that tests spawn is built from the current sources into a directory of its own, so that another build cannot remove
// dist/ under a running gw. The first test file that needs gw builds it, once for each state of the sources.

const root = path.join(import.meta.dirname, '../..');
const sources = ['bin', 'src', 'package.json', 'tsconfig.json'];
const OLD_MS = 3_600_000;
const LONGEST_BUILD_MS = 300_000;

export interface Built {
  /** The path of `bin/gw.js`. */
  readonly script: string;
  /** The command that runs gw: Node and that script, or the executable that GW_TEST_BINARY names. */
  readonly command: readonly [string, ...string[]];
  /** The code cache that all runs share, as all runs of one user do. */
  readonly cacheDir: string;
}

let built: Built | undefined;

/** Builds gw unless a current build exists; several processes may call this at once. */
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
    // Another test file finished the same build first.
    fs.rmSync(fresh, { recursive: true });
  }
  markUsed(dir);
  removeOld(dir);
  return result;
}

const useOf = (dir: string) => path.join(dir, 'used');

/** Marks a build as in use, because a suite may start with a build that is hours old. Returns false if the build is gone. */
export function markUsed(dir: string): boolean {
  try {
    // Writing sets the file's time by the real clock; setting the time directly would use a shifted clock.
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
 * Removes this user's builds that were last used an hour or more before this one. Times of files are compared, because the
 * clock may be shifted.
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
