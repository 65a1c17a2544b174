import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { cutCodePoints, oneLine, safeJson, visible } from '../../src/io/escape.ts';
import { SafeStream, SecretFilter } from '../../src/io/secret-filter.ts';

/** The promise is written here again as code points, so that a wrong character class cannot prove itself right. */
function isForbidden(code: number): boolean {
  if (code === 0x0a || code === 0x09) return false;
  if (code < 0x20 || (code >= 0x7f && code <= 0x9f)) return true;
  if (code >= 0xd800 && code <= 0xdfff) return true;
  if ([0x061c, 0x200e, 0x200f, 0x2028, 0x2029].includes(code)) return true;
  return (code >= 0x202a && code <= 0x202e) || (code >= 0x2066 && code <= 0x2069);
}

function forbiddenIn(text: string): string[] {
  return [...text].filter((character) => isForbidden(character.codePointAt(0) ?? 0));
}

/** Arbitrary 16-bit units, with many of the dangerous ones. */
const anyText = fc
  .array(
    fc.oneof(
      fc.integer({ min: 0, max: 0xffff }),
      fc.integer({ min: 0, max: 0x9f }),
      fc.integer({ min: 0x2000, max: 0x206f }),
      fc.integer({ min: 0xd800, max: 0xdfff }),
      fc.constantFrom(0x061c, 0x0a, 0x09, 0x1b, 0x41),
    ),
  )
  .map((codes) => codes.map((code) => String.fromCharCode(code)).join(''));

function pieces(text: string, cuts: readonly number[]): string[] {
  const ends = [...new Set(cuts.map((cut) => cut % (text.length + 1)))].sort((a, b) => a - b);
  return [0, ...ends].map((start, at) => text.slice(start, ends[at] ?? text.length));
}

describe('visible', () => {
  test.each([
    ['plain text stays', 'plain text stays'],
    ['a\nb\tc', 'a\nb\tc'],
    ['\x1b[31mred', '\\x1b[31mred'],
    ['a\rb', 'a\\rb'],
    ['\x00\x07\x7f', '\\x00\\x07\\x7f'],
    ['\u009b2J', '\\x9b2J'],
    ['a\u2028b\u2029', 'a\\u2028b\\u2029'],
    ['\u202egpj.exe', '\\u202egpj.exe'],
    ['\u061c\u200e\u200f\u2066\u2069', '\\u061c\\u200e\\u200f\\u2066\\u2069'],
    ['é 漢 👩‍👩‍👧 \u{10ffff}', 'é 漢 👩‍👩‍👧 \u{10ffff}'],
    ['\ud83d alone', '\ufffd alone'],
    ['\ude00 alone', '\ufffd alone'],
  ])('%j is shown as %j', (text, shown) => {
    expect(visible(text)).toBe(shown);
  });

  test('no forbidden code point is left of any text', () => {
    fc.assert(
      fc.property(anyText, (text) => {
        expect(forbiddenIn(visible(text))).toEqual([]);
      }),
    );
  });

  test('every forbidden code point is one that visible changes, and no other', () => {
    for (let code = 0; code <= 0xffff; code++) {
      const character = String.fromCharCode(code);
      expect(visible(character) !== character, code.toString(16)).toBe(isForbidden(code));
    }
  });

  test('a stream cut anywhere reads as the whole', () => {
    fc.assert(
      fc.property(anyText, fc.array(fc.nat(), { maxLength: 8 }), (text, cuts) => {
        const stream = new SafeStream(new SecretFilter(), true);
        const shown = pieces(text, cuts).map((piece) => stream.push(piece));
        expect(shown.every((piece) => forbiddenIn(piece).length === 0)).toBe(true);
        expect(shown.join('') + stream.end()).toBe(visible(text));
      }),
    );
  });

  test('half a surrogate pair waits for its other half', () => {
    const stream = new SafeStream(new SecretFilter(), true);
    expect(stream.push('a\ud83d')).toBe('a');
    expect(stream.push('\ude00b')).toBe('😀b');
    expect(stream.push('\ud83d')).toBe('');
    expect(stream.end()).toBe('\ufffd');
    expect(stream.end()).toBe('');
  });
});

test('a joined stream is the text itself', () => {
  fc.assert(
    fc.property(anyText, fc.array(fc.nat(), { maxLength: 8 }), (text, cuts) => {
      const joiner = new SafeStream(new SecretFilter(), false);
      const parts = pieces(text, cuts).map((piece) => joiner.push(piece));
      expect(parts.join('') + joiner.end()).toBe(text);
      const splitsPair = (part: string, at: number) =>
        /[\ud800-\udbff]$/.test(part) && /^[\udc00-\udfff]/.test(parts.slice(at + 1).join(''));
      expect(parts.some(splitsPair)).toBe(false);
    }),
  );
});

describe('oneLine', () => {
  test.each([
    ['bad request\n::error::owned', 'bad request\\n::error::owned'],
    ['a\tb\r\nc', 'a\\tb\\r\\nc'],
    ['\x1b]0;title\x07', '\\x1b]0;title\\x07'],
  ])('%j becomes %j', (text, line) => {
    expect(oneLine(text)).toBe(line);
  });

  test('cuts at 500 code points and says so', () => {
    expect(oneLine('x'.repeat(500))).toBe('x'.repeat(500));
    expect(oneLine('x'.repeat(501))).toBe(`${'x'.repeat(499)}…`);
    expect(oneLine('😀'.repeat(501))).toBe(`${'😀'.repeat(499)}…`);
    expect(oneLine('abcdef', 3)).toBe('ab…');
  });

  test('is one printable line of at most 500 code points, whatever comes', () => {
    fc.assert(
      fc.property(fc.oneof(anyText, fc.string({ minLength: 480, maxLength: 700 })), (text) => {
        const line = oneLine(text);
        expect(forbiddenIn(line)).toEqual([]);
        expect(line).not.toMatch(/[\n\t]/);
        expect([...line].length).toBeLessThanOrEqual(500);
      }),
    );
  });

  test('a cut leaves short texts alone', () => {
    expect(cutCodePoints('😀😀', 2)).toBe('😀😀');
    expect(cutCodePoints('😀😀😀', 2)).toBe('😀…');
    expect(cutCodePoints('', 2)).toBe('');
  });
});

describe('safeJson', () => {
  test.each([
    [{ a: '\u202e\u2028\u0085\x7f' }, '{"a":"\\u202e\\u2028\\u0085\\u007f"}'],
    [{ a: 'line\nbreak \x1b' }, '{"a":"line\\nbreak \\u001b"}'],
    [undefined, 'null'],
    ['é漢', '"é漢"'],
  ])('%j', (value, json) => {
    expect(safeJson(value)).toBe(json);
  });

  test('reads back as the same value and holds no forbidden code point', () => {
    fc.assert(
      fc.property(fc.jsonValue(), anyText, (value, text) => {
        const json = safeJson({ value, text });
        expect(JSON.parse(json)).toEqual(JSON.parse(JSON.stringify({ value, text })));
        expect(forbiddenIn(json)).toEqual([]);
        expect(json).not.toContain('\n');
      }),
    );
  });
});
