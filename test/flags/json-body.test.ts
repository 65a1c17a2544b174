import * as fs from 'node:fs';
import * as path from 'node:path';
import { Readable } from 'node:stream';
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  applySet,
  applySets,
  assertExactIntegers,
  type JsonObject,
  parseSet,
  readJsonBody,
} from '../../src/flags/json-body.ts';
import { MB } from '../../src/gateway/limits.ts';
import { newDir } from '../helpers/new-dir.ts';

function withFile(content: string | Uint8Array): string {
  const cwd = newDir();
  fs.writeFileSync(path.join(cwd, 'b.json'), content);
  return cwd;
}

const stdin = () => Readable.from([]);
const body = (content: string | Uint8Array) =>
  readJsonBody('b.json', { cwd: withFile(content), stdin: stdin() });
const levels = (depth: number, inner = '1') => `${'{"a":'.repeat(depth)}${inner}${'}'.repeat(depth)}`;

describe('readJsonBody', () => {
  it('reads an object from a file and from stdin', async () => {
    expect(await body('\uFEFF{"a": [1, {"b": null}]}\n')).toEqual({ a: [1, { b: null }] });
    expect(await readJsonBody('-', { cwd: '/', stdin: Readable.from(['{"a"', ':1}']) })).toEqual({ a: 1 });
  });

  it.each([
    ['', 'line 1, column 1: there is no JSON in it'],
    ['{"a": 1,\n  "b": }', 'line 2, column 8: a value is expected, not "}"'],
    ['{"a": 1', 'line 1, column 8: the text ends before its }'],
    ['{"a": 1 "b": 2}', 'line 1, column 9: a comma or } is missing before "\\""'],
    ['{"a": 1,}', 'line 1, column 9: a name in double quotes is expected, not "}"'],
    ["{'a': 1}", 'line 1, column 2: a name in double quotes is expected, not "\'"'],
    ['{"a" 1}', 'line 1, column 6: a colon is missing before "1"'],
    ['{"a": [1, 2}', 'line 1, column 12: a comma or ] is missing before "}"'],
    ['{"a": True}', 'line 1, column 7: a value is expected, not "True"'],
    ['{"a": 01}', 'line 1, column 7: a value is expected, not "01"'],
    ['{"a": "x\ny"}', 'line 1, column 9: a line break or control character'],
    ['{"a": "\\x"}', 'line 1, column 8: an unknown escape'],
    ['{"a": "x}', 'line 1, column 7: this text has no closing quote'],
    ['{} {}', 'line 1, column 4: more text after the end of the JSON'],
  ])('says where %j stops being JSON', async (content, place) => {
    const error = await body(content).catch((thrown: unknown) => thrown);
    expect(error).toMatchObject({ kind: 'usage' });
    expect((error as Error).message).toContain(`--body b.json: not JSON, ${place}`);
  });

  it('refuses a name that an object gives twice', async () => {
    const named = /--body b.json: line 1, column 10: "a" is given twice: give it once/;
    await expect(body('{"a": 1, "a": 2}')).rejects.toThrow(named);
  });

  it.each(['[]', 'null', '"x"', '3', 'true'])('refuses %s', async (content) => {
    await expect(body(content)).rejects.toThrow('--body b.json: must be a JSON object');
  });

  it('takes 64 levels and not one more, nor 100,000', async () => {
    expect(await body(levels(64))).toHaveProperty('a');
    expect(await body(levels(63, '[]'))).toHaveProperty('a');
    for (const content of [
      levels(65),
      levels(64, '[]'),
      levels(100_000),
      `{"a":${'['.repeat(100_000)}${']'.repeat(100_000)}}`,
    ]) {
      await expect(body(content)).rejects.toThrow('nested more than 64 levels deep');
    }
    await expect(body('['.repeat(100_000))).rejects.toThrow(/column 100001: the text ends before its \]/);
  });

  it.each(['__proto__', 'constructor', 'prototype'])(
    'refuses a field named %s, however deep',
    async (name) => {
      await expect(body(`{"a": [{"${name}": {"polluted": true}}]}`)).rejects.toThrow(
        `gw sends no field named ${name}`,
      );
      expect(({} as { polluted?: unknown }).polluted).toBeUndefined();
    },
  );

  it('refuses a number that would be sent as null', async () => {
    await expect(body('{"a": [1e999]}')).rejects.toThrow('a number is too large');
  });

  it('refuses what is missing, a directory, not UTF-8, or too large', async () => {
    const cwd = withFile(Buffer.from('{"a":"\xff"}', 'latin1'));
    const read = (name: string) => readJsonBody(name, { cwd, stdin: stdin() });
    await expect(read('none.json')).rejects.toThrow('--body none.json: no such file');
    await expect(read('.')).rejects.toThrow('is a directory');
    await expect(read('')).rejects.toThrow('--body is empty');
    await expect(read('b.json')).rejects.toThrow('the byte at offset 6');
    fs.truncateSync(path.join(cwd, 'b.json'), 256 * MB + 1);
    await expect(read('b.json')).rejects.toThrow('is larger than 256 MB');
    await expect(readJsonBody('-', { cwd, stdin: stdin().destroy() })).rejects.toThrow(
      'stdin has been read already',
    );
  });
});

