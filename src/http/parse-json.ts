import { quietly } from '../host.ts';
import { indentJson, JsonTokens } from '../json-text.ts';

/** No documented reply nests a tenth as deep; code that walks a reply may recurse this far. */
export const MAX_JSON_DEPTH = 256;

/** The transport accepts no larger reply. */
const MAX_JSON_CHARS = 64 * 1024 * 1024;
/** One character beyond U+00FF makes every character cost two bytes, in the text and in the parsed value. */
const MAX_WIDE_JSON_CHARS = 40 * 1024 * 1024;

/** A parsed value can cost a hundred times the memory of its two characters of text. */
export const MAX_JSON_VALUES = 1_000_000;

/** V8 stores an object with more fields than any record has as a table: each field costs as much as four values. */
const MAX_RECORD_FIELDS = 1000;
const TABLE_FIELD_VALUES = 4;

export const BROKEN_JSON = 'broken JSON';

/** Text from outside that was not parsed; the message is a clause that says why. */
export class UnreadableJson extends SyntaxError {
  override readonly name = 'UnreadableJson';
}

/**
 * Parses JSON from outside after checking that its size, depth and number of values are reasonable (promises, section
 * 5). Throws UnreadableJson.
 */
export function parseJson(text: string): unknown {
  if (text.length > MAX_JSON_CHARS || (text.length > MAX_WIDE_JSON_CHARS && /[^\u0000-\u00ff]/.test(text)))
    throw new UnreadableJson('JSON that is too large to be read');
  // One character counts for at most three values, so a short text need not be checked.
  if (text.length > MAX_JSON_VALUES / 4 || mayBeDeep(text)) checkShape(text);
  try {
    return JSON.parse(text);
  } catch {
    throw new UnreadableJson(BROKEN_JSON);
  }
}

/** Like `parseJson`, but returns undefined for text that is not parsed. */
export const jsonIn = (text: string): unknown => quietly(() => parseJson(text));

/** True if a text has more brackets than the allowed depth; this search is quick, and most texts have few. */
function mayBeDeep(text: string): boolean {
  let count = 0;
  for (const bracket of '[{') {
    for (let at = text.indexOf(bracket); at >= 0; at = text.indexOf(bracket, at + 1)) {
      count += 1;
      if (count > MAX_JSON_DEPTH) return true;
    }
  }
  return false;
}

/** Counts values and depth: a comma, or the opening bracket for the first one, precedes each value. */
function checkShape(text: string): void {
  let depth = 0;
  let values = 1;
  const fields = new Uint32Array(MAX_JSON_DEPTH + 1);
  const tokens = new JsonTokens(text);
  while (tokens.next()) {
    const { kind } = tokens;
    if (kind === ',') values += 1;
    else if (kind === ':') {
      const count = (fields[depth] ?? 0) + 1;
      fields[depth] = count;
      if (count > MAX_RECORD_FIELDS) values += TABLE_FIELD_VALUES - 1;
    } else if (kind === '{' || kind === '[') {
      depth += 1;
      values += 1;
      if (depth > MAX_JSON_DEPTH)
        throw new UnreadableJson(`JSON that nests deeper than ${MAX_JSON_DEPTH} levels`);
      fields[depth] = 0;
    } else if (kind === '}' || kind === ']') depth -= 1;
    if (values > MAX_JSON_VALUES)
      throw new UnreadableJson(`JSON of more than ${MAX_JSON_VALUES.toLocaleString('en')} values`);
  }
}

/** JSON text in the form of `indentJson`, with a final newline; undefined if the text is not JSON. */
export function prettyJson(text: string): string | undefined {
  return jsonIn(text) === undefined ? undefined : `${indentJson(text)}\n`;
}
