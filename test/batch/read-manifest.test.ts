import { appendFileSync, writeFileSync } from 'node:fs';
import * as path from 'node:path';
import * as fc from 'fast-check';
import { expect, test, vi } from 'vitest';
import { linesOf, openManifest, type WrittenRow } from '../../src/batch/read-manifest.ts';
import { readObject } from '../../src/media/read-data.ts';
import { newDir } from '../helpers/new-dir.ts';

const dir = newDir();

async function read(name: string, content: string | Uint8Array): Promise<WrittenRow[]> {
  writeFileSync(path.join(dir, name), content);
  const rows: WrittenRow[] = [];
  for await (const row of openManifest(name, dir).rows()) rows.push(row);
  return rows;
}

test.each<[string, string, readonly WrittenRow[]]>([
  [
    'a.jsonl',
    '\ufeff{"id": "a"}\r\n\n{"id": "b", "image": ["x", "y"]}',
    [
      { line: 1, fields: { id: 'a' } },
      { line: 3, fields: { id: 'b', image: ['x', 'y'] } },
    ],
  ],
  [
    'a.json',
    '[\n {"id": "a", "body": {"k": ["]", "}", "\\""]}},\n {\n  "id": "b"}, {"id": "c"}\n]\n',
    [
      { line: 2, fields: { id: 'a', body: { k: [']', '}', '"'] } } },
      { line: 3, fields: { id: 'b' } },
      { line: 4, fields: { id: 'c' } },
    ],
  ],
  ['empty.json', '[]', []],
  [
    'a.csv',
    '\ufeffid,prompt,image,image.2,image.3\r\na,"two\nlines, ""quoted""",x,y,\n\n,,,,\nb,short\n',
    [
      { line: 2, fields: { id: 'a', prompt: 'two\nlines, "quoted"', image: ['x', 'y'] } },
      { line: 6, fields: { id: 'b', prompt: 'short' } },
    ],
  ],
  [
    'places.csv',
    'image.3,image.2,image,prompt\nz,y,x,fox\n',
    [{ line: 2, fields: { image: ['x', 'y', 'z'], prompt: 'fox' } }],
  ],
  [
    'a.yaml',
    '# mine\n\n- &base { id: a, watermark: true }\n- <<: *base\n  id: b\n  prompt: |\n    two\n    lines\n',
    [
      { line: 3, fields: { id: 'a', watermark: true } },
      { line: 4, fields: { watermark: true, id: 'b', prompt: 'two\nlines\n' } },
    ],
  ],
])('%s gives its rows with the lines they begin on', async (name, content, rows) => {
  const found = await read(name, content);
  expect(found.map(({ line, fields, fault }) => (fault ? { line, fault } : { line, fields }))).toEqual(rows);
});

const bomb = [
  '- id: before',
  '- a: &a [x, x, x, x, x, x, x, x, x]',
  '  b: &b [*a, *a, *a, *a, *a, *a, *a, *a, *a]',
  '  c: &c [*b, *b, *b, *b, *b, *b, *b, *b, *b]',
  '  d: [*c, *c, *c, *c, *c, *c, *c, *c, *c]',
  '- id: after',
].join('\n');
const utf16 = (text: string) => Buffer.from(`\uFEFF${text}`, 'utf16le');
const long = 'x'.repeat(10 * 1024 * 1024);

