// Loads the bundle's parts, through V8's code cache where there is one. The cache only ever saves time: whatever is
// wrong with it, the part is compiled as usual.
'use strict';
const fs = require('node:fs');
const path = require('node:path');
const vm = require('node:vm');
const { crc32 } = require('node:zlib');

const distDir = path.join(__dirname, '..', 'dist');
const fileOf = require('../dist/parts.json');

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

// A cache file: a checksum of all that follows (V8 does not check that a cache's bytes are whole), the length of a list,
// the list of the parts whose functions are in it, and V8's data. The checksum tells of damage; that nobody else wrote
// the file is told by its owner and mode. CRC-32 loads in 2 ms less than a hash of node:crypto.
const SUM_BYTES = 4;
const LENGTH_BYTES = 4;

function readCache(file) {
  let fd;
  try {
    // The open file is looked at, not its name, which could lead elsewhere a moment later.
    fd = fs.openSync(file, fs.constants.O_RDONLY | (fs.constants.O_NOFOLLOW ?? 0));
    const stat = fs.fstatSync(fd);
    if (!stat.isFile() || distrust(stat)) return undefined;
    const bytes = fs.readFileSync(fd);
    const rest = bytes.subarray(SUM_BYTES);
    if (crc32(rest) !== bytes.readUInt32LE(0)) return undefined;
    const dataAt = LENGTH_BYTES + rest.readUInt32LE(0);
    const parts = rest.toString('utf8', LENGTH_BYTES, dataAt).split('\n');
    return { parts: new Set(parts), data: rest.subarray(dataAt) };
  } catch {
    return undefined;
  } finally {
    if (fd !== undefined) fs.closeSync(fd);
  }
}

function writeCache(file, parts, data) {
  const own = `${file}.${process.pid}`;
  try {
    makeDirectory(path.dirname(file));
    if (lookAtCache(cacheDirs).problem) return;
    const list = Buffer.from([...parts].join('\n'));
    const length = Buffer.alloc(LENGTH_BYTES);
    length.writeUInt32LE(list.length);
    const rest = Buffer.concat([length, list, data]);
    const sum = Buffer.alloc(SUM_BYTES);
    sum.writeUInt32LE(crc32(rest));
    fs.writeFileSync(own, Buffer.concat([sum, rest]), { mode: 0o600, flag: 'wx' });
    fs.renameSync(own, file);
  } catch {
    try {
      fs.rmSync(own, { force: true });
    } catch {
      // A cache that cannot be written is a cache that is not there.
    }
  }
}

const cacheDirs = cacheDirsOf(process.env);
const cacheState = lookAtCache(cacheDirs);
const cacheDir = cacheState.problem ? undefined : cacheDirs[2];
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
  const script = new vm.Script(fs.readFileSync(filename, 'latin1'), { filename, cachedData: cache?.data });
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
  .run({
    version: require('../package.json').version,
    distDir,
    mayTouchFlags,
    codeCache: { dir: cacheDir, problem: cacheState.problem },
  })
  .finally(() => {
    if (flagsTouched) return;
    for (const { script, cacheFile, used } of toCache())
      writeCache(cacheFile, used, script.createCachedData());
  });
