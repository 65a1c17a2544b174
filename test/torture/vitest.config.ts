import { defineConfig } from 'vitest/config';
import { tags } from '../helpers/needs.ts';
import { ownTempDir } from '../helpers/temp-dir.ts';

// `npm run test:torture`: what `npm test` has the short share of, for minutes (torture.ts).
export default defineConfig({
  test: {
    root: `${import.meta.dirname}/../..`,
    include: ['test/torture/**/*.torture.ts', 'test/fuzz/**/*.test.ts'],
    globalSetup: 'test/torture/summary.ts',
    env: { GW_TORTURE: '1' },
    pool: 'forks',
    reporters: ['default', ownTempDir],
    tags: tags(),
    // A suite waits for its processes most of the time: two of them keep two cores busy.
    maxWorkers: 2,
    testTimeout: 600_000,
    hookTimeout: 60_000,
  },
});
