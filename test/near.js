// Runs the tests that a change is most likely to break: `npm run test:near`. The change is what git reports as not yet
// committed, or else the last commit. test/near.json lists the tests; `npm run test:near -- --record` makes it: for each
// file of src, the fewest and quickest test files that call every function of it that any quick test calls.
import { execFileSync, spawnSync } from 'node:child_process';
import * as fs from 'node:fs';
import { tmpdir } from 'node:os';
import * as path from 'node:path';

const root = path.join(import.meta.dirname, '..');
const mapFile = path.join(root, 'test/near.json');
/** These tests always run: they cover files that the map does not know, and moves between folders. */
const always = ['test/architecture.test.ts'];

function vitest(args, env = {}) {
  const command = ['node_modules/vitest/vitest.mjs', 'run', '--config', 'test/vitest.config.ts', ...args];
  return spawnSync(process.execPath, command, {
    cwd: root,
    stdio: 'inherit',
    env: { ...process.env, ...env },
  }).status;
}

const git = (...args) =>
  execFileSync('git', args, { cwd: root, encoding: 'utf8' }).split('\n').filter(Boolean);

function changedFiles() {
  const uncommitted = [
    ...git('diff', '--name-only', 'HEAD'),
    ...git('ls-files', '--others', '--exclude-standard', 'src', 'test'),
  ];
  return uncommitted.length > 0 ? uncommitted : git('diff', '--name-only', 'HEAD~1');
}

/** The test files that import a file, for a file that the map does not have. */
function importers(file) {
  const names = fs
    .readdirSync(path.join(root, 'test'), { recursive: true })
    .filter((name) => name.endsWith('.test.ts'));
  const imports = (name) => fs.readFileSync(path.join(root, 'test', name), 'utf8').includes(`/${file}'`);
  return names.filter(imports).map((name) => `test/${name.replaceAll(path.sep, '/')}`);
}

/** The test files for these files: those of the map, and changed test files themselves. */
function testsNear(files, map) {
  const tests = files.flatMap((file) => map.near[file]?.map((place) => map.tests[place]) ?? importers(file));
  const own = files.filter((file) => /\.test\.ts$/.test(file));
  return [...new Set([...always, ...tests, ...own])].filter((file) => fs.existsSync(path.join(root, file)));
}

/** The cheapest tests that together call all functions that any test calls; each step takes the best test for its time. */
function cover(candidates) {
  const chosen = [];
  const wanted = new Set(candidates.flatMap(({ called }) => called));
  const gain = ({ called, ms }) => called.filter((each) => wanted.has(each)).length / (ms + 500);
  while (wanted.size > 0) {
    const best = candidates.reduce((one, other) => (gain(other) > gain(one) ? other : one));
    for (const each of best.called) wanted.delete(each);
    chosen.push(best.test);
  }
  return chosen.sort();
}

function record() {
  const dir = fs.mkdtempSync(path.join(tmpdir(), 'gw-near-'));
  const status = vitest(['--mode', 'unit', '--project', 'short'], { GW_TEST_CALLS: dir });
  const byFile = new Map();
  for (const name of fs.readdirSync(dir)) {
    const { test, ms, calls } = JSON.parse(fs.readFileSync(path.join(dir, name), 'utf8'));
    for (const [file, called] of Object.entries(calls)) {
      byFile.set(file, [...(byFile.get(file) ?? []), { test, ms, called }]);
    }
  }
  fs.rmSync(dir, { recursive: true });
  const near = new Map([...byFile].sort().map(([file, candidates]) => [file, cover(candidates)]));
  const tests = [...new Set([...near.values()].flat())].sort();
  const lines = [...near].map(
    ([file, names]) =>
      `    ${JSON.stringify(file)}: [${names.map((name) => tests.indexOf(name)).join(', ')}]`,
  );
  const list = tests.map((name) => `    ${JSON.stringify(name)}`);
  fs.writeFileSync(
    mapFile,
    `{\n  "tests": [\n${list.join(',\n')}\n  ],\n  "near": {\n${lines.join(',\n')}\n  }\n}\n`,
  );
  return status;
}

if (process.argv.includes('--record')) process.exitCode = record() ?? 1;
else {
  const files = changedFiles();
  const map = fs.existsSync(mapFile) ? JSON.parse(fs.readFileSync(mapFile, 'utf8')) : { tests: [], near: {} };
  const tests = testsNear(files, map);
  console.log(`${files.length} files have changed; near them: ${tests.join(' ')}`);
  // The tests of the map need no built gw, and a build takes seconds.
  const isUnit = tests.every((test) => [...always, ...map.tests].includes(test));
  // This cache keeps transformed modules between runs.
  const cached = '--experimental.fsModuleCache';
  process.exitCode = vitest([cached, ...(isUnit ? ['--mode', 'unit'] : []), ...tests]) ?? 1;
}
