import { indentJson, JsonTokens } from '../json-text.ts';

/** No documented reply nests a tenth as deep; what walks through one may recurse this far. */
export const MAX_JSON_DEPTH = 256;

/** As much as the transport brings home of one reply. */
const MAX_JSON_CHARS = 64 * 1024 * 1024;
/** One character beyond U+00FF makes each of them cost two bytes, twice: in the text and in what it is parsed to. */
const MAX_WIDE_JSON_CHARS = 40 * 1024 * 1024;

/** A value costs up to a hundred times the memory of its two characters of text. */
export const MAX_JSON_VALUES = 1_000_000;

/** An object of more fields than any record has is kept as a table: each field of it costs as much as four values. */
const MAX_RECORD_FIELDS = 1000;
const TABLE_FIELD_VALUES = 4;

export const BROKEN_JSON = 'broken JSON';

/** Text from outside that is not parsed; the message says why, as a clause. */
export class UnreadableJson extends SyntaxError {
  override readonly name = 'UnreadableJson';
}

/**
 * Parses JSON that came from outside, once its size, its depth and the number of its values are known to be sane (promises,
 * section 5). Throws UnreadableJson.
 */
export function parseJson(text: string): unknown {
  if (text.length > MAX_JSON_CHARS || (text.length > MAX_WIDE_JSON_CHARS && /[^\u0000-\u00ff]/.test(text)))
    throw new UnreadableJson('JSON that is too large to be read');
  // No character counts for more than three values.
  if (text.length > MAX_JSON_VALUES / 4 || mayBeDeep(text)) checkShape(text);
  try {
    return JSON.parse(text);
  } catch {
    throw new UnreadableJson(BROKEN_JSON);
  }
}

/** As `parseJson`; undefined for a text that is not parsed. */
export function jsonIn(text: string): unknown {
  try {
    return parseJson(text);
  } catch {
    return undefined;
  }
}

/** Whether a text has brackets for more levels than are read; most have few, and a search for them is quick. */
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

/** Before each value stands a comma, or the bracket that it is the first behind. */
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

/** JSON text as `indentJson` writes it, with a line's end; undefined for a text that is not JSON. */
export function prettyJson(text: string): string | undefined {
  return jsonIn(text) === undefined ? undefined : `${indentJson(text)}\n`;
}
