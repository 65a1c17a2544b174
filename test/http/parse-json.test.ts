import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { MAX_JSON_DEPTH, MAX_JSON_VALUES, parseJson, UnreadableJson } from '../../src/http/parse-json.ts';

const nested = (depth: number, [open = '[', close = ']']: readonly string[]) =>
  `${open.repeat(depth)}1${close.repeat(depth)}`;

test('the depth is bounded, whatever nests', () => {
  for (const pair of [
    ['[', ']'],
    ['{"a":', '}'],
    ['[{"a":[', ']}]'],
  ]) {
    const levels = pair[0] === '[{"a":[' ? 3 : 1;
    const most = Math.floor(MAX_JSON_DEPTH / levels);
    expect(() => parseJson(nested(most, pair))).not.toThrow();
    expect(() => parseJson(nested(most + 1, pair))).toThrow(/nests deeper than 256 levels/);
    expect(() => parseJson(nested(100_000, pair))).toThrow(UnreadableJson);
  }
  // The brackets are never closed: the parser reports too much depth before broken JSON.
  expect(() => parseJson('['.repeat(300))).toThrow(/deeper/);
});

test('brackets in texts and side by side are no depth', () => {
  const odd = JSON.stringify({ a: '['.repeat(1000), ['{"\\'.repeat(500)]: '\\"[', c: '\\' });
  expect(parseJson(odd)).toEqual(JSON.parse(odd));
  const wide = JSON.stringify(Array.from({ length: 10_000 }, () => [{}]));
  expect(parseJson(wide)).toHaveLength(10_000);
});

test('what JSON.parse takes, it takes alike; what it refuses, it refuses', () => {
  const property = fc.property(fc.json(), (text) => {
    expect(JSON.stringify(parseJson(text))).toBe(JSON.stringify(JSON.parse(text)));
  });
  void fc.assert(property);
  for (const text of ['', '{', '{"a":1', '"a', '"\\', '[1,]', '<html>', '\u0000']) {
    expect(() => parseJson(text), text).toThrow(/^broken JSON$/);
  }
});

test('more than 64 MiB is not read', () => {
  expect(() => parseJson(`"${'a'.repeat(64 * 1024 * 1024)}"`)).toThrow(/too large/);
  expect(parseJson(`"${'a'.repeat(64 * 1024 * 1024 - 2)}"`)).toHaveLength(64 * 1024 * 1024 - 2);
});

test('the number of values is bounded, whatever they are; commas in texts are none', () => {
  for (const value of ['[]', '{}', '1', '""', '{"a":{}}']) {
    const each = value === '1' || value === '""' ? 1 : value === '{"a":{}}' ? 3 : 2;
    const list = (count: number) => `[${Array(count).fill(value).join(',')}]`;
    const most = Math.floor((MAX_JSON_VALUES - 2) / each);
    expect(() => parseJson(list(most)), value).not.toThrow();
    expect(() => parseJson(list(most + 4)), value).toThrow(/^JSON of more than 1,000,000 values$/);
  }
  expect(parseJson(JSON.stringify(',[{'.repeat(MAX_JSON_VALUES)))).toHaveLength(3 * MAX_JSON_VALUES);
});

test('its time is bounded by the length, also for runs of backslashes and open texts', () => {
  const started = performance.now();
  for (const piece of ['\\', '\\"', '"', '"\\\\"', '[]', '{"":']) {
    expect(() => parseJson(piece.repeat(500_000))).toThrow(UnreadableJson);
  }
  // Quadratic work would take hours.
  expect(performance.now() - started).toBeLessThan(20_000);
});

test('a field of an object that has more than any record counts for four values', () => {
  const object = (fields: number) => `{${Array.from({ length: fields }, (_, at) => `"f${at}":1`).join()}}`;
  expect(parseJson(object(240_000))).toMatchObject({ f7: 1 });
  expect(() => parseJson(object(260_000))).toThrow(/^JSON of more than 1,000,000 values$/);
  // Many small objects do not count like one large object.
  expect(parseJson(`[${Array.from({ length: 300 }, () => object(999)).join()}]`)).toHaveLength(300);
});

test('a text with characters that take two bytes is read up to 40 Mi characters', () => {
  const text = (characters: number) => `{"x":"世${'x'.repeat(characters - 9)}"}`;
  expect(parseJson(text(39 * 1024 * 1024))).toBeDefined();
  expect(() => parseJson(text(41 * 1024 * 1024))).toThrow('JSON that is too large to be read');
});
