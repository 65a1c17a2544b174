import { availableParallelism } from 'node:os';
import { defineConfig } from 'vitest/config';
import { BaseSequencer, type TestSpecification } from 'vitest/node';
import { tags } from './helpers/needs.ts';
import { skips } from './helpers/skips.ts';
import { ownTempDir } from './helpers/temp-dir.ts';

// What starts processes by the dozen, kills them, fills disks or moves gigabytes: `npm run test:unit` (--mode unit) leaves it out.
const heavy = [
  'test/agents/!(inspector|longest-call).test.ts',
  'test/cli/**/*.test.ts',
  'test/fuzz/**/*.test.ts',
  'test/gallery/**/*.test.ts',
  'test/chat/{pipes,repl-terminal}.test.ts',
  'test/io/process.test.ts',
  'test/jobs/save/faults.test.ts',
  'test/ledger/{processes,remove,write-faults}.test.ts',
  'test/machines/{equal,observe,run}.test.ts',
];
// What asks for minutes, neither a clock nor a Node: `npm run test:long`, which CI runs after `npm test`.
const long = [
  'test/agents/{inspector,longest-call}.test.ts',
  'test/binaries/release.test.ts',
  'test/cli/{disks,kill-families,mounts,races}.test.ts',
  'test/commands/examples.test.ts',
  'test/completion/shells.test.ts',
  'test/jobs/save/large-file.test.ts',
  'test/ledger/orders.test.ts',
  'test/machines/{day,faults,leases}.test.ts',
  'test/recipes.test.ts',
  // A round of those takes minutes, or builds an earlier version: they are for `npm run test:torture` alone.
  'test/torture/**/!(changed-rows|last-frames|mounts|pauses|queue-faults|versions).torture.ts',
];

const results = process.env.GW_TEST_RESULTS;
// For `npm run test:near -- --record`.
const recording = process.env.GW_TEST_CALLS !== undefined;
// For `npm run test:mutants`: a process for each file, so that it is known whose it is.
const marking = process.env.GW_TEST_MARKS !== undefined;

/** Files whose tests wait are spread between those that compute, so that no core waits, and none of them is among the last. */
class Spread extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const sorted = await super.sort(files);
    const waits = ({ moduleId }: TestSpecification) => /\/test\/(agents|cli|machines)\//.test(moduleId);
    const [waiting, others] = [sorted.filter(waits), sorted.filter((file) => !waits(file))];
    const spread = waiting.flatMap((file, nth) => [file, ...others.slice(4 * nth, 4 * nth + 4)]);
    return [...spread, ...others.slice(4 * waiting.length)];
  }
}

export default defineConfig(({ mode }) => ({
  test: {
    root: `${import.meta.dirname}/..`,
    pool: 'forks',
    // One process for many files takes a third less time; a test puts back what it changes of the process.
    isolate: marking,
    tags: tags(),
    setupFiles: [
      'test/helpers/unsynced.ts',
      ...(recording ? ['test/helpers/record-calls.ts'] : []),
      ...(marking ? ['test/helpers/mark-runs.ts'] : []),
    ],
    reporters: [
      'default',
      ownTempDir,
      skips,
      // Which files failed, for .ci/other-nodes.
      ...(results === undefined
        ? []
        : [['json', { outputFile: results }] as ['json', { outputFile: string }]]),
    ],
    // Many tests wait for a child or a clock: two files more than cores keep two cores busy.
    maxWorkers: availableParallelism() + 5,
    // Nothing here is judged by its time: what waits for something has an end of its own, and two suites at once are slow.
    testTimeout: 300_000,
    hookTimeout: 120_000,
    sequence: { sequencer: Spread },
    projects: [
      {
        extends: true,
        test: {
          name: 'short',
          include: ['test/**/*.test.ts'],
          exclude: [...(mode === 'unit' ? heavy : []), ...long],
          globalSetup: mode === 'unit' ? [] : 'test/cli/build-first.ts',
        },
      },
      {
        extends: true,
        test: { name: 'long', include: long, isolate: true, globalSetup: 'test/cli/build-first.ts' },
      },
    ],
  },
}));
