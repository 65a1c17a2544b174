import { mkdirSync, writeFileSync } from 'node:fs';
import * as path from 'node:path';
import { expect, onTestFinished, test, vi } from 'vitest';
import { warnOfChanged } from '../../src/commands/batch/check.ts';
import { World } from '../helpers/gw.ts';
import { pngHead } from '../media/fixtures.ts';

const world = await World.open();

const check = (name: string, content: string, ...more: string[]) => {
  writeFileSync(path.join(world.cwd, name), content);
  return world.gw(['batch', 'check', name, ...more], { bare: true });
};
const gamma = { command: 'video gamma', prompt: 'a fox', duration: 5, resolution: '768P', ratio: '16:9' };
const jsonl = (...rows: object[]) => rows.map((row) => `${JSON.stringify(row)}\n`).join('');

test('good rows are counted by command and model; no key and no gateway is needed', async () => {
  const run = await check(
    'good.jsonl',
    jsonl(
      gamma,
      { ...gamma, count: 2 },
      { command: 'video alpha', prompt: 'x' },
      { command: 'video beta', prompt: 'x', skip: true },
      { command: 'image create', prompt: 'x', n: 2 },
      {
        command: 'image native',
        prompt: 'x',
        model: 'geo-3.1-flash-image',
        body: { seed: 1 },
        set: { a: 1 },
      },
    ),
  );
  expect(run.err).toMatch(/^warning: good\.jsonl:6: the body of this endpoint is not documented[^\n]*\n$/);
  expect(run.out.split('\n')).toEqual([
    '3 rows of video gamma gamma-H3',
    '1 row of video alpha alpha-video-2-5-260628',
    '1 row of image create img-2',
    '1 row of image native geo-3.1-flash-image',
    'how long it takes is not known yet',
    '',
  ]);
  expect(run.code).toBe(0);
});

test('a default of the profile that holds for no row is named once, and one that says what rows do anyway is not', async () => {
  for (const [flag, value] of [
    ['wait', 'true'],
    ['no-queue', 'true'],
    ['no-download', 'true'],
  ])
    await world.gw(['config', 'set', `defaults.video.gamma.${flag}`, value ?? ''], { bare: true });
  const run = await check('held.jsonl', jsonl(gamma, { ...gamma, prompt: 'a hen' }));
  for (const flag of ['wait', 'no-queue', 'no-download'])
    await world.gw(['config', 'unset', `defaults.video.gamma.${flag}`], { bare: true });
  const named = (flag: string) =>
    run.err.split(`defaults.video.gamma.${flag} holds for typed commands`).length - 1;
  expect([named('wait'), named('no-queue'), named('no-download')], run.err).toEqual([0, 1, 1]);
  expect(run.code).toBe(0);
});

test('every fault is a line on stdout with file and line, all that a row breaks, and the exit code is 2', async () => {
  const run = await check(
    'bad.csv',
    'command,id,prompt,duration,resolution,ratio,image\n' +
      'video gamma,a,a fox,5,1080P,5:4,\n' +
      'video gamma,b,"a\nfox",5,768P,16:9,\n' +
      'video gamma,b,,5,768P,,missing.png\n',
  );
  expect(run.code).toBe(2);
  const lines = run.out.trimEnd().split('\n');
  expect(lines.slice(0, 2).join('\n')).toMatch(/^bad\.csv:2: resolution: 1080P: one of 480P/m);
  expect(lines.slice(0, 2).join('\n')).toMatch(/^bad\.csv:2: ratio: 5:4: one of/m);
  expect(lines.slice(2)).toEqual(['bad.csv:5: id: b: the row of line 3 has it too']);
  expect(run.err).toContain('bad.csv: 2 rows are wrong, and 1 can be sent as it stands');
});

