import * as fs from 'node:fs';
import * as path from 'node:path';
import { expect } from 'vitest';
import { test } from '../helpers/gw.ts';

// The output that scripts read may only grow: the fields of --json and --events are compared with a stored `gw schema`. Run
// with GW_KEEP_SCHEMA=1 to store a new field.

const file = path.join(import.meta.dirname, 'kept-schema.json');
const printed = ['result', 'batch result', 'events', 'error'];

/** Each field of a schema by its path, with its type and whether it is always there. */
function fieldsOf(schema: unknown, at: string): [path: string, type: string][] {
  if (typeof schema !== 'object' || schema === null) return [];
  const { properties, items, anyOf, ...own } = schema as {
    properties?: Record<string, unknown>;
    items?: unknown;
    anyOf?: { properties?: { event?: { const?: string } } }[];
    type?: unknown;
    required?: readonly string[];
  };
  return [
    [at, JSON.stringify(own.type ?? 'any')],
    ...(own.required ?? []).map((name): [string, string] => [`${at}.${name} is always there`, 'yes']),
    ...Object.entries(properties ?? {}).flatMap(([name, field]) => fieldsOf(field, `${at}.${name}`)),
    ...fieldsOf(items, `${at}[]`),
    ...(anyOf ?? []).flatMap((each, nth) => fieldsOf(each, `${at}|${each.properties?.event?.const ?? nth}`)),
  ];
}

test('no field that scripts read has gone or changed its type', async ({ world }) => {
  const now: Record<string, string> = {};
  for (const name of printed) {
    const { out } = await world.ok(['schema', ...name.split(' '), '--json']);
    for (const [at, type] of fieldsOf(JSON.parse(out), name)) now[at] = type;
  }
  for (const argv of [
    ['jobs', 'list'],
    ['jobs', 'show'],
  ]) {
    await world.gw(['video', 'alpha', 'create', 'a fox', '--wait']);
    const [{ id }] = JSON.parse((await world.gw(['jobs', 'list', '--json'])).out);
    const { out } = await world.gw([...argv, ...(argv[1] === 'show' ? [id] : []), '--json']);
    const value = JSON.parse(out);
    for (const [field, found] of Object.entries(Array.isArray(value) ? value[0] : value))
      now[`${argv.join(' ')}.${field}`] =
        found === null ? 'null' : Array.isArray(found) ? 'array' : typeof found;
  }
  if (process.env.GW_KEEP_SCHEMA) fs.writeFileSync(file, `${JSON.stringify(now, null, 2)}\n`);
  expect(now).toMatchObject(JSON.parse(fs.readFileSync(file, 'utf8')));
});
