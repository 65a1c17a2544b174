import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { SafeStream, SecretFilter, secretForms } from '../../src/io/secret-filter.ts';

const key = 'sk-Canary+Key/0123=="\\~';

function filterOf(...secrets: string[]): SecretFilter {
  const filter = new SecretFilter();
  for (const secret of secrets) filter.add(secret);
  return filter;
}

function through(filter: SecretFilter, parts: readonly string[]): string {
  const stream = new SafeStream(filter, false);
  return parts.map((part) => stream.push(part)).join('') + stream.end();
}

describe('what is hidden', () => {
  test.each([
    ['itself', key],
    ['in JSON', JSON.stringify(key).slice(1, -1)],
    ['percent-encoded', encodeURIComponent(key)],
    ['percent-encoded in lower case', encodeURIComponent(key).replace(/%../g, (code) => code.toLowerCase())],
    ['as a form field', new URLSearchParams({ k: key }).toString().slice(2)],
    ['in Base64', Buffer.from(key).toString('base64')],
    ['in Base64url', Buffer.from(key).toString('base64url')],
  ])('%s', (_, form) => {
    const hidden = filterOf(key).hide(`before ${form} after`);
    expect(hidden).toMatch(/^before \*\*\*=* after$/);
  });

  test.each([0, 1, 2, 3, 4])('Base64 of longer data with the key after %i bytes', (before) => {
    const data = Buffer.concat([
      Buffer.from('user:'.slice(0, before)),
      Buffer.from(key),
      Buffer.from(' tail'),
    ]);
    const hidden = filterOf(key).hide(data.toString('base64'));
    expect(hidden).toContain('***');
    expect(Buffer.from(hidden.replaceAll('***', ''), 'base64').toString('latin1')).not.toContain(
      key.slice(3, -3),
    );
  });

  test('every secret of several, the longer where two begin together', () => {
    const short = 'abcdefghijklmnop';
    expect(filterOf(short, `${short}qr`).hide(`${short}qr ${short} abcde`)).toBe('*** *** abcde');
  });

  test('nothing without a secret, or with an empty one', () => {
    expect(filterOf().hide('text')).toBe('text');
    expect(filterOf('').hide('text')).toBe('text');
    expect(secretForms('')).toEqual([]);
  });

  test.each(['e', 'dev', 'test', 'ollama', 'fifteen-letters'])('nothing of a key as short as %s', (short) => {
    expect(filterOf(short).hide(`-o ${short}.png`)).toBe(`-o ${short}.png`);
    expect(filterOf(short, key).hide(`${short} ${key}`)).toBe(`${short} ***`);
  });

  test('a key of sixteen characters is long enough', () => {
    expect(filterOf('sixteen-letters-').hide('sixteen-letters-.png')).toBe('***.png');
  });

  test('a short secret is not looked for in short Base64 fragments', () => {
    expect(secretForms('abc')).toEqual(['abc']);
  });

  test('half a surrogate pair in a secret throws nothing', () => {
    const odd = 'key-of-many-letters\ud83d';
    expect(filterOf(odd).hide(odd)).toBe('***');
  });
});

describe('a stream', () => {
  test('holds back only what may be the beginning of a secret', () => {
    const stream = new SafeStream(filterOf('sk-secret-0123456'), false);
    expect(stream.push('hello wor')).toBe('hello wor');
    expect(stream.push('ld sk')).toBe('ld ');
    expect(stream.push('-s')).toBe('');
    expect(stream.push('hy')).toBe('sk-shy');
    expect(stream.push(' s')).toBe(' ');
    expect(stream.end()).toBe('s');
  });

  const secretText = fc
    .array(fc.constantFrom(...'ab-/+='), { minLength: 16, maxLength: 24 })
    .map((letters) => letters.join(''));
  const cutsOf = fc.array(fc.nat(), { maxLength: 12 });

  test('shows the same for any chunking, and never a form of the secret', () => {
    fc.assert(
      fc.property(
        fc.array(secretText, { minLength: 1, maxLength: 3 }),
        fc.array(fc.oneof(fc.nat({ max: 20 }), fc.constantFrom(...'ab-/+=x \n'))),
        cutsOf,
        (secrets, recipe, cuts) => {
          const filter = filterOf(...secrets);
          const forms = secrets.flatMap(secretForms);
          const text = recipe
            .map((part) => (typeof part === 'number' ? (forms[part % forms.length] ?? '') : part))
            .join('');
          const ends = cuts.map((cut) => cut % (text.length + 1)).sort((a, b) => a - b);
          const parts = [0, ...ends].map((start, at) => text.slice(start, ends[at] ?? text.length));
          const shown = through(filter, parts);
          expect(shown).toBe(filter.hide(text));
          for (const form of forms) expect(shown).not.toContain(form);
        },
      ),
      { numRuns: 500 },
    );
  });

  test('text without the secret passes unchanged', () => {
    fc.assert(
      fc.property(fc.array(fc.string()), (parts) => {
        expect(through(filterOf('no-such-key-anywhere-0123456789'), parts)).toBe(parts.join(''));
      }),
    );
  });
});
