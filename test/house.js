// Prints the measures of the project's size: `npm run house`. `node test/house.js --check` prints the measures above their
// ceilings in test/house.json, as test/house.test.ts does; `--lower` lowers the ceilings to the measured values.
import { spawn } from 'node:child_process';
import * as fs from 'node:fs';
import { tmpdir } from 'node:os';
import * as path from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { transformSync } from 'esbuild';
import { parseAst } from 'vitest/node';

const root = path.join(import.meta.dirname, '..');
const ceilingsFile = path.join(root, 'test/house.json');
const LONGEST_FUNCTION = 80;
const LONGEST_RUN_MS = 60_000;

const filesIn = (dir, form) =>
  fs
    .readdirSync(path.join(root, dir), { recursive: true })
    .filter((name) => form.test(name))
    .map((name) => path.posix.join(dir, name.replaceAll(path.sep, '/')));
const read = (file) => fs.readFileSync(path.join(root, file), 'utf8');
const linesOf = (text) => text.split('\n').length - 1;
const linesIn = (files) => files.reduce((sum, file) => sum + linesOf(read(file)), 0);
const sources = () => filesIn('src', /\.ts$/);

/** The lines of each folder of src; `top` counts the files outside of any folder. */
function linesByFolder() {
  const folders = {};
  for (const file of sources()) {
    const [, name, ...inside] = file.split('/');
    const folder = inside.length > 0 ? name : 'top';
    folders[folder] = (folders[folder] ?? 0) + linesOf(read(file));
  }
  return Object.fromEntries(Object.entries(folders).sort());
}

/** Every node of a syntax tree. */
function* nodesOf(node) {
  if (Array.isArray(node)) for (const each of node) yield* nodesOf(each);
  else if (node && typeof node.type === 'string') {
    yield node;
    for (const value of Object.values(node)) if (value && typeof value === 'object') yield* nodesOf(value);
  }
}

/** True if a method is saved and then replaced on its object: `const read = socket.read; socket.read = () => …`. */
function isPatch({ type, left, right }, kept) {
  if (type !== 'AssignmentExpression' || left.type !== 'MemberExpression' || !/Function/.test(right.type))
    return false;
  return kept.has(`${left.object.name}.${left.property.name}`);
}

const isKept = ({ type, init }) => type === 'VariableDeclarator' && init?.type === 'MemberExpression';

/** The places (`FILE:LINE`) of code that the project does not allow, by kind. */
function blemishes() {
  const found = { longFunctions: [], literalSpreads: [], privateImports: [], patchedMethods: [] };
  for (const file of sources()) {
    const text = read(file);
    const nodes = [...nodesOf(parseAst(text, { lang: 'ts' }).body)];
    const kept = nodes.filter(isKept).map(({ init }) => `${init.object.name}.${init.property.name}`);
    const methods = new Set(kept);
    const at = (node) => `${file}:${linesOf(text.slice(0, node.start)) + 1}`;
    for (const node of nodes) {
      if (/Function/.test(node.type) && linesOf(text.slice(node.start, node.end)) + 1 > LONGEST_FUNCTION)
        found.longFunctions.push(at(node));
      if (node.type === 'SpreadElement' && node.argument.type === 'ObjectExpression')
        found.literalSpreads.push(at(node));
      if (
        /^(Import|Export).*Declaration$/.test(node.type) &&
        /node_modules|\/(lib|dist|src)\//.test(node.source?.value ?? '')
      )
        found.privateImports.push(at(node));
      if (isPatch(node, methods)) found.patchedMethods.push(at(node));
    }
  }
  return found;
}

