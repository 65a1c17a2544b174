// Builds dist/: the bundle in parts, one for each command and shared ones between them, as CommonJS so that the
// launcher can load them through V8's code cache. esbuild splits ES modules only, hence the second pass.
'use strict';
const crypto = require('node:crypto');
const fs = require('node:fs');
const path = require('node:path');
require('./needs-packages.js');
const esbuild = require('esbuild');
const { buildAlone } = require('./build-alone.js');
const { loadSource } = require('./load-source.js');
const { writeThirdParty } = require('./third-party.js');
const { lean } = require('./lean.js');

const root = path.join(__dirname, '..');
const distDir = path.join(root, 'dist');
const target = 'node20.18';

const write = (name, text) => fs.writeFileSync(path.join(distDir, name), text);

async function build() {
  const { outputFiles, metafile } = await esbuild.build({
    absWorkingDir: root,
    entryPoints: { main: 'src/entry.ts', gw: 'src/agents/gw.ts', worker: 'src/worker.ts' },
    outdir: distDir,
    write: false,
    bundle: true,
    splitting: true,
    format: 'esm',
    platform: 'node',
    target,
    minify: true,
    legalComments: 'none',
    metafile: true,
    ...lean,
  });
  const outputs = new Map(
    Object.entries(metafile.outputs).map(([file, output]) => [path.posix.basename(file), output]),
  );
  const parts = await Promise.all(outputFiles.map((file) => toPart(file, outputs)));
  const completion = await buildCompletion();
  const { toolFile } = await loadSource('src/agents/tools.ts', lean);
  const { manual } = await loadSource('src/man.ts', lean);
  const man = await manual(require('../package.json').version);
  const watchdog = await buildAlone('src/watchdog-thread.ts');
  fs.mkdirSync(distDir, { recursive: true });
  // `npm run binaries` makes this folder, so it stays.
  for (const name of fs.readdirSync(distDir))
    if (name !== 'binaries') fs.rmSync(path.join(distDir, name), { recursive: true });
  write('package.json', '{ "type": "commonjs" }\n');
  writeParts(parts, completion.commands);
  fs.cpSync(path.join(root, 'src', 'sandbox', 'clips'), path.join(distDir, 'clips'), {
    recursive: true,
    filter: (file) => !file.endsWith('.md'),
  });
  copyWasm();
  fs.mkdirSync(path.join(distDir, 'man'));
  write('man/gw.1', man);
  write('watchdog-thread.js', watchdog.outputFiles[0].text);
  write('worker.js', "const { load, open } = require('../bin/parts.js');\nopen();\nload('worker.js');\n");
  fs.copyFileSync(path.join(root, 'src/agents/gw-cli.d.ts'), path.join(distDir, 'gw-cli.d.ts'));
  write('mcp.json', JSON.stringify(toolFile()));
  for (const [name, text] of Object.entries(completion.files)) write(name, text);
  writeThirdParty(distDir, root, [metafile, completion.metafile, watchdog.metafile], codecPackages);
}

/** Builds the completion separately, so that an answer to a shell loads nothing else. */
async function buildCompletion() {
  const { outputFiles, metafile } = await buildAlone('src/completion/complete.ts');
  const { buildTable } = await loadSource('src/completion/build.ts', lean);
  const table = await buildTable();
  const files = { 'complete.js': outputFiles[0].text, 'complete.json': `${JSON.stringify(table)}\n` };
  return { files, commands: namesUnder(table.root), metafile };
}

/** The names of the commands under a node, each with its own subcommands. */
const namesUnder = ({ children = [] }) =>
  Object.fromEntries(children.map((child) => [child.name, namesUnder(child)]));

/** The packages whose WebAssembly is copied beside the bundle. */
const codecPackages = ['@jsquash/jpeg', '@jsquash/png', '@jsquash/webp'];

