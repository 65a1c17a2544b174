import { expect, test } from 'vitest';
import { allEndpoints } from '../../src/gateway/all-endpoints.ts';
import { fieldsOf, rulesOf } from '../../src/gateway/body.ts';
import { geoModelRules } from '../../src/gateway/chat/geo.ts';
import { document, isQuoted } from '../helpers/document.ts';

// "The document says" stands before a literal quotation alone.

const bodies = allEndpoints.flatMap(({ body }) => (body ? [body] : []));
const rules = [...bodies.flatMap((body) => rulesOf(body)), ...geoModelRules('geo-3.7-flash')];

test('a rule quotes the document or says why it is one, never both', () => {
  for (const { name, sentence, remark } of rules) {
    const notes = name === 'image.fields-by-model';
    expect(
      [sentence, remark].filter((each) => each !== undefined),
      name,
    ).toHaveLength(notes ? 0 : 1);
  }
});

if (document !== undefined) {
  const quoted = [
    ...rules.map(({ name, sentence }) => [name, sentence] as const),
    ...bodies.flatMap((body) =>
      fieldsOf(body).map(({ path: at, facts }) => [at.join('.'), facts.says] as const),
    ),
  ].flatMap(([name, sentence]) => (sentence === undefined ? [] : [[name, sentence] as const]));

  test(`each of ${quoted.length} quotations stands in the document`, () => {
    expect(quoted.filter(([, sentence]) => !isQuoted(sentence))).toEqual([]);
  });
}