test.each<[string, string | Uint8Array, number, RegExp]>([
  [
    'b.jsonl',
    '{"id":"a"}\n{"id" "b"}\n{"id":"c"}',
    2,
    /^not JSON: column 7: a colon is missing before "\\"b\\""|colon/,
  ],
  ['c.jsonl', '[1]\n', 1, /^a row is an object of fields/],
  [
    'd.jsonl',
    Buffer.from([0x7b, 0x7d, 0x0a, 0x22, 0xff, 0x22, 0x0a]),
    2,
    /^not UTF-8 text: the byte at offset 1 /,
  ],
  [
    'e.jsonl',
    `{"id":"a"}\n{"prompt":"${long}"}\n{"id":"b"}\n`,
    2,
    /^the row has 10\.0 MiB, and at most 8 MiB are read/,
  ],
  ['b.json', '{"id": "a"}', 1, /^not a list: a manifest in JSON begins with \[/],
  ['c.json', '[{"id": "a"}\n{"id": "b"}]', 2, /^a comma or \] is missing before "\{"/],
  ['d.json', '[{"id": "a"},\n]', 2, /^a row begins with \{, not with "\]"/],
  ['e.json', '[{"id": "a"},\n{"id"', 2, /^the text ends before its \]/],
  ['f.json', '[1]', 1, /^a row is an object of fields/],
  ['g.json', '[]\n[]', 2, /^more text after the end of the list/],
  ['h.json', '[{"id": "a"},\n{"id": 01}]', 2, /^not JSON: column/],
  ['l.json', '[{"id": "a"},\n{"id":\n01}]', 2, /^not JSON: line 3, column 1: /],
  ['k.json', '[{"id": "a"}, nope, {"id": "b"}]', 1, /^not JSON: column 15: a value is expected, not "nope"/],
  [
    'm.json',
    '[{"id": "a"},\n{"set":\n{"b": 1, "c": {"b": 1}, "\\u0062": 2}}]',
    2,
    /^line 3, column 25: "\\u0062" is given twice/,
  ],
  ['n.jsonl', '{"id": "a"}\n{"id": "b", "prompt": "c", "id": "b"}\n', 2, /^column 28: "id" is given twice/],
  ['o.jsonl', utf16('{"id": "a"}\n{"id": "b\uD800"}\n{"id": "\u{1F98A}"}\n'), 2, /^not UTF-8 text/],
  ['p.jsonl', Buffer.concat([utf16('{"id": "a"}\n'), Buffer.from('b')]), 2, /^not UTF-8 text/],
  ['q.csv', utf16('id\na\n\uDC00\n').swap16(), 3, /^not UTF-8 text/],
  ['r.yaml', utf16('- id: a\n- id: \uD800\n'), 1, /^not UTF-8 text/],
  ['i.json', `[{"prompt":"${long}"}]`, 1, /^the row has 10\.0 MiB/],
  [
    'b.csv',
    'id,prompt\na,b,c\n',
    2,
    /^the row has 3 columns, and the first line names 2: put what holds a comma/,
  ],
  ['c.csv', 'id,prompt\na,"b\nc', 2, /^a double quote is opened and never closed/],
  ['d.csv', 'id,prompt\na,b\nc,"d"e\n', 3, /^text stands behind a closing quote/],
  ['e.csv', 'id,id\na,b\n', 1, /^id: the first line names it twice/],
  ['j.csv', 'id,prompt\na,b "c" d\nb,e\n', 2, /^a quote stands inside a cell/],
  ['k.csv', 'id,prompt\r"a\rb",c\rd,5" disc\re,f\r', 4, /^a quote stands inside a cell/],
  ['g.csv', Buffer.from('id\na\n\xff\n', 'latin1'), 3, /^not UTF-8 text/],
  ['h.csv', `id,prompt\na,"${long}"\n`, 2, /MiB/],
  ['b.yaml', 'id: a\n', 1, /^not a list/],
  ['c.yaml', '- id: a\n  id: b\n', 2, /^not YAML: Map keys must be unique/],
  ['d.yaml', '- id: a\n- [\n', 3, /^not YAML/],
  ['h.yaml', '- id: a\n---\n- id: b\n', 2, /^not YAML: a second document begins: put its/],
  ['e.yaml', bomb, 2, /^anchors are used more than 100 times/],
  ['f.yaml', '- id: a\n- just words\n', 2, /^a row is an object of fields/],
  ['g.yaml', `- prompt: ${long}\n`, 1, /^a manifest in YAML has at most 2 MiB, and this has 10\.0/],
])('%s has its fault told with its line', async (name, content, line, fault) => {
  const faults = (await read(name, content)).filter((row) => row.fault !== undefined);
  expect(faults).toHaveLength(1);
  expect(faults[0]?.line).toBe(line);
  expect(faults[0]?.fault).toMatch(fault);
  expect(faults[0]?.fault?.length).toBeLessThan(200);
});

