// Tests a random sample of single faults: `npm run test:mutants -- --seed N --count M [--in FOLDER]`. In a copy of the project
// each place of the sample is marked, and all of npm test runs once to learn which test files run it (on Linux, also through
// processes that they start). Then each fault is made and those files are run, the ones of `npm run test:near` first. Prints the
// faults that survive and each folder's share of noticed faults. test/mutants.json lists undetectable faults with the reason.
import { spawn } from 'node:child_process';
import * as fs from 'node:fs';
import { tmpdir } from 'node:os';
import * as path from 'node:path';
import { parseAst } from 'vitest/node';

const root = path.join(import.meta.dirname, '..');
const sourceOf = (file) => fs.readFileSync(path.join(root, file), 'utf8');
const LONGEST_MS = 120_000;
const LONGEST_OF_ALL_MS = 3_600_000;
/** Only the quickest tests that run a fault are used, until their total time reaches this. */
const TESTS_MS = 60_000;
/** A fault that makes a test hang is noticed by this timeout. */
const LONGEST_TEST_MS = 30_000;
const option = (name, fallback) => {
  const at = process.argv.indexOf(`--${name}`);
  return at < 0 ? fallback : process.argv[at + 1];
};

const swaps = {
  ...{ '===': '!==', '!==': '===', '<': '<=', '<=': '<', '>': '>=', '>=': '>', '+': '-', '-': '+', '*': '/' },
  ...{ '/': '*', '%': '*', '&&': '||', '||': '&&', '??': '&&', '+=': '-=', '-=': '+=' },
};
const methods = {
  some: 'every',
  every: 'some',
  min: 'max',
  max: 'min',
  startsWith: 'endsWith',
  at: 'indexOf',
};

/** The operators: each returns the changed text of a node, or undefined if it does not apply. */
const operators = {
  'another operator': (node, text) => {
    if (!/^(Binary|Logical|Assignment)Expression$/.test(node.type) || !swaps[node.operator]) return undefined;
    const between = text(node.left.end, node.right.start).replace(node.operator, swaps[node.operator]);
    return text(node.start, node.left.end) + between + text(node.right.start, node.end);
  },
  'no negation': (node, text) =>
    node.type === 'UnaryExpression' && node.operator === '!'
      ? text(node.argument.start, node.end)
      : undefined,
  'the other truth': (node) => (typeof node.value === 'boolean' ? String(!node.value) : undefined),
  'one more': (node) => (typeof node.value === 'number' ? String(node.value + 1) : undefined),
  'no text': (node) =>
    node.type === 'Literal' && typeof node.value === 'string' && node.value !== '' ? "''" : undefined,
  always: (node, text) =>
    node.type === 'IfStatement' ? `if (true) ${text(node.consequent.start, node.end)}` : undefined,
  never: (node, text) =>
    node.type === 'IfStatement' ? `if (false) ${text(node.consequent.start, node.end)}` : undefined,
  'one branch': (node, text) =>
    node.type === 'ConditionalExpression'
      ? `(${text(node.consequent.start, node.consequent.end)})`
      : undefined,
  'the other branch': (node, text) =>
    node.type === 'ConditionalExpression' ? `(${text(node.alternate.start, node.alternate.end)})` : undefined,
  'left out': (node) => (node.type === 'ExpressionStatement' && !node.directive ? ';' : undefined),
  'not thrown': (node) => (node.type === 'ThrowStatement' ? ';' : undefined),
  'nothing returned': (node) =>
    node.type === 'ReturnStatement' && node.argument && node.argument.name !== 'undefined'
      ? 'return;'
      : undefined,
  'not waited for': (node, text) =>
    node.type === 'AwaitExpression' ? `(${text(node.argument.start, node.end)})` : undefined,
  'another method': (node) =>
    node.type === 'Identifier' && node.isProperty && Object.hasOwn(methods, node.name)
      ? methods[node.name]
      : undefined,
  'an empty list': (node) =>
    node.type === 'ArrayExpression' && node.elements.length > 0 && !node.isPattern ? '[]' : undefined,
  'not caught': (node, text) =>
    node.type === 'TryStatement' && node.handler && !node.finalizer
      ? text(node.block.start, node.block.end)
      : undefined,
  'without its fallback': (node, text) =>
    node.type === 'LogicalExpression' && node.operator === '??'
      ? `(${text(node.left.start, node.left.end)})`
      : undefined,
};

