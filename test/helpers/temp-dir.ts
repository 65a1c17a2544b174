import { spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { freemem, tmpdir } from 'node:os';
import * as path from 'node:path';
import type { Reporter, Vitest } from 'vitest/node';

/** What runs leave for one another, and what other runs have at the moment. */
const ofOtherRuns = /^gw-(built|building|tests|house)-/;

/** The most that a run leaves in its directory at one time, with room for what else runs. */
const ROOM_BYTES = 8 * 2 ** 30;

/**
 * Where it may be done and there is room, the directory is in memory: most of what tests wait for is the disk, which is told
 * tens of thousands of times to make a small file durable. A run that was killed has its memory given back by the next one.
 */
function keepInMemory(own: string): void {
  if (process.platform !== 'linux' || process.getuid?.() !== 0 || freemem() < ROOM_BYTES) return;
  for (const [, pid, dir = ''] of readFileSync('/proc/mounts', 'utf8').matchAll(/^gw-tests-(\d+) (\S+)/gm)) {
    if (existsSync(`/proc/${pid}`)) continue;
    spawnSync('umount', ['-l', dir]);
    rmSync(dir, { recursive: true, force: true });
  }
  spawnSync('mount', ['-t', 'tmpfs', '-o', 'mode=700', `gw-tests-${process.pid}`, own]);
}

/**
 * Gives a run a temporary directory of its own and removes it at the end. The build of gw that is spawned stands beside it,
 * for the next run. In CI, anything else that a run leaves beside it, or in the checkout, makes the run red.
 */
export const ownTempDir: Reporter = {
  onInit(vitest: Vitest) {
    const outer = tmpdir();
    const root = vitest.config.root;
    const seen = () => [
      ...readdirSync(outer).filter((name) => name.startsWith('gw-') && !ofOtherRuns.test(name)),
      ...readdirSync(root),
    ];
    const before = new Set(seen());
    const own = mkdtempSync(path.join(outer, 'gw-tests-'));
    keepInMemory(own);
    process.env.TMPDIR = own;
    process.env.GW_TEST_BUILDS = outer;
    vitest.onClose(() => {
      spawnSync('umount', ['-l', own], { stdio: 'ignore' });
      rmSync(own, { recursive: true, force: true, maxRetries: 3 });
      const left = seen().filter((name) => !before.has(name));
      if (!process.env.CI || left.length === 0) return;
      console.error(`left behind in ${outer} or ${root}: ${left.join(', ')}`);
      process.exitCode = 1;
    });
  },
};