/** Copies the image codecs, which no bundle can contain; they are read from dist/wasm when an image is drawn. */
function copyWasm() {
  const codecs = path.join(root, 'node_modules', '@jsquash');
  const wasmDir = path.join(distDir, 'wasm');
  fs.mkdirSync(wasmDir, { recursive: true });
  for (const file of [
    'jpeg/codec/dec/mozjpeg_dec.wasm',
    'jpeg/codec/enc/mozjpeg_enc.wasm',
    'png/codec/pkg/squoosh_png_bg.wasm',
    'webp/codec/dec/webp_dec.wasm',
    'webp/codec/enc/webp_enc_simd.wasm',
  ]) {
    fs.copyFileSync(path.join(codecs, file), path.join(wasmDir, path.basename(file)));
  }
}

/** A part: its name, its code, the parts it loads at once, and whether it is an entry that may be loaded by itself. */
async function toPart({ path: file, text }, outputs) {
  const name = path.basename(file);
  const { imports, entryPoint } = outputs.get(name);
  const loads = imports.filter(({ kind, external }) => kind === 'import-statement' && !external);
  return {
    name,
    code: await toFunction(text, name),
    loads: loads.map((each) => path.posix.basename(each.path)),
    isEntry: entryPoint !== undefined,
  };
}

/** Two helpers that esbuild would write into every part; the launcher has them once. */
const helpers = ['__export', '__toESM'];

/** Turns a module into the text of a function that takes its exports, the loader, and the helpers. */
async function toFunction(text, name) {
  const { code } = await esbuild.transform(text, {
    format: 'cjs',
    target,
    supported: { 'dynamic-import': false },
  });
  // A part without exports has no helpers.
  const [, own = `module.exports = __toCommonJS(stdin_exports);\n${code}`] =
    code.split('var stdin_exports = {};\n');
  const [exported, body] = own.split('module.exports = __toCommonJS(stdin_exports);\n');
  const [odd] = body.match(/\b__(?:reExport|copyProps|toCommonJS)\b/) ?? [];
  if (odd) throw new Error(`${name} needs esbuild's ${odd}, which the launcher does not have`);
  const parameters = ['exports', 'require', ...helpers].join();
  const whole = `part = function(${parameters}) { ${exported.replace('stdin_exports', 'exports')} ${body} }`;
  const minified = await esbuild.transform(whole, { target, minify: true, legalComments: 'none' });
  return minified.code.trim().replace(/^part=|;$/g, '');
}

const escaped = (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`;

/**
 * Writes the text of all parts into one file, with parts that load together beside each other, and `parts.json`: the
 * names, the start of each part and the end of the last, and for each entry the positions of all parts that it loads at
 * once. These exclude the parts of main, which are loaded already, except for the first entry of a thread.
 */
function writeParts(parts, commands) {
  const byName = new Map(parts.map((part) => [part.name, part]));
  const closure = (name, found = new Set()) => {
    if (found.has(name)) return found;
    found.add(name);
    for (const each of byName.get(name).loads) closure(each, found);
    return found;
  };
  const without = (found, others) => new Set([...found].filter((name) => !others.has(name)));
  const main = closure('main.js');
  const entries = parts.filter(({ isEntry }) => isEntry).map(({ name }) => name);
  const names = [...new Set([...main, ...entries.flatMap((name) => [...closure(name)])])];
  const placesOf = (found) => names.flatMap((name, place) => (found.has(name) ? [place] : []));
  const own = (name) => (/^(main|worker)\.js$/.test(name) ? closure(name) : without(closure(name), main));
  const together = Object.fromEntries(entries.map((name) => [name, placesOf(own(name))]));

  // Adjacent parts form an array when read together. In pure ASCII, a character is a byte.
  const pieces = names.map((name) => `(${byName.get(name).code}),\n`.replace(/[^\0-\x7f]/g, escaped));
  const starts = [0];
  for (const piece of pieces) starts.push(starts.at(-1) + piece.length);
  const all = pieces.join('');
  // The name contains the content's hash, so that a code cache fits only this file.
  const hash = crypto.createHash('sha256').update(all).digest('hex').slice(0, 12);
  const file = `parts-${hash}.js`;
  write(file, all);
  const { version } = require('../package.json');
  write('parts.json', `${JSON.stringify({ version, file, commands, names, starts, together })}\n`);
}

build().catch((error) => {
  process.stderr.write(`${error.message}\n`);
  process.exitCode = 1;
});
