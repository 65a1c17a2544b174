// A random sample of single faults: `npm run test:mutants -- --seed N --count M [--in FOLDER]`. Each is made in a copy of the
// project, and the tests that test/near.json chooses for its file are run, then all unit tests of its folder. With `--whole`, what
// survives is put into one copy, all of npm test is run, and each of them is then shown to the test files that failed. Prints
// what survives, and the share that was noticed by folder. test/mutants.json holds what nobody can notice, and why.
import { spawn } from 'node:child_process';
import * as fs from 'node:fs';
import { tmpdir } from 'node:os';
import * as path from 'node:path';
import { parseAst } from 'vitest/node';

const root = path.join(import.meta.dirname, '..');
const LONGEST_MS = 90_000;
const ALL = { mode: '', longestMs: 900_000 };
/** What hangs is noticed by the test's own end. */
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

/** The operators: what each makes of a node's text, or undefined where it has nothing to do. */
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

/** Every node that runs: types and imports do not. */
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
  const source = fs.readFileSync(path.join(root, file), 'utf8');
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
      });
    }
  return found;
}

/** A source of numbers from 0 to 1 that a seed repeats (mulberry32). */
function randomOf(seed) {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

/** The map of `npm run test:near`, and how many faults its tests notice. */
const near = { ...JSON.parse(fs.readFileSync(path.join(root, 'test/near.json'), 'utf8')), noticed: 0 };
const folderOf = (file) => file.split('/')[1];
const testsIn = (dir) =>
  (fs.existsSync(path.join(root, dir)) ? fs.readdirSync(path.join(root, dir), { recursive: true }) : [])
    .filter((name) => name.endsWith('.test.ts'))
    .map((name) => `${dir}/${name.replaceAll(path.sep, '/')}`);
/** The test files for a fault, in the order in which they are asked. */
const rounds = [
  ({ file }) => (near.near[file] ?? []).map((place) => near.tests[place]),
  ({ file }) => [`test/${folderOf(file)}`, 'test/wire'].flatMap(testsIn),
];

/** A folder with a copy of the project and, beside it, a temporary directory: a file below the copy would belong to its package. */
function makePlace() {
  const place = fs.mkdtempSync(path.join(tmpdir(), 'gw-mutants-'));
  const copy = path.join(place, 'project');
  const left = ['.git', 'node_modules', 'coverage'];
  for (const name of fs.readdirSync(root).filter((each) => !left.includes(each)))
    fs.cpSync(path.join(root, name), path.join(copy, name), { recursive: true, verbatimSymlinks: true });
  fs.symlinkSync(path.join(root, 'node_modules'), path.join(copy, 'node_modules'));
  fs.mkdirSync(path.join(place, 'tmp'));
  return { place, copy };
}

/** The test files that say nothing of a fault. */
const leftOut = [];

/** What tests say, with the test files that failed: `noticed`, `survived`, or `no verdict` after the longest time or without a report. */
function run(copy, files, { mode = '--mode unit --bail 1 --maxWorkers 1', longestMs = LONGEST_MS } = {}) {
  const report = path.join(copy, 'report.json');
  fs.rmSync(report, { force: true });
  const args = `run --config test/vitest.config.ts --project short ${mode} --reporter json`;
  const vitest = [path.join(root, 'node_modules/vitest/vitest.mjs'), ...args.split(' ')];
  const ends = ['--testTimeout', String(LONGEST_TEST_MS), '--outputFile', report];
  const child = spawn(process.execPath, [...vitest, ...ends, ...files], {
    cwd: copy,
    // What tests lay down for one another belongs to this copy.
    env: { ...process.env, TMPDIR: path.join(copy, '../tmp') },
    stdio: 'ignore',
    detached: true,
  });
  return new Promise((resolve) => {
    const timer = setTimeout(() => process.kill(-child.pid, 'SIGKILL'), longestMs);
    child.on('close', () => {
      clearTimeout(timer);
      if (!fs.existsSync(report)) return resolve({ verdict: 'no verdict', failed: [] });
      const { numTotalTests, success, testResults } = JSON.parse(fs.readFileSync(report, 'utf8'));
      const said = success ? numTotalTests > 0 && 'survived' : testResults.length > 0 && 'noticed';
      const failed = testResults.filter(({ status }) => status !== 'passed');
      resolve({ verdict: said || 'no verdict', failed: failed.map(({ name }) => path.relative(copy, name)) });
    });
  });
}

/** What `act` says while these faults are in the copy. */
async function withFaults(copy, mutants, act) {
  const sources = new Map(mutants.map(({ file }) => [file, fs.readFileSync(path.join(copy, file), 'utf8')]));
  for (const { file, from, to, replace } of mutants.toSorted((one, other) => other.from - one.from)) {
    const source = fs.readFileSync(path.join(copy, file), 'utf8');
    fs.writeFileSync(path.join(copy, file), source.slice(0, from) + replace + source.slice(to));
  }
  try {
    return await act();
  } finally {
    for (const [file, source] of sources) fs.writeFileSync(path.join(copy, file), source);
  }
}

const attempt = (copy, mutant) =>
  withFaults(copy, [mutant], async () => {
    let verdict = 'survived';
    for (const [nth, testsFor] of rounds.entries()) {
      const tests = testsFor(mutant).filter((test) => !leftOut.includes(test));
      if (tests.length > 0) ({ verdict } = await run(copy, tests));
      if (verdict === 'noticed' && nth === 0) near.noticed += 1;
      if (verdict !== 'survived') return verdict;
    }
    return verdict;
  });

/** Those of the survivors that the whole of npm test notices; of faults in one place the first. */
async function noticedByAll(copy, survivors) {
  const apart = survivors.filter(
    (one, nth) =>
      !survivors
        .slice(0, nth)
        .some((other) => one.file === other.file && one.from < other.to && other.from < one.to),
  );
  const { failed: all } = await withFaults(copy, apart, () => run(copy, [], ALL));
  const failed = all.filter((test) => !leftOut.includes(test));
  console.log(`${apart.length} survivors at once: ${failed.length} test files fail: ${failed.join(' ')}`);
  const noticed = [];
  const shown = { ...ALL, mode: '--bail 1' };
  for (const mutant of failed.length === 0 ? [] : apart) {
    const { verdict } = await withFaults(copy, [mutant], () => run(copy, failed, shown));
    if (verdict === 'noticed') noticed.push(mutant);
    console.log(`${verdict} by all: ${mutant.file}, ${mutant.operator}: ${mutant.find.slice(0, 160)}`);
  }
  return noticed;
}

const seed = Number(option('seed', Date.now() % 1_000_000));
const count = Number(option('count', 20));
const isWhole = process.argv.includes('--whole');
const random = randomOf(seed);
const equivalents = JSON.parse(fs.readFileSync(path.join(root, 'test/mutants.json'), 'utf8'));
const isEquivalent = ({ file, find, replace }) =>
  equivalents.find((each) => each.file === file && each.find === find && each.replace === replace)?.because;
const files = fs
  .readdirSync(path.join(root, 'src'), { recursive: true })
  .map((name) => `src/${name.replaceAll(path.sep, '/')}`)
  .filter((name) => name.endsWith('.ts') && folderOf(name).startsWith(option('in', '')));
const all = files.flatMap(mutantsOf);
const { place, copy } = makePlace();
const tally = new Map();
const survivors = [];
const counted = (mutant, verdict, by = 1) => {
  const of = tally.get(folderOf(mutant.file)) ?? {};
  tally.set(folderOf(mutant.file), { ...of, [verdict]: (of[verdict] ?? 0) + by });
};
try {
  // Some tests of processes need a checkout that npm has installed.
  leftOut.push(...(await run(copy, [], isWhole ? ALL : { ...ALL, mode: '--mode unit' })).failed);
  if (leftOut.length > 0) console.log(`fail without a fault, and are not asked: ${leftOut.join(' ')}`);
  for (let nth = 1; nth <= count; nth += 1) {
    const mutant = all[Math.floor(random() * all.length)];
    const because = isEquivalent(mutant);
    const verdict = because === undefined ? await attempt(copy, mutant) : 'equivalent';
    counted(mutant, verdict);
    if (verdict === 'survived') survivors.push(mutant);
    const line = fs
      .readFileSync(path.join(root, mutant.file), 'utf8')
      .slice(0, mutant.from)
      .split('\n').length;
    const what =
      verdict === 'noticed' ? '' : `: ${mutant.find.slice(0, 160)} -> ${mutant.replace.slice(0, 160)}`;
    console.log(
      `${nth} ${verdict}: ${mutant.file}:${line}, ${mutant.operator}${what.replace(/\s+/g, ' ')}${because ? ` (${because})` : ''}`,
    );
  }
  for (const mutant of isWhole ? await noticedByAll(copy, survivors) : []) {
    counted(mutant, 'survived', -1);
    counted(mutant, 'noticed');
  }
} finally {
  fs.rmSync(place, { recursive: true, force: true });
}
console.log(`seed ${seed}, ${count} of ${all.length} faults, ${near.noticed} noticed by npm run test:near`);
for (const [folder, { noticed = 0, survived = 0, equivalent = 0, ...rest }] of [...tally].sort())
  console.log(
    `${folder}: ${noticed} of ${noticed + survived} noticed, ${equivalent} equivalent, ${rest['no verdict'] ?? 0} without a verdict`,
  );
