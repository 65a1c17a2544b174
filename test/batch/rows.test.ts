import { writeFileSync } from 'node:fs';
import * as path from 'node:path';
import { describe, expect, test } from 'vitest';
import { unportable } from '../../src/batch/portable.ts';
import { openManifest } from '../../src/batch/read-manifest.ts';
import { notFields, type Row, type RowFault, readRows } from '../../src/batch/rows.ts';
import { creates } from '../../src/commands/batch/row-command.ts';
import { alsoFrom, everywhere, flagName, list, mayStandIn, on, onOff, text } from '../../src/flags/flag.ts';
import { newDir } from '../helpers/new-dir.ts';

const dir = newDir();

async function rowsOf(
  rows: readonly object[],
  more: Partial<Parameters<typeof readRows>[0]> = {},
): Promise<(Row | RowFault)[]> {
  writeFileSync(path.join(dir, 'm.jsonl'), rows.map((row) => `${JSON.stringify(row)}\n`).join(''));
  const manifest = openManifest('m.jsonl', dir);
  const found: (Row | RowFault)[] = [];
  for await (const row of readRows({
    manifest,
    name: 'm',
    creates,
    command: 'video gamma',
    defaults: {},
    ...more,
  })) {
    found.push(row);
  }
  return found;
}
const made = async (...rows: object[]) => (await rowsOf(rows)) as Row[];
const keys = async (...rows: object[]) => (await made(...rows)).map(({ key }) => key);
const faults = async (...rows: object[]) =>
  (await rowsOf(rows)).flatMap((row) => ('faults' in row ? row.faults : []));

describe('fields', () => {
  const every = Object.entries(creates).flatMap(([command, flags]) =>
    Object.entries(flags)
      .filter(([key, flag]) => !notFields.has(key) && mayStandIn(flag, 'row'))
      .map(([key, flag]) => ({ command, key, flag })),
  );
  test.each(every)('$command takes $key as its create does', async ({ command, key, flag }) => {
    const word = { waitTimeout: '30s', interval: '2s', shot: '3:a fox', duration: '7' }[key] ?? '1';
    const name = flagName(key).slice(2);
    const value = flag.value === undefined ? true : word;
    const typed = flag.value === undefined ? !flag.negativeOnly : flag.parse(word, `--${name}`);
    for (const spelled of [name, name.replaceAll('-', '_')]) {
      const [row] = await made({ command, [flag.negativeOnly ? `no-${spelled}` : spelled]: value });
      expect(row?.flags).toEqual({ [key]: typed });
    }
  });

  test('what only the user may type is refused, as a field, in set and in body', async () => {
    const url = 'https://example.com/heard';
    expect(
      await faults(
        { force: true },
        { 'callback-url': url },
        { callback_url: 'auto' },
        { set: { callback_url: url } },
        { body: { callback_url: url } },
        { command: 'video beta', set: { options: { callback_url: url } } },
        { command: 'video alpha', yes: true },
      ),
    ).toEqual(
      ['force', ...Array(5).fill('callback-url'), 'yes'].map((name) =>
        expect.stringMatching(`^${name}: is typed, and stands in no row; add --${name} to the run`),
      ),
    );
  });

  test('a flag that a command gets tomorrow is no field of its rows until somebody allows it', async () => {
    const rows = await rowsOf([{ plain: true }], { creates: { 'video gamma': { plain: on('a switch') } } });
    expect(rows).toEqual([{ line: 1, faults: [expect.stringContaining('plain: is typed')] }]);
  });

  test('a flag is read as its table says', async () => {
    const tomorrow = alsoFrom(everywhere, {
      madeUp: text('WORD', 'a word'),
      several: list('WORD', 'words'),
      turned: onOff('a switch'),
      plain: on('another'),
    });
    const rows = await rowsOf(
      [
        { made_up: 7, several: ['a', 'b'], turned: false, plain: 'true' },
        { 'no-turned': true, plain: false },
      ],
      { creates: { 'video gamma': tomorrow } },
    );
    expect(rows.map((row) => ('flags' in row ? row.flags : row))).toEqual([
      { madeUp: '7', several: ['a', 'b'], turned: false, plain: true },
      { turned: false },
    ]);
  });

  test('the command line says what rows do not, where their command takes it', async () => {
    const defaults = { resolution: '768P', turbo: true, image: ['/a.png'], count: '2' };
    const rows = await rowsOf(
      [
        { id: 'a', prompt: 'x', resolution: '2K' },
        { id: 'b', count: 1 },
        { id: 'c', count: 1, body: { resolution: '480P', content: [] } },
      ],
      { defaults },
    );

    expect(rows).toMatchObject([
      { key: 'm/a/1', flags: { resolution: '2K', image: ['/a.png'] } },
      { key: 'm/a/2' },
      { key: 'm/b/1', flags: { resolution: '768P' }, said: { image: ['/a.png'] } },
      { key: 'm/c/1' },
    ]);
    for (const flag of ['resolution', 'image']) expect(rows[3]).not.toHaveProperty(`flags.${flag}`);
  });

  test('set and body are objects; what is empty or null says nothing', async () => {
    const [row] = await made({ set: { 'settings.a': 1, b: 'x' }, body: { c: [] }, ratio: null, model: '' });
    expect(row).toMatchObject({ set: ['settings.a=1', 'b="x"'], body: { c: [] }, flags: {} });
  });

  test('a command may be written as it is typed', async () => {
    const rows = await made({ command: 'gw video alpha create' }, { command: 'image edit' });
    expect(rows.map(({ command }) => command)).toEqual(['video alpha', 'image edit']);
  });
});

