import type { Reply } from '../../http/client.ts';
import { RawJson } from '../../io/escape.ts';
import { compactJson, JsonTokens, placeOf } from '../../json-text.ts';

// The gateway's records are printed unchanged. A number that JavaScript cannot hold would change, so such a record's
// text is kept beside its value. This is rare: this file is loaded only if `mayHoldLongNumber` is true.

/**
 * The text of a part of a reply on one line, if it holds a number whose value would change when printed; else
 * undefined. `json` is the parsed `text`, and `part` a value in it.
 */
export function exactText(text: string, json: unknown, part: unknown): string | undefined {
  const path = pathTo(json, part);
  const place = path && placeOf(text, path);
  const cut = place && text.slice(place.start, place.end);
  return cut !== undefined && losesNumber(cut) ? compactJson(cut) : undefined;
}

/** A part of a reply for printing: the value, or its original text if printing the value would change a number. */
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

/** A normal form of a number's text: its significant digits and power of ten. */
function digitsOf(word: string): string {
  const [, sign = '', whole = '', fraction = '', power = '0'] =
    /^(-?)(\d*)\.?(\d*)(?:[eE]([+-]?\d+))?$/.exec(word) ?? [];
  const digits = `${whole}${fraction}`.replace(/^0+/, '');
  const significant = digits.replace(/0+$/, '');
  if (significant === '') return whole === '' ? word : '0';
  return `${sign}${significant}e${Number(power) - fraction.length + digits.length - significant.length}`;
}

/** The path from a value to a part of it; undefined if the part does not lie within four levels. */
function pathTo(json: unknown, part: unknown, depth = 0): (string | number)[] | undefined {
  if (json === part) return [];
  if (typeof json !== 'object' || json === null || depth === 4) return undefined;
  for (const [name, inner] of Array.isArray(json) ? json.entries() : Object.entries(json)) {
    const rest = pathTo(inner, part, depth + 1);
    if (rest) return [name, ...rest];
  }
  return undefined;
}
