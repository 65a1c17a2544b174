/** Why a text is no Base64. */
export class NotBase64 extends Error {
  override readonly name = 'NotBase64';
}

const BLANK = 64;
const PAD = 65;
const WRONG = 255;

/** The value of each character; both alphabets (RFC 4648, sections 4 and 5) are read. */
function tableOf(): Uint8Array {
  const table = new Uint8Array(256).fill(WRONG);
  const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/';
  for (let value = 0; value < 64; value += 1) table[alphabet.charCodeAt(value)] = value;
  table['-'.charCodeAt(0)] = 62;
  table['_'.charCodeAt(0)] = 63;
  table['='.charCodeAt(0)] = PAD;
  for (const blank of ' \t\r\n') table[blank.charCodeAt(0)] = BLANK;
  return table;
}

/** Longest `data:…,` before the Base64 of a data URI. */
const LONGEST_PREFIX = 200;

/**
 * Decodes Base64 as it comes, in pieces of any length: both alphabets, with or without padding and blanks, with or
 * without the `data:` prefix of a URI. What is decoded is handed on at once and valid only until `take` returns.
 */
export class Base64Decoder {
  private readonly table = tableOf();
  private bits = 0;
  private bitCount = 0;
  private pads = 0;
  private characters = 0;
  /** The beginning, until it is known whether it is the prefix of a data URI. */
  private prefix: string | undefined = '';
  private out = Buffer.alloc(0);

  constructor(private readonly take: (bytes: Uint8Array) => void) {}

  /** Throws NotBase64, and what `take` throws. */
  push(text: Uint8Array): void {
    const start = this.prefix === undefined ? 0 : this.skipPrefix(text);
    this.decode(start === 0 ? text : text.subarray(start));
  }

  /** Throws NotBase64 where the text ends in mid-byte. */
  end(): void {
    const { prefix } = this;
    this.prefix = undefined;
    if (prefix) this.decode(Buffer.from(prefix, 'latin1'));
    if (this.bitCount === 6) throw new NotBase64('its last byte is cut');
  }

  /** How many bytes of the text belong to the prefix; what was held back and is none is decoded. */
  private skipPrefix(text: Uint8Array): number {
    let held = this.prefix ?? '';
    for (let at = 0; at < text.length; at += 1) {
      held += String.fromCharCode(text[at] ?? 0);
      const isData = 'data:'.startsWith(held.slice(0, 5).toLowerCase());
      if (isData && held.length < 5) continue;
      if (isData && held.length < LONGEST_PREFIX && !held.endsWith(',')) continue;
      this.prefix = undefined;
      if (!isData) this.decode(Buffer.from(held, 'latin1'));
      else if (!/;base64,$/i.test(held)) throw new NotBase64('its data URI is not Base64');
      return at + 1;
    }
    this.prefix = held;
    return text.length;
  }

  private decode(text: Uint8Array): void {
    const { table } = this;
    if (this.out.length < text.length) this.out = Buffer.allocUnsafeSlow(Math.max(text.length, 64 * 1024));
    const { out } = this;
    let { bits, bitCount } = this;
    let filled = 0;
    for (let at = 0; at < text.length; at += 1) {
      const value = table[text[at] ?? 0] ?? WRONG;
      if (value < BLANK) {
        if (this.pads > 0) throw this.wrong(text[at], at);
        bits = (bits << 6) | value;
        bitCount += 6;
        if (bitCount >= 8) {
          bitCount -= 8;
          out[filled] = bits >> bitCount;
          filled += 1;
          bits &= 0xff;
        }
      } else if (value === PAD && this.pads < 2) this.pads += 1;
      else if (value !== BLANK) throw this.wrong(text[at], at);
    }
    this.bits = bits;
    this.bitCount = bitCount;
    this.characters += text.length;
    if (filled > 0) this.take(out.subarray(0, filled));
  }

  private wrong(byte: number | undefined, at: number): NotBase64 {
    const character = String.fromCharCode(byte ?? 0);
    return new NotBase64(`character ${this.characters + at + 1} is ${JSON.stringify(character)}`);
  }
}
