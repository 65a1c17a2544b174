// Runs gw, with its parts from V8's code cache if there is one. The cache only saves time: if anything is wrong with it,
// the part is compiled as usual.
'use strict';
const fs = require('node:fs');
const path = require('node:path');
const { crc32 } = require('node:zlib');
const parts = require('./parts.js');

const { bundle, distDir, scripts } = parts.open();

/** The directories that gw creates for its code cache, outermost first; undefined if there is no place for one. */
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

// The cache is code that runs as this user, so gw uses only files that nobody else could have written.

const userId = process.getuid?.();

/** Why a file or directory is not trusted; undefined if only this user can have made and changed it. */
function distrust(stat) {
  if (stat.isSymbolicLink()) return 'is a symbolic link';
  if (userId === undefined) return undefined;
  if (stat.uid !== userId) return `belongs to another user (uid ${stat.uid})`;
  return (stat.mode & 0o022) === 0
    ? undefined
    : `may be written by others (mode ${(stat.mode & 0o777).toString(8)})`;
}

/** Checks the directories that exist so far. */
function lookAtCache(dirs) {
  if (!dirs) return { problem: 'there is no home directory to keep it in' };
  for (const dir of dirs) {
    try {
      const stat = fs.lstatSync(dir, { throwIfNoEntry: false });
      if (!stat) return {};
      const problem = distrust(stat) ?? (stat.isDirectory() ? undefined : 'is no directory');
      if (problem) return { problem: `${dir} ${problem}` };
    } catch (error) {
      return { problem: `${dir} cannot be read (${error.code})` };
    }
  }
  return {};
}

/** One level at a time: Node's recursive mkdir never returns on file systems without directories, such as /proc. */
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

// A cache file per command, because V8 keeps the functions that ran, and each command runs others. It contains a
// checksum, the length of a list, the list in JSON, and V8's data. The list has the position of each script's data, by
// its parts. V8 does not check its bytes: the checksum detects damage, and owner and mode show that nobody else wrote the
// file. CRC-32 loads 2 ms faster than a hash of node:crypto.
const HEAD_BYTES = 8;

/** The size limit of a cache, and the age at which a cache of another version is deleted. */
const CACHE_LIMIT_BYTES = 16 * 1024 * 1024;
const OLD_MS = 30 * 24 * 60 * 60 * 1000;

/** V8's data of each script in a cache; empty if the file is missing, damaged, or not of this user alone. */
function readCache(file) {
  let fd;
  try {
    // The check uses the open file, because its name could point elsewhere a moment later.
    fd = fs.openSync(file, fs.constants.O_RDONLY | (fs.constants.O_NOFOLLOW ?? 0));
    const stat = fs.fstatSync(fd);
    if (!stat.isFile() || distrust(stat)) return new Map();
    const bytes = fs.readFileSync(fd);
    if (crc32(bytes.subarray(4)) !== bytes.readUInt32LE(0)) return new Map();
    const dataAt = HEAD_BYTES + bytes.readUInt32LE(4);
    const list = JSON.parse(bytes.toString('latin1', HEAD_BYTES, dataAt));
    return new Map(list.map(([name, start, end]) => [name, bytes.subarray(dataAt + start, dataAt + end)]));
  } catch {
    return new Map();
  } finally {
    if (fd !== undefined) fs.closeSync(fd);
  }
}

/** Writes a new cache of the scripts that this run loaded, and keeps those of other runs. */
function writeCache() {
  const own = `${cacheFile}.${process.pid}`;
  try {
    makeDirectory(cacheDir);
    if (lookAtCache(cacheDirs).problem) return;
    for (const [name, script] of scripts) cache.set(name, script.createCachedData());
    const list = [];
    const all = [];
    let end = 0;
    for (const [name, data] of cache) {
      if (end + data.length > CACHE_LIMIT_BYTES) continue;
      list.push([name, end, end + data.length]);
      all.push(data);
      end += data.length;
    }
    const listed = Buffer.from(JSON.stringify(list));
    const head = Buffer.alloc(HEAD_BYTES);
    head.writeUInt32LE(listed.length, 4);
    const bytes = Buffer.concat([head, listed, ...all]);
    bytes.writeUInt32LE(crc32(bytes.subarray(4)), 0);
    fs.writeFileSync(own, bytes, { mode: 0o600, flag: 'wx' });
    fs.renameSync(own, cacheFile);
    removeOld();
  } catch {
    try {
      fs.rmSync(own, { force: true });
    } catch {
      // A cache that cannot be written is simply missing next time.
    }
  }
}

/** Deletes caches of other versions: a command of each would leave a megabyte. */
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
const { problem } = lookAtCache(cacheDirs);
const cacheDir = problem ? undefined : cacheDirs[2];
const cacheFile = cacheDir && path.join(cacheDir, `${bundle.file}.${commandName(process.argv.slice(2))}.bin`);
const cache = cacheFile ? readCache(cacheFile) : new Map();
parts.cache = cache;
/** True if something had to be compiled. */
const isCold = () => [...scripts.values()].some(({ cachedDataRejected }) => cachedDataRejected !== false);
let flagsTouched = false;

/**
 * True if V8's flags may be changed in this run: only if every part so far came from the cache, because V8 rejects a
 * cache that was made after a change. The first run of a command pays for the next ones.
 */
function mayTouchFlags() {
  flagsTouched ||= !isCold();
  return flagsTouched;
}

parts
  .load('main.js')
  .run({ version: bundle.version, distDir, mayTouchFlags, codeCache: { dir: cacheDir, problem } })
  .finally(() => {
    // At the very end, so that the cache includes what runs last, and before the listener that exits.
    process.prependOnceListener('beforeExit', () => {
      if (isCold() && cacheFile && !flagsTouched) writeCache();
    });
  });