describe('keys', () => {
  test('are the name and the id, or a digest and how many the same came before', async () => {
    const found = await keys(
      { id: 'a' },
      { prompt: 'x', model: 'y' },
      { model: 'y', prompt: 'x' },
      { id: 7 },
    );
    expect(found[0]).toBe('m/a');
    expect(found[1]).toMatch(/^m\/[0-9a-f]{20}$/);
    expect(found[2]).toBe(`${found[1]}-2`);
    expect(found[3]).toBe('m/7');
  });
  test('do not change with what stands around a row', async () => {
    const [alone] = await keys({ prompt: 'x' });
    const [, beside] = await keys({ prompt: 'y' }, { prompt: 'x' });
    expect(beside).toBe(alone);
  });
  test('do not change with the word that a row is not left out', async () => {
    const [plain, ...said] = await keys(
      { prompt: 'x' },
      { prompt: 'x', skip: false },
      { prompt: 'x', skip: 'false' },
    );
    expect(said).toEqual([`${plain}-2`, `${plain}-3`]);
  });
  test('count makes several, skip none, and positions stay', async () => {
    const rows = await made({ id: 'a', count: 2 }, { id: 'b', skip: true, nonsense: 1 }, { id: 'c' });
    expect(rows.map(({ key, row }) => [key, row])).toEqual([
      ['m/a/1', 1],
      ['m/a/2', 1],
      ['m/c', 3],
    ]);
  });
});

test.each<[object, string]>([
  [{ resolutoin: '768P' }, 'resolutoin: no flag of gw video gamma create; did you mean resolution?'],
  [{ 'api-key-file': 'x' }, 'api-key-file: no flag of gw video gamma create'],
  [{ base_url: 'x' }, 'base-url: no flag of gw video gamma create'],
  [{ once: 'x' }, 'once: only the user types it'],
  [{ 'no-wait': true }, 'no-wait: only the user types it'],
  [{ interval: '5' }, 'interval: "5" is not a duration; write a number with its unit'],
  [
    { first_frame: 'a', 'first-frame': 'b' },
    'first-frame: given twice, as first-frame and in another spelling',
  ],
  [{ id: 'a/b' }, 'id: a/b: holds a /, which stands between the parts of a key'],
  [{ id: 'a\u0007' }, 'id: a\u0007: holds a control character'],
  [{ id: ' ' }, 'id:  : is blank'],
  [{ id: 'x'.repeat(300) }, `id: ${'x'.repeat(60)}…: has 300 characters, and may have at most 194`],
  [{ id: {} }, 'id: a text or a number names a row'],
  [{ count: 101 }, 'count: 101: give a whole number from 1 to 100'],
  [{ count: '1e1' }, 'count: 1e1: give a whole number from 1 to 100'],
  [{ skip: 'perhaps' }, 'skip: perhaps: write true or false'],
  [{ watermark: 'maybe' }, 'watermark: maybe: write true or false'],
  [{ prompt: ['a', 'b'] }, 'prompt: give one value, not 2'],
  [{ prompt: { a: 1 } }, 'prompt: give a text or a number, not {"a":1}'],
  [{ set: 'x' }, 'set: write an object, such as {"seed": 7}'],
  [{ body: [1] }, 'body: write an object, such as {"seed": 7}'],
  [{ body: { seed: 12345678901234567890n.toString() } }, ''],
  [
    { command: 'video gama' },
    'command: video gama: one of video alpha, video beta, video gamma, image create',
  ],
  [{ duration: 'abc' }, 'duration: abc: not a whole number of seconds'],
])('%j', async (row, message) => {
  const found = await faults(row);
  if (message === '') expect(found).toEqual([]);
  else expect(found.join('\n')).toContain(message);
});

