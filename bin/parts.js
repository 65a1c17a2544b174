// The parts of the bundle: each is compiled, with all that it loads at once, when it is first asked for.
'use strict';
const fs = require('node:fs');
const path = require('node:path');
const vm = require('node:vm');

const distDir = path.join(__dirname, '..', 'dist');
/** What stands in the file of all parts, and where; what is loaded together; gw's version; the tree of its commands. */
let bundle;
/** The file of all parts, held open: an update of gw in the middle of a run takes nothing away from it. */
let textFd;

/** Finds the parts in dist/; not called where all are in `functions`, as in gw as one file. */
function open() {
  bundle = JSON.parse(fs.readFileSync(path.join(distDir, 'parts.json'), 'latin1'));
  textFd = fs.openSync(path.join(distDir, bundle.file));
  return { bundle, distDir, scripts: exports.scripts };
}

/** The function of each part, and parts that ran. */
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

/** Compiles an entry and all that it loads at once as one script: a hundred small ones take 3 ms longer. */
function compile(part) {
  const together = bundle.together[part] ?? [bundle.names.indexOf(part)];
  const places = together.filter((place) => !functions.has(bundle.names[place]));
  const key = places.join();
  const script = new vm.Script(textOf(places), { filename: part, cachedData: exports.cache.get(key) });
  exports.scripts.set(key, script);
  const compiled = script.runInThisContext();
  for (let at = 0; at < places.length; at += 1) functions.set(bundle.names[places[at]], compiled[at]);
}

/** The text of an array of parts: neighbours are read at once, and one string is made of all. */
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

/** What a part exports; a name may be assigned to later. */
function exportAll(exports, getters) {
  for (const name in getters) Object.defineProperty(exports, name, { get: getters[name], enumerable: true });
}

/** Those that are functions or classes themselves, or listen and are assigned to. */
const callable = new Set(['events', 'stream', 'assert', 'process'].flatMap((name) => [name, `node:${name}`]));
const builtins = new Map();

/**
 * A module of Node's, loaded when something of it is first used: few runs use all that their parts name, and the dearest
 * of them, node:crypto, takes 2 ms.
 */
function builtin(id) {
  let real;
  const get = (_, name) => {
    real ??= require(id);
    return name === 'default' ? real : real[name];
  };
  return new Proxy({}, { get });
}

/** A module as `import` sees it: the whole of one of Node's is its default. */
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
/** V8's data, and the scripts that were compiled, by the places of their parts. */
exports.cache = new Map();
exports.scripts = new Map();
