import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  closedJson,
  compactJson,
  findJsonFault,
  indentJson,
  JsonTokens,
  membersOf,
  placeOf,
} from '../src/json-text.ts';

/** The tokens of a text that arrives in pieces; a token that spans several pieces is joined. */
function tokensOf(...pieces: readonly string[]): [string, string][] {
  const found: [string, string][] = [];
  const tokens = new JsonTokens();
  let isGoing = false;
  for (const piece of pieces) {
    tokens.push(piece);
    while (tokens.next()) {
      const text = piece.slice(tokens.start, tokens.end);
      const last = found.at(-1);
      if (isGoing && last) last[1] += text;
      else found.push([tokens.kind, text]);
      isGoing = tokens.isOpen;
    }
  }
  return found;
}

/** JSON with one piece inserted and up to two characters removed. */
const damaged = fc
  .tuple(
    fc.json(),
    fc.nat(),
    fc.constantFrom('', ',', '}', ']', '"', ':', '\\', '0', '-', '.', 'e', ' ', '\n', 'null', 'é', '\u0001'),
  )
  .map(([text, at, piece]) => {
    const cut = at % (text.length + 1);
    return text.slice(0, cut) + piece + text.slice(cut + (at % 3));
  });

describe('the tokens of JSON', () => {
  it.each<[string, string]>([
    ['{"a": [1, -2.5e+3]}', '{ "a" : [ 1 , -2.5e+3 ] }'],
    ['"a\\"b" "\\\\" "c', '"a\\"b" "\\\\" "c'],
    ["truly'{", "truly ' {"],
    // The characters at both ends of ASCII, and those beyond ASCII, are not white space.
    ['\u0000 \u007f\u0080 \u00a0', '\u0000 \u007f \u0080 \u00a0'],
    [' \n\t\r', ''],
  ])('%s', (text, words) => {
    expect(
      tokensOf(text)
        .map(([, word]) => word)
        .join(' '),
    ).toBe(words);
  });

  it('are the same wherever the text is cut, but for a word that is cut itself', async () => {
    await fc.assert(
      fc.property(damaged, fc.nat(), fc.nat(), (text, one, other) => {
        const cuts = [one % (text.length + 1), other % (text.length + 1)].sort((a, b) => a - b);
        const pieces = [text.slice(0, cuts[0]), text.slice(cuts[0], cuts[1]), text.slice(cuts[1])];
        const texts = (tokens: readonly [string, string][]) => tokens.filter(([kind]) => kind !== 'word');
        expect(texts(tokensOf(...pieces))).toEqual(texts(tokensOf(text)));
      }),
      { numRuns: 1000 },
    );
  });

  it('leave nothing out but blanks', async () => {
    await fc.assert(
      fc.property(damaged, (text) => {
        const words = tokensOf(text).map(([, word]) => word);
        const rest = words.reduce((left, word) => left.slice(left.indexOf(word) + word.length), text);
        expect(rest.trim()).toBe('');
      }),
    );
  });

  it('a text of many megabytes that is all escapes is one of them', () => {
    const text = JSON.stringify({ a: '\n'.repeat(6_000_000) });
    expect(compactJson(text) === text).toBe(true);
    expect(indentJson(text).length).toBe(text.length + 5);
  });
});

describe('compactJson and indentJson', () => {
  it('write what was written, in another shape', async () => {
    await fc.assert(
      fc.property(fc.jsonValue(), (value) => {
        const indented = JSON.stringify(value, null, 2);
        expect(compactJson(indented)).toBe(JSON.stringify(value));
        expect(indentJson(JSON.stringify(value))).toBe(indented);
      }),
    );
  });
});

describe('membersOf and placeOf', () => {
  it('find what JSON.parse reads, in lists and objects', async () => {
    await fc.assert(
      fc.property(fc.jsonValue({ maxDepth: 3 }), (value) => {
        const text = JSON.stringify(value, null, 1);
        const members = [...membersOf(text, 0)].map(({ name, start, end }) => [
          String(name),
          JSON.parse(text.slice(start, end)) as unknown,
        ]);
        const entries = typeof value === 'object' && value !== null ? Object.entries(value) : [];
        // A parsed object puts names that are numbers first.
        expect(new Map(members as [string, unknown][])).toEqual(
          new Map(Object.entries(JSON.parse(JSON.stringify(Object.fromEntries(entries))) as object)),
        );
      }),
    );
  });

  it.each<[(string | number)[], string | undefined]>([
    [[], ' {"a": [1, {"b" : 2.0}], "\\u0061": [3 ,[ ]]}'],
    [['a'], '[3 ,[ ]]'],
    [['a', 1], '[ ]'],
    [['a', 2], undefined],
    [['a', 1, 0], undefined],
    [['a', 0, 'b'], undefined],
    [['b'], undefined],
  ])('the last of two of one name: %j', (path, found) => {
    const text = ' {"a": [1, {"b" : 2.0}], "\\u0061": [3 ,[ ]]}';
    const place = placeOf(text, path);
    expect(place && text.slice(place.start, place.end)).toBe(found);
  });
});

describe('findJsonFault', () => {
  it('finds a fault in exactly the texts that are not JSON', async () => {
    await fc.assert(
      fc.property(damaged, (text) => {
        let isJson = true;
        try {
          JSON.parse(text);
        } catch {
          isJson = false;
        }
        expect(findJsonFault(text) === undefined).toBe(isJson);
      }),
      { numRuns: 1000 },
    );
  });
});

describe('JSON that was cut', () => {
  it.each([
    ['', ''],
    ['{', ''],
    ['{"a"', ''],
    ['{"a":"b', ''],
    ['{"a":"b"', '{"a":"b"}'],
    ['{"a":"b","c"', '{"a":"b"}'],
    ['{"a":[{"b":"c\\"', ''],
    ['{"n":1,"a":["b",{"c":2', '{"n":1,"a":["b"]}'],
    ['[[],{"a":{"b":"c"}},[', '[[],{"a":{"b":"c"}}]'],
    ['{"a":1} ', '{"a":1}'],
  ])('%s', (text, closed) => {
    expect(closedJson(text)).toBe(closed);
  });

  it('is JSON again wherever it is cut, and whole where nothing is missing', async () => {
    await fc.assert(
      fc.property(fc.object(), fc.nat(), (value, at) => {
        const text = JSON.stringify(value);
        const closed = closedJson(text.slice(0, at % (text.length + 1)));
        if (closed !== '') JSON.parse(closed);
        expect(closedJson(text)).toBe(text);
      }),
    );
  });
});