test('the fields that a refusal lists are those that a row may set', async () => {
  const [refused = ''] = await faults({ qqqqqqqq: 'x' });
  expect(refused).toMatch(/it takes .*\bratio\b/);
  expect(refused).not.toMatch(/\b(yes|force)\b/);
});

test('a number that would be sent as another is refused', async () => {
  writeFileSync(
    path.join(dir, 'n.jsonl'),
    '{"body": {"seed": 12345678901234567890}}\n{"prompt": 12345678901234567890}\n',
  );
  const manifest = openManifest('n.jsonl', dir);
  const found: string[] = [];
  for await (const row of readRows({ manifest, name: 'n', creates, command: 'video gamma', defaults: {} })) {
    found.push(...('faults' in row ? row.faults : ['none']));
  }
  expect(found).toEqual([
    'body: an integer has more digits than can be sent exactly; write it in quotes',
    'prompt: an integer has more digits than can be sent exactly; write it in quotes',
  ]);
});

test('every fault of a row is told, and two rows with one id name each other', async () => {
  expect(await faults({ id: 'a', nope: 1, count: 0, skip: 'x' })).toHaveLength(3);
  expect(await faults({ id: 'a' }, { id: 'a' })).toEqual(['id: a: the row of line 1 has it too']);
  expect(await faults({ __proto__x: 1 })).toHaveLength(1);
});

test('a row without a command says so where the run names none', async () => {
  const [row] = await rowsOf([{ prompt: 'x' }], { command: undefined });
  expect(row).toMatchObject({ line: 1, faults: [expect.stringContaining('command: the row names none')] });
});

test('a count of the profile holds for the rows of a command that has one, and yields to a typed one', async () => {
  const keysWith = async (row: object, more: object = {}) => {
    const found = await rowsOf([{ id: 'a', prompt: 'x', ...row }], {
      storedOf: () => ({ count: 2 }),
      ...more,
    });
    return found.map((each) => ('faults' in each ? each.faults : each.key));
  };
  expect(await keysWith({})).toEqual(['m/a/1', 'm/a/2']);
  expect(await keysWith({ count: 1 })).toEqual(['m/a/1']);
  expect(await keysWith({}, { defaults: { count: '3' } })).toHaveLength(3);
  expect(await keysWith({ command: 'image create' })).toEqual(['m/a']);
});

test('what the profile says for this machine alone is no fault of a row for others, and is named as its setting', async () => {
  const stored = { force: true, yes: true, 'max-cost': '5 CNY', ratio: '16:9' };
  const [row] = await rowsOf([{ prompt: 'x' }], { command: 'video alpha', storedOf: () => stored });
  const { faults, staying } = unportable(row as Row, creates, (text) => text);
  expect(faults).toEqual([]);
  expect(staying).toEqual(['force', 'yes', 'max-cost'].map((name) => `defaults.video.alpha.${name}`));
  expect((row as Row).said).toEqual({ prompt: 'x', ratio: '16:9' });
  const [typed] = await rowsOf([{ prompt: 'x' }], { defaults: { force: 'true' }, storedOf: () => stored });
  expect(unportable(typed as Row, creates, (text) => text).faults).toEqual([
    'force: is for this machine alone, and goes to no other',
  ]);
});
