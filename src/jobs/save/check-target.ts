import * as fs from 'node:fs';
import * as path from 'node:path';
import { faultReason, kindOf, MAX_NAME_BYTES } from '../../disk/disk-fault.ts';
import { usage } from '../../errors.ts';
import type { SavePlan } from '../../ledger/event.ts';
import { type Placeholder, parsePattern, placeholdersOf } from '../../placeholders.ts';
import { tryDirectory } from './disk-ways.ts';
import {
  besideOf,
  knownBefore,
  type Naming,
  newPartName,
  outputPath,
  render,
  splitTarget,
} from './output-path.ts';

const CURE = 'name a regular file or a directory that you can write to; nothing was sent';

const MAIN = { type: 'video', role: 'video', url: '' } as const;

/** The facts about a job before it is paid. */
interface BeforeTask extends Omit<Naming, 'id' | 'made'> {
  /** Number of main output files, without a last frame that is saved beside the clip. */
  readonly outputsExpected: number;
  /** Where the target was given, for messages; the flag by default. */
  readonly named?: string;
}

/**
 * Checks before payment that the outputs can be saved: makes the directory as far as it is known, tries there with a
 * small file what saving does, and checks what exists under a fixed name. Throws `usage` for a directory that cannot be
 * made or written, for a name that is a directory, a symbolic link, a device, a fifo or a socket, and for one fixed
 * name for several outputs.
 */
export function checkTarget(plan: SavePlan, before: BeforeTask): void {
  if (!plan.download) return;
  const refused = (reason: string) => usage(`${before.named ?? '--out'} ${plan.target}: ${reason}`, CURE);
  const split = splitTarget(plan.target);
  const isFixed = placeholdersOf(parsePattern(split.dir)).size === 0;
  const values = isFixed ? {} : knownBefore(before);
  const { dir, whole } = knownDirectory(split.dir, values);
  const name = parsePattern(split.name);
  const fixed = whole && placeholdersOf(name).size === 0 ? render(name, {}) : undefined;
  // Checked before the directory: for /dev/null, "a device" is a better message than an unwritable directory.
  if (fixed !== undefined) refuseOddFile(path.join(dir, fixed), before.named);
  // Values are shortened to make room, but not below this length; the ID is not known yet.
  const shortest = outputPath(plan, { ...before, id: 'x' }, MAIN, 1).name('x', 0, true);
  const isBeside = plan.sidecar !== undefined;
  const nameBytes = Buffer.byteLength(isBeside ? besideOf(shortest) : shortest);
  const what = `the name${isBeside ? ' of its sidecar' : ''} has at least ${nameBytes} bytes`;
  if (nameBytes > MAX_NAME_BYTES) throw refused(`${what}, and no disk takes more than ${MAX_NAME_BYTES}`);
  try {
    tryDirectory(dir);
    tryCharacters(dir, split.name + shortest);
  } catch (error) {
    throw refused(`files cannot be saved in ${dir}: ${faultReason(error)}`);
  }
  if (fixed !== undefined) refuseOneName(fixed, before.outputsExpected, before.named);
}

/**
 * A mounted Windows disk refuses the characters that Windows forbids, and possibly other scripts. Throws the system's
 * error. The file is not empty: a mounted cloud drive may recreate an empty one after it was removed.
 */
function tryCharacters(dir: string, names: string): void {
  const odd = new Set(names.replace(/[^<>:"|?*\x80-\uffff]/g, ''));
  if (odd.size === 0) return;
  const file = path.join(dir, `${newPartName()}${[...odd].slice(0, 20).join('')}`);
  try {
    fs.writeFileSync(file, '-', { flag: 'wx', mode: 0o600 });
  } finally {
    fs.rmSync(file, { force: true });
  }
}

/** Throws `usage` for one name without placeholders for several outputs. */
export function refuseOneName(fixed: string, outputsExpected: number, named = '--out'): void {
  if (outputsExpected < 2) return;
  const suffix = path.extname(fixed);
  throw usage(
    `${named}: one file name for ${outputsExpected} outputs (${fixed})`,
    `put {index} into the name: ${path.basename(fixed, suffix)}-{index}${suffix}`,
  );
}

/** The directory up to the first segment whose placeholders are known only after the create. */
function knownDirectory(pattern: string, values: Partial<Record<Placeholder, string>>) {
  const segments: string[] = [];
  for (const segment of pattern.split(path.sep)) {
    const pieces = parsePattern(segment);
    if ([...placeholdersOf(pieces)].some((name) => values[name] === undefined)) {
      return { dir: segments.join(path.sep) || path.sep, whole: false };
    }
    segments.push(render(pieces, values));
  }
  return { dir: segments.join(path.sep) || path.sep, whole: true };
}

/** Throws `usage` for anything but a regular file, which is fine: the output gets the next free name. */
export function refuseOddFile(file: string, named = '--out'): void {
  let stats: fs.Stats | undefined;
  let odd: string | undefined;
  try {
    stats = fs.lstatSync(file, { throwIfNoEntry: false });
  } catch (error) {
    odd = faultReason(error);
  }
  if (stats && !stats.isFile()) odd = `it is ${kindOf(stats)}`;
  if (odd !== undefined) throw usage(`${named} ${file}: ${odd}`, CURE);
}
