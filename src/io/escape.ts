// Text from a model or the gateway must not control a terminal, forge a log line or reverse the text direction. The
// character sets here are those that can.

/** C0 without newline and tab, DEL, C1, line and paragraph separators, bidirectional controls, and lone surrogates. */
const unsafe =
  /[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]|[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]/g;
const lineBreaking = /[\t\n]/g;
const unsafeInJson = /[\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]/g;

const shortEscapes: Readonly<Record<string, string>> = { '\n': '\\n', '\t': '\\t', '\r': '\\r' };

function escapeCharacter(character: string): string {
  const short = shortEscapes[character];
  if (short !== undefined) return short;
  const code = character.charCodeAt(0);
  if (code >= 0xd800 && code <= 0xdfff) return '\ufffd';
  return code < 0x100 ? `\\x${code.toString(16).padStart(2, '0')}` : unicodeEscape(character);
}

function unicodeEscape(character: string): string {
  return `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`;
}

/**
 * Makes text safe for a terminal: newline and tab pass, every other control character is escaped (`\x1b`, `\u202e`),
 * and a lone surrogate becomes U+FFFD.
 */
export function visible(text: string): string {
  return text.replace(unsafe, escapeCharacter);
}

/**
 * Makes text from outside fit on one line: like `visible`, but newline and tab are escaped too, and the text is cut to
 * `maxCodePoints` code points, the last of which is then `…`.
 */
export function oneLine(text: string, maxCodePoints = 500): string {
  const looked = text.slice(0, 2 * maxCodePoints + 2);
  return cutCodePoints(visible(looked).replace(lineBreaking, escapeCharacter), maxCodePoints);
}

/** Cuts text to `maxCodePoints` code points; if it is cut, the last one is `…`. */
export function cutCodePoints(text: string, maxCodePoints: number): string {
  if (text.length <= maxCodePoints) return text;
  // A code point has at most two UTF-16 units, so this slice holds enough and the rest is not read.
  const points = [...text.slice(0, 2 * maxCodePoints + 2)];
  return points.length <= maxCodePoints ? text : `${points.slice(0, maxCodePoints - 1).join('')}…`;
}

/** JSON on one line that also escapes U+007F-9F, U+2028/9 and bidirectional controls; `undefined` becomes `null`. */
export function safeJson(value: unknown): string {
  return jsonText(value).replace(unsafeInJson, unicodeEscape);
}

/** True for a RawJson, and for a list or object that holds one at any depth. */
export const holdsRaw = (value: unknown): boolean =>
  typeof value === 'object' && (value instanceof RawJson || Object.values(value ?? {}).some(holdsRaw));

/** JSON on one line; a RawJson in it is written as its text. */
export function jsonText(value: unknown): string {
  if (value instanceof RawJson) return value.text;
  if (!holdsRaw(value)) return JSON.stringify(value) ?? 'null';
  if (Array.isArray(value)) return `[${value.map(jsonText).join(',')}]`;
  const members = Object.entries(Object(value)).filter(([, field]) => field !== undefined);
  return `{${members.map(([name, field]) => `${JSON.stringify(name)}:${jsonText(field)}`).join(',')}}`;
}

/** JSON text that is written unchanged, because JavaScript would change its value (integers beyond 2^53). */
export class RawJson {
  constructor(readonly text: string) {}

  /** The value for JSON.stringify, which rounds those integers. */
  toJSON(): unknown {
    return JSON.parse(this.text);
  }
}
