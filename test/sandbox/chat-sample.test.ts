import { describe, expect, it } from 'vitest';
import { countTokens, sampleOf, tokensOf } from '../../src/sandbox/chat/answer.ts';

describe('a value made from a JSON schema', () => {
  it.each<[string, unknown, unknown]>([
    ['no schema', undefined, {}],
    ['const', { const: 7 }, 7],
    ['default', { type: 'string', default: 'x' }, 'x'],
    ['a single choice', { enum: ['only'] }, 'only'],
    ['null', { type: 'null' }, null],
    ['a nullable type', { type: ['null', 'boolean'], enum: [true] }, true],
    ['bounds that meet', { type: 'integer', minimum: 5, maximum: 5 }, 5],
    ['open bounds', { type: 'integer', exclusiveMinimum: 4, exclusiveMaximum: 6 }, 5],
    ['a negative maximum', { type: 'integer', minimum: -3, maximum: -3 }, -3],
    ['multiples', { type: 'number', multipleOf: 25, minimum: 60, maximum: 99 }, 75],
    ['a format', { type: 'string', format: 'date' }, '2026-11-20'],
    ['a least length', { type: 'string', format: 'time', minLength: 12 }, '12:00:00Z...'],
    ['a greatest length', { type: 'string', maxLength: 3 }, 'sam'],
    ['an array', { type: 'array', items: { const: 1 }, minItems: 3 }, [1, 1, 1]],
    ['an array of no schema', { type: 'array' }, []],
    ['capitals', { type: 'OBJECT', properties: { a: { type: 'STRING' } } }, { a: 'sample a' }],
    ['no type but properties', { properties: { a: { const: 1 } } }, { a: 1 }],
    ['anyOf', { anyOf: [{ const: 1 }, { const: 2 }] }, 1],
    ['oneOf', { oneOf: [{ const: 2 }] }, 2],
    [
      'allOf',
      { allOf: [{ properties: { a: { const: 1 } } }, { properties: { b: { const: 2 } } }] },
      { a: 1, b: 2 },
    ],
    ['a reference', { $ref: '#/$defs/a', $defs: { a: { const: 3 } } }, 3],
    ['a reference to nothing', { $ref: '#/$defs/b' }, 'sample value'],
  ])('%s', (_, schema, value) => {
    expect(sampleOf(schema, 'seed')).toEqual(value);
  });

  it('ends where a schema holds itself', () => {
    const tree = {
      type: 'object',
      properties: { next: { $ref: '#' }, name: { type: 'string' } },
      required: ['name'],
    };
    const made = sampleOf(tree, 'seed');
    expect(made).toMatchObject({ name: 'sample name', next: { name: 'sample name' } });
    expect(JSON.stringify(made).match(/"name":/g)).toHaveLength(5);
    expect(() => sampleOf({ $ref: '#' }, 'seed')).not.toThrow();
    const needsItself = { type: 'object', properties: { next: { $ref: '#' } }, required: ['next'] };
    expect(JSON.stringify(sampleOf(needsItself, 'seed')).length).toBeLessThan(1000);
  });

  it('gives a property called __proto__ like any other', () => {
    const schema = JSON.parse('{"type":"object","properties":{"__proto__":{"const":1}}}');
    expect(JSON.stringify(sampleOf(schema, 'seed'))).toBe('{"__proto__":1}');
  });

  it('depends on the seed', () => {
    const schema = { type: 'integer', minimum: 0, maximum: 99 };
    const values = ['a', 'b', 'c', 'd', 'e'].map((seed) => sampleOf(schema, seed));
    expect(new Set(values).size).toBeGreaterThan(1);
    expect(sampleOf(schema, 'a')).toBe(values[0]);
  });
});

describe('tokens', () => {
  it.each([
    ['', 0],
    ['one two  three\n', 3],
    [' lead', 1],
    ['a'.repeat(17), 2],
    ['a'.repeat(32), 2],
  ])('%j has %d', (text, count) => {
    expect(countTokens(text)).toBe(count);
  });

  it.each(['one two  three\n', ' 🦊🦊 日本 ', 'x'.repeat(40), ''])('of %j make the text again', (text) => {
    expect(tokensOf(text).join('')).toBe(text);
  });

  it('never cut a character in two', () => {
    for (const token of tokensOf('🦊'.repeat(40))) expect(Buffer.from(token).toString()).toBe(token);
  });
});
