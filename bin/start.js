// Loads the bundle's parts, through V8's code cache where there is one. The cache only ever saves time: whatever is
// wrong with it, the part is compiled as usual.
'use strict';
const fs = require('node:fs');
const path = require('node:path');
const vm = require('node:vm');
const { crc32 } = require('node:zlib');

const distDir = path.join(__dirname, '..', 'dist');
/** What stands in the file of all parts, and where; what is loaded together; gw's version; the tree of its commands. */
const bundle = JSON.parse(fs.readFileSync(path.join(distDir, 'parts.json'), 'latin1'));

/** The directories that gw makes for its code cache, from the outermost; undefined where there is no place for one. */
function cacheDirsOf(env) {
  const absolute = (dir) => (dir && path.isAbsolute(dir) ? dir : undefined);
  const base =
    absolute(env.GW_CACHE_DIR) ??
    (absolute(env.XDG_CACHE_HOME) && path.join(env.XDG_CACHE_HOME, 'gw')) ??
    (process.platform === 'win32' && absolute(env.LOCALAPPDATA)
      ? path.join(env.LOCALAPPDATA, 'gw', 'cache')
      : undefined) ??
    (absolute(env.HOME) && path.join(env.HOME, '.cache', 'gw'));
  if (!base) return undefined;
  const code = path.join(base, 'code');
  return [base, code, path.join(code, `${process.versions.v8}-${process.arch}`)];
}

// The cache is code that runs as this user, so only what nobody else could have put there is used.

const userId = process.getuid?.();

/** Why a file or directory is not to be trusted; undefined where only this user can have made and changed it. */
function distrust(stat) {
  if (stat.isSymbolicLink()) return 'is a symbolic link';
  if (userId === undefined) return undefined;
  if (stat.uid !== userId) return `belongs to another user (uid ${stat.uid})`;
  return (stat.mode & 0o022) === 0
    ? undefined
    : `may be written by others (mode ${(stat.mode & 0o777).toString(8)})`;
}

/** Looks at the directories; `missing` is whether the innermost is still to be made. */
function lookAtCache(dirs) {
  if (!dirs) return { problem: 'there is no home directory to keep it in' };
  for (const dir of dirs) {
    try {
      const stat = fs.lstatSync(dir, { throwIfNoEntry: false });
      if (!stat) return { missing: true };
      const problem = distrust(stat) ?? (stat.isDirectory() ? undefined : 'is no directory');
      if (problem) return { problem: `${dir} ${problem}` };
    } catch (error) {
      return { problem: `${dir} cannot be read (${error.code})` };
    }
  }
  return {};
}

/** One level at a time: Node's recursive mkdir never ends on file systems that make no directories, such as /proc. */
function makeDirectory(dir) {
  if (fs.existsSync(dir)) return;
  const parent = path.dirname(dir);
  if (parent !== dir) makeDirectory(parent);
  try {
    fs.mkdirSync(dir, 0o700);
  } catch (error) {
    if (error.code !== 'EEXIST') throw error;
  }
}

/** Reads a stretch of an open file whole. */
function readAt(fd, offset, length) {
  const bytes = Buffer.allocUnsafeSlow(length);
  if (fs.readSync(fd, bytes, 0, length, offset) !== length) throw new Error('the file is too short');
  return bytes;
}

// A cache file, one for each command, because V8 keeps the functions that ran and each command runs others: the checksum
// and the length of a list, the list in JSON, and V8's data. The list says of each script, which is named by its parts,
// where its data is and what checksum it has: V8 does not check that a cache's bytes are whole. Checksums tell of damage;
// that nobody else wrote the file is told by its owner and mode. CRC-32 loads in 2 ms less than a hash of node:crypto.
const HEAD_BYTES = 8;

/** A cache takes in no more than this, and one of another version is removed when it has this age. */
const CACHE_LIMIT_BYTES = 16 * 1024 * 1024;
const OLD_MS = 30 * 24 * 60 * 60 * 1000;

function openCache(file) {
  let fd;
  try {
    // The open file is looked at, not its name, which could lead elsewhere a moment later.
    fd = fs.openSync(file, fs.constants.O_RDONLY | (fs.constants.O_NOFOLLOW ?? 0));
    const stat = fs.fstatSync(fd);
    if (!stat.isFile() || distrust(stat)) throw new Error('not of this user alone');
    const head = readAt(fd, 0, HEAD_BYTES);
    const listBytes = head.readUInt32LE(4);
    if (listBytes > stat.size) throw new Error('damaged');
    const list = readAt(fd, HEAD_BYTES, listBytes);
    if (crc32(list) !== head.readUInt32LE(0)) throw new Error('damaged');
    return { fd, dataAt: HEAD_BYTES + list.length, pieces: JSON.parse(list.toString('latin1')) };
  } catch {
    if (fd !== undefined) fs.closeSync(fd);
    return undefined;
  }
}

/** V8's data of a script, where the cache has it whole. */
function cachedData(name) {
  const piece = cache?.pieces[name];
  if (!piece) return undefined;
  try {
    const [offset, length, sum] = piece;
    const data = readAt(cache.fd, cache.dataAt + offset, length);
    return crc32(data) === sum ? data : undefined;
  } catch {
    return undefined;
  }
}

