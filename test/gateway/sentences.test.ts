import { expect, test } from 'vitest';
import * as z from 'zod/mini';
import { allEndpoints } from '../../src/gateway/all-endpoints.ts';
import { fieldsOf, inOurWords, rulesOf } from '../../src/gateway/body.ts';
import { geoModelRules } from '../../src/gateway/chat/geo.ts';
import { modelSheets } from '../../src/gateway/model-facts/sheets.ts';
import { sourcesOf } from '../../src/sources/model-rows.ts';
import { document, isQuoted } from '../helpers/document.ts';

// Only a literal quotation may follow "The document says".

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

const item = z.discriminatedUnion('type', [z.object({ type: z.literal('text') })]);
test.each<[string, z.ZodMiniType, unknown]>([
  ['is required', z.string(), undefined],
  ['must be a number', z.int(), 'x'],
  ['must be a whole number', z.int(), 1.5],
  ['must be a number', z.number(), 'x'],
  ['must be true or false', z.boolean(), 'x'],
  ['must be a text', z.string(), 1],
  ['must be a list', z.array(z.string()), 'x'],
  ['must be an object', z.object({}), 'x'],
  ['must be an object', z.record(z.string(), z.string()), 'x'],
  ['must be of type null', z.null(), 'x'],
  ['must be a', z.literal('a'), 'x'],
  ['one of a, 2', z.literal(['a', 2]), 'x'],
  ['is empty', z.string().check(z.minLength(1)), ''],
  ['is empty', z.array(z.string()).check(z.minLength(1)), []],
  ['at least 2 characters', z.string().check(z.minLength(2)), 'x'],
  ['at least 2 items', z.array(z.string()).check(z.minLength(2)), ['x']],
  ['at least 1', z.number().check(z.gte(1)), 0],
  ['more than 1', z.number().check(z.gt(1)), 1],
  ['at most 2', z.number().check(z.lte(2)), 3],
  ['less than 2', z.number().check(z.lt(2)), 2],
  ['at most 1 characters', z.string().check(z.maxLength(1)), 'xx'],
  ['must be a multiple of 16', z.number().check(z.multipleOf(16)), 3],
  ['has a field that is not documented: a', z.strictObject({}), { a: 1 }],
  ['has fields that are not documented: a, b', z.strictObject({}), { a: 1, b: 1 }],
  ['not a known type of content item', item, { type: 'x' }],
  ['is in no form that the gateway takes', z.union([z.string(), z.boolean()]), 1],
  ['is not in a form that the gateway takes', z.string().check(z.regex(/a/)), 'x'],
])('a limit without a sentence of its own: %s', (sentence, schema, value) => {
  const { error } = schema.safeParse(value, { error: inOurWords });
  expect(error?.issues.map(({ message }) => message)).toEqual([sentence]);
});

const sheetRows = (await modelSheets()).flatMap(({ id, facts }) =>
  facts.map((fact) => ({ id, ...fact, says: sourcesOf(id)[fact.name] })),
);

test('each row of a model sheet has its sentence, or is how gw is called', () => {
  expect(sheetRows.filter(({ name, isRule, says }) => !isRule && !/^commands?$/.test(name) && !says)).toEqual(
    [],
  );
});

if (document !== undefined) {
  const quoted = [
    ...rules.map(({ name, sentence }) => [name, sentence] as const),
    ...bodies.flatMap((body) =>
      fieldsOf(body).map(({ path: at, facts }) => [at.join('.'), facts.says] as const),
    ),
    ...sheetRows.map(({ name, says }) => [name, says] as const),
  ].flatMap(([name, sentence]) => (sentence === undefined ? [] : [[name, sentence] as const]));

  test(`each of ${quoted.length} quotations stands in the document`, () => {
    expect(quoted.filter(([, sentence]) => !isQuoted(sentence))).toEqual([]);
  });
}
