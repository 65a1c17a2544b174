import { usage } from '../errors.ts';
import { findJsonFault, jsonOf } from '../json-text.ts';

const REPLACEMENT = '\uFFFD';

/**
 * Decodes bytes as text without a byte order mark. Throws `usage` with the offset of the first invalid byte if they are
 * not UTF-8; `named` is the input's name in messages.
 */
export function decodeUtf8(bytes: Uint8Array, named: string): string {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch {
    const offset = firstBadByte(bytes);
    const isUtf16 = (bytes[0] === 0xff && bytes[1] === 0xfe) || (bytes[0] === 0xfe && bytes[1] === 0xff);
    throw usage(
      `${named}: not UTF-8 text: the byte at offset ${offset} does not belong to it`,
      isUtf16 ? 'it looks like UTF-16: save it as UTF-8' : 'save it as UTF-8',
    );
  }
}

/** The offset from 0 of the first byte that is not valid UTF-8. */
function firstBadByte(bytes: Uint8Array): number {
  const text = new TextDecoder('utf-8', { ignoreBOM: true }).decode(bytes);
  let offset = 0;
  let from = 0;
  for (;;) {
    const index = text.indexOf(REPLACEMENT, from);
    if (index < 0) return bytes.length;
    offset += Buffer.byteLength(text.slice(from, index));
    // The text itself may contain U+FFFD, encoded as EF BF BD.
    const isGenuine = bytes[offset] === 0xef && bytes[offset + 1] === 0xbf && bytes[offset + 2] === 0xbd;
    if (!isGenuine) return offset;
    offset += 3;
    from = index + 1;
  }
}

/** Parses JSON text. Throws `usage` with the position of a syntax error, or of a name that an object has twice. */
export function parseTypedJson(text: string, named: string, hint?: string): unknown {
  const value = jsonOf(text);
  const { line, column, problem } = findJsonFault(text, true) ?? {};
  if (problem === undefined) return value;
  const what = value === undefined ? 'not JSON, ' : '';
  throw usage(`${named}: ${what}line ${line}, column ${column}: ${problem}`, hint);
}
