// Loads the bundle's parts, through V8's code cache where there is one. The cache only ever saves time: whatever is
// wrong with it, the part is compiled as usual.
'use strict';
const crypto = require('node:crypto');
const fs = require('node:fs');
const path = require('node:path');
const vm = require('node:vm');

const distDir = path.join(__dirname, '..', 'dist');
const fileOf = require('../dist/parts.json');

function cacheDirOf(env) {
  const absolute = (dir) => (dir && path.isAbsolute(dir) ? dir : undefined);
  const base =
    absolute(env.GW_CACHE_DIR) ??
    (absolute(env.XDG_CACHE_HOME) && path.join(env.XDG_CACHE_HOME, 'gw')) ??
    (process.platform === 'win32' && absolute(env.LOCALAPPDATA)
      ? path.join(env.LOCALAPPDATA, 'gw', 'cache')
      : undefined) ??
    (absolute(env.HOME) && path.join(env.HOME, '.cache', 'gw'));
  return base && path.join(base, 'code', `${process.versions.v8}-${process.arch}`);
}

// A cache file: a hash of all that follows (V8 does not check that a cache's bytes are whole), the length of a list,
// the list of the parts whose functions are in it, and V8's data.
const HASH_BYTES = 20;
const LENGTH_BYTES = 4;
const hashOf = (bytes) => crypto.createHash('sha1').update(bytes).digest();

function readCache(file) {
  try {
    const bytes = fs.readFileSync(file);
    const rest = bytes.subarray(HASH_BYTES);
    if (!hashOf(rest).equals(bytes.subarray(0, HASH_BYTES))) return undefined;
    const dataAt = LENGTH_BYTES + rest.readUInt32LE(0);
    const parts = rest.toString('utf8', LENGTH_BYTES, dataAt).split('\n');
    return { parts: new Set(parts), data: rest.subarray(dataAt) };
  } catch {
    return undefined;
  }
}

function writeCache(file, parts, data) {
  const own = `${file}.${process.pid}`;
  try {
    fs.mkdirSync(path.dirname(file), { recursive: true, mode: 0o700 });
    const list = Buffer.from([...parts].join('\n'));
    const length = Buffer.alloc(LENGTH_BYTES);
    length.writeUInt32LE(list.length);
    const rest = Buffer.concat([length, list, data]);
    fs.writeFileSync(own, Buffer.concat([hashOf(rest), rest]), { mode: 0o600, flag: 'wx' });
    fs.renameSync(own, file);
  } catch {
    try {
      fs.rmSync(own, { force: true });
    } catch {
      // A cache that cannot be written is a cache that is not there.
    }
  }
}

const cacheDir = cacheDirOf(process.env);
/** File -> its script, its parts as functions, and what its cache holds. */
const files = new Map();
const loaded = new Map();
let flagsTouched = false;

function open(name) {
  const known = files.get(name);
  if (known) return known;
  const filename = path.join(distDir, name);
  const cacheFile = cacheDir && path.join(cacheDir, `${name}.bin`);
  const cache = cacheFile && readCache(cacheFile);
  const script = new vm.Script(fs.readFileSync(filename, 'utf8'), { filename, cachedData: cache?.data });
  const cached = script.cachedDataRejected ? undefined : cache?.parts;
  const file = { script, cacheFile, cached, used: new Set(cached), factories: script.runInThisContext() };
  files.set(name, file);
  return file;
}

function load(part) {
  const known = loaded.get(part);
  if (known) return known.exports;
  const file = open(fileOf[part]);
  file.used.add(part);
  const module = { exports: {} };
  loaded.set(part, module);
  file.factories[part](module.exports, partOrBuiltin, module);
  return module.exports;
}

function partOrBuiltin(id) {
  return id.startsWith('./') ? load(id.slice(2)) : require(id);
}

/** The files whose cache lacks something that this run had to compile. */
const toCache = () =>
  [...files.values()].filter((file) => file.cacheFile && file.used.size > (file.cached?.size ?? 0));

/**
 * Whether V8's flags may be touched in this run: only when every part so far came from the cache, because a cache made
 * after that is always rejected. The first run of a command pays for the next ones.
 */
function mayTouchFlags() {
  flagsTouched ||= toCache().length === 0;
  return flagsTouched;
}

load('main.js')
  .run({ version: require('../package.json').version, distDir, mayTouchFlags })
  .finally(() => {
    if (flagsTouched) return;
    for (const { script, cacheFile, used } of toCache())
      writeCache(cacheFile, used, script.createCachedData());
  });
