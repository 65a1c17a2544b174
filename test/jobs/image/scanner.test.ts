import { describe, expect, test } from 'vitest';
import { EventSplitter } from '../../../src/jobs/image/event-splitter.ts';
import { Base64Decoder } from '../../../src/jobs/image/incoming-image.ts';
import { JsonLifter } from '../../../src/jobs/image/json-lifter.ts';

// Each text is fed whole, in single bytes and cut at every byte, because the ends of chunks must not matter.

const bytes = (text: string): Uint8Array => new TextEncoder().encode(text);

function* cuts(text: string): Generator<Uint8Array[]> {
  const whole = bytes(text);
  yield [whole];
  yield [...whole].map((byte) => Uint8Array.of(byte));
  for (let at = 1; at < whole.length; at += 1) yield [whole.subarray(0, at), whole.subarray(at)];
}

function decode(pieces: readonly Uint8Array[]): string {
  const taken: Buffer[] = [];
  const decoder = new Base64Decoder((piece) => taken.push(Buffer.from(piece)));
  for (const piece of pieces) decoder.push(piece);
  decoder.end();
  return Buffer.concat(taken).toString('latin1');
}

describe('Base64', () => {
  const text = 'any carnal pleasure \xff\xfb\xff';
  const base64 = Buffer.from(text, 'latin1').toString('base64');
  test.each([
    ['plain', base64],
    ['without padding', base64.replace(/=+$/, '')],
    ['of the URL alphabet', base64.replaceAll('+', '-').replaceAll('/', '_')],
    ['in lines', base64.replace(/(.{5})/g, '$1\r\n')],
    ['with a data prefix', `data:image/png;base64,${base64}`],
    ['with a prefix in capitals', `DATA:image/png;charset=x;BASE64,${base64}`],
  ])('%s is decoded however it is cut', (_, encoded) => {
    for (const pieces of cuts(encoded)) expect(decode(pieces)).toBe(text);
  });
  test.each([
    [
      'a beginning that looks like a prefix',
      'dataABCD',
      Buffer.from('dataABCD', 'base64').toString('latin1'),
    ],
    ['two letters of it', 'da==', 'u'],
    ['nothing', '', ''],
  ])('%s', (_, encoded, expected) => {
    for (const pieces of cuts(encoded)) expect(decode(pieces)).toBe(expected);
  });
  test.each([
    ['HTML', '<!doctype html>', /character 1 is "<"/],
    ['a wrong character', 'AAAA*AAA', /character 5 is "\*"/],
    ['text after the padding', 'AA==AAAA', /character 5 is "A"/],
    ['three equals signs', 'AA===', /character 5/],
    ['one character', 'AAAAA', /cut/],
    ['a data URI of another kind', 'data:image/svg+xml,<svg>', /not Base64/],
  ])('%s is refused', (_, encoded, message) => {
    for (const pieces of cuts(encoded)) expect(() => decode(pieces)).toThrow(message);
  });
});

function lift(pieces: readonly Uint8Array[]) {
  const lifted: string[] = [];
  const lifter = new JsonLifter((index) => {
    lifted[index] = '';
    return {
      push: (piece) => {
        lifted[index] += Buffer.from(piece).toString('latin1');
      },
      end: () => {
        lifted[index] += '.';
      },
    };
  });
  for (const piece of pieces) lifter.push(piece);
  return { lifted, rest: lifter.end() };
}

