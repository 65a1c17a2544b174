import * as fs from 'node:fs';
import * as path from 'node:path';
import { usage } from '../../errors.ts';
import { DEFAULT_NAME, splitTarget } from './output-path.ts';
import { escapePattern, parsePattern, placeholdersOf } from './target-pattern.ts';

/**
 * Turns `--out` into the target of a save plan: an absolute pattern, which ends in the separator where it is a
 * directory. Without a value: `{id}.{ext}` in the working directory. What already is a directory is one.
 * Throws `usage` for an empty value, a NUL, stdout, and a pattern that cannot be read.
 */
export function planTarget(out: string | undefined, cwd: string): string {
  const base = escapePattern(cwd);
  if (out === undefined) return path.join(base, DEFAULT_NAME);
  if (out === '') throw usage('--out is empty', 'name a file, a directory that ends in /, or a pattern');
  if (out.includes('\0')) throw usage('--out contains a NUL character, which no file name can hold');
  if (out === '-') {
    throw usage(
      '--out -: a video is not written to stdout',
      'name a file or a directory; ./- is a file named -',
    );
  }
  const pieces = parsePattern(out);
  const absolute = path.resolve(base, out);
  if (endsInSeparator(out) || (placeholdersOf(pieces).size === 0 && isDirectory(literalOf(absolute)))) {
    parseDirectory(absolute);
    return absolute.endsWith(path.sep) ? absolute : absolute + path.sep;
  }
  parseDirectory(splitTarget(absolute).dir);
  return absolute;
}

/** Whether a planned target is one file name, whatever task it is for. */
export function isFixedName(target: string): boolean {
  return !target.endsWith(path.sep) && placeholdersOf(parsePattern(target)).size === 0;
}

/** The target of one job of several, in which `{index}` is the job's number; as it is where there is but one. */
export function withIndex(target: string, index: number | undefined): string {
  if (index === undefined) return target;
  const fill = (name: string) => (name === 'index' ? String(index) : `{${name}}`);
  return parsePattern(target)
    .map((piece) => ('literal' in piece ? escapePattern(piece.literal) : fill(piece.placeholder)))
    .join('');
}

/** A directory is chosen before the bytes are known. */
function parseDirectory(pattern: string): void {
  if (placeholdersOf(parsePattern(pattern)).has('ext')) {
    throw usage('--out: {ext} cannot stand in a directory', 'put {ext} at the end of the file name');
  }
}

function literalOf(pattern: string): string {
  return parsePattern(pattern)
    .map((piece) => ('literal' in piece ? piece.literal : ''))
    .join('');
}

function endsInSeparator(out: string): boolean {
  return out.endsWith('/') || out.endsWith(path.sep);
}

function isDirectory(file: string): boolean {
  try {
    return fs.statSync(file, { throwIfNoEntry: false })?.isDirectory() ?? false;
  } catch {
    return false; // what is wrong with the path is said by the check of the target
  }
}
