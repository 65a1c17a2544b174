import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import * as path from 'node:path';
import type { Reporter, Vitest } from 'vitest/node';

/** Directories that runs share, or that other runs use at the moment. */
const ofOtherRuns = /^gw-(built|building|tests|house)-/;

/**
 * Gives a run its own temporary directory and removes it at the end. The build of gw for spawned runs stays beside it for the
 * next run. In CI, anything else that a run leaves beside it or in the checkout fails the run.
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
    process.env.TMPDIR = own;
    process.env.GW_TEST_BUILDS = outer;
    vitest.onClose(() => {
      rmSync(own, { recursive: true, force: true, maxRetries: 3 });
      const left = seen().filter((name) => !before.has(name));
      if (!process.env.CI || left.length === 0) return;
      console.error(`left behind in ${outer} or ${root}: ${left.join(', ')}`);
      process.exitCode = 1;
    });
  },
};
