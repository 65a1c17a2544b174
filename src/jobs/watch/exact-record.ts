import { compactJson } from '../../io/escape.ts';

// The gateway's records are printed as they came; a number that JavaScript cannot hold would come out changed, so the text
// of such a record travels beside its value. Rare: `mayHoldLongNumber` is asked first, and only then is this loaded.

const token = /"[^"\\]*(?:\\.[^"\\]*)*"|-?\d[\d.eE+-]*/g;

/**
 * The text of a part of a reply on one line, where it holds a number that would be written with another value; undefined
 * where the value says the same. `json` is what `text` was parsed to, `part` a value in it.
 */
export function exactText(text: string, json: unknown, part: unknown): string | undefined {
  const path = pathTo(json, part);
  const cut = path && cutText(text, path);
  return cut !== undefined && losesNumber(cut) ? compactJson(cut) : undefined;
}

function losesNumber(text: string): boolean {
  for (const [word] of text.matchAll(token)) {
    if (!word.startsWith('"') && digitsOf(word) !== digitsOf(String(Number(word)))) return true;
  }
  return false;
}

/** A number's value as text, whichever way it is written: significant digits and power of ten. */
function digitsOf(word: string): string {
  const [, sign = '', whole = '', fraction = '', power = '0'] =
    /^(-?)(\d*)\.?(\d*)(?:[eE]([+-]?\d+))?$/.exec(word) ?? [];
  const digits = `${whole}${fraction}`.replace(/^0+/, '');
  const significant = digits.replace(/0+$/, '');
  if (significant === '') return whole === '' ? word : '0';
  return `${sign}${significant}e${Number(power) - fraction.length + digits.length - significant.length}`;
}

const MAX_DEPTH = 4;

/** The names that lead from a value to a part of it, the shortest way; undefined where it is not near. */
function pathTo(json: unknown, part: unknown): (string | number)[] | undefined {
  let level: { readonly value: unknown; readonly path: (string | number)[] }[] = [{ value: json, path: [] }];
  for (let depth = 0; depth <= MAX_DEPTH; depth += 1) {
    const found = level.find(({ value }) => value === part);
    if (found) return found.path;
    level = level.flatMap(({ value, path }) => {
      if (typeof value !== 'object' || value === null) return [];
      const entries = Array.isArray(value) ? value.entries() : Object.entries(value);
      return [...entries].map(([name, inner]) => ({ value: inner, path: [...path, name] }));
    });
  }
  return undefined;
}

/** The text of the value at the end of a path, in JSON that has been read before. */
function cutText(text: string, path: readonly (string | number)[]): string | undefined {
  let at = skipSpace(text, 0);
  for (const name of path) {
    const member = memberAt(text, at, name);
    if (member === undefined) return undefined;
    at = member;
  }
  return text.slice(at, endOf(text, at));
}

/** Where a member's value begins; of a name that stands twice the last, as when it is read. */
function memberAt(text: string, open: number, name: string | number): number | undefined {
  let found: number | undefined;
  let at = skipSpace(text, open + 1);
  for (let place = 0; at < text.length && text[at] !== '}' && text[at] !== ']'; place += 1) {
    let isWanted = place === name;
    if (text[open] === '{') {
      const end = endOf(text, at);
      isWanted = JSON.parse(text.slice(at, end)) === name;
      at = skipSpace(text, skipSpace(text, end) + 1);
    }
    if (isWanted) found = at;
    at = skipSpace(text, endOf(text, at));
    if (text[at] === ',') at = skipSpace(text, at + 1);
  }
  return found;
}

function skipSpace(text: string, from: number): number {
  let at = from;
  while (at < text.length && ' \n\r\t'.includes(text.charAt(at))) at += 1;
  return at;
}

const piece = /"[^"\\]*(?:\\.[^"\\]*)*"|[^"[\]{},:\s]+|[[\]{}]|[\s,:]+/y;

/** Where a value ends that begins here. */
function endOf(text: string, from: number): number {
  let depth = 0;
  piece.lastIndex = from;
  for (;;) {
    const [word] = piece.exec(text) ?? [];
    if (word === undefined) return text.length;
    if (word === '{' || word === '[') depth += 1;
    if (word === '}' || word === ']') depth -= 1;
    if (depth === 0) return piece.lastIndex;
  }
}