describe('parseSet', () => {
  it.each<[string, string[], unknown]>([
    ['a=1', ['a'], 1],
    ['a.b.0.c=x', ['a', 'b', '0', 'c'], 'x'],
    ['a\\.b.c=1', ['a.b', 'c'], 1],
    ['a\\\\.b=1', ['a\\', 'b'], 1],
    ['a\\b=1', ['a\\b'], 1],
    ['a=b=c', ['a'], 'b=c'],
    ['a=', ['a'], ''],
    ['a=null', ['a'], null],
    ['a="null"', ['a'], 'null'],
    ['a=true', ['a'], true],
    ['a=1.50', ['a'], 1.5],
    ['a=007', ['a'], '007'],
    ['a=[1,{"b":2}]', ['a'], [1, { b: 2 }]],
    ['a={not json', ['a'], '{not json'],
    ['a=a fox', ['a'], 'a fox'],
    ['a.2026-11=x', ['a', '2026-11'], 'x'],
  ])('reads %s', (raw, at, value) => {
    expect(parseSet(raw)).toMatchObject({ path: at, value });
  });

  it.each([
    ['a', /--set a: no = in it/],
    ['=1', /a field name is missing/],
    ['a..b=1', /--set a\.\.b: a field name is missing/],
    ['a.=1', /a field name is missing/],
    ['__proto__.x=1', /gw sends no field named __proto__/],
    ['a.constructor.prototype.x=1', /gw sends no field named constructor/],
    ['a={"__proto__":{"x":1}}', /gw sends no field named __proto__/],
    [`${'a.'.repeat(100_000)}a=1`, /more than 64 levels deep/],
    [`a=${'['.repeat(100_000)}${']'.repeat(100_000)}`, /nested more than 64 levels deep/],
    [`${'a.'.repeat(63)}a={}`, /nested more than 64 levels deep/],
    ['a=12345678901234567890', /more digits than a JSON number keeps/],
    [`a=${'9'.repeat(400)}`, /more digits than a JSON number keeps/],
    ['a=1e999', /too large/],
  ])('refuses %.40s', (raw, message) => {
    expect(() => parseSet(raw)).toThrow(message);
    expect(() => parseSet(raw)).toThrow(expect.objectContaining({ kind: 'usage' }));
  });

  it('keeps long paths out of messages', () => {
    try {
      parseSet(`${'a.'.repeat(100_000)}a=1`);
      expect.unreachable();
    } catch (error) {
      expect((error as Error).message.length).toBeLessThan(200);
    }
  });
});

