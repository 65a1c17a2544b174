import * as fs from 'node:fs';
import * as path from 'node:path';
import { errorCode } from '../errors.ts';
import { ShortWrite } from './disk-fault.ts';
import type { Step } from './lock-file.ts';

/** Error codes of systems and file systems that cannot sync a directory (Windows, some network mounts). */
const cannotSync = new Set(['EPERM', 'EINVAL', 'EISDIR', 'ENOTSUP', 'EBADF']);

/** Makes the names in a directory durable. Throws the system's error if the sync fails. */
export function syncDirectory(dir: string, files: Pick<typeof fs, 'fsyncSync'> = fs): void {
  let fd: number;
  try {
    fd = fs.openSync(dir, 'r');
  } catch (error) {
    if (cannotSync.has(errorCode(error) ?? '') || errorCode(error) === 'EACCES') return;
    throw error;
  }
  try {
    files.fsyncSync(fd);
  } catch (error) {
    if (!cannotSync.has(errorCode(error) ?? '')) throw error;
  } finally {
    fs.closeSync(fd);
  }
}

/** Error codes by which file systems report that they have no hard links; Android's storage denies them. */
const linkless = new Set(['EPERM', 'ENOTSUP', 'EOPNOTSUPP', 'ENOSYS', 'EXDEV', 'EACCES', 'EMLINK', 'EINVAL']);

/** True if the error of a link call means that the file system has no hard links. */
export const hasNoLinks = (error: unknown): boolean => linkless.has(errorCode(error) ?? '');

/** Windows reports these for a file that a reader or a virus scanner briefly has open. */
const heldCodes = new Set(['EPERM', 'EBUSY', 'EACCES']);
const HELD_MS = [5, 10, 20, 40, 80, 160, 320, 640];

/** Renames a file, replacing an existing one; on Windows it retries while either is open. Throws the system's error. */
export function renameFile(
  from: string,
  to: string,
  { platform = process.platform, rename = fs.renameSync } = {},
): void {
  for (const pauseMs of platform === 'win32' ? HELD_MS : []) {
    try {
      rename(from, to);
      return;
    } catch (error) {
      if (!heldCodes.has(errorCode(error) ?? '')) throw error;
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, pauseMs);
    }
  }
  rename(from, to);
}

/**
 * Replaces a file with a text atomically. It is not synced, because such a file can be made again. Throws the system's
 * error, and then leaves no temporary file.
 */
export function replaceFile(file: string, text: string, mode = 0o600): void {
  const trial = path.join(
    path.dirname(file),
    `.gw-${process.pid}-${Math.random().toString(36).slice(2)}.part`,
  );
  try {
    fs.writeFileSync(trial, text, { mode, flag: 'wx' });
    renameFile(trial, file);
  } finally {
    fs.rmSync(trial, { force: true });
  }
}

const PRIVATE = 0o700;

/**
 * Makes a directory (0700 by default) and its parents, durably; an existing one is left unchanged. Throws the system's
 * error, that of a sync only with `mustSync`. It makes one level at a time: Node's recursive mkdir reports a read-only
 * file system as a missing path, and never ends on file systems that cannot make directories.
 */
export function ensureDirectory(dir: string, mode: number = PRIVATE, mustSync = true): void {
  if (isDirectory(dir)) return;
  const parent = path.dirname(dir);
  if (parent !== dir) ensureDirectory(parent, mode, mustSync);
  try {
    fs.mkdirSync(dir, { mode });
  } catch (error) {
    if (errorCode(error) !== 'EEXIST' || !isDirectory(dir)) throw error;
    return;
  }
  try {
    syncDirectory(parent);
  } catch (error) {
    if (mustSync) throw error;
  }
}

/** For a path below a file, Node 20 throws ENOTDIR; newer versions return undefined. */
function isDirectory(dir: string): boolean {
  try {
    return fs.statSync(dir, { throwIfNoEntry: false })?.isDirectory() ?? false;
  } catch (error) {
    if (errorCode(error) === 'ENOTDIR') return false;
    throw error;
  }
}

/** The system calls of an append; a parameter, so that tests can make each one fail. */
export type AppendCalls = Pick<
  typeof fs,
  'openSync' | 'fstatSync' | 'writeSync' | 'fdatasyncSync' | 'fsyncSync' | 'closeSync'
>;

/** Written data could not be made durable; the disk's state is unknown from here on. Has the code and call of its cause. */
export class FailedSync extends Error {
  override readonly name = 'FailedSync';
  constructor(override readonly cause: unknown) {
    super('sync failed');
    Object.assign(this, cause);
  }
}

/**
 * Appends one or more lines to a journal; they are durable when this returns. It makes one write() of "\n"+json+"\n" to
 * an O_APPEND descriptor, so lines of several processes never mix, and a torn line never affects the next. Returns the
 * inode of the file it wrote to, which may have been renamed meanwhile. Throws the system's error, ShortWrite, or
 * FailedSync.
 */
export function appendLine(
  file: string,
  json: string | Uint8Array,
  { calls = fs, step = () => {} }: { readonly calls?: AppendCalls; readonly step?: Step } = {},
): number {
  const { O_APPEND, O_CREAT, O_WRONLY } = fs.constants;
  step('open the journal');
  const fd = calls.openSync(file, O_APPEND | O_CREAT | O_WRONLY, 0o600);
  try {
    // An empty file is new, so its name may not be durable yet: the directory is synced before anybody writes to it.
    const { size, ino } = calls.fstatSync(fd);
    if (size === 0) syncOrThrow(() => syncDirectory(path.dirname(file), calls));
    const bytes = Buffer.concat(['\n', json, '\n'].map((part) => Buffer.from(part)));
    step('write the line');
    const written = calls.writeSync(fd, bytes, 0, bytes.length);
    if (written !== bytes.length) throw new ShortWrite(`${written} of ${bytes.length} bytes written`);
    syncOrThrow(() => calls.fdatasyncSync(fd));
    step('look whether the journal kept its name');
    return ino;
  } finally {
    calls.closeSync(fd);
  }
}

function syncOrThrow(sync: () => void): void {
  try {
    sync();
  } catch (error) {
    throw new FailedSync(error);
  }
}
