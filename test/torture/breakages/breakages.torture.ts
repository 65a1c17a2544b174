import { spawn } from 'node:child_process';
import * as fs from 'node:fs';
import { tmpdir } from 'node:os';
import * as path from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { isLong, tell } from '../torture.ts';

// A test that no fault makes fail promises nothing. Each breakage of breakages.json is made in a copy of the project, and the
// test that it names must fail. A failed build, a file that does not load and a missing report are errors. GW_BREAKAGE=TEXT
// selects breakages by their text, GW_BREAKAGES=fifth selects the fifth of them that is due today. A new breakage has "" as its
// test, which GW_BREAKAGES=record replaces by the first failed test of its file.

/**
 * One deliberate fault in the product. The text is searched in all of `src` with any white space between its words, so that an
 * entry survives when code moves, but not when code changes.
 */
interface Breakage {
  /** The harm to a user. */
  readonly costs: string;
  /** Text that occurs exactly once in `src`. */
  readonly find: string;
  readonly replace: string;
  /** The file of the test that must fail, and the test's whole name. */
  readonly file: string;
  test: string;
}
const listFile = path.join(import.meta.dirname, 'breakages.json');
const breakages = JSON.parse(fs.readFileSync(listFile, 'utf8')) as readonly Breakage[];
const root = path.join(import.meta.dirname, '../../..');
const LONGEST_RUN_MS = 180_000;
/** Timeout of one test: a test that hangs fails by itself before its run is stopped. */
const LONGEST_TEST_MS = 60_000;
const DAY_MS = 24 * 60 * 60_000;

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
function placesOf({ find }: Pick<Breakage, 'find'>) {
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

describe.each(breakages)('fits the code', ({ costs, find, file }) => {
  test(costs, () => {
    expect(
      placesOf({ find }).map(({ name }) => name),
      find,
    ).toHaveLength(1);
    expect(fs.existsSync(path.join(root, file)), file).toBe(true);
  });
});

if (isLong) describe('is noticed', attemptAll);

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
  ): Promise<{ failed: [file: string, name: string][]; passed: number; said: string }> {
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
            .map(({ fullName }): [string, string] => [path.relative(copy, name), fullName]),
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
    if (which === 'record') fs.writeFileSync(listFile, `${JSON.stringify(breakages, undefined, 2)}\n`);
    fs.rmSync(copy, { recursive: true, force: true });
    tell('single-point breakages', { breakages: wanted.length, noticed, survivors: wanted.length - noticed });
  });

  test('nothing, where nothing is broken', { timeout: 5 * LONGEST_RUN_MS }, async () => {
    const files = new Set(wanted.map(({ file }) => file));
    const named = new Set(wanted.map((each) => each.test).filter(Boolean));
    const { failed, passed, said } = await run([...files], 4 * LONGEST_RUN_MS, [...named]);
    expect([failed, passed >= named.size], said).toEqual([[], true]);
  });

  const attempt = async (breakage: Breakage) => {
    const [place] = placesOf(breakage);
    if (!place) throw new Error(`nowhere in src: ${breakage.find}`);
    const { name, text, found, index } = place;
    const file = path.join(copy, name);
    fs.writeFileSync(file, text.slice(0, index) + breakage.replace + text.slice(index + found.length));
    try {
      const [tests, only] = [breakage.file, [breakage.test].filter(Boolean)];
      let { failed, said } = await run([tests], LONGEST_RUN_MS, only);
      // A run that stops at its first failure may leave that test out of its report; its output then says "still running".
      if (failed.length === 0 && said.includes('still running'))
        ({ failed, said } = await run([tests], LONGEST_RUN_MS, only));
      expect(failed, `it survives ${tests} ${only.join()}\n${said.slice(-2000)}`).not.toEqual([]);
      if (which === 'record') breakage.test ||= failed[0]?.[1] ?? '';
      noticed += 1;
    } finally {
      fs.writeFileSync(file, text);
    }
  };
  for (const breakage of wanted)
    test(breakage.costs, { timeout: LONGEST_RUN_MS + 10_000 }, () => attempt(breakage));
}
