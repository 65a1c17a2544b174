import * as path from 'node:path';
import { usage } from './errors.ts';

/** What `-o` may ask for in braces, and what each is: the pattern's reader, help and messages take the names from here. */
export const placeholderMeanings = {
  id: "the gateway's task ID, or gw's own ID (gw-…) where there is none",
  family: 'alpha, beta, gamma or image',
  model: 'the model that was asked for',
  index: 'the number of the output, from 1',
  date: 'the day on which the job was made, as 2026-11-23, by the local calendar',
  time: 'the time at which the job was made, as 081530',
  ext: 'the extension, by what the bytes are',
  prompt: 'the first words of the prompt, joined by dashes, at most 48 bytes',
  seed: 'the seed that was used',
  duration: 'the length in seconds',
  resolution: 'the resolution',
  key: 'the --once key, or the key of the row, with - for /',
  row: 'the position of the row in its manifest, from 1, padded with zeros',
} as const;
export type Placeholder = keyof typeof placeholderMeanings;
const placeholders = Object.keys(placeholderMeanings) as readonly Placeholder[];

/** As people read them. */
export const placeholderList = `{${placeholders.join('} {')}}`;

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
  for (const [found, name] of pattern.matchAll(/\{\{|\}\}|\{([^}]*)\}?|[^{}]+|\}/g)) {
    if (name === undefined) {
      literal += /^(\{\{|\}\})$/.test(found) ? found[0] : found;
      continue;
    }
    if (!found.endsWith('}')) throw usage(`${what}: the brace of "${found}" is not closed`, hint);
    const placeholder = placeholders.find((known) => known === name);
    if (!placeholder) throw usage(`${what}: {${name}} is not a placeholder`, hint);
    if (literal !== '') pieces.push({ literal });
    literal = '';
    pieces.push({ placeholder });
  }
  if (literal !== '') pieces.push({ literal });
  return pieces;
}

/** No system opens a longer path. */
const MAX_PATH = 4096;

/**
 * Reads a target as it is typed for `-o` or stored as the setting `out`; what stands on the disk is not looked at.
 * Throws `usage` for an empty value, a NUL, stdout, {ext} in a directory, and a pattern that cannot be read.
 */
export function parseTarget(out: string, what = '--out'): PatternPiece[] {
  if (out === '') throw usage(`${what} is empty`, 'name a file, a directory that ends in /, or a pattern');
  if (out.length > MAX_PATH)
    throw usage(`${what} has ${out.length} characters, and no path has more than ${MAX_PATH}`, 'shorten it');
  if (out.includes('\0')) throw usage(`${what} contains a NUL character, which no file name can hold`);
  if (out === '-')
    throw usage(
      `${what} -: only gw image writes to stdout, and only where -o - is typed`,
      'name a file or a directory; ./- is a file named -',
    );
  const pieces = parsePattern(out, what);
  // A directory is chosen before the bytes are known.
  const [dir = ''] = (path.sep === '\\' ? /^.*[\\/]/s : /^.*\//s).exec(out) ?? [];
  if (placeholdersOf(parsePattern(dir)).has('ext'))
    throw usage(`${what}: {ext} cannot stand in a directory`, 'put {ext} at the end of the file name');
  return pieces;
}

/** What Windows keeps for devices, whatever extension follows. */
export const deviceName = /^(con|prn|aux|nul|conin\$|conout\$|(com|lpt)[0-9\u00b9\u00b2\u00b3])(?=\.| *$)/i;

/** What Windows forbids in the names that a pattern writes out (`"?" in what?.mp4`); undefined where it takes them all. */
export function windowsFault(out: string): string | undefined {
  const names = out.replace(/^[a-z]:(?=[\\/])/i, '').split(/[\\/]/);
  for (const name of names.filter((each) => !/^\.\.?$/.test(each))) {
    const literal = name.replace(/\{\{|\}\}|\{[^{}]*\}/g, (found) => (found.length === 2 ? found : ''));
    const [odd] = /[<>:"|?*\u0000-\u001f]/.exec(literal) ?? [];
    if (odd !== undefined) return `${JSON.stringify(odd)} in ${JSON.stringify(name.slice(0, 80))}`;
    if (/[. ]$/.test(name))
      return `the ${name.endsWith('.') ? 'dot' : 'blank'} at the end of ${JSON.stringify(name.slice(0, 80))}`;
    if (!name.startsWith('{') && deviceName.test(name))
      return `${JSON.stringify(name.slice(0, 80))}, the name of a device`;
  }
  return undefined;
}

export const placeholdersOf = (pieces: readonly PatternPiece[]): Set<Placeholder> =>
  new Set(pieces.flatMap((piece) => ('placeholder' in piece ? [piece.placeholder] : [])));
