import { beforeAll, expect, test } from 'vitest';
import { answer } from '../../src/completion/answer.ts';
import { splitLine } from '../../src/completion/complete.ts';
import { type CompletionTable, completionTable } from '../../src/completion/table.ts';
import { program } from '../../src/program.ts';
import { cmd } from '../helpers/cmd.ts';

let table: CompletionTable;
beforeAll(async () => {
  table = await completionTable(program);
});

const none = { profiles: () => [], sessions: () => [], presets: () => [], models: () => [], jobs: () => [] };

/** The answer to a line; the last word is the one at the cursor. */
function at(line: string) {
  const words = line.split(' ');
  return answer(table, words.slice(0, -1), words.at(-1) ?? '', none);
}
const values = (line: string) => at(line).candidates.map(({ value }) => value);

test.each([
  ['vid', ['video']],
  ['video ', ['alpha', 'beta', 'gamma']],
  ['--json video ', ['alpha', 'beta', 'gamma']],
  ['video alpha create --ratio 1', ['16:9', '1:1']],
  ['video alpha create --resolution=4', ['480p', '4k']],
  ['video alpha create -m2.0-', ['2.0-fast', '2.0-mini']],
  ['video alpha create -qm 2.5', ['2.5']],
  ['video alpha create --water', ['--watermark']],
  ['video alpha create --no-wat', ['--no-watermark']],
  ['video alpha create --no-watermark --water', []],
  ['video alpha create --json --js', []],
  ['video alpha create --ratio 1:1 --rat', []],
  ['video alpha create --image a.png --im', ['--image']],
  ['video alpha create --json=', []],
  ['video alpha create --nosuch --rat', ['--ratio']],
  ['video alpha create a fox --rat', ['--ratio']],
  ['video alpha create -- --rat', []],
  ['video alpha create -- ', []],
  ['video alpha create --prompt ', []],
  ['video alpha create --prompt --ra', []],
  ['video alpha create --duration ', []],
  ['jobs stats --by model,', ['day', 'family', 'profile']],
  ['jobs list --dry', []],
  ['jobs list --set', []],
  ['models list --dry', ['--dry-run']],
  ['help video al', ['alpha']],
  ['help env', ['environment']],
  ['config set ti', ['timeout']],
  ['config set timeout t', []],
  ['config set account d', []],
  ['config set defaults.video.alpha.resol', ['defaults.video.alpha.resolution']],
  ['config unset defaults.chat.temp', ['defaults.chat.temperature']],
  ['config set defaults.video.alpha.create.', []],
  ['config set defaults.image.create.pro', []],
  ['jobs list --status un', ['unknown']],
  ['jobs list --status int', []],
  ['image create --size 1536', ['1536x1024']],
  ['completion z', ['zsh']],
  ['completion zsh z', []],
  ['--vers', ['--version']],
])('gw %s', (line, expected) => {
  expect(values(line)).toEqual(expected);
});

test.each([
  ['video alpha create --body ', 'file', ''],
  ['video alpha create --out=cl', 'file', '--out='],
  ['video alpha create -ocl', 'file', '-o'],
  ['video alpha create --first-frame f', 'file', ''],
  ['video beta create --first-frame image_1=f', 'file', 'image_1='],
  ['chat --system-file no', 'file', ''],
  ['chat --prompt-file=no', 'file', '--prompt-file='],
  ['chat --system @no', 'value', ''],
  ['config set prices p', 'file', ''],
  ['chat --response-format sch', 'file', ''],
])('gw %s is completed as a %s', (line, kind, before) => {
  expect(at(line)).toMatchObject({ kind, before, candidates: [] });
});

test('where nothing is known of a word, the flags are offered, the own ones of the command first', () => {
  const offered = values('video alpha create ');
  expect(offered[0]).toBe('--prompt');
  expect(offered.at(-1)).toBe('--version');
  expect(offered).toEqual(expect.arrayContaining(['--ratio', '--no-wait', '--sandbox', '--help']));
});

test("a flag's value is no command", () => {
  expect(values('--profile video ')).toContain('video');
});

test("with --sandbox or --profile only that profile's jobs are offered", () => {
  const job = { key: 'gw-1', family: 'alpha', prompt: undefined, state: 'running', isOpen: true };
  const jobs = () => [
    { ...job, id: 'vt-1', profile: 'sandbox' },
    { ...job, id: 'vt-2', profile: 'studio' },
  ];
  const ids = (...words: string[]) =>
    answer(table, cmd`video alpha wait ${words}`, '', { ...none, jobs }).candidates.map(({ value }) => value);
  expect(ids()).toEqual(['vt-1', 'vt-2']);
  expect(ids('--sandbox')).toEqual(['vt-1']);
  expect(ids('--profile', 'studio')).toEqual(['vt-2']);
});

test.each(['show', 'wait', 'download', 'resolve', 'again', 'open'])(
  '%s offers the keys of jobs after their IDs, and files for another word',
  (name) => {
    const job = { key: 'gw-1', id: 'vt-1', family: 'alpha', state: 'running', isOpen: true };
    const sources = { ...none, jobs: () => [job, { ...job, id: 'vt-2', once: 'day/boat' }] };
    const words = /again|open/.test(name) ? [name] : ['jobs', name];
    const said = (typed: string) => answer(table, words, typed, sources);
    expect(said('').candidates.map(({ value }) => value)).toEqual(['vt-1', 'vt-2', 'day/boat']);
    expect(said('da').candidates.map(({ value }) => value)).toEqual(['day/boat']);
    expect(said('fox')).toMatchObject({ kind: 'file', candidates: [] });
    expect(answer(table, ['video', 'alpha', 'wait'], 'da', sources)).toMatchObject({
      kind: 'value',
      candidates: [],
    });
  },
);

test('every choice of every flag means itself in every shell', () => {
  for (const { names, choices = [] } of table.flags) {
    for (const choice of choices) expect(choice, names.join()).toMatch(/^[A-Za-z0-9][A-Za-z0-9._:/+-]*$/);
  }
});

test('the table is made of plain, short lines', () => {
  for (const { names, summary } of table.flags) {
    expect(summary, names.join()).toMatch(/^[^\p{Cc}\p{Cf}]{4,80}$/u);
  }
});

const breaks = ' \t\n"\'@><=;|&(:';

test.each([
  ['gw vid', ['gw'], 'vid', 0],
  ['gw video ', ['gw', 'video'], '', 0],
  ['gw a --ratio=16:', ['gw', 'a'], '--ratio=16:', 11],
  ['gw a --ratio 16:9', ['gw', 'a', '--ratio'], '16:9', 3],
  ['gw a --ratio "16:', ['gw', 'a', '--ratio'], '16:', 0],
  [`gw a 'it''s' "a \\"b\\"" c\\ d`, ['gw', 'a', 'its', 'a "b"'], 'c d', 0],
  ["gw a '' b", ['gw', 'a', ''], 'b', 0],
  ['gw a "$(id)" `id`', ['gw', 'a', '$(id)'], '`id`', 0],
  ['gw a @f', ['gw', 'a'], '@f', 0],
  ['gw a --x=@f', ['gw', 'a'], '--x=@f', 4],
  ['gw a "b\\', ['gw', 'a'], 'b', 0],
] as const)('splits %j', (line, words, current, keptLength) => {
  expect(splitLine(line, breaks)).toEqual({ words, current, keptLength });
});

test('nothing is kept where readline breaks no word', () => {
  expect(splitLine('gw a --ratio=16:', ' ').keptLength).toBe(0);
});
