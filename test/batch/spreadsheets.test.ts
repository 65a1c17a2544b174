import { readdirSync, writeFileSync } from 'node:fs';
import * as path from 'node:path';
import { expect, test } from 'vitest';
import { World } from '../helpers/gw.ts';

// Files as spreadsheets save them: each form runs without a false error and gives the same rows.

const world = await World.open();

const check = (name: string, content: string | Uint8Array, ...more: string[]) => {
  writeFileSync(path.join(world.cwd, name), content);
  return world.gw(['batch', 'check', name, '--command', 'video gamma', ...more], { bare: true });
};
const utf16be = (text: string) => Buffer.from(`\uFEFF${text}`, 'utf16le').swap16();

const rows = [
  ['id', 'prompt', 'duration', 'resolution', 'ratio', 'watermark'],
  ['a', 'a fox', '5', '768P', '16:9', 'true'],
  ['b', '一只狐狸', '6', '768P', '9:16', 'false'],
  ['c', 'ثعلب في الثلج', '5', '768P', '1:1', 'true'],
];
const objects = rows.slice(1).map((cells) => {
  const fields = cells.map((cell, at) => [rows[0]?.[at] ?? '', cell]);
  return JSON.stringify(Object.fromEntries(fields.filter(([, cell]) => cell !== '')));
});
const joined = (by: string, table: readonly (readonly string[])[] = rows) =>
  table.map((row) => row.map((cell) => (cell.includes(by) ? `"${cell}"` : cell)).join(by)).join('\r\n');

/** The table with another spelling for the cells of one column. */
const respelt = (column: string, to: (cell: string, at: number) => string) =>
  rows.map((row, at) => row.map((cell, of) => (at > 0 && rows[0]?.[of] === column ? to(cell, at) : cell)));
const times: Readonly<Record<string, string>> = { '16:9': '04:09:00 PM', '9:16': '09:16', '1:1': '01:01' };

test.each<[what: string, name: string, content: string | Uint8Array]>([
  ['commas', 'a.csv', joined(',')],
  [
    'semicolons and decimal commas',
    'b.csv',
    joined(
      ';',
      respelt('duration', (cell) => `${cell},00`),
    ),
  ],
  ['tabs', 'c.tsv', joined('\t')],
  ['tabs in a .csv', 'd.csv', joined('\t')],
  ['sep=', 'e.csv', `sep=;\r\n${joined(';')}`],
  ['a separator that only sep= tells', 'f.csv', `sep=|\r\n${joined('|')}`],
  ['a byte order mark', 'g.csv', `\uFEFF${joined(',')}`],
  ['UTF-16', 'h.csv', Buffer.from(`\uFEFF${joined('\t')}`, 'utf16le')],
  // PowerShell 5 writes redirected output in this form.
  ['lines of JSON in UTF-16', 'r.jsonl', Buffer.from(`\uFEFF${objects.join('\r\n')}`, 'utf16le')],
  ['JSON in UTF-16', 's.json', Buffer.from(`\uFEFF[${objects}]`, 'utf16le')],
  ['YAML in UTF-16', 't.yaml', utf16be(objects.map((each) => `- ${each}\n`).join(''))],
  ['UTF-16, the other way round', 'i.csv', utf16be(joined(';'))],
  [
    'names in capitals and with blanks',
    'j.csv',
    joined(',', [['ID', ' Prompt', 'DURATION ', 'Resolution', 'ratio', 'Watermark'], ...rows.slice(1)]),
  ],
  [
    'decimal points',
    'k.csv',
    joined(
      ',',
      respelt('duration', (cell) => ` ${cell}.0 `),
    ),
  ],
  [
    'switches in capitals',
    'l.csv',
    joined(
      ',',
      respelt('watermark', (cell) => cell.toUpperCase()),
    ),
  ],
  [
    'switches in German, French and Russian',
    'm.csv',
    joined(
      ',',
      respelt('watermark', (_, at) => ['', 'WAHR', 'faux', 'ИСТИНА'][at] ?? ''),
    ),
  ],
  [
    'ratios that became times',
    'n.csv',
    joined(
      ',',
      respelt('ratio', (cell) => times[cell] ?? cell),
    ),
  ],
  [
    'comments, columns without a name, empty last rows and cells',
    'o.csv',
    `${rows.map((row, at) => [...row, at === 0 ? '_notes' : 'nice', at === 0 ? '# who' : 'Ann', ''].join(',')).join('\n')}\n,,,,,,later,\n\n,,,\n`,
  ],
])('%s', async (_, name, content) => {
  const run = await check(name, content);
  expect(run).toMatchObject({ code: 0, err: '' });
  expect(run.out).toContain('3 rows of video gamma gamma-H3\n');
});