test('a row that waits for none is not one that can be sent', async () => {
  const run = await check(
    'chain.jsonl',
    '{"command": "image edit", "id": "a", "prompt": "fox", "image": ["row:nope", "row:none"]}\n' +
      '{"command": "image create", "id": "b", "prompt": "hare"}\n',
  );
  expect(run.err).toContain('chain.jsonl: one row is wrong, and 1 can be sent as it stands');
});

test('a missing prompt, a missing file and an external ID are faults of their row', async () => {
  const own = { command: 'video beta', prompt: 'x', 'external-id': 'mine' };
  const run = await check(
    'less.jsonl',
    jsonl({ command: 'image create' }, { ...gamma, 'first-frame': 'missing.png' }, own),
  );
  expect(run.out).toContain('less.jsonl:3: external-id: mine: does not go with the key ');
  expect(run.out).toContain('less.jsonl:1: prompt: there is none\n');
  expect(run.out).toContain('less.jsonl:2: first-frame: missing.png: no such file\n');
});

test('media are relative to the manifest, those of the command line to the working directory', async () => {
  mkdirSync(path.join(world.cwd, 'sets'), { recursive: true });
  writeFileSync(path.join(world.cwd, 'sets', 'in.png'), pngHead(8, 8));
  writeFileSync(path.join(world.cwd, 'here.png'), pngHead(8, 8));
  const row = { command: 'image edit', prompt: 'a hat' };
  expect(await check('sets/a.jsonl', jsonl({ ...row, image: 'in.png' }))).toMatchObject({ code: 0, err: '' });
  expect(await check('sets/b.jsonl', jsonl({ ...row, image: 'here.png' }))).toMatchObject({ code: 2 });
  const typed = await check('sets/c.jsonl', jsonl(row), '--image', 'here.png');
  expect(typed).toMatchObject({ code: 0, err: '' });
});

test.each([
  ['is not there', ['gone'], 'a part of the path is missing (ENOENT)'],
  ['is below a file', ['file', 'below'], 'a part of the path is not a directory (ENOTDIR)'],
])('rows from stdin are refused where the temporary directory %s', async (_, place, why) => {
  writeFileSync(path.join(world.cwd, 'file'), '');
  const temp = path.join(world.cwd, ...place);
  vi.stubEnv('TMPDIR', temp);
  onTestFinished(() => void vi.unstubAllEnvs());
  const run = await world.gw(['batch', 'check', '-', '--name', 'daily'], { stdin: jsonl(gamma) });
  expect(run).toMatchObject({
    code: 2,
    err: expect.stringContaining(`could not be copied to ${temp}: ${why}`),
  });
  expect(run.err).toContain('TMPDIR');
});

test('rows from stdin need a name', async () => {
  const run = (...more: string[]) =>
    world.gw(['batch', 'check', '-', ...more], { bare: true, stdin: jsonl(gamma) });
  expect(await run()).toMatchObject({
    code: 2,
    err: expect.stringContaining('a batch from stdin has no name'),
  });
  expect(await run('--name', 'daily')).toMatchObject({
    code: 0,
    out: '1 row of video gamma gamma-H3\nhow long it takes is not known yet\n',
  });
});

test.each([
  ['--name', 'a/b', 'holds a /'],
  ['--name', 'a\u0000b', 'holds a control character'],
  ['--command', 'video delta', 'one of video alpha, video beta'],
])('%s %j is refused', async (flag, value, message) => {
  const run = await check('named.jsonl', jsonl(gamma), flag, value);
  expect(run).toMatchObject({ code: 2, err: expect.stringContaining(message) });
});

test('with --json each fault and each sum is an object', async () => {
  const run = await check('j.jsonl', jsonl(gamma, { ...gamma, ratio: '5:4', count: 3 }), '--json');
  expect(run.out.match(/5:4/g)).toHaveLength(1);
  const [fault] = run.out
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line));
  expect(fault).toMatchObject({ file: 'j.jsonl', line: 2, message: expect.stringContaining('ratio: 5:4') });
});

