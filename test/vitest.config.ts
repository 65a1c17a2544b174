import { availableParallelism } from 'node:os';
import { defineConfig } from 'vitest/config';
import { BaseSequencer, type TestSpecification } from 'vitest/node';
import { tags } from './helpers/needs.ts';
import { skips } from './helpers/skips.ts';
import { ownTempDir } from './helpers/temp-dir.ts';

// Tests that start dozens of processes, kill them, fill disks or move gigabytes: `npm run test:unit` (--mode unit) skips them.
const heavy = [
  'test/agents/!(inspector|longest-call|wire).test.ts',
  'test/cli/**/*.test.ts',
  'test/fuzz/**/*.test.ts',
  'test/gallery/**/*.test.ts',
  'test/chat/repl-terminal.test.ts',
  'test/io/process.test.ts',
  'test/ledger/write-faults.test.ts',
  'test/machines/observe.test.ts',
];
// Tests that take minutes and depend on neither a date nor a Node version: `npm run test:long`, which CI runs after `npm test`.
const long = [
  'test/agents/{inspector,longest-call,wire}.test.ts',
  'test/binaries/release.test.ts',
  'test/chat/pipes.test.ts',
  'test/cli/{damaged-files,disks,download,events,kill,kill-families,kill-rate-limit,mounts,pipes,races,readme}.test.ts',
  'test/cli/{secrets,signals,terminal}.test.ts',
  'test/commands/{asset-life,examples}.test.ts',
  'test/completion/shells.test.ts',
  'test/jobs/save/{faults,large-file}.test.ts',
  'test/ledger/{orders,processes,remove}.test.ts',
  'test/machines/{day,equal,faults,leases,run}.test.ts',
  'test/recipes.test.ts',
  // The other torture tests take minutes a round or build an earlier version; only `npm run test:torture` runs them.
  'test/torture/**/!(changed-rows|last-frames|mounts|pauses|queue-faults|versions).torture.ts',
];

const results = process.env.GW_TEST_RESULTS;
// For `npm run test:near -- --record`.
const recording = process.env.GW_TEST_CALLS !== undefined;
// For `npm run test:mutants`: each file gets its own process, so that a mark belongs to one file.
const marking = process.env.GW_TEST_MARKS !== undefined;

/** Spreads files whose tests wait among files that compute, so that no core is idle and no waiting file comes last. */
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
    // One process for many files takes a third less time; each test restores what it changes in the process.
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
      // The JSON report names the failed files for .ci/other-nodes.
      ...(results === undefined
        ? []
        : [['json', { outputFile: results }] as ['json', { outputFile: string }]]),
    ],
    // No test is judged by its duration: each wait has its own limit, and two suites at once are slow.
    testTimeout: 300_000,
    hookTimeout: 120_000,
    sequence: { sequencer: Spread },
    projects: [
      {
        extends: true,
        test: {
          name: 'short',
          // Some tests wait for a child, so more files than cores run at once; each worker loads the sources for itself.
          maxWorkers: availableParallelism() + 2,
          include: ['test/**/*.test.ts'],
          exclude: [...(mode === 'unit' ? heavy : []), ...long],
          globalSetup: mode === 'unit' ? [] : 'test/cli/build-first.ts',
        },
      },
      {
        extends: true,
        test: {
          name: 'long',
          include: long,
          isolate: true,
          globalSetup: 'test/cli/build-first.ts',
          // Nearly all of these tests wait for children.
          maxWorkers: availableParallelism() + 5,
          sequence: { groupOrder: 1 },
        },
      },
    ],
  },
}));
