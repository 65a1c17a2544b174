import { spawn } from 'node:child_process';
import * as fs from 'node:fs';
import { tmpdir } from 'node:os';
import * as path from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { isLong, tell } from '../torture.ts';
import type { Breakage } from './breakage.ts';
import { disk } from './disk.ts';
import { download } from './download.ts';
import { jobs } from './jobs.ts';
import { ledger } from './ledger.ts';
import { sandbox } from './sandbox.ts';

// A test that no fault turns red promises nothing. Each breakage is made in a copy of the project, and its tests are run:
// one that survives is red, and so is an entry that no longer fits the code. GW_BREAKAGE=TEXT takes those with that text.

const breakages: readonly Breakage[] = [...download, ...disk, ...sandbox, ...jobs, ...ledger];
const root = path.join(import.meta.dirname, '../../..');
const LONGEST_RUN_MS = 180_000;

const sources = fs
  .readdirSync(path.join(root, 'src'), { recursive: true, encoding: 'utf8' })
  .filter((name) => name.endsWith('.ts'))
  .map((name) => ({
    name: path.join('src', name),
    text: fs.readFileSync(path.join(root, 'src', name), 'utf8'),
  }));

/** Where the text stands, with any white space between its words. */
function placesOf({ find }: Breakage) {
  const words = find.split(/\s+/).map((word) => word.replace(/[.*+?^${}()|[\]\\]/g, '\\$&'));
  const wanted = new RegExp(words.join('\\s+'), 'g');
  return sources.flatMap(({ name, text }) =>
    [...text.matchAll(wanted)].map(({ 0: found, index }) => ({ name, text, found, index })),
  );
}

describe('fits the code', () => {
  for (const breakage of breakages) test(breakage.costs, () => expectFitting(breakage));
});

function expectFitting(breakage: Breakage): void {
  expect(
    placesOf(breakage).map(({ name }) => name),
    breakage.find,
  ).toHaveLength(1);
  for (const name of breakage.tests) {
    expect(fs.existsSync(path.join(root, `test/${name}.test.ts`)), name).toBe(true);
  }
}

if (isLong) describe('is noticed', attemptAll);

function attemptAll(): void {
  const copy = fs.mkdtempSync(path.join(tmpdir(), 'gw-breakages-'));
  const wanted = breakages.filter(({ costs }) => costs.includes(process.env.GW_BREAKAGE ?? ''));
  let noticed = 0;

  /** Runs tests in the copy; resolves with those that failed, and with what was said. */
  function run(
    names: readonly string[],
    longestMs = LONGEST_RUN_MS,
  ): Promise<{ failed: number; passed: number; said: string }> {
    const report = path.join(copy, 'report.json');
    fs.rmSync(report, { force: true });
    const files = names.map((name) => `test/${name}.test.ts`);
    const args = [
      'run',
      '--config',
      'test/vitest.config.ts',
      '--bail',
      '1',
      '--reporter',
      'json',
      '--outputFile',
      report,
    ];
    const { GW_TORTURE: _, GW_TORTURE_COUNTS: __, ...env } = process.env;
    const vitest = path.join(root, 'node_modules/vitest/vitest.mjs');
    const child = spawn(process.execPath, [vitest, ...args, ...files], {
      cwd: copy,
      env,
      timeout: longestMs,
    });
    let said = '';
    for (const stream of [child.stdout, child.stderr]) stream.on('data', (text) => (said += String(text)));
    return new Promise((resolve, reject) => {
      child.on('error', reject);
      child.on('close', () => {
        // Without a report the run was cut off: a breakage that hangs is noticed too.
        if (!fs.existsSync(report)) return resolve({ failed: 1, passed: 0, said });
        const { numFailedTests, numPassedTests } = JSON.parse(fs.readFileSync(report, 'utf8'));
        resolve({ failed: numFailedTests, passed: numPassedTests, said });
      });
    });
  }

  beforeAll(() => {
    const left = ['.git', 'node_modules', 'coverage'];
    for (const name of fs.readdirSync(root).filter((each) => !left.includes(each))) {
      fs.cpSync(path.join(root, name), path.join(copy, name), { recursive: true, verbatimSymlinks: true });
    }
    fs.symlinkSync(path.join(root, 'node_modules'), path.join(copy, 'node_modules'));
  });
  afterAll(() => {
    fs.rmSync(copy, { recursive: true, force: true });
    tell('single-point breakages', { breakages: wanted.length, noticed, survivors: wanted.length - noticed });
  });

  test('nothing, where nothing is broken', { timeout: 5 * LONGEST_RUN_MS }, async () => {
    const { failed, passed, said } = await run(
      [...new Set(wanted.flatMap(({ tests }) => tests))],
      4 * LONGEST_RUN_MS,
    );
    expect([failed, passed > 0], said).toEqual([0, true]);
  });

  const attempt = async (breakage: Breakage) => {
    const [place] = placesOf(breakage);
    if (!place) throw new Error(`nowhere in src: ${breakage.find}`);
    const { name, text, found, index } = place;
    const file = path.join(copy, name);
    fs.writeFileSync(file, text.slice(0, index) + breakage.replace + text.slice(index + found.length));
    try {
      const { failed, said } = await run(breakage.tests);
      expect(failed, `it survives ${breakage.tests.join(', ')}\n${said.slice(-2000)}`).toBeGreaterThan(0);
      noticed += 1;
    } finally {
      fs.writeFileSync(file, text);
    }
  };
  for (const breakage of wanted)
    test(breakage.costs, { timeout: LONGEST_RUN_MS + 10_000 }, () => attempt(breakage));
}
