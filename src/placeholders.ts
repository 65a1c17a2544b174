import * as path from 'node:path';
import { usage } from './errors.ts';

/** What `-o` may ask for in braces: the pattern's reader, help and messages take the names from here. */
export const placeholders = [
  'id',
  'family',
  'model',
  'index',
  'date',
  'time',
  'ext',
  'prompt',
  'seed',
  'duration',
  'resolution',
  'key',
  'row',
] as const;
export type Placeholder = (typeof placeholders)[number];

/** As people read them. */
export const placeholderList = placeholders.map((name) => `{${name}}`).join(' ');

/** A pattern in pieces: what the user wrote stays as written, placeholders are filled in. */
export type PatternPiece = { readonly literal: string } | { readonly placeholder: Placeholder };

const hint = `placeholders are ${placeholderList}; write {{ and }} for a plain brace`;

/**
 * Reads a pattern of `-o`; `what` is the flag or setting. `{{` and `}}` stand for a brace, a lone `}` for itself.
 * Throws `usage` for an unknown placeholder or a brace that is not closed.
 */
export function parsePattern(pattern: string, what = '--out'): PatternPiece[] {
  const pieces: PatternPiece[] = [];
  let literal = '';
  for (let at = 0; at < pattern.length; at++) {
    const pair = pattern.slice(at, at + 2);
    if (pair === '{{' || pair === '}}') {
      literal += pair[0];
      at++;
      continue;
    }
    if (pattern[at] !== '{') {
      literal += pattern[at];
      continue;
    }
    const end = pattern.indexOf('}', at);
    if (end === -1) throw usage(`${what}: the brace of "${pattern.slice(at)}" is not closed`, hint);
    const name = pattern.slice(at + 1, end);
    const placeholder = placeholders.find((known) => known === name);
    if (!placeholder) throw usage(`${what}: {${name}} is not a placeholder`, hint);
    if (literal !== '') pieces.push({ literal });
    literal = '';
    pieces.push({ placeholder });
    at = end;
  }
  if (literal !== '') pieces.push({ literal });
  return pieces;
}

/**
 * Reads a target as it is typed for `-o` or stored as the setting `out`; what stands on the disk is not looked at.
 * Throws `usage` for an empty value, a NUL, stdout, {ext} in a directory, and a pattern that cannot be read.
 */
export function parseTarget(out: string, what = '--out'): PatternPiece[] {
  if (out === '') throw usage(`${what} is empty`, 'name a file, a directory that ends in /, or a pattern');
  if (out.includes('\0')) throw usage(`${what} contains a NUL character, which no file name can hold`);
  if (out === '-') {
    throw usage(
      `${what} -: gw writes no video to stdout`,
      'name a file or a directory; ./- is a file named -',
    );
  }
  const pieces = parsePattern(out, what);
  // A directory is chosen before the bytes are known.
  const [dir = ''] = (path.sep === '\\' ? /^.*[\\/]/s : /^.*\//s).exec(out) ?? [];
  if (placeholdersOf(parsePattern(dir)).has('ext')) {
    throw usage(`${what}: {ext} cannot stand in a directory`, 'put {ext} at the end of the file name');
  }
  return pieces;
}

/** The placeholders that a pattern uses. */
export function placeholdersOf(pieces: readonly PatternPiece[]): Set<Placeholder> {
  return new Set(pieces.flatMap((piece) => ('placeholder' in piece ? [piece.placeholder] : [])));
}
