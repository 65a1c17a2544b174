import { describe, expect, test } from 'vitest';
import { mayHoldLongNumber } from '../../../src/jobs/job-view.ts';
import { exactText } from '../../../src/jobs/watch/exact-record.ts';

describe('the text of a record', () => {
  test.each([
    ['{"id":"a","seed":9007199254740993}', '{"id":"a","seed":9007199254740993}'],
    ['{ "seed" : 18446744073709551615 ,\n "b": [1] }', '{"seed":18446744073709551615,"b":[1]}'],
    ['{"n":-12345678901234567890.5}', '{"n":-12345678901234567890.5}'],
    ['{"n":1e400}', '{"n":1e400}'],
    ['{"n":0.1234567890123456789}', '{"n":0.1234567890123456789}'],
  ])('is kept where a number would change: %s', (text, kept) => {
    const json: unknown = JSON.parse(text);
    expect(mayHoldLongNumber(text)).toBe(true);
    expect(exactText(text, json, json)).toBe(kept);
  });

  test.each([
    '{"n":9007199254740992,"m":1.0,"e":1e21,"z":-0.0,"f":0.1}',
    '{"url":"https://h/?t=123456789012345678901","n":1}',
    '{"s":"a \\" 9007199254740993"}',
    '{"n":10000000000000000000000}',
  ])('is not kept where the value says the same: %s', (text) => {
    const json: unknown = JSON.parse(text);
    expect(exactText(text, json, json)).toBeUndefined();
  });

  test('is not looked for in IDs, whose digits may look like an exponent', () => {
    expect(mayHoldLongNumber('{"id":"vt-20261128013545-2787df44e6bc1","n":1.5}')).toBe(false);
  });

  test('is cut out of the reply that it came in, the last of two fields of one name', () => {
    const text =
      '{"data":[1],"code":0, "da\\u0074a" : [ {"id":"a","n":1}, {"id":"}]","k":{"x":[9007199254740993 ]} } ]}';
    const json = JSON.parse(text);
    expect(exactText(text, json, json.data[1])).toBe('{"id":"}]","k":{"x":[9007199254740993]}}');
    expect(exactText(text, json, json.data[0])).toBeUndefined();
    expect(exactText(text, json, {})).toBeUndefined();
  });

  test('deep nesting is no matter', () => {
    const text = `{"a":${'['.repeat(5000)}9007199254740993${']'.repeat(5000)}}`;
    const json = JSON.parse(text);
    expect(exactText(text, json, json)).toBe(text);
  });
});
