import { expect, test } from 'vitest';
import { allEndpoints } from '../../src/gateway/all-endpoints.ts';
import { fieldsOf, rulesOf } from '../../src/gateway/body.ts';
import { geoModelRules } from '../../src/gateway/chat/geo.ts';
import { modelSheets } from '../../src/gateway/model-facts/sheets.ts';
import { sourcesOf } from '../../src/sources/model-rows.ts';
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
