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

// A test that no fault makes fail promises nothing. Each breakage is made in a copy of the project, and the test that
// killers.json names for it must fail. A failed build, a file that does not load and a missing report are errors.
// GW_BREAKAGE=TEXT selects breakages by their text, GW_BREAKAGES=fifth selects the fifth of them that is due today. For a new
// breakage, killers.json gets the test file and "" as the test, which GW_BREAKAGES=record replaces by the first failed test.

const breakages: readonly Breakage[] = [...download, ...disk, ...sandbox, ...jobs, ...ledger];
const root = path.join(import.meta.dirname, '../../..');
const LONGEST_RUN_MS = 180_000;
/** Timeout of one test: a test that hangs fails by itself before its run is stopped. */
const LONGEST_TEST_MS = 60_000;
const DAY_MS = 24 * 60 * 60_000;

/** The test that must notice a breakage: its file, and its whole name. */
type Killer = readonly [file: string, name: string];
const killersFile = path.join(import.meta.dirname, 'killers.json');
const killers = JSON.parse(fs.readFileSync(killersFile, 'utf8')) as Record<string, Killer>;
const { GW_BREAKAGES: which, GW_BREAKAGE: wantedText = '' } = process.env;
const today = Math.floor(Date.now() / DAY_MS);

const sources = fs
  .readdirSync(path.join(root, 'src'), { recursive: true, encoding: 'utf8' })
  .filter((name) => name.endsWith('.ts'))
  .map((name) => ({
    name: path.join('src', name),
    text: fs.readFileSync(path.join(root, 'src', name), 'utf8'),
  }));

/** A regular expression that matches just this text. */
const literally = (text: string) => text.replace(/[.*+?^${}()|[\]\\]/g, '\\$&');

/** Finds each occurrence of the text in `src`, with any white space between its words. */
function placesOf({ find }: Breakage) {
  const words = find.split(/\s+/).map(literally);
  const wanted = new RegExp(words.join('\\s+'), 'g');
  return sources.flatMap(({ name, text }) =>
    [...text.matchAll(wanted)].map(({ 0: found, index }) => ({ name, text, found, index })),
  );
}

/** The fields of vitest's report that are read here. */
interface Report {
  readonly numPassedTests: number;
  readonly testResults: readonly {
    readonly name: string;
    readonly status: string;
    readonly message: string;
    readonly assertionResults: readonly { readonly status: string; readonly fullName: string }[];
  }[];
}

describe('fits the code', () => {
  for (const breakage of breakages) test(breakage.costs, () => expectFitting(breakage));
  test('each breakage names the test that notices it, and no other is named', () => {
    expect(Object.keys(killers).sort()).toEqual(breakages.map(({ costs }) => costs).sort());
    for (const [file] of Object.values(killers))
      expect(fs.existsSync(path.join(root, file)), file).toBe(true);
  });
});

function expectFitting(breakage: Breakage): void {
  expect(
    placesOf(breakage).map(({ name }) => name),
    breakage.find,
  ).toHaveLength(1);
}

if (isLong) describe('is noticed', attemptAll);

/** The file of the test that must notice a breakage, and its name once that is recorded. */
function killerOf({ costs }: Breakage): readonly [file: string, ...name: string[]] {
  const [file, name] = killers[costs] ?? ['', ''];
  return name === '' ? [file] : [file, name];
}

function attemptAll(): void {
  const copy = fs.mkdtempSync(path.join(tmpdir(), 'gw-breakages-'));
  const wanted = breakages.filter(
    ({ costs }, at) => costs.includes(wantedText) && (which !== 'fifth' || at % 5 === today % 5),
  );
  let noticed = 0;

  /**
   * Runs the tests of these files in the copy, or only the tests that are named. Resolves with the failed tests; rejects if
   * the result is unknown.
   */
  function run(
    files: readonly string[],
    longestMs = LONGEST_RUN_MS,
    only: readonly string[] = [],
  ): Promise<{ failed: Killer[]; passed: number; said: string }> {
    const report = path.join(copy, 'report.json');
    fs.rmSync(report, { force: true });
    const args = [
      ...[
        'run',
        '--config',
        'test/vitest.config.ts',
        '--experimental.fsModuleCache',
        '--bail',
        '1',
        '--testTimeout',
        String(LONGEST_TEST_MS),
      ],
      ...['--reporter', 'json', '--outputFile', report],
      ...(only.length === 0 ? [] : ['-t', `^(${only.map(literally).join('|')})$`]),
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
        if (!fs.existsSync(report)) return reject(new Error(`no report of ${files.join(', ')}\n${said}`));
        const { numPassedTests, testResults } = JSON.parse(fs.readFileSync(report, 'utf8')) as Report;
        const failed = testResults.flatMap(({ name, assertionResults }) =>
          assertionResults
            .filter(({ status }) => status === 'failed')
            .map(({ fullName }): Killer => [path.relative(copy, name), fullName]),
        );
        const unread = testResults.filter(
          ({ status, assertionResults }) => status === 'failed' && assertionResults.length === 0,
        );
        if (failed.length === 0 && unread.length > 0)
          return reject(new Error(`${unread.map(({ message }) => message).join('; ')}\n${said}`));
        resolve({ failed, passed: numPassedTests, said });
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
    if (which === 'record') fs.writeFileSync(killersFile, `${JSON.stringify(killers, undefined, 2)}\n`);
    fs.rmSync(copy, { recursive: true, force: true });
    tell('single-point breakages', { breakages: wanted.length, noticed, survivors: wanted.length - noticed });
  });

  test('nothing, where nothing is broken', { timeout: 5 * LONGEST_RUN_MS }, async () => {
    const files = new Set(wanted.map((breakage) => killerOf(breakage)[0]));
    const named = new Set(wanted.flatMap((breakage) => killerOf(breakage).slice(1)));
    const { failed, passed, said } = await run([...files], 4 * LONGEST_RUN_MS, [...named]);
    expect([failed, passed >= named.size], said).toEqual([[], true]);
  });

  const attempt = async (breakage: Breakage) => {
    const [place] = placesOf(breakage);
    if (!place) throw new Error(`nowhere in src: ${breakage.find}`);
    const { name, text, found, index } = place;
    const file = path.join(copy, name);
    const broken = text.slice(0, index) + (breakage.replace ?? '') + text.slice(index + found.length);
    fs.writeFileSync(file, broken);
    try {
      const [tests, ...only] = killerOf(breakage);
      let { failed, said } = await run([tests], LONGEST_RUN_MS, only);
      // A run that stops at its first failure may leave that test out of its report; its output then says "still running".
      if (failed.length === 0 && said.includes('still running'))
        ({ failed, said } = await run([tests], LONGEST_RUN_MS, only));
      expect(failed, `it survives ${tests} ${only.join()}\n${said.slice(-2000)}`).not.toEqual([]);
      if (which === 'record' && failed[0]) killers[breakage.costs] = failed[0];
      noticed += 1;
    } finally {
      fs.writeFileSync(file, text);
    }
  };
  for (const breakage of wanted)
    test(breakage.costs, { timeout: LONGEST_RUN_MS + 10_000 }, () => attempt(breakage));
}
