import * as fs from 'node:fs';
import * as path from 'node:path';
import { DiskFault } from '../../disk/disk-fault.ts';
import { ensureDirectory } from '../../disk/durable-directory.ts';
import { errorCode } from '../../errors.ts';
import { can, quietly } from '../../host.ts';
import { newPartName } from './output-path.ts';

/** What the disk of a directory supports, found by trying there what saving does. */
export interface DiskWays {
  readonly links: boolean;
  /** True if a file can be renamed, also over an existing one. */
  readonly renames: boolean;
  /** True if written data can be read before the file is closed; otherwise parts are written on another disk. */
  readonly readsBack: boolean;
}

/** Results by directory, with the device that was tried: another may be mounted there while gw runs. */
const known = new Map<string, { readonly device: number; readonly ways: DiskWays }>();

/**
 * Finds out what the disk of a directory supports, and makes the directory. Each process tries a directory once. Throws
 * the system's error, or a DiskFault, if nothing can be saved there.
 */
export function waysOf(dir: string): DiskWays {
  const absolute = path.resolve(dir);
  const device = madeDirectory(absolute);
  const before = known.get(absolute);
  if (before?.device === device) return before.ways;
  const { ways } = tryOut(absolute);
  known.set(absolute, { device, ways });
  return ways;
}

/** Tries a directory anew, and throws too if a trial file cannot be removed. */
export function tryDirectory(dir: string): void {
  const absolute = path.resolve(dir);
  const device = madeDirectory(absolute);
  const { ways, left } = tryOut(absolute);
  if (left !== undefined) throw left;
  known.set(absolute, { device, ways });
}

/** The device of a directory, which is made if it does not exist. */
function madeDirectory(dir: string): number {
  const there = quietly(() => fs.statSync(dir, { throwIfNoEntry: false }));
  if (there?.isDirectory()) return there.dev;
  ensureDirectory(dir, 0o777, false);
  return fs.statSync(dir).dev;
}

const MARK = Buffer.from('gw');

function expectMark(fd: number): void {
  const buffer = Buffer.alloc(MARK.length);
  if (fs.readSync(fd, buffer, 0, MARK.length, 0) !== MARK.length || !buffer.equals(MARK)) {
    throw new DiskFault('what is written there cannot be read back', true);
  }
}

/** Fixed names of trial files, so that one left by a killed gw is found without reading the directory. */
export const trialNames = ['.gw-0.try', '.gw-1.try', '.gw-2.try', '.gw-3.try'];
/** The second name of a trial file. */
export const secondOf = (file: string): string => `${file}2`;
/** A living process needs its trial file only briefly. */
const TRIAL_LIFE_MS = 10_000;

/**
 * Tries with a small file what saving does with an output, and removes that file, along with those that a killed gw left.
 * `left` says why the file could not be removed.
 */
function tryOut(dir: string): { readonly ways: DiskWays; readonly left?: unknown } {
  const trials = trialNames.map((name) => path.join(dir, name));
  const free = trials.find((trial) => !isThere(trial) && !isThere(secondOf(trial)));
  const { file, fd } = openTrial(free ?? path.join(dir, newPartName()), dir);
  const second = secondOf(file);
  try {
    let readsBack: boolean;
    try {
      fs.writeSync(fd, MARK);
      can(() => fs.fchmodSync(fd, 0o600));
      fs.fsyncSync(fd);
      readsBack = can(() => expectMark(fd));
      const nowMs = fs.fstatSync(fd).mtimeMs;
      for (const trial of trials.flatMap((each) => [each, secondOf(each)])) {
        if (trial !== file) clearOld(trial, nowMs);
      }
    } finally {
      fs.closeSync(fd);
    }
    if (!readsBack) readAgain(file);
    const links = can(() => fs.linkSync(file, second));
    const renames = can(() => {
      if (links) fs.unlinkSync(second);
      else fs.writeFileSync(second, MARK, { flag: 'wx', mode: 0o600 });
      fs.renameSync(file, second);
    });
    return { ways: { links, renames, readsBack }, left: removeTrial(file) ?? removeTrial(second) };
  } catch (error) {
    for (const name of [file, second]) removeTrial(name);
    throw error;
  }
}

function readAgain(file: string): void {
  const fd = fs.openSync(file, 'r');
  try {
    expectMark(fd);
  } finally {
    fs.closeSync(fd);
  }
}

/** Returns the error if the file could not be removed. Node's rmSync would take half a millisecond the first time. */
function removeTrial(file: string): unknown {
  try {
    fs.unlinkSync(file);
    return undefined;
  } catch (error) {
    return errorCode(error) === 'ENOENT' ? undefined : error;
  }
}

/** If another process takes the name at the same moment, a random part name is used, which nobody else has. */
function openTrial(file: string, dir: string): { readonly file: string; readonly fd: number } {
  try {
    return { file, fd: fs.openSync(file, 'wx+', 0o600) };
  } catch (error) {
    if (errorCode(error) !== 'EEXIST') throw error;
    const other = path.join(dir, newPartName());
    return { file: other, fd: fs.openSync(other, 'wx+', 0o600) };
  }
}

/** `nowMs` is the time of the file system: a file server's clock may differ from this machine's. */
function clearOld(trial: string, nowMs: number): void {
  const stats = fs.lstatSync(trial, { throwIfNoEntry: false });
  if (!stats?.isFile() || stats.size > MARK.length || Math.abs(nowMs - stats.mtimeMs) < TRIAL_LIFE_MS) return;
  // A file that belongs to another user, or is gone, does no harm.
  quietly(() => fs.unlinkSync(trial));
}

/** True if anything exists under a name. */
export const isThere = (file: string): boolean => fs.lstatSync(file, { throwIfNoEntry: false }) !== undefined;
