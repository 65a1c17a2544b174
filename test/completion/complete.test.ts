import { spawnSync } from 'node:child_process';
import * as fs from 'node:fs';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { openServer } from '../cli/fake-gateway.ts';
import { cmd } from '../helpers/cmd.ts';
import { CompletionPlace, taskId } from './place.ts';

// Tests `gw complete` as the scripts call it: the built gw in its own home.

let place: CompletionPlace;
beforeAll(() => {
  place = new CompletionPlace();
});
beforeEach(() => fs.rmSync(place.home, { recursive: true, force: true }));
afterAll(() => place.close());

const ledgerFile = () => place.inHome('.local/state/gw/ledger/2026-11.jsonl');

test('unfinished tasks of the family come first for wait, finished ones for download', () => {
  place.job('gw-01', 'vt-older');
  place.job('gw-02', 'vt-done');
  place.job('gw-03', 'vt-newer');
  place.job('gw-04', 'vt-beta', { family: 'beta' });
  place.job('gw-05', undefined);
  place.append('gw-02', {
    event: 'final',
    state: 'succeeded',
    status: 'succeeded',
    record: {},
    serverDateMs: 0,
  });
  expect(place.ask(['video', 'alpha', 'wait'], '').values).toEqual(['vt-newer', 'vt-older', 'vt-done']);
  expect(place.ask(['video', 'alpha', 'download'], '').values).toEqual(['vt-done', 'vt-newer', 'vt-older']);
  expect(place.ask(['video', 'beta', 'wait'], '').values).toEqual(['vt-beta']);
  expect(place.ask(['jobs', 'show'], '').values).toEqual([
    'gw-05',
    'vt-beta',
    'vt-newer',
    'vt-older',
    'vt-done',
  ]);
  expect(place.ask(['jobs', 'show'], 'vt-b').text).toBe('value\t\nvt-beta\tbeta · running · a paper boat\n');
});

test('presets are those of the configuration and of the working directory', () => {
  place.write(place.inHome('.config/gw/presets/clip.yaml'), 'duration: 4\n');
  place.write(`${place.cwd}/.gw/presets/still.json`, '{}');
  place.write(place.inHome('.config/gw/presets/notes.txt'), 'x');
  expect(place.ask(['image', 'create', '--preset'], '').values).toEqual(['clip', 'still']);
});

test('an ID that stands on the line already is not offered again', () => {
  place.job('gw-01', 'vt-1');
  place.job('gw-02', 'vt-2');
  expect(place.ask(['video', 'alpha', 'wait', 'vt-2'], '').values).toEqual(['vt-1']);
});

test('only the end of a long journal is read', () => {
  place.job('gw-01', 'vt-first');
  const record = { text: 'x'.repeat(70_000) };
  place.append('gw-01', { event: 'final', state: 'failed', status: 'failed', record, serverDateMs: 0 });
  place.job('gw-02', 'vt-last');
  expect(place.ask(['jobs', 'show'], '').values).toEqual(['vt-last']);
});

test.each([
  ['shell code as an ID', 'vt-$(touch PWNED)'],
  ['a control sequence as an ID', 'vt-\u001b[31m'],
  ['a line break as an ID', 'vt-1\nvt-2'],
  ['an ID that begins like a flag', '--forced'],
  ['what bash takes for a home', 'vt=~root'],
])('%s is offered nowhere', (_, id) => {
  place.job('gw-01', id);
  expect(place.ask(['video', 'alpha', 'wait'], '').text).not.toContain(id);
  expect(place.ask(cmd`video alpha wait`, '').values.every((value) => value.startsWith('--'))).toBe(true);
});

test('an ID with the letters of Base64 is offered', () => {
  for (const id of ['_x+y-z=', 'q~1@2==']) {
    place.job('gw-01', id);
    expect(place.ask(['video', 'alpha', 'wait'], '').values[0]).toBe(id);
    expect(place.ask(['jobs', 'show'], '').values[0]).toBe(id);
  }
});

test('a prompt in a summary holds nothing that a terminal or a shell takes up, and is cut', () => {
  place.job('gw-01', 'vt-1', {
    prompt: `a\u001b]0;x\u0007 \u202e\`id\` $(id) \\e[31m\nred\tfox 狐 ${'long '.repeat(20)}`,
  });
  const [, line] = place.ask(['video', 'alpha', 'wait'], '').text.split('\n');
  expect(line).toBe('vt-1\talpha · running · a ]0;x id (id) e[31m red fox 狐 long long long lo…');
});

