import * as fs from 'node:fs';
import * as path from 'node:path';
import { faultReason, kindOf } from '../../disk/disk-fault.ts';
import { ensureDirectory } from '../../disk/durable-directory.ts';
import { errorCode, type GwError, usage } from '../../errors.ts';
import type { SavePlan } from '../../ledger/event.ts';
import { type PatternPiece, type Placeholder, parsePattern, placeholdersOf } from '../../placeholders.ts';
import { knownBefore, type Naming, newPartName, render, splitTarget } from './output-path.ts';

/** What is known of a job before it is paid for. */
export interface BeforeTask extends Omit<Naming, 'id' | 'atMs' | 'made'> {
  /** Unix milliseconds, the job's `{date}`. */
  readonly now: number;
  /** Files of equal rank; a last frame that is saved beside the clip does not count. */
  readonly outputsExpected: number;
}

/**
 * Makes sure, before anything is paid, that the outputs can be saved: makes the directory as far as it is known,
 * writes one byte there and removes it, and looks at what stands under a fixed name.
 * Throws `usage` for a directory that cannot be made or written, a name that is a directory, a symbolic link, a
 * device, a fifo or a socket, and one fixed name for several outputs.
 */
export function checkTarget(plan: SavePlan, before: BeforeTask): void {
  if (!plan.download) return;
  const split = splitTarget(plan.target);
  const isFixed = placeholdersOf(parsePattern(split.dir)).size === 0;
  const values = isFixed ? {} : knownBefore({ ...before, atMs: before.now });
  const { dir, whole } = knownDirectory(split.dir, values);
  try {
    ensureDirectory(dir, 0o777);
    writeTrial(dir);
  } catch (error) {
    throw refused(plan.target, `files cannot be saved in ${dir}: ${faultReason(error)}`);
  }
  const name = parsePattern(split.name);
  if (!whole || placeholdersOf(name).size > 0) return;
  const fixed = render(name, {});
  checkFixed(path.join(dir, fixed));
  refuseOneName(fixed, before.outputsExpected);
}

/** Throws `usage` for one name without placeholders for several outputs. */
export function refuseOneName(fixed: string, outputsExpected: number): void {
  if (outputsExpected < 2) return;
  const suffix = path.extname(fixed);
  throw usage(
    `--out: one file name for ${outputsExpected} outputs (${fixed})`,
    `put {index} into the name: ${path.basename(fixed, suffix)}-{index}${suffix}`,
  );
}

/** The directory down to the first segment that only the task can tell. */
function knownDirectory(pattern: string, values: Partial<Record<Placeholder, string>>) {
  const segments: string[] = [];
  for (const segment of pattern.split(path.sep)) {
    const pieces: PatternPiece[] = parsePattern(segment);
    if ([...placeholdersOf(pieces)].some((name) => values[name] === undefined)) {
      return { dir: segments.join(path.sep) || path.sep, whole: false };
    }
    segments.push(render(pieces, values));
  }
  return { dir: segments.join(path.sep) || path.sep, whole: true };
}

/** The names of trial files, so that one which a killed gw left is found again without reading the directory. */
export const trialNames = ['.gw-0.try', '.gw-1.try', '.gw-2.try', '.gw-3.try'];
/** A living process needs its trial file for a moment only. */
const TRIAL_LIFE_MS = 10_000;

/** Writes a byte to the directory and takes it back, and clears what a killed gw left of doing so. */
function writeTrial(dir: string): void {
  const trials = trialNames.map((name) => path.join(dir, name));
  const free = trials.find((trial) => fs.lstatSync(trial, { throwIfNoEntry: false }) === undefined);
  const { file, fd } = openTrial(free ?? path.join(dir, newPartName()), dir);
  try {
    fs.writeSync(fd, 'x');
    const nowMs = fs.fstatSync(fd).mtimeMs;
    for (const trial of trials) clearOld(trial, nowMs);
  } finally {
    fs.closeSync(fd);
    removeTrial(file);
  }
}

/** Whoever took it for an old one has removed it. Node's rmSync would take half a millisecond the first time. */
function removeTrial(file: string): void {
  try {
    fs.unlinkSync(file);
  } catch (error) {
    if (errorCode(error) !== 'ENOENT') throw error;
  }
}

/** Another process may take the name at the same moment; the name of a part nobody else has. */
function openTrial(file: string, dir: string): { readonly file: string; readonly fd: number } {
  try {
    return { file, fd: fs.openSync(file, 'wx', 0o600) };
  } catch (error) {
    if (errorCode(error) !== 'EEXIST') throw error;
    const other = path.join(dir, newPartName());
    return { file: other, fd: fs.openSync(other, 'wx', 0o600) };
  }
}

/** `nowMs` is the time as the file system has it: a file server's clock may differ from this machine's. */
function clearOld(trial: string, nowMs: number): void {
  const stats = fs.lstatSync(trial, { throwIfNoEntry: false });
  if (!stats?.isFile() || stats.size > 1 || Math.abs(nowMs - stats.mtimeMs) < TRIAL_LIFE_MS) return;
  try {
    fs.unlinkSync(trial);
  } catch {
    // Another user's, or gone: it is in nobody's way.
  }
}

/** Refuses what cannot be a file of ours; an existing regular file is fine, the output gets the next free name. */
function checkFixed(file: string): void {
  let stats: fs.Stats | undefined;
  try {
    stats = fs.lstatSync(file, { throwIfNoEntry: false });
  } catch (error) {
    throw refused(file, faultReason(error));
  }
  if (!stats || stats.isFile()) return;
  throw refused(file, `it is ${kindOf(stats)}`);
}

function refused(what: string, reason: string): GwError {
  return usage(
    `--out ${what}: ${reason}`,
    'name a regular file or a directory that you can write to; nothing was sent',
  );
}