/** Writes each source file as a separate JavaScript file, so that the coverage of a run names the files it loads. */
function plainSources(dir) {
  for (const file of sources()) {
    const made = path.join(dir, file.replace(/\.ts$/, '.js'));
    fs.mkdirSync(path.dirname(made), { recursive: true });
    const { code } = transformSync(read(file), { loader: 'ts', format: 'esm', target: 'node20' });
    fs.writeFileSync(made, code.replaceAll(/((?:from|import)\s*\(?\s*["'][^"']+)\.ts(["'])/g, '$1.js$2'));
  }
  fs.symlinkSync(path.join(root, 'node_modules'), path.join(dir, 'node_modules'));
  fs.writeFileSync(path.join(dir, 'package.json'), '{ "type": "module" }');
  fs.writeFileSync(
    path.join(dir, 'gw.js'),
    `import { run } from './src/entry.js';
await run({ version: '0.0.0', distDir: ${JSON.stringify(path.join(root, 'dist'))}, mayTouchFlags: () => false, codeCache: {} });`,
  );
}

/** Commands that are run to count the files of which a function is called, with all their lines. */
const runs = {
  'video alpha create': ['video', 'alpha', 'create', 'a boat'],
  'video alpha create --wait': ['video', 'alpha', 'create', 'a boat by day', '--wait', '--interval', '100ms'],
  'jobs list': ['jobs', 'list'],
  chat: ['chat', 'hello'],
  'batch run of one row': ['batch', 'run', 'day.jsonl', '--interval', '100ms'],
};

/** Runs gw from these separate files against a sandbox; needs `npm run build` for the image codecs. */
async function entered() {
  const dir = fs.mkdtempSync(path.join(tmpdir(), 'gw-house-'));
  try {
    plainSources(dir);
    const { startSandbox } = await import(pathToFileURL(path.join(dir, 'src/sandbox/server.js')).href);
    const places = { clipsDir: path.join(root, 'src/sandbox/clips'), wasmDir: path.join(root, 'dist/wasm') };
    const sandbox = await startSandbox({
      key: 'sk-house-0123456789',
      account: 'enterprise',
      speed: 100,
      faults: [],
      ...places,
    });
    const found = {};
    const row = { id: 'boat', command: 'video alpha', prompt: 'a boat by night' };
    fs.writeFileSync(path.join(dir, 'day.jsonl'), `${JSON.stringify(row)}\n`);
    for (const [name, argv] of Object.entries(runs))
      found[name] = await enteredBy(argv, dir, sandbox.baseUrl);
    await sandbox.close();
    return found;
  } finally {
    fs.rmSync(dir, { recursive: true, force: true });
  }
}

const sourceOf = (url, dir) =>
  path.relative(fs.realpathSync(dir), fileURLToPath(url)).replace(/\.js$/, '.ts');

async function enteredBy(argv, dir, baseUrl) {
  const coverage = fs.mkdtempSync(path.join(dir, 'coverage-'));
  const env = { PATH: process.env.PATH, HOME: dir, GW_BASE_URL: baseUrl, GW_API_KEY: 'sk-house-0123456789' };
  const child = spawn(process.execPath, [path.join(dir, 'gw.js'), ...argv], {
    cwd: dir,
    env: { ...env, NODE_V8_COVERAGE: coverage },
    stdio: ['ignore', 'ignore', 'pipe'],
    timeout: LONGEST_RUN_MS,
  });
  let said = '';
  child.stderr.on('data', (chunk) => {
    said += chunk;
  });
  const code = await new Promise((resolve) => child.on('close', resolve));
  if (code !== 0) throw new Error(`gw ${argv.join(' ')} ended with ${code}: ${said}`);
  const inSrc = pathToFileURL(path.join(fs.realpathSync(dir), 'src')).href;
  const files = new Set();
  for (const name of fs.readdirSync(coverage)) {
    const { result } = JSON.parse(fs.readFileSync(path.join(coverage, name), 'utf8'));
    for (const { url, functions } of result) {
      const [, ...inside] = functions;
      const isEntered = inside.some(({ ranges }) => ranges[0].count > 0);
      if (url.startsWith(inSrc) && isEntered) files.add(sourceOf(url, dir));
    }
  }
  return { files: files.size, lines: linesIn([...files]) };
}

/** The measures that need no run. */
function measured() {
  const folders = linesByFolder();
  const { longFunctions, literalSpreads, privateImports, patchedMethods } = blemishes();
  return {
    folders,
    src: Object.values(folders).reduce((sum, lines) => sum + lines, 0),
    test: linesIn(filesIn('test', /\.(ts|js)$/)),
    launcher: linesIn(['bin/build.js', 'bin/start.js']),
    filesWithUnknownOutcome: sources().filter((file) => read(file).includes('unknown_outcome')).length,
    longFunctions,
    literalSpreads,
    privateImports,
    patchedMethods,
  };
}

/** The measures with a ceiling, as numbers. src and test as a whole have none: a new capability gets its own folder and tests. */
function ceilingsOf({ folders, src: _, test: __, ...counts }) {
  const numbers = Object.entries(counts).map(([name, value]) => [
    name,
    Array.isArray(value) ? value.length : value,
  ]);
  return { ...Object.fromEntries(numbers), folders };
}

const ceilings = () => JSON.parse(fs.readFileSync(ceilingsFile, 'utf8'));

/** One sentence for each measure above its ceiling. */
function above(now, most) {
  const compare = (name, count, limit) =>
    limit !== undefined && count > limit ? [`${name}: ${count}, and its ceiling is ${limit}`] : [];
  const { folders, ...counts } = now;
  return [
    ...Object.entries(counts).flatMap(([name, count]) => compare(name, count, most[name])),
    ...Object.entries(folders).flatMap(([name, count]) => compare(`src/${name}`, count, most.folders[name])),
  ];
}

/** The ceilings lowered to the measured values; no ceiling rises. */
function lowered(now, most) {
  const lower = (counts, limits = {}) =>
    Object.fromEntries(
      Object.entries(counts).map(([name, count]) => [name, Math.min(count, limits[name] ?? count)]),
    );
  const { folders, ...counts } = now;
  return { ...lower(counts, most), folders: lower(folders, most?.folders) };
}

function print(now, ways) {
  const { folders, src, ...counts } = now;
  const row = (name, value) => console.log(`${String(value).padStart(8)}  ${name}`);
  for (const [name, lines] of Object.entries(folders)) row(`lines in src/${name}`, lines);
  row('lines in src', src);
  for (const [name, { files, lines }] of Object.entries(ways))
    row(`lines in ${files} files entered by ${name}`, lines);
  const names = {
    test: 'lines in test',
    launcher: 'lines in bin/build.js and bin/start.js',
    filesWithUnknownOutcome: 'files of src that name unknown_outcome',
    longFunctions: `functions over ${LONGEST_FUNCTION} lines`,
    literalSpreads: 'spreads of a literal',
    privateImports: 'private imports of a package',
    patchedMethods: 'patched methods',
  };
  for (const [key, name] of Object.entries(names)) {
    const value = counts[key];
    row(
      Array.isArray(value) && value.length > 0 ? `${name}: ${value.join(' ')}` : name,
      value.length ?? value,
    );
  }
}

const now = measured();
if (process.argv.includes('--check'))
  for (const sentence of above(ceilingsOf(now), ceilings())) console.log(sentence);
else if (process.argv.includes('--lower')) {
  const before = fs.existsSync(ceilingsFile) ? ceilings() : undefined;
  fs.writeFileSync(ceilingsFile, `${JSON.stringify(lowered(ceilingsOf(now), before), undefined, 2)}\n`);
} else print(now, await entered());
