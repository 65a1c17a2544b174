// Text from a model or the gateway must not drive a terminal, forge a log line or turn words around. The sets of
// characters here are the ones that can.

/** C0 without newline and tab, DEL, C1, line and paragraph separator, bidirectional controls, and lone surrogates. */
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
 * Makes text safe for a terminal: newline and tab pass, every other control character is shown escaped (`\x1b`,
 * `\u202e`), half a surrogate pair becomes U+FFFD.
 */
export function visible(text: string): string {
  return text.replace(unsafe, escapeCharacter);
}

/**
 * Makes text from outside fit one line anywhere: as `visible`, newline and tab escaped too, and at most
 * `maxCodePoints` code points long, the last one `…` where it was cut.
 */
export function oneLine(text: string, maxCodePoints = 500): string {
  const looked = text.slice(0, 2 * maxCodePoints + 2);
  return cutCodePoints(visible(looked).replace(lineBreaking, escapeCharacter), maxCodePoints);
}

/** Cuts text to `maxCodePoints` code points, the last one `…` where something was lost. */
export function cutCodePoints(text: string, maxCodePoints: number): string {
  if (text.length <= maxCodePoints) return text;
  // Two units are at most what one code point has: what is cut anyway is not looked at.
  const points = [...text.slice(0, 2 * maxCodePoints + 2)];
  return points.length <= maxCodePoints ? text : `${points.slice(0, maxCodePoints - 1).join('')}…`;
}

/** JSON on one line that also escapes U+007F-9F, U+2028/9 and the bidirectional controls; `undefined` is `null`. */
export function safeJson(value: unknown): string {
  return jsonText(value).replace(unsafeInJson, unicodeEscape);
}

/** JSON on one line; a RawJson, by itself or directly in an object, is written as its text. */
function jsonText(value: unknown): string {
  if (value instanceof RawJson) return value.text;
  const fields = typeof value === 'object' && value !== null ? value : {};
  if (!Object.values(fields).some((each) => each instanceof RawJson)) return JSON.stringify(value) ?? 'null';
  const members = Object.entries(fields).map(([name, field]) => {
    const text = field instanceof RawJson ? field.text : JSON.stringify(field);
    return text === undefined ? [] : [`${JSON.stringify(name)}:${text}`];
  });
  return `{${members.flat().join(',')}}`;
}

/** JSON text that is written as it stands, where its value would be written in another way (integers beyond 2^53). */
export class RawJson {
  constructor(readonly text: string) {}
}
