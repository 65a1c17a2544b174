import { availableParallelism } from 'node:os';
import { defineConfig } from 'vitest/config';
import { noSkips } from './helpers/no-skips.ts';

// What starts processes by the dozen, kills them, fills disks or moves gigabytes. `npm run test:unit` leaves it out;
// `npm test` and CI run all.
const heavy = [
  'test/cli/**/*.test.ts',
  'test/torture/**/*.torture.ts',
  'test/fuzz/**/*.test.ts',
  'test/gallery/**/*.test.ts',
  'test/chat/{pipes,repl-terminal}.test.ts',
  'test/commands/examples.test.ts',
  'test/completion/shells.test.ts',
  'test/io/process.test.ts',
  'test/jobs/save/{faults,large-file}.test.ts',
  'test/ledger/{processes,remove,write-faults}.test.ts',
  'test/machines/run.test.ts',
  'test/recipes.test.ts',
];

const results = process.env.GW_TEST_RESULTS;

export default defineConfig({
  test: {
    root: `${import.meta.dirname}/..`,
    pool: 'forks',
    reporters: [
      'default',
      ...(process.env.CI ? [noSkips] : []),
      // Which files failed, for .ci/other-nodes.
      ...(results === undefined
        ? []
        : [['json', { outputFile: results }] as ['json', { outputFile: string }]]),
    ],
    // Many tests wait for a child or a clock: one file more than cores keeps two cores busy.
    maxWorkers: availableParallelism() + 1,
    testTimeout: 60_000,
    hookTimeout: 60_000,
    projects: [
      { extends: true, test: { name: 'heavy', include: heavy } },
      // One process for many files takes a third less time; a test puts back what it changes of the process.
      {
        extends: true,
        test: { name: 'unit', include: ['test/**/*.test.ts'], exclude: heavy, isolate: false },
      },
    ],
  },
});
