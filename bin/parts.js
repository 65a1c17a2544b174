// The parts of the bundle: each is compiled, with all parts that it loads at once, when it is first requested.
'use strict';
const fs = require('node:fs');
const path = require('node:path');
const vm = require('node:vm');

const distDir = path.join(__dirname, '..', 'dist');
/** The content of parts.json, with gw's version and the tree of its commands. */
let bundle;
/** The file of all parts, kept open, so that an update of gw during a run does not affect this run. */
let textFd;

/** Opens the parts in dist/; not called if all are in `functions`, as in the single-file gw. */
function open() {
  bundle = JSON.parse(fs.readFileSync(path.join(distDir, 'parts.json'), 'latin1'));
  textFd = fs.openSync(path.join(distDir, bundle.file));
  return { bundle, distDir, scripts: exports.scripts };
}

/** The function of each part, and the parts that have run. */
const functions = new Map();
const loaded = new Map();

function load(part) {
  const known = loaded.get(part);
  if (known) return known;
  const exports = {};
  loaded.set(part, exports);
  if (!functions.has(part)) compile(part);
  functions.get(part)(exports, partOrBuiltin, exportAll, asImported);
  return exports;
}

/** Compiles an entry and all parts it loads at once as one script: a hundred small scripts take 3 ms longer. */
function compile(part) {
  const together = bundle.together[part] ?? [bundle.names.indexOf(part)];
  const places = together.filter((place) => !functions.has(bundle.names[place]));
  const key = places.join();
  const script = new vm.Script(textOf(places), { filename: part, cachedData: exports.cache.get(key) });
  exports.scripts.set(key, script);
  const compiled = script.runInThisContext();
  for (let at = 0; at < places.length; at += 1) functions.set(bundle.names[places[at]], compiled[at]);
}

/** The text of an array of parts: adjacent parts are read at once and joined into one string. */
function textOf(places) {
  const { starts } = bundle;
  const text = Buffer.allocUnsafe(places.reduce((sum, place) => sum + starts[place + 1] - starts[place], 2));
  let end = text.write('[');
  for (let at = 0; at < places.length; ) {
    const start = starts[places[at]];
    do at += 1;
    while (places[at] === places[at - 1] + 1);
    const length = starts[places[at - 1] + 1] - start;
    if (fs.readSync(textFd, text, end, length, start) !== length) throw new Error('the bundle is too short');
    end += length;
  }
  text.write(']', end);
  return text.latin1Slice();
}

/** Defines the exports of a part as getters, because an exported name may be assigned later. */
function exportAll(exports, getters) {
  for (const name in getters) Object.defineProperty(exports, name, { get: getters[name], enumerable: true });
}

/** Modules of Node that are functions or classes themselves, or that are listened on and assigned to. */
const callable = new Set(['events', 'stream', 'assert', 'process'].flatMap((name) => [name, `node:${name}`]));
const builtins = new Map();

/**
 * A module of Node that is loaded at its first use: few runs use all modules that their parts name, and the slowest of
 * them, node:crypto, takes 2 ms.
 */
function builtin(id) {
  let real;
  const get = (_, name) => {
    real ??= require(id);
    return name === 'default' ? real : real[name];
  };
  return new Proxy({}, { get });
}

/** A module as `import` sees it: a module of Node is its own default export. */
function asImported(module) {
  const isReal = typeof module === 'function' || module === process;
  return isReal ? Object.create(module, { default: { value: module } }) : module;
}

function partOrBuiltin(id) {
  if (id.startsWith('./')) return load(id.slice(2));
  const known = builtins.get(id) ?? (callable.has(id) ? require(id) : builtin(id));
  builtins.set(id, known);
  return known;
}

exports.functions = functions;
exports.open = open;
exports.load = load;
/** V8's data and the compiled scripts, by the positions of their parts. */
exports.cache = new Map();
exports.scripts = new Map();