test('what is odd about a row with a count is told once', async () => {
  const odd = { command: 'image native', prompt: 'fox', count: 3 };
  const run = await check('odd.jsonl', jsonl(odd, { ...odd, prompt: 'owl' }));
  expect(run.err.match(/^warning: odd\.jsonl:\d/gm)).toEqual([
    'warning: odd.jsonl:1',
    'warning: odd.jsonl:2',
  ]);
});

test('a name that Windows forbids is said once, whoever gives it', async () => {
  const rows = jsonl({ ...gamma, out: 'a:b.mp4' }, { ...gamma, prompt: 'owl', out: 'c?.mp4', count: 2 });
  expect((await check('names.jsonl', rows)).err).toBe('Windows forbids ":" in "a:b.mp4"\n');
  const typed = await check('names.jsonl', jsonl(gamma, { ...gamma, prompt: 'owl' }), '-o', 'a:{key}.mp4');
  expect(typed.err).toBe('Windows forbids ":" in "a:{key}.mp4"\n');
});

test('in a JSON list on one line each fault names the place of its row', async () => {
  const image = { command: 'image create', prompt: 'fox' };
  const again = { ...image, id: 'a' };
  const one = JSON.stringify([again, again, { ...image, image: 'row:none', count: 2 }, 5]);
  const told = [
    'one.json:1: row 2: id: a: row 1 has it too',
    'one.json:1: row 4: a row is an object of fields, such as {"prompt": "a fox"}',
    'one.json:1: row 3: image: row:none: there is no row of this id; name a row by its id',
  ];
  const run = await check('one.json', one);
  expect(run.out.trimEnd().split('\n')).toEqual(told);
  const [first = ''] = (await check('one.json', one, '--json')).out.split('\n');
  expect(JSON.parse(first)).toEqual({
    file: 'one.json',
    line: 1,
    row: 2,
    message: 'id: a: row 1 has it too',
  });
  expect((await world.gw(['batch', 'run', 'one.json'])).err).toContain(`error: ${told.join('\nerror: ')}\n`);
  const lines = await check('lines.json', '[\n 5,\n {"id": "a"}, 5\n]');
  expect(lines.out).toMatch(/^lines\.json:2: a row.*\nlines\.json:3: command.*\nlines\.json:3: row 3: a row/);
});

test('an empty manifest is said to be one', async () => {
  const none = { code: 2, err: expect.stringContaining('none.csv: there is no row in it') };
  expect(await check('none.csv', 'prompt\n')).toMatchObject(none);
  expect(await world.gw(['batch', 'status', 'none.csv'])).toMatchObject(none);
});

test('what is saved already, and how long the rest takes, is told from the ledger', async () => {
  const row = { ...gamma, id: 'a' };
  writeFileSync(path.join(world.cwd, 'past.jsonl'), jsonl(row));
  expect(await world.gw(['batch', 'run', 'past.jsonl', '-o', 'past/'])).toMatchObject({ code: 0 });
  const told = async (...more: object[]) => {
    writeFileSync(path.join(world.cwd, 'past.jsonl'), jsonl(row, ...more));
    return (await world.gw(['batch', 'check', 'past.jsonl'])).out.trimEnd().split('\n');
  };
  expect(await told()).toEqual(['1 row of video gamma gamma-H3', '1 of 1 saved already']);
  expect(await told({ ...gamma, id: 'b' })).toEqual([
    '2 rows of video gamma gamma-H3',
    '1 of 2 saved already',
    expect.stringMatching(/^about \d+ s$/),
  ]);
});

test('the way on of a changed row names its key as it is, whatever characters it has', () => {
  const warnings: string[] = [];
  const io = { warn: (text: string) => warnings.push(text) } as unknown as Parameters<
    typeof warnOfChanged
  >[3]['io'];
  const changed = [{ key: 'day/$&', field: 'prompt', state: 'saved', row: 1, line: 1 }];
  warnOfChanged({ changed }, 'day.jsonl', false, { io });
  expect(warnings).toEqual([expect.stringContaining("run with --redo 'day/$&' to make it again")]);
});
