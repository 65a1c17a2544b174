import * as fs from 'node:fs';
import * as path from 'node:path';
import { GwError, usage } from '../errors.ts';
import { oddKind, UnfitFile } from './small-file.ts';
import { fileFault } from './typed-input.ts';

// The files that a stranger's record may name: of a manifest, a preset of the working directory, a row on a queue, a tool
// call of an agent (promises, section 5, "Only the user's own word counts").

/** Where a record's files lie. */
export interface Confinement {
  /** The folder that relative names begin in. */
  readonly dir: string;
  /** What the folder is called in a message: `the manifest's folder`. */
  readonly what: string;
  /** Further folders that it may name files of. */
  readonly roots?: readonly string[];
  /** Whether the file of this real path may be read although it lies outside; never, where absent. */
  readonly mayLeave?: (file: string) => boolean;
  /** What the user can do about a file outside: `give --allow-outside`. */
  readonly hint: string;
}

/** A name in a record -> the real path of its file. `named` is what messages call it. */
export type ConfinedPath = (name: string, named: string) => string;

/** File systems whose files are no files, whoever asks. */
const special = /^\/(proc|sys|dev)(\/|$)/;

/**
 * The confined paths of a record. They throw `usage` for a file outside the folder by its real path, for one of a special
 * file system, and for what is missing or no regular file. A link may lead from place to place inside.
 */
export function confinedPaths({ dir, what, roots = [], mayLeave, hint }: Confinement): ConfinedPath {
  const inside = [dir, ...roots].map(realOf);
  return (name, named) => {
    const file = path.resolve(dir, name);
    // On Windows a name of this form asks another machine, which learns who asks.
    const isRemote = /^[\\/]{2}/.test(name);
    if (special.test(file) || isRemote) throw usage(`${named}: is no file that gw reads`, hint);
    let real: string;
    try {
      real = fs.realpathSync.native(file);
      const odd = oddKind(fs.statSync(real));
      if (special.test(real)) throw new UnfitFile('leads to no file that gw reads');
      if (odd !== undefined) throw new UnfitFile(`is ${odd}, not a file`);
    } catch (error) {
      throw fileFault(error, named, error instanceof UnfitFile ? 'name a regular file' : undefined);
    }
    if (inside.some((root) => isInside(real, root)) || mayLeave?.(real)) return real;
    throw new OutsideFile(`${named}: lies outside ${what}${real === file ? '' : `, at ${real}`}`, hint);
  };
}

/** A file that a record may not name because of where it lies. */
export class OutsideFile extends GwError {
  constructor(message: string, hint: string) {
    super('usage', message, { hint });
  }
}

/** Whether a path is absolute on some system, or goes out of where it begins. */
export const leaves = (file: string): boolean =>
  path.posix.isAbsolute(file) || path.win32.isAbsolute(file) || file.split(/[\\/]/).includes('..');

/**
 * Throws `usage` for a place to save that a stranger's record may not name: an absolute path, one with `..`, and one whose
 * folders a link leads out. What placeholders stand for is not known yet: any folder that such a name can be counts.
 */
export function refuseTarget(
  target: string,
  { dir, what }: Pick<Confinement, 'dir' | 'what'>,
  named: string,
): void {
  const hint = 'type -o on the command line to save elsewhere';
  if (leaves(target)) throw usage(`${named}: is saved below ${what}: a relative path without ..`, hint);
  const root = realOf(dir);
  const names = target.split(/[\\/]/).filter((name) => name !== '' && name !== '.');
  // A file of that name is never written through: it is only a folder where the name is written out.
  if (!/[\\/]$/.test(target) && names.at(-1)?.includes('{')) names.pop();
  const out = wayOut(root, names, root);
  if (out !== undefined) throw usage(`${named}: a link leads out of ${what}, to ${out}`, hint);
}

/** Where the first of these names that is a link out of the root leads to. */
function wayOut(dir: string, [name, ...rest]: readonly string[], root: string): string | undefined {
  if (name === undefined) return undefined;
  for (const each of name.includes('{') ? namedLike(name, dir) : [name]) {
    let real: string;
    try {
      real = fs.realpathSync.native(path.join(dir, each));
    } catch {
      continue; // it is made when something is saved there
    }
    const out = real === root || isInside(real, root) ? wayOut(real, rest, root) : real;
    if (out !== undefined) return out;
  }
  return undefined;
}

/** The folders and links that a name with placeholders may mean; disks that tell no letters by their case count too. */
function namedLike(pattern: string, dir: string): string[] {
  const literals = pattern.toLowerCase().split(/\{[^{}]*\}/);
  const isLike = (name: string): boolean => {
    let at = 0;
    for (const literal of literals) {
      at = name.indexOf(literal, at);
      if (at === -1) return false;
      at += literal.length;
    }
    return true;
  };
  try {
    const entries = fs.readdirSync(dir, { withFileTypes: true });
    return entries.flatMap((each) => (!each.isFile() && isLike(each.name.toLowerCase()) ? [each.name] : []));
  } catch {
    // Nothing lies in it.
    return [];
  }
}

const realOf = (dir: string): string => {
  try {
    return fs.realpathSync.native(dir);
  } catch {
    // Nothing lies in it.
    return path.resolve(dir);
  }
};

/** Whether a path lies below a folder; both are real paths. */
export function isInside(file: string, dir: string): boolean {
  const way = path.relative(dir, file);
  return way !== '' && way !== '..' && !way.startsWith(`..${path.sep}`) && !path.isAbsolute(way);
}