describe('lifting out of JSON', () => {
  test.each([
    [
      'one image',
      '{"created":1,"data":[{"b64_json":"QUJD"}]}',
      ['QUJD.'],
      { created: 1, data: [{ b64_json: '' }] },
    ],
    [
      'blanks around',
      '{ "b64_json" :\n "QUJD" , "x": "b64_json" }',
      ['QUJD.'],
      { b64_json: '', x: 'b64_json' },
    ],
    ['escaped slashes', '{"b64_json":"\\/9j\\/\\u002b\\u003D\\n"}', ['/9j/+=\n.'], { b64_json: '' }],
    [
      'a key with escapes',
      '{"\\u0062\\u00364_json":"QUJD","a\\/data":"x"}',
      ['QUJD.'],
      { b64_json: '', 'a/data': 'x' },
    ],
    ['a quote that is escaped', '{"b64_json":"A\\"B\\\\"}', ['A"B\\.'], { b64_json: '' }],
    ['a letter beyond Latin-1', '{"b64_json":"A\\u4e00"}', ['A\0.'], { b64_json: '' }],
    ['an empty one', '{"b64_json":"","url":"https:\\/\\/h\\/a"}', [], { b64_json: '', url: 'https://h/a' }],
    [
      'native parts',
      '{"candidates":[{"content":{"parts":[{"text":"data"},{"inlineData":{"mimeType":"image/png","data":"QUJD"}}]}}]}',
      ['QUJD.'],
      {
        candidates: [
          { content: { parts: [{ text: 'data' }, { inlineData: { mimeType: 'image/png', data: '' } }] } },
        ],
      },
    ],
    [
      'data URIs anywhere',
      '{"url":"data:image\\/png;base64,QUJD","b":"dat"}',
      ['data:image/png;base64,QUJD.'],
      { url: '', b: 'dat' },
    ],
    [
      'keys and texts with escapes',
      '{"a\\"b64_json":"x","b":"\\\\","c\\\\":"\\"{"}',
      [],
      { 'a"b64_json': 'x', b: '\\', 'c\\': '"{' },
    ],
    [
      'numbers, null and lists',
      '{"b64_json":null,"data":[1,"b64_json",{"data":true}]}',
      [],
      { b64_json: null, data: [1, 'b64_json', { data: true }] },
    ],
    [
      'letters of several bytes',
      '{"revised_prompt":"ein Füchslein 🦊","b64_json":"QQ=="}',
      ['QQ==.'],
      { revised_prompt: 'ein Füchslein 🦊', b64_json: '' },
    ],
  ])('%s, however it is cut', (_, text, lifted, rest) => {
    for (const pieces of cuts(text)) {
      const found = lift(pieces);
      expect(found.lifted).toEqual(lifted);
      expect(JSON.parse(found.rest.text())).toEqual(rest);
    }
  });

  test('a mark tells which text was where', () => {
    const { rest } = lift([bytes('[{"b64_json":"QQ=="},{"b64_json":"Qg=="}]')]);
    const [first, second] = JSON.parse(rest.text((index) => index === 1)) as { b64_json: string }[];
    expect(first?.b64_json).toBe('');
    expect(rest.indexOf(second?.b64_json ?? '')).toBe(1);
  });

  test('what is cut is kept as far as it came', () => {
    const { lifted, rest } = lift([bytes('{"data":[{"b64_json":"QUJD"},{"b64_json":"QU')]);
    expect(lifted).toEqual(['QUJD.', 'QU']);
    expect(rest.text()).toBe('{"data":[{"b64_json":""},{"b64_json":"');
  });

  test('a rest beyond all measure ends the reading', () => {
    const lifter = new JsonLifter(() => ({ push: () => {}, end: () => {} }));
    lifter.push(bytes('{"text":"'));
    const letters = new Uint8Array(1024 * 1024).fill(0x61);
    expect(() => {
      for (let count = 0; count < 17; count += 1) lifter.push(letters);
    }).toThrow(RangeError);
  });

  test('work grows with the length, however many escapes there are', () => {
    // The scanner looks for a quote once per chunk. With a scan to the end for each escape, this test would take minutes.
    let taken = 0;
    const lifter = new JsonLifter(() => ({ push: (piece) => (taken += piece.length), end: () => {} }));
    lifter.push(bytes('{"b64_json":"'));
    lifter.push(bytes('ab\\/'.repeat(1_000_000)));
    lifter.push(bytes('"}'));
    expect(taken).toBe(3_000_000);
  });
});

function events(pieces: readonly Uint8Array[], endedWell = true): string[] {
  const told: string[] = [];
  let data = '';
  const splitter = new EventSplitter({
    data: (piece) => {
      data += Buffer.from(piece).toString('latin1');
    },
    dispatch: () => {
      told.push(data);
      data = '';
    },
  });
  for (const piece of pieces) splitter.push(piece);
  splitter.end(endedWell);
  return told;
}

describe('events', () => {
  test.each([
    ['one', 'data: a\n\n', ['a']],
    ['with other fields and comments', ': hello\nevent: x\nid: 1\ndata:a\nretry: 5\n\n', ['a']],
    ['CRLF', 'event: x\r\ndata: a\r\n\r\ndata: b\r\n\r\n', ['a', 'b']],
    ['lone CR', 'data: a\rdata: b\r\rdata: c\r\r', ['a\nb', 'c']],
    ['data in several lines', 'data: a\ndata\ndata:  b\n\n', ['a\n\n b']],
    ['a byte order mark', '\u{feff}data: a\n\n', ['a']],
    ['blank lines and no data', '\n\nevent: x\n\ndata: a\n\n', ['a']],
    ['no blank line at the end', 'data: a\n\ndata: b', ['a', 'b']],
    ['a field that only begins like data', 'dataset: a\ndata: b\n\n', ['b']],
  ])('%s, however it is cut', (_, text, expected) => {
    for (const pieces of cuts(text)) expect(events(pieces)).toEqual(expected);
  });
  test('an event that is cut off counts for nothing', () => {
    expect(events([bytes('data: a\n\ndata: b')], false)).toEqual(['a']);
  });
});
