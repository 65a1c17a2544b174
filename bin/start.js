// Runs gw, its parts through V8's code cache where there is one. The cache only ever saves time: whatever is wrong with it,
// the part is compiled as usual.
'use strict';
const fs = require('node:fs');
const path = require('node:path');
const { crc32 } = require('node:zlib');
const parts = require('./parts.js');

const { bundle, distDir, scripts } = parts.open();

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

/** Looks at the directories, as far as there are any yet. */
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

// A cache file, one for each command, because V8 keeps the functions that ran and each command runs others: a checksum, the
// length of a list, the list in JSON, and V8's data. The list says where the data of each script is, which is named by its
// parts. V8 does not check that its bytes are whole: the checksum tells of damage; that nobody else wrote the file is told
// by its owner and mode. CRC-32 loads in 2 ms less than a hash of node:crypto.
const HEAD_BYTES = 8;

/** A cache takes in no more than this, and one of another version is removed when it has this age. */
const CACHE_LIMIT_BYTES = 16 * 1024 * 1024;
const OLD_MS = 30 * 24 * 60 * 60 * 1000;

/** V8's data of each script in a cache; none where the file is not there, damaged, or not of this user alone. */
function readCache(file) {
  let fd;
  try {
    // The open file is looked at, not its name, which could lead elsewhere a moment later.
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

/** Writes anew what this run has loaded, and takes over what others have. */
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
const { problem } = lookAtCache(cacheDirs);
const cacheDir = problem ? undefined : cacheDirs[2];
const cacheFile = cacheDir && path.join(cacheDir, `${bundle.file}.${commandName(process.argv.slice(2))}.bin`);
const cache = cacheFile ? readCache(cacheFile) : new Map();
parts.cache = cache;
/** Whether something had to be compiled. */
const isCold = () => [...scripts.values()].some(({ cachedDataRejected }) => cachedDataRejected !== false);
let flagsTouched = false;

/**
 * Whether V8's flags may be touched in this run: only when every part so far came from the cache, because a cache made
 * after that is always rejected. The first run of a command pays for the next ones.
 */
function mayTouchFlags() {
  flagsTouched ||= !isCold();
  return flagsTouched;
}

parts
  .load('main.js')
  .run({ version: bundle.version, distDir, mayTouchFlags, codeCache: { dir: cacheDir, problem } })
  .finally(() => {
    // At the very end, so that what runs last is in it too, and before what ends the process there.
    process.prependOnceListener('beforeExit', () => {
      if (isCold() && cacheFile && !flagsTouched) writeCache();
    });
  });
