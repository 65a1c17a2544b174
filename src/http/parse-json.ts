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

/** What is said of a text that is no JSON. */
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
  if (text.length > MAX_JSON_CHARS || (text.length > MAX_WIDE_JSON_CHARS && /[^\u0000-\u00ff]/.test(text))) {
    throw new UnreadableJson('JSON that is too large to be read');
  }
  checkShape(text);
  try {
    return JSON.parse(text);
  } catch {
    throw new UnreadableJson(BROKEN_JSON);
  }
}

const QUOTE = 0x22;
const COMMA = 0x2c;
const COLON = 0x3a;
const BACKSLASH = 0x5c;

/** Before each value stands a comma, or the bracket that it is the first behind. */
function checkShape(text: string): void {
  let depth = 0;
  let values = 1;
  const fields = new Uint32Array(MAX_JSON_DEPTH + 1);
  for (let at = 0; at < text.length; at += 1) {
    const code = text.charCodeAt(at);
    if (code === QUOTE) at = endOfText(text, at);
    else if (code === COMMA) values += 1;
    else if (code === COLON) {
      const count = (fields[depth] ?? 0) + 1;
      fields[depth] = count;
      if (count > MAX_RECORD_FIELDS) values += TABLE_FIELD_VALUES - 1;
    }
    // Both brackets of each kind differ by 2, and in bit 5 from the other kind's.
    else if ((code | 0x20) === 0x7b) {
      depth += 1;
      values += 1;
      if (depth > MAX_JSON_DEPTH) {
        throw new UnreadableJson(`JSON that nests deeper than ${MAX_JSON_DEPTH} levels`);
      }
      fields[depth] = 0;
    } else if ((code | 0x20) === 0x7d) depth -= 1;
    if (values > MAX_JSON_VALUES) {
      throw new UnreadableJson(`JSON of more than ${MAX_JSON_VALUES.toLocaleString('en')} values`);
    }
  }
}

/** Where the quote stands that ends a text; the end of all where none does. */
function endOfText(text: string, from: number): number {
  for (let at = text.indexOf('"', from + 1); at >= 0; at = text.indexOf('"', at + 1)) {
    let escapes = 0;
    while (text.charCodeAt(at - 1 - escapes) === BACKSLASH) escapes += 1;
    if (escapes % 2 === 0) return at;
  }
  return text.length;
}

const INDENT = '  ';
const token = /"[^"\\]*(?:\\.[^"\\]*)*"|[{}[\],:]|[^\s{}[\],:"]+/g;

/**
 * JSON text in lines, indented by two; strings and numbers stay as they were written. Undefined for a text that is not
 * JSON. A list or an object that is empty stays on its line.
 */
export function prettyJson(text: string): string | undefined {
  try {
    parseJson(text);
  } catch {
    return undefined;
  }
  let out = '';
  let depth = 0;
  const line = () => `\n${INDENT.repeat(depth)}`;
  let before = '';
  for (const [part] of text.matchAll(token)) {
    if (part === '}' || part === ']') {
      depth -= 1;
      out += before === '{' || before === '[' ? part : line() + part;
    } else {
      if (before === '{' || before === '[') out += line();
      out += part === ':' ? ': ' : part === ',' ? `,${line()}` : part;
      if (part === '{' || part === '[') depth += 1;
    }
    before = part;
  }
  return `${out}\n`;
}