test.each(['', '\n\n', 'sep=;', 'id;prompt\n'])('a file that holds %j alone has no row', async (content) => {
  const said = { code: 2, out: '', err: 'error: none.csv: there is no row in it\n' };
  expect(await check('none.csv', content)).toMatchObject(said);
});

// Made by `soffice --convert-to 'csv:Text - txt - csv (StarCalc):59,34,76,1,,0,false,true' sheet.fods`, one language per file;
// other separators, quotes and encodings replace the first three numbers.
test('twelve exports of one sheet by LibreOffice, in nine languages, are the same four rows', async () => {
  const dir = path.join(import.meta.dirname, 'exports');
  const names = readdirSync(dir);
  expect(names).toHaveLength(12);
  const video = ['--name', 'sheet', '--command', 'video alpha'];
  await world.ok(['batch', 'run', path.join(dir, 'comma.en-US.csv'), ...video]);
  for (const name of names) {
    const run = await world.gw(['batch', 'check', path.join(dir, name), ...video]);
    const said = '4 rows of video alpha alpha-video-2-5-260628\n4 of 4 saved already\n';
    expect.soft([name, run.code, run.out, run.err]).toEqual([name, 0, said, '']);
  }
});

test('what was saved in another spelling has the key of the row that it was', async () => {
  const keys = async (name: string, content: string) => {
    writeFileSync(path.join(world.cwd, name), content);
    await world.gw(['batch', 'run', name, '--name', 'same', '--command', 'image create']);
    return world.requests().filter((each) => each.startsWith('POST /v1/images')).length;
  };
  expect(await keys('p.csv', 'prompt,n\na fox,1\n')).toBe(1);
  expect(await keys('q.csv', 'Prompt;N;_note\n a fox ;1,0;hm\n')).toBe(1);
});

test('a fault of a column is told once with its rows, and the faults of the rows beside it', async () => {
  const table = ['prompt,duration,resolution,ratio,notes'];
  for (let at = 0; at < 200; at += 1) table.push(`fox ${at},${at === 7 ? '99' : '5'},768P,16:9,x`);
  const run = await check('faults.csv', table.join('\n'));
  expect(run.code).toBe(2);
  const lines = run.out.trimEnd().split('\n');
  expect(lines).toHaveLength(2);
  expect(lines[0]).toMatch(
    /^faults\.csv:2: notes: no flag of gw video gamma create.* a column named _NAME is a comment \(200 rows: lines 2, 3, 4, 5, 6, …, 201\)$/,
  );
  expect(lines[1]).toMatch(/^faults\.csv:9: duration: 99: /);
});

test('a fault of rows with a count is told with as many rows as are wrong', async () => {
  const run = await check(
    'count.csv',
    'prompt,duration,resolution,ratio,count\nfox,99,768P,16:9,100\nowl,99,768P,16:9,1',
  );
  expect(run.out).toMatch(/^count\.csv:2: duration: 99: .* \(101 rows: lines 2, 3\)\n$/);
  expect(run.err).toMatch('101 rows are wrong');
});

test.each([
  ['4,000', 'duration: 4,000: the number has its digits in groups'],
  ['1.23E+10', 'duration: 1.23E+10: the number has lost its digits'],
  ['4.5', 'duration: 4.5: not a whole number'],
])('a number that was saved as %s is a fault that says so', async (cell, fault) => {
  const run = await check('number.csv', `prompt;duration;resolution;ratio\nfox;${cell};768P;16:9\n`);
  expect([run.code, run.out]).toEqual([2, expect.stringContaining(fault)]);
});

test('a sheet in the letters of an old Windows is told to be saved as UTF-8', async () => {
  const run = await check('ansi.csv', Buffer.from('prompt;duration\nein Fuchs f\xfcr alle;5\n', 'latin1'));
  expect([run.code, run.out]).toEqual([
    2,
    expect.stringMatching(/:\d: not UTF-8 text: .*; save the file as UTF-8\n/),
  ]);
});

test('a name twice, and a cell too many, are faults', async () => {
  expect((await check('twice.csv', 'prompt,Prompt\na,b\n')).out).toContain(
    'prompt: the first line names it twice',
  );
  expect((await check('more.csv', 'prompt,duration\na,5,b\n')).out).toContain('the row has 3 columns');
});
