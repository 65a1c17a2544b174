import { defineConfig } from 'vitest/config';
import { tags } from '../helpers/needs.ts';
import { ownTempDir } from '../helpers/temp-dir.ts';

// `npm run test:torture` runs these suites for minutes; `npm test` runs a few rounds of each (torture.ts).
export default defineConfig({
  test: {
    root: `${import.meta.dirname}/../..`,
    include: ['test/torture/**/*.torture.ts', 'test/fuzz/**/*.test.ts'],
    globalSetup: 'test/torture/summary.ts',
    env: { GW_TORTURE: '1' },
    pool: 'forks',
    reporters: ['default', ownTempDir],
    tags: tags(),
    // A suite mostly waits for its processes, so two suites keep two cores busy.
    maxWorkers: 2,
    testTimeout: 600_000,
    hookTimeout: 60_000,
  },
});
