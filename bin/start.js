// Loads the bundle's parts, each through V8's code cache. The cache only ever saves time: whatever is wrong with it,
// the part is compiled as usual.
'use strict';
const crypto = require('node:crypto');
const fs = require('node:fs');
const path = require('node:path');
const vm = require('node:vm');

const distDir = path.join(__dirname, '..', 'dist');
const HASH_BYTES = 20;

function cacheDirOf(env) {
  if (env.GW_CODE_CACHE === 'off') return undefined;
  const absolute = (dir) => (dir && path.isAbsolute(dir) ? dir : undefined);
  const base =
    absolute(env.XDG_CACHE_HOME) ??
    (process.platform === 'win32' ? absolute(env.LOCALAPPDATA) : undefined) ??
    (absolute(env.HOME) && path.join(env.HOME, '.cache'));
  if (!base) return undefined;
  const { version } = require('../package.json');
  const build = crypto.createHash('sha1').update(distDir).digest('hex').slice(0, 8);
  return path.join(base, 'gw', 'code', `${version}-${process.versions.v8}-${process.arch}-${build}`);
}

// V8 checks that a cache fits the source's length, not that its bytes are whole: a hash stands in front of each.
function readCache(file, source) {
  try {
    const bytes = fs.readFileSync(file);
    const hash = crypto.createHash('sha1').update(bytes.subarray(HASH_BYTES)).update(source).digest();
    return hash.equals(bytes.subarray(0, HASH_BYTES)) ? bytes.subarray(HASH_BYTES) : undefined;
  } catch {
    return undefined;
  }
}

function writeCache(file, source, data) {
  const part = `${file}.${process.pid}`;
  try {
    fs.mkdirSync(path.dirname(file), { recursive: true, mode: 0o700 });
    const hash = crypto.createHash('sha1').update(data).update(source).digest();
    fs.writeFileSync(part, Buffer.concat([hash, data]), { mode: 0o600, flag: 'wx' });
    fs.renameSync(part, file);
  } catch {
    fs.rmSync(part, { force: true });
  }
}

const cacheDir = cacheDirOf(process.env);
const loaded = new Map();
const fresh = [];
let flagsTouched = false;

function load(name) {
  const known = loaded.get(name);
  if (known) return known.exports;
  const file = path.join(distDir, name);
  const source = `(function (exports, require, module) {${fs.readFileSync(file, 'utf8')}\n})`;
  const cacheFile = cacheDir && path.join(cacheDir, `${name}.bin`);
  const cachedData = cacheFile && readCache(cacheFile, source);
  const script = new vm.Script(source, { filename: file, cachedData });
  if (cacheFile && (!cachedData || script.cachedDataRejected)) fresh.push({ script, source, cacheFile });
  const module = { exports: {} };
  loaded.set(name, module);
  script.runInThisContext()(module.exports, partOrBuiltin, module);
  return module.exports;
}

function partOrBuiltin(id) {
  return id.startsWith('./') ? load(id.slice(2)) : require(id);
}

/**
 * Whether V8's flags may be touched in this run: only when every part so far came from the cache, because a cache made
 * after that is always rejected. The first run of a version pays for the next ones.
 */
function mayTouchFlags() {
  flagsTouched ||= fresh.length === 0;
  return flagsTouched;
}

load('main.js')
  .run({ distDir, mayTouchFlags })
  .finally(() => {
    if (flagsTouched) return;
    for (const { script, source, cacheFile } of fresh)
      writeCache(cacheFile, source, script.createCachedData());
  });