test.each([
  ['torn', '{"v":1,"t":1,"job":"gw-01","event":"acc'],
  ['no JSON', 'nonsense\n\u0000\u0000'],
  ['JSON of another form', '[]\nnull\n{"job":1}\n{"v":1,"t":1,"job":"gw-01","event":"accepted"}\n'],
])('a journal that is %s offers nothing', (_, text) => {
  place.write(ledgerFile(), text);
  expect(place.ask(['jobs', 'show'], 'v').values).toEqual([]);
});

test('what cannot be read offers nothing', () => {
  fs.mkdirSync(ledgerFile(), { recursive: true });
  fs.mkdirSync(place.inHome('.config/gw/config.json'), { recursive: true });
  place.write(place.inHome('.cache/gw/models'), '');
  expect(place.ask(['jobs', 'show'], 'v').values).toEqual([]);
  expect(place.ask(['--profile'], '').values).toEqual(['sandbox']);
  expect(place.ask(['chat', '-m'], 'z').values).toEqual([]);
  fs.rmSync(ledgerFile(), { recursive: true });
  expect(spawnSync('mkfifo', [ledgerFile()]).status).toBe(0);
  expect(place.ask(['jobs', 'show'], 'v').values).toEqual([]);
});

test('profiles and models from files are offered where they are safe words', () => {
  const profiles = { studio: {}, 'a b': {}, '$(id)': {}, '../x': {} };
  place.write(place.inHome('.config/gw/config.json'), JSON.stringify({ version: 1, profiles }));
  place.models(['alpha-video-9', 'img-9', 'zeta-9', 'zeta;id', 'zeta 9']);
  expect(place.ask(['profile', 'use'], '').values).toEqual(['sandbox', 'studio']);
  expect(place.ask(['chat', '-m'], 'z').values).toEqual(['zeta-9']);
  expect(place.ask(['video', 'alpha', 'create', '-m'], 'alpha-video-9').values).toEqual(['alpha-video-9']);
  expect(place.ask(['image', 'create', '-m'], 'img-9').values).toEqual(['img-9']);
  expect(place.ask(['image', 'create', '-m'], 'z').values).toEqual([]);
});

test('stored conversations are offered', () => {
  for (const name of ['trip.jsonl', 'notes.txt', '$(id).jsonl'])
    place.write(place.inHome('.local/state/gw/chat/sessions', name), '');
  expect(place.ask(['chat', '--session'], '').values).toEqual(['trip']);
});

test('an answer asks no gateway, opens no socket, and writes nothing', { tags: ['strace'] }, async () => {
  const server = await openServer((_, response) => response.end('{}'));
  place.job('gw-01', taskId);
  const before = fs.readdirSync(place.home, { recursive: true });
  const traced = spawnSync(
    'strace',
    [
      ...cmd`-f -e trace=network,openat,mkdir,unlink,rename`,
      ...place.command,
      ...cmd`complete --at= jobs show`,
    ],
    {
      cwd: place.cwd,
      env: { ...place.env, GW_BASE_URL: server.baseUrl, GW_API_KEY: 'canary' },
      encoding: 'utf8',
    },
  );
  expect(traced.stdout).toContain(taskId);
  expect(traced.stderr).toContain('complete.json');
  expect(traced.stderr).not.toMatch(/\bconnect\(|AF_INET|O_CREAT|\bmkdir|\brename|\bunlink/);
  expect(traced.stderr).not.toMatch(/parts\.json"|\/gw-[0-9a-f]{12}\.js/);
  expect(server.seen).toEqual([]);
  expect(fs.readdirSync(place.home, { recursive: true })).toEqual(before);
});

test.each([
  ['no home', { HOME: '' }],
  ['a home that is no path', { HOME: 'x' }],
])('%s offers what needs none', (_, env) => {
  const run = place.spawn(['complete', '--at=st', 'jobs'], { env: { PATH: process.env.PATH, ...env } });
  expect([run.status, run.stdout, run.stderr]).toEqual([
    0,
    'value\t\nstats\tcount jobs, and what they made and cost\n',
    '',
  ]);
});

test('complete by itself is no command', () => {
  const run = place.spawn(['complete'], { env: place.env });
  expect([run.status, run.stdout]).toEqual([2, '']);
  expect(run.stderr).toContain('did you mean gw completion?');
});