/** Every node that runs; types and imports do not. */
function* nodesOf(node) {
  if (Array.isArray(node)) for (const each of node) yield* nodesOf(each);
  else if (node && typeof node.type === 'string') {
    if (/^(TS|Import|Export(All|Specifier))/.test(node.type) && !/^TS(As|Satisfies|NonNull)/.test(node.type))
      return;
    if (node.type === 'MemberExpression' && !node.computed) node.property.isProperty = true;
    yield node;
    for (const [name, value] of Object.entries(node))
      if (value && typeof value === 'object' && !/^(typeAnnotation|returnType|typeArguments|key)$/.test(name))
        yield* nodesOf(value);
  }
}

function mutantsOf(file) {
  const source = sourceOf(file);
  const text = (from, to) => source.slice(from, to);
  const found = [];
  for (const node of nodesOf(parseAst(source, { lang: 'ts' }).body))
    for (const [operator, make] of Object.entries(operators)) {
      const replace = make(node, text);
      if (replace === undefined || replace === text(node.start, node.end)) continue;
      found.push({
        file,
        operator,
        from: node.start,
        to: node.end,
        find: text(node.start, node.end),
        replace,
        isStatement: node.type.endsWith('Statement'),
      });
    }
  return found;
}

/** A random number generator from 0 to 1 that a seed makes repeatable (mulberry32). */
function randomOf(seed) {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

/** The tests that `npm run test:near` runs for a file, and the number of faults that they notice. */
const near = { ...JSON.parse(fs.readFileSync(path.join(root, 'test/near.json'), 'utf8')), noticed: 0 };
const nearTests = (file) => (near.near[file] ?? []).map((place) => near.tests[place]);
const folderOf = (file) => file.split('/')[1];

/** Makes a folder with a copy of the project. Files of a run go beside the copy: inside, they would belong to its package. */
function makePlace() {
  const place = fs.mkdtempSync(path.join(tmpdir(), 'gw-mutants-'));
  const copy = path.join(place, 'project');
  const left = ['.git', 'node_modules', 'coverage'];
  for (const name of fs.readdirSync(root).filter((each) => !left.includes(each)))
    fs.cpSync(path.join(root, name), path.join(copy, name), { recursive: true, verbatimSymlinks: true });
  fs.symlinkSync(path.join(root, 'node_modules'), path.join(copy, 'node_modules'));
  for (const name of ['tmp', 'marks']) fs.mkdirSync(path.join(place, name));
  return { place, copy };
}

/** Runs tests in the copy, by default all of them; returns undefined after the time limit or without a report. */
function run(copy, files, { words = [], longestMs = LONGEST_MS, env = {} }) {
  const report = path.join(copy, 'report.json');
  fs.rmSync(report, { force: true });
  const vitest = path.join(root, 'node_modules/vitest/vitest.mjs');
  const args = ['run', '--config', 'test/vitest.config.ts', '--project', 'short', ...words];
  // Each run gets its own assets, as the configured reporters would do, because assets contain code of the sources.
  const ownTemp = fs.mkdtempSync(path.join(tmpdir(), 'gw-tests-'));
  const ends = ['--testTimeout', String(LONGEST_TEST_MS), '--reporter', 'json', '--outputFile', report];
  const child = spawn(process.execPath, [vitest, ...args, ...ends, ...files], {
    cwd: copy,
    env: { ...process.env, ...env, TMPDIR: ownTemp, GW_TEST_BUILDS: path.join(copy, '../tmp') },
    stdio: 'ignore',
    detached: true,
  });
  return new Promise((resolve) => {
    const timer = setTimeout(() => process.kill(-child.pid, 'SIGKILL'), longestMs);
    child.on('close', () => {
      clearTimeout(timer);
      // A mount that a killed run left there stays.
      fs.rm(ownTemp, { recursive: true, force: true, maxRetries: 3 }, () => {});
      const { testResults = [] } = fs.existsSync(report) ? JSON.parse(fs.readFileSync(report, 'utf8')) : {};
      const told = testResults.map(({ name, status, startTime, endTime }) => ({
        test: path.relative(copy, name),
        hasPassed: status === 'passed',
        ms: endTime - startTime,
      }));
      resolve(told.length > 0 ? told : undefined);
    });
  });
}

/** Calls `act` while pieces of the copy's sources are replaced; at the same place, the piece with the lowest rank comes last. */
async function withPieces(copy, pieces, act) {
  const sources = new Map(pieces.map(({ file }) => [file, sourceOf(file)]));
  for (const [file, source] of sources) {
    const own = pieces
      .filter((piece) => piece.file === file)
      .toSorted((one, other) => other.at - one.at || one.rank - other.rank);
    const text = own.reduce(
      (before, { at, to = at, text }) => before.slice(0, at) + text + before.slice(to),
      source,
    );
    fs.writeFileSync(path.join(copy, file), text);
  }
  try {
    return await act();
  } finally {
    for (const [file, source] of sources) fs.writeFileSync(path.join(copy, file), source);
  }
}

/** Code that records that a place has run, with the IDs of its process and of all parent processes. */
const markText = (dir) =>
  `globalThis.ranMark ??= (mark) => { if (ranMark[mark]) return; ranMark[mark] = true; const fs = process.getBuiltinModule('fs'); ` +
  `const all = [process.pid]; try { for (;;) all.push(Number(fs.readFileSync('/proc/' + all.at(-1) + '/stat', 'utf8').split(') ')[1].split(' ')[1])); } catch {} ` +
  `try { fs.appendFileSync(${JSON.stringify(dir)} + '/mark-' + mark, all.join(' ') + '\\n'); } catch {} };\n`;

/** Two pieces around a fault's place, which record the number of the fault when the place runs. */
function marksOf({ file, operator, from, to, isStatement }, number) {
  const tell = `ranMark(${number})`;
  const [before, after] =
    operator === 'another method'
      ? [`[(${tell},'`, "')]"]
      : isStatement
        ? [`{${tell};`, '}']
        : [`(${tell},(`, '))'];
  const size = to - from;
  // `a.some` becomes `a[…]`, and `a?.some` becomes `a?.[…]`.
  const isDotted = operator === 'another method' && !sourceOf(file).slice(0, from).endsWith('?.');
  return [
    { file, at: isDotted ? from - 1 : from, to: from, text: before, rank: size },
    // At the same place, a closing piece comes before every opening one, and the inner one comes first.
    { file, at: to, text: after, rank: Number.MAX_SAFE_INTEGER - size },
  ];
}

const linesOf = (file) =>
  fs.existsSync(file) ? fs.readFileSync(file, 'utf8').split('\n').filter(Boolean) : [];

/** The test files that run the place of each fault and pass without the fault, the quickest first. */
async function testsOf({ place, copy }, faults) {
  const marks = path.join(place, 'marks');
  const heads = [...new Set(faults.map(({ file }) => file))].map((file) => ({
    file,
    at: 0,
    text: markText(marks),
  }));
  const options = { longestMs: LONGEST_OF_ALL_MS, env: { GW_TEST_MARKS: marks } };
  const told = await withPieces(copy, [...heads, ...faults.flatMap(marksOf)], () => run(copy, [], options));
  if (!told) throw new Error('all tests together gave no report');
  const isProcess = (name) => name.startsWith('process-');
  const testOf = new Map(
    fs
      .readdirSync(marks)
      .filter(isProcess)
      .map((name) => [name.slice('process-'.length), linesOf(path.join(marks, name))[0]]),
  );
  const passing = told.filter(({ hasPassed }) => hasPassed).toSorted((one, other) => one.ms - other.ms);
  return faults.map((_, number) => {
    const by = linesOf(path.join(marks, `mark-${number}`)).flatMap((line) =>
      line.split(' ').map((pid) => testOf.get(pid)),
    );
    return passing.filter(({ test }) => by.includes(test));
  });
}

/** The verdict of the tests on a fault: `noticed`, `survived`, or `no verdict` after the time limit. */
const judge = (copy, { file, from, to, replace }, tests) =>
  withPieces(copy, [{ file, at: from, to, text: replace }], async () => {
    const first = nearTests(file).filter((test) => tests.some((each) => each.test === test));
    const others = [];
    let ms = 0;
    for (const each of tests)
      if (!first.includes(each.test) && ms < TESTS_MS) {
        others.push(each.test);
        ms += each.ms;
      }
    for (const [files, mode] of [
      [first, ['--mode', 'unit']],
      [others, []],
    ]) {
      if (files.length === 0) continue;
      const told = await run(copy, files, { words: [...mode, '--bail', '1'] });
      if (!told) return 'no verdict';
      if (told.every(({ hasPassed }) => hasPassed)) continue;
      if (files === first) near.noticed += 1;
      return 'noticed';
    }
    return 'survived';
  });

const seed = Number(option('seed', Date.now() % 1_000_000));
const count = Number(option('count', 20));
const random = randomOf(seed);
const equivalents = JSON.parse(fs.readFileSync(path.join(root, 'test/mutants.json'), 'utf8'));
const becauseOf = ({ file, find, replace }) =>
  equivalents.find((each) => each.file === file && each.find === find && each.replace === replace)?.because;
const files = fs
  .readdirSync(path.join(root, 'src'), { recursive: true })
  .map((name) => `src/${name.replaceAll(path.sep, '/')}`)
  .filter((name) => name.endsWith('.ts') && folderOf(name).startsWith(option('in', '')));
const all = files.flatMap(mutantsOf);
const sample = Array.from({ length: count }, () => all[Math.floor(random() * all.length)]);
const { place, copy } = makePlace();
const tally = new Map();
try {
  const tests = await testsOf({ place, copy }, sample);
  for (const [number, fault] of sample.entries()) {
    const { file, operator, from, find, replace } = fault;
    const because = becauseOf(fault);
    const verdict = because === undefined ? await judge(copy, fault, tests[number]) : 'equivalent';
    const of = tally.get(folderOf(file)) ?? {};
    tally.set(folderOf(file), { ...of, [verdict]: (of[verdict] ?? 0) + 1 });
    const line = sourceOf(file).slice(0, from).split('\n').length;
    const ran = `${tests[number].length} test files run it`;
    const what =
      verdict === 'noticed' ? '' : `: ${find.slice(0, 160)} -> ${replace.slice(0, 160)}; ${because ?? ran}`;
    console.log(`${number + 1} ${verdict}: ${file}:${line}, ${operator}${what.replace(/\s+/g, ' ')}`);
  }
} finally {
  fs.rmSync(place, { recursive: true, force: true });
}
console.log(`seed ${seed}, ${count} of ${all.length} faults, ${near.noticed} noticed by npm run test:near`);
for (const [folder, { noticed = 0, survived = 0, equivalent = 0, ...rest }] of [...tally].sort())
  console.log(
    `${folder}: ${noticed} of ${noticed + survived} noticed, ${equivalent} equivalent, ${rest['no verdict'] ?? 0} without a verdict`,
  );