/** Writes anew what this run has loaded, and takes over what others have. */
function writeCache() {
  const own = `${cacheFile}.${process.pid}`;
  try {
    makeDirectory(cacheDir);
    if (lookAtCache(cacheDirs).problem) return;
    const pieces = {};
    const all = [];
    let offset = 0;
    for (const name of new Set([...scripts.keys(), ...Object.keys(cache?.pieces ?? {})])) {
      const data = scripts.get(name)?.createCachedData() ?? cachedData(name);
      if (!data || offset + data.length > CACHE_LIMIT_BYTES) continue;
      pieces[name] = [offset, data.length, crc32(data)];
      all.push(data);
      offset += data.length;
    }
    // Windows replaces no file that is open.
    if (cache) fs.closeSync(cache.fd);
    const list = Buffer.from(JSON.stringify(pieces));
    const head = Buffer.alloc(HEAD_BYTES);
    head.writeUInt32LE(crc32(list), 0);
    head.writeUInt32LE(list.length, 4);
    fs.writeFileSync(own, Buffer.concat([head, list, ...all]), { mode: 0o600, flag: 'wx' });
    fs.renameSync(own, cacheFile);
    removeOld();
  } catch {
    try {
      fs.rmSync(own, { force: true });
    } catch {
      // A cache that cannot be written is a cache that is not there.
    }
  }
}

/** Removes what other versions left: a command of each would leave a megabyte. */
function removeOld() {
  for (const name of fs.readdirSync(cacheDir)) {
    const file = path.join(cacheDir, name);
    if (!name.startsWith(bundle.file) && fs.statSync(file).mtimeMs < Date.now() - OLD_MS) fs.rmSync(file);
  }
}

/** The words that name the command, such as `video-alpha-create`. */
function commandName(argv) {
  const names = [];
  let under = bundle.commands;
  for (const word of argv) {
    if (!Object.hasOwn(under, word)) break;
    names.push(word);
    under = under[word];
  }
  return names.join('-') || 'gw';
}

const cacheDirs = cacheDirsOf(process.env);
const cacheState = lookAtCache(cacheDirs);
const cacheDir = cacheState.problem ? undefined : cacheDirs[2];
const cacheFile = cacheDir && path.join(cacheDir, `${bundle.file}.${commandName(process.argv.slice(2))}.bin`);
const cache = cacheFile && openCache(cacheFile);
/** Held open: an update of gw in the middle of a run takes nothing away from it. */
const textFd = fs.openSync(path.join(distDir, bundle.file));
/** Scripts by the places of their parts, the function of each part, and parts that ran. */
const scripts = new Map();
const functions = new Map();
const loaded = new Map();
/** Whether something had to be compiled. */
let isCold = false;
let flagsTouched = false;

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
  const places = bundle.together[part].filter((place) => !functions.has(bundle.names[place]));
  const key = places.join();
  const data = cachedData(key);
  const script = new vm.Script(textOf(places), { filename: part, cachedData: data });
  isCold ||= data === undefined || script.cachedDataRejected;
  scripts.set(key, script);
  const compiled = script.runInThisContext();
  for (let at = 0; at < places.length; at += 1) functions.set(bundle.names[places[at]], compiled[at]);
}

/** The bytes of what is no part: undici's parser. */
function bytesOf(name) {
  const place = bundle.names.indexOf(name);
  return readAt(textFd, bundle.starts[place], bundle.starts[place + 1] - bundle.starts[place]);
}

/** The text of an array of parts; those that are neighbours are read at once. */
function textOf(places) {
  const { starts } = bundle;
  let bytes = 2;
  for (const place of places) bytes += starts[place + 1] - starts[place];
  const text = Buffer.allocUnsafeSlow(bytes);
  text[0] = 0x5b;
  let end = 1;
  for (let from = 0; from < places.length; ) {
    let to = from + 1;
    while (places[to] === places[to - 1] + 1) to += 1;
    const start = starts[places[from]];
    const length = starts[places[to - 1] + 1] - start;
    if (fs.readSync(textFd, text, end, length, start) !== length) throw new Error('the bundle is too short');
    end += length;
    from = to;
  }
  text[end] = 0x5d;
  return text.toString('latin1');
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
  if (id.endsWith('.wasm')) return bytesOf(id.slice(2));
  if (id.startsWith('./')) return load(id.slice(2));
  const known = builtins.get(id) ?? (callable.has(id) ? require(id) : builtin(id));
  builtins.set(id, known);
  return known;
}

/**
 * Whether V8's flags may be touched in this run: only when every part so far came from the cache, because a cache made
 * after that is always rejected. The first run of a command pays for the next ones.
 */
function mayTouchFlags() {
  flagsTouched ||= !isCold;
  return flagsTouched;
}

load('main.js')
  .run({
    version: bundle.version,
    distDir,
    mayTouchFlags,
    codeCache: { dir: cacheDir, problem: cacheState.problem },
  })
  .finally(() => {
    // At the very end, so that what runs last is in it too, and before what ends the process there.
    process.prependOnceListener('beforeExit', () => {
      if (isCold && cacheFile && !flagsTouched) writeCache();
    });
  });
