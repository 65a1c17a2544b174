import { compactJson, JsonTokens, placeOf } from '../../json-text.ts';

// The gateway's records are printed as they came; a number that JavaScript cannot hold would come out changed, so the text
// of such a record travels beside its value. Rare: `mayHoldLongNumber` is asked first, and only then is this loaded.

/**
 * The text of a part of a reply on one line, where it holds a number that would be written with another value; undefined
 * where the value says the same. `json` is what `text` was parsed to, `part` a value in it.
 */
export function exactText(text: string, json: unknown, part: unknown): string | undefined {
  const path = pathTo(json, part);
  const place = path && placeOf(text, path);
  const cut = place && text.slice(place.start, place.end);
  return cut !== undefined && losesNumber(cut) ? compactJson(cut) : undefined;
}

function losesNumber(text: string): boolean {
  const tokens = new JsonTokens(text);
  while (tokens.next()) {
    const word = tokens.kind === 'word' ? text.slice(tokens.start, tokens.end) : '';
    if (/^[\d-]/.test(word) && digitsOf(word) !== digitsOf(String(Number(word)))) return true;
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
