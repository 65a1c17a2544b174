import * as path from 'node:path';
import { usage } from './errors.ts';

/** The placeholders of `-o` and their meanings; the parser, help and messages read this table. */
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

/** The list of placeholders for help and messages. */
export const placeholderList = `{${placeholders.join('} {')}}`;

/** A piece of a pattern: text that stays as written, or a placeholder. */
export type PatternPiece = { readonly literal: string } | { readonly placeholder: Placeholder };

const hint = `placeholders are ${placeholderList}; write {{ and }} for a plain brace`;

/**
 * Parses a pattern of `-o`; `what` names the flag or setting. `{{` and `}}` stand for one brace, and a lone `}` for
 * itself. Throws `usage` for an unknown placeholder or an unclosed brace.
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

/** The longest path that any system opens. */
const MAX_PATH = 4096;

/** Parses a target of `-o` or `out` without looking at the disk. Throws `usage` for an empty or an invalid pattern. */
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
  // A directory is chosen before the bytes, and so the extension, are known.
  const [dir = ''] = (path.sep === '\\' ? /^.*[\\/]/s : /^.*\//s).exec(out) ?? [];
  if (placeholdersOf(parsePattern(dir)).has('ext'))
    throw usage(`${what}: {ext} cannot stand in a directory`, 'put {ext} at the end of the file name');
  return pieces;
}

/** Names that Windows reserves for devices, whatever extension follows. */
export const deviceName = /^(con|prn|aux|nul|conin\$|conout\$|(com|lpt)[0-9\u00b9\u00b2\u00b3])(?=\.| *$)/i;

/** The part of a pattern that Windows forbids in file names (`"?" in what?.mp4`); undefined if there is none. */
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