test('a signal is heard while the rows of one read are worked on', async () => {
  let [rows, heardAt] = [0, Number.POSITIVE_INFINITY];
  writeFileSync(path.join(dir, 'long.jsonl'), '{"id": "a"}\n'.repeat(300));
  for await (const _ of openManifest('long.jsonl', dir).rows()) {
    if (rows === 0) setImmediate(() => (heardAt = rows));
    rows += 1;
    for (const untilMs = performance.now() + 1; performance.now() < untilMs; );
  }
  expect(heardAt).toBeLessThan(rows);
});

test.each(['', '# nothing yet\n', '[]\n'])(
  'a YAML file that holds %j has no row, and is no fault',
  async (text) => {
    expect(await read('none.yaml', text)).toEqual([]);
  },
);

test('rows behind a faulty one are read where the format lets it', async () => {
  expect(await read('on.jsonl', '{"id":"a"}\nnonsense\n{"id":"c"}')).toHaveLength(3);
  expect(await read('on.yaml', bomb)).toHaveLength(3);
  expect(await read('on.json', '[{"id":"a"}, 5, "b\\\n", {"id":"c"}, [1]]')).toHaveLength(5);
  expect(await read('on.csv', 'id,prompt\na,b,c\nd,e\n')).toHaveLength(2);
  expect(await read('quotes.csv', 'id,prompt\na,b "c"\nd,"e"f\ng,5" h\n"i\nj",k\n')).toEqual([
    ...[2, 3, 4].map((line) => ({ line, fault: expect.stringContaining('quote') })),
    { line: 5, fields: { id: 'i\nj', prompt: 'k' }, isCells: true },
  ]);
  expect(await read('bytes.csv', Buffer.from('id\na\n\xff\nb\n', 'latin1'))).toHaveLength(3);
});

test('a key of YAML that is no word is a fault of its row, and the library writes nothing to stderr itself', async () => {
  const warned = vi.spyOn(process, 'emitWarning');
  expect(await read('key.yaml', '- {? [a] : b}\n')).toEqual([{ line: 1, fields: { '[ a ]': 'b' } }]);
  const preset = path.join(dir, 'preset.yaml');
  writeFileSync(preset, '? [a]\n: b\n');
  expect(await readObject(preset, 'preset.yaml', '')).toEqual({ '[ a ]': 'b' });
  expect(warned).not.toHaveBeenCalled();
});

test('a manifest that changes while it is read is refused', async () => {
  const file = path.join(dir, 'changing.jsonl');
  writeFileSync(file, '{"id":"a"}\n{"id":"b"}\n');
  const manifest = openManifest('changing.jsonl', dir);
  const first: WrittenRow[] = [];
  for await (const row of manifest.rows()) first.push(row);
  expect(first).toHaveLength(2);
  appendFileSync(file, '{"id":"c"}\n');
  await expect(manifest.rows().next()).rejects.toThrow('changing.jsonl: changed while it was read');
});

test.each([
  ['a.txt', 'a.txt: no format of a manifest ends in .txt'],
  ['a', 'a: a manifest needs an ending'],
  ['missing.csv', 'missing.csv: no such file'],
])('%s is refused', (name, message) => {
  expect(() => openManifest(name, dir)).toThrow(message);
});

test('the lines of a file are the same wherever its bytes are cut, and one that is too long is named', async () => {
  const texts = fc.array(fc.constantFrom('\n', '\n', '\r\n', 'a', 'é', ' '), { maxLength: 20 });
  await fc.assert(
    fc.asyncProperty(texts, fc.array(fc.nat(30)), async (parts, places) => {
      const bytes = Buffer.from(parts.join(''));
      const cuts = [0, ...places.filter((at) => at < bytes.length).sort((a, b) => a - b), bytes.length];
      const chunks = cuts.slice(1).map((to, at) => bytes.subarray(cuts[at], to));
      const told = [];
      for await (const each of linesOf(fc.stream(chunks.values()) as never, 4)) told.push(each);
      const lines = parts.join('').replace(/\n$/, '').split('\n');
      const expected = (bytes.length === 0 ? [] : lines).map((text, at) => {
        const isTooLong = Buffer.byteLength(text) > 4;
        const fault = expect.stringMatching(/^the row has 0\.0 MiB, and at most 8 MiB are read/);
        return { line: at + 1, text: isTooLong ? '' : text.replace(/\r$/, ''), ...(isTooLong && { fault }) };
      });
      expect(told).toEqual(expected);
    }),
    { numRuns: 500 },
  );
});
