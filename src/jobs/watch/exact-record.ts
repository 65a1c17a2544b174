import type { Reply } from '../../http/client.ts';
import { RawJson } from '../../io/escape.ts';
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

/** A part of a reply as it is to be printed: the value, or its own text where the value would be written in another way. */
export function asWritten(part: unknown, reply: Pick<Reply, 'text' | 'json'> | undefined): unknown {
  const exact = reply && exactText(reply.text, reply.json, part);
  return exact === undefined ? part : new RawJson(exact);
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

/** The names that lead from a value to a part of it; undefined where it is not near. */
function pathTo(json: unknown, part: unknown, depth = 0): (string | number)[] | undefined {
  if (json === part) return [];
  if (typeof json !== 'object' || json === null || depth === MAX_DEPTH) return undefined;
  for (const [name, inner] of Array.isArray(json) ? json.entries() : Object.entries(json)) {
    const rest = pathTo(inner, part, depth + 1);
    if (rest) return [name, ...rest];
  }
  return undefined;
}
