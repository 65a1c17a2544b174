import * as fs from 'node:fs';
import * as path from 'node:path';
import { GwError, usage } from '../errors.ts';
import { quietly } from '../host.ts';
import { oddKind, UnfitFile } from './small-file.ts';
import { fileFault } from './typed-input.ts';

// Which files an untrusted record may name: one from a manifest, a preset of the working directory, a row on a queue,
// or an agent's tool call (promises, section 5, "Only the user's own word counts").

/** The folder that a record's files must lie in. */
interface Confinement {
  /** The folder that relative paths start from. */
  readonly dir: string;
  /** The folder's name in messages: `the manifest's folder`. */
  readonly what: string;
  /** Further folders whose files the record may name. */
  readonly roots?: readonly string[];
  /** True if the file with this real path may be read although it lies outside; when absent, none may. */
  readonly mayLeave?: (file: string) => boolean;
  /** What the user can do about a file outside: `give --allow-outside`. */
  readonly hint: string;
}

/** Resolves a name in a record to the real path of its file. Messages call the name `named`. */
export type ConfinedPath = (name: string, named: string) => string;

/** File systems whose entries are not real files; gw never reads them. */
const special = /^\/(proc|sys|dev)(\/|$)/;

/**
 * Resolves the paths of a record. It throws `usage` if a file's real path lies outside the folder, for a file of a
 * special file system, and for a missing or irregular file. A link may lead from one place inside to another.
 */
export function confinedPaths({ dir, what, roots = [], mayLeave, hint }: Confinement): ConfinedPath {
  const inside = [dir, ...roots].map(realOf);
  return (name, named) => {
    const file = path.resolve(dir, name);
    // On Windows, a path of this form contacts another machine and reveals the user's identity to it.
    const isRemote = /^[\\/]{2}/.test(name);
    let real: string;
    try {
      if (special.test(file) || isRemote) throw new UnfitFile('is no file that gw reads');
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

/** The error for a file that a record may not name because it lies outside the folder. */
export class OutsideFile extends GwError {
  constructor(message: string, hint: string) {
    super('usage', message, { hint });
  }
}

/** True if a path is absolute on any system, or leaves its folder by `..`. */
export const leaves = (file: string): boolean =>
  path.posix.isAbsolute(file) || path.win32.isAbsolute(file) || file.split(/[\\/]/).includes('..');

/**
 * Throws `usage` for a target that an untrusted record may not save to: an absolute path, one with `..`, or one that
 * leaves the folder through a link. Every folder that a name with placeholders could match is checked.
 */
export function refuseTarget(
  target: string,
  { dir, what }: Pick<Confinement, 'dir' | 'what'>,
  named: string,
): void {
  const hint = 'type -o on the command line to save elsewhere';
  if (leaves(target)) throw usage(`${named}: is saved below ${what}: a relative path without ..`, hint);
  const names = target.split(/[\\/]/).filter((name) => name !== '' && name !== '.');
  // A last part with a placeholder is a file, and gw never writes through a link there. A fixed one may be a folder.
  if (!/[\\/]$/.test(target) && names.at(-1)?.includes('{')) names.pop();
  const out = wayOut(realOf(dir), names);
  if (out !== undefined) throw usage(`${named}: a link leads out of ${what}, to ${out}`, hint);
}

/** The outside path that the first leaving link among these names leads to; undefined if none leaves the root. */
function wayOut(root: string, names: readonly string[]): string | undefined {
  // A set, because links that lead to their own folder would multiply the ways.
  let places: ReadonlySet<string> = new Set([root]);
  for (const name of names) {
    places = new Set([...places].flatMap((dir) => entriesLike(name, dir)));
    const out = [...places].find((real) => real !== root && !isInside(real, root));
    if (out !== undefined) return out;
  }
  return undefined;
}

/**
 * The real paths of the entries of a real folder with this name, or of the folders and links that a name with
 * placeholders may match, ignoring case as some file systems do.
 */
function entriesLike(pattern: string, dir: string): string[] {
  const parts = pattern.toLowerCase().split(/\{[^{}]*\}/);
  const after = (left: string | undefined, literal: string) =>
    left?.includes(literal) ? left.slice(left.indexOf(literal) + literal.length) : undefined;
  const fits = (name: string) => parts.reduce<string | undefined>(after, name.toLowerCase()) !== undefined;
  const all = parts.length > 1 ? quietly(() => fs.readdirSync(dir, { withFileTypes: true })) : undefined;
  const fit = all?.filter((each) => !each.isFile() && fits(each.name));
  const files = (fit?.map(({ name }) => name) ?? [pattern]).map((name) => path.join(dir, name));
  // Only a link is resolved: to resolve a path costs a call for each folder in it, and it may have 2,000.
  const realEntry = (file: string) => (fs.lstatSync(file).isSymbolicLink() ? realOf(file) : file);
  return files.flatMap((file) => quietly(() => realEntry(file)) ?? []);
}

const realOf = (dir: string): string => quietly(() => fs.realpathSync.native(dir)) ?? path.resolve(dir);

/** True if a path lies below a folder; both must be real paths. */
export function isInside(file: string, dir: string): boolean {
  const way = path.relative(dir, file);
  return way !== '' && way !== '..' && !way.startsWith(`..${path.sep}`) && !path.isAbsolute(way);
}