describe('applySets', () => {
  it.each<[JsonObject, string[], JsonObject]>([
    [{}, ['a=1'], { a: 1 }],
    [{}, ['a.b.c=1'], { a: { b: { c: 1 } } }],
    [{}, ['content.0.text=a fox'], { content: [{ text: 'a fox' }] }],
    [
      { content: [{ type: 'text' }] },
      ['content.0.text=x', 'content.1.type=y'],
      { content: [{ type: 'text', text: 'x' }, { type: 'y' }] },
    ],
    [{ a: { '0': 'x' } }, ['a.0=y'], { a: { '0': 'y' } }],
    [{ a: 1 }, ['a=null', 'b='], { a: null, b: '' }],
    [{ a: [1, 2] }, ['a=[]'], { a: [] }],
    [{}, ['a=1', 'a=2'], { a: 2 }],
    [{}, ['a=[]', 'a.0=1', 'a.1=2'], { a: [1, 2] }],
    [{}, ['toString=1', 'a.valueOf.x=1'], { toString: 1, a: { valueOf: { x: 1 } } }],
  ])('%j with %j', (before, sets, after) => {
    expect(applySets(before, sets)).toEqual(after);
  });

  it('leaves the body it was given as it was', () => {
    const before = { a: { b: [1, { c: 2 }] }, d: 3 };
    const copy = structuredClone(before);
    const after = applySets(before, ['a.b.1.c=9', 'd=4', 'a.b.2=x']);
    expect(after).toEqual({ a: { b: [1, { c: 9 }, 'x'] }, d: 4 });
    expect(before).toEqual(copy);
  });

  it.each<[JsonObject, string, RegExp]>([
    [{ a: 'x' }, 'a.b=1', /--set a\.b: a is no object or list, so nothing can be set in it/],
    [{ a: null }, 'a.b=1', /a is no object or list/],
    [{ a: { b: 3 } }, 'a.b.0=1', /a\.b is no object or list/],
    [{ a: [1] }, 'a.2=1', /a has 1 item/],
    [{}, 'a.1=1', /a has 0 items/],
    [{ a: [1] }, 'a.b=1', /a is a list, and "b" is no number/],
    [{ a: [1] }, 'a.-1=1', /a is a list, and "-1" is no number/],
    [{ a: [1] }, 'a.00=1', /a is a list, and "00" is no number/],
    [{ a: [1] }, 'a.length=1', /a is a list, and "length" is no number/],
    [{ a: [1] }, 'a.99999999999999999999=1', /a has 1 item/],
  ])('on %j refuses %s', (before, raw, message) => {
    expect(() => applySets(before, [raw])).toThrow(message);
    expect(() => applySets(before, [raw])).toThrow(expect.objectContaining({ kind: 'usage' }));
  });

  it('sets what a lookup along the same path then finds, and pollutes nothing', async () => {
    const name = fc
      .string({ minLength: 1, maxLength: 8 })
      .filter((text) => !/^(?:__proto__|constructor|prototype|\d+)$/.test(text));
    const anyValue = fc.oneof(
      fc.string(),
      fc.integer(),
      fc.boolean(),
      fc.constant(null),
      fc.array(fc.string()),
    );
    await fc.assert(
      fc.property(fc.array(name, { minLength: 1, maxLength: 10 }), anyValue, (names, value) => {
        const written = names.map((each) => each.replaceAll('\\', '\\\\').replaceAll('.', '\\.')).join('.');
        fc.pre(!written.includes('='));
        const set = parseSet(`${written}=${JSON.stringify(value)}`);
        expect(set.path).toEqual(names);
        const found = names.reduce<unknown>((at, each) => (at as JsonObject)[each], applySet({}, set));
        expect(found).toEqual(value);
        expect(Object.keys(Object.prototype)).toEqual([]);
      }),
    );
  });
});

describe('assertExactIntegers', () => {
  it.each([
    '{"a":9007199254740991,"b":-9007199254740991}',
    '{"a":1e30,"b":1.00000000000000000001,"c":100000000000000000000}',
    '{"a":"12345678901234567890","b\\"12345678901234567890":"\\\\"}',
    `"${'\\n'.repeat(8_000_000)}1234567890123456789"`,
  ])('takes what is sent as it is: %.40s', (text) => {
    expect(() => assertExactIntegers(text, '--body f')).not.toThrow();
  });

  it.each(['{"a":[12345678901234567890]}', '[9007199254740993]', '{"b":"\\\\","a":-1152921504606846977}'])(
    'refuses %s, by name',
    (text) => {
      expect(() => assertExactIntegers(text, '--body f')).toThrow(/--body f: -?\d+ has more digits/);
    },
  );
});
