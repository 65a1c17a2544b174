import { expect, test } from 'vitest';
import * as z from 'zod';
import { notFields } from '../../src/batch/rows.ts';
import { creates } from '../../src/commands/batch/row-command.ts';
import { flagName } from '../../src/flags/flag.ts';
import { World } from '../helpers/gw.ts';

const world = await World.open();

const schemaOf = async (...words: string[]) => {
  const run = await world.gw(['schema', ...words], { bare: true });
  expect(run, run.err).toMatchObject({ code: 0, err: '' });
  return z.fromJSONSchema(JSON.parse(run.out));
};

test.each(Object.entries(creates))(
  '%s has every flag of its create, and refuses what is none',
  async (words, flags) => {
    const run = await world.gw(['schema', ...words.split(' ')], { bare: true });
    const { properties } = JSON.parse(run.out);
    expect(Object.keys(properties)).toEqual(
      expect.arrayContaining(Object.keys(flags).map((key) => flagName(key).slice(2))),
    );
    const schema = await schemaOf(...words.split(' '));
    expect(schema.safeParse({ prompt: 'a fox' }).success).toBe(true);
    expect(schema.safeParse({ promptt: 'a fox' }).success).toBe(false);
  },
);

test.each<[object, boolean]>([
  [{ command: 'video gamma', prompt: 'a fox', resolution: '768P', duration: 5 }, true],
  [{ command: 'video gamma', prompt: 'a fox', resolution: '9P' }, false],
  [{ command: 'video alpha', first_frame: 'a.png', 'last-frame': 'b.png', watermark: true, count: 3 }, true],
  [{ command: 'image create', image: ['a', 'b'], n: 2, id: 7, out: 'x/', set: { a: 1 }, body: {} }, true],
  [{ command: 'image create', nonsense: 1 }, false],
  [{ command: 'video beta', api_key_file: 'x' }, false],
  [{ prompt: 'a row without a command' }, true],
  [{ command: 'chat', prompt: 'x' }, false],
  [{ command: 'video alpha', count: 101 }, false],
])('the schema of a row says of %j: %s', async (row, isGood) => {
  expect((await schemaOf('batch')).safeParse(row).success).toBe(isGood);
});

test('a row has no field that a batch says for all', async () => {
  const run = await world.gw(['schema', 'batch', '--json'], { bare: true });
  for (const { properties } of JSON.parse(run.out).anyOf) {
    for (const key of notFields) expect(properties).not.toHaveProperty(flagName(key).slice(2));
  }
});

test('what --json prints fits its schema', async () => {
  const made = await world.gw(['image', 'create', 'a boat', '--json']);
  expect((await schemaOf('result')).safeParse(JSON.parse(made.out)).success).toBe(true);
  const refused = await world.gw(['image', 'create', 'a boat', '--size', '1x1', '--json']);
  expect((await schemaOf('error')).safeParse(JSON.parse(refused.err)).success).toBe(true);
  expect((await schemaOf('error')).safeParse({ error: { kind: 'nonsense' } }).success).toBe(false);
});

test('what --events prints fits its schema', async () => {
  const made = await world.gw(['video', 'beta', 'create', 'a boat', '--wait', '--events']);
  const schema = await schemaOf('events');
  const lines = made.out
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line));
  expect(lines.map(({ event }) => event)).toEqual(
    expect.arrayContaining(['intent', 'accepted', 'saved', 'result']),
  );
  for (const line of lines)
    expect(schema.safeParse(line), JSON.stringify(line)).toMatchObject({ success: true });
});

test('the result of a row that was not sent, which has no ID, fits the schema of --events', async () => {
  const refused = await world.gw(['batch', 'run', '-', '--name', 'unsent', '--events'], {
    stdin: `${JSON.stringify({ command: 'video alpha', prompt: 'a boat' })}\n`,
    env: { GW_API_KEY: 'a-key-that-nobody-knows' },
  });
  const line = JSON.parse(refused.out.trimEnd().split('\n').at(-1) ?? '');
  expect(line).toMatchObject({ event: 'result', id: null, status: 'not_sent' });
  expect((await schemaOf('events')).safeParse(line).success).toBe(true);
});

test('what gw listen --events begins with, which is of no job, fits the schema', async () => {
  const schema = await schemaOf('events');
  const line = { event: 'listening', t: '2026-01-01T00:00:00.000Z', url: 'http://127.0.0.1:4010/a' };
  expect(schema.safeParse(line).success).toBe(true);
  expect(schema.safeParse({ ...line, url: undefined }).success).toBe(false);
});

test('without a command the names are listed; an unknown one is refused with the nearest', async () => {
  const list = await world.gw(['schema'], { bare: true });
  expect(list.out.split('\n')).toEqual(
    expect.arrayContaining(['video alpha create', 'batch', 'result', 'events']),
  );
  expect(await world.gw(['schema', 'evnts'], { bare: true })).toMatchObject({
    code: 2,
    err: expect.stringContaining('did you mean gw schema events?'),
  });
});

test('what is read from stdin where it is typed is not said of a row, which reads none', async () => {
  expect((await world.gw(['schema', 'video', 'alpha', 'create'], { bare: true })).out).toContain(
    '- is stdin',
  );
  expect((await world.gw(['schema', 'batch'], { bare: true })).out).not.toContain('stdin');
});
