import * as fs from 'node:fs';
import * as path from 'node:path';
import { describe, expect, test } from 'vitest';
import { main } from '../../src/main.ts';
import { KEY, World } from '../helpers/gw.ts';

async function open(options: Parameters<typeof World.open>[0] = {}) {
  const world = await World.open(options);
  const at = (name: string) => path.join(world.cwd, name);
  const row = { id: 'a', command: 'image create', prompt: 'a boat' };
  fs.writeFileSync(at('m.jsonl'), `${JSON.stringify(row)}\n`);
  fs.writeFileSync(at('m.csv'), 'id,command,prompt\na,image create,a boat\n');
  const run = (manifest: string, report: string) => world.gw(['batch', 'run', manifest, '--report', report]);
  return { world, at, run };
}

describe('a report takes the place of an earlier report, and of nothing else', () => {
  test.each<readonly [string, string, string, (at: (name: string) => string) => void]>([
    ['the manifest', 'm.csv', 'm.csv', () => {}],
    ['the manifest by another path', 'm.jsonl', './m.jsonl', () => {}],
    ['the manifest by a hard link', 'm.csv', 'hard.csv', (at) => fs.linkSync(at('m.csv'), at('hard.csv'))],
    ["the user's own file", 'm.csv', 'notes.csv', (at) => fs.writeFileSync(at('notes.csv'), 'my,notes\n')],
    ['a link', 'm.csv', 'link.csv', (at) => fs.symlinkSync('m.jsonl', at('link.csv'))],
    [
      'a link to a report',
      'm.csv',
      'link.csv',
      (at) => {
        fs.writeFileSync(at('real.csv'), 'row,line,key,family,id,status,files,error\n');
        fs.symlinkSync('real.csv', at('link.csv'));
      },
    ],
    ['a directory', 'm.csv', 'folder.csv', (at) => fs.mkdirSync(at('folder.csv'))],
    ['a directory that is missing', 'm.csv', 'none/r.csv', () => {}],
    ['a directory where nothing can be made', 'm.csv', '/proc/self/r.csv', () => {}],
  ])('%s is left as it is, and nothing is sent', async (_, manifest, report, make) => {
    const { world, at, run } = await open();
    make(at);
    const before = world.files();
    const { code, err } = await run(manifest, report);
    expect([code, err]).toEqual([2, expect.stringContaining(`error: --report ${report}: `)]);
    expect(world.requests()).toEqual([]);
    expect(world.files()).toEqual(before);
  });

  test.each(['r.csv', 'r.jsonl'])('an earlier %s is replaced', async (report) => {
    const { at, run } = await open();
    for (const _ of ['first', 'again']) expect((await run('m.jsonl', report)).code).toBe(0);
    expect(fs.readFileSync(at(report), 'utf8').trimEnd().split('\n')).toHaveLength(
      report === 'r.csv' ? 2 : 1,
    );
  });

  test('one that cannot be written at the end is told, and the row stands as it ended', async () => {
    const { world, at } = await open();
    const stop = fs.watch(world.cwd, () => {
      if (!fs.existsSync(at('r.csv')) && fs.readdirSync(world.cwd).some((name) => name.endsWith('.png')))
        fs.mkdirSync(at('r.csv'));
    });
    const run = await world.gw(['batch', 'run', 'm.csv', '--report', 'r.csv']);
    stop.close();
    if (fs.statSync(at('r.csv')).isFile()) return;
    expect([run.code, run.err]).toEqual([13, expect.stringContaining('the rows stand as they are told')]);
    expect(run.out).toMatch(/\.png\n$/);
  });
});

test('a report has all rows, also those that --only leaves out and the faults of which nobody asked for', async () => {
  const { world, at } = await open();
  const row = { command: 'image create', prompt: 'a boat' };
  const rows = ['a', 'b', 'c'].map((id) => ({ id, ...row, ...(id === 'c' && { sise: '1x1' }) }));
  fs.writeFileSync(at('m.jsonl'), rows.map((each) => `${JSON.stringify(each)}\n`).join(''));
  for (const id of ['a', 'b']) await world.ok(['batch', 'run', 'm.jsonl', '--only', id, '--report', 'r.csv']);
  const lines = fs.readFileSync(at('r.csv'), 'utf8').trimEnd().split('\n');
  expect(lines.map((line) => line.split(',')[2])).toEqual(['row_key', 'm/a', 'm/b']);
  expect(lines.join('\n').match(/succeeded/g)).toHaveLength(2);
});

test('a report has all rows as the ledger has them where stdout closes, and where Redis is away', async () => {
  const { world, at } = await open();
  const rows = ['a', 'b', 'c'].map((id) => ({ id, command: 'image create', prompt: 'a boat' }));
  fs.writeFileSync(at('m.jsonl'), rows.map((each) => `${JSON.stringify(each)}\n`).join(''));
  const words = ['batch', 'run', 'm.jsonl', '--report', 'r.jsonl'];
  const reported = () =>
    fs
      .readFileSync(at('r.jsonl'), 'utf8')
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line));
  const host = world.host();
  const closed = Object.assign(new Error('closed'), { code: 'EPIPE' });
  Object.assign(host.stdout, {
    _write: (_text: Buffer, _encoding: string, done: (error: Error) => void) => done(closed),
  });
  expect(await main(words, host)).toBe(0);
  expect(reported().map(({ row_key }) => row_key)).toEqual(['m/a', 'm/b', 'm/c']);
  for (const { status, files } of reported()) {
    expect(status).toBe('succeeded');
    expect(files).toMatchObject([{ path: expect.stringMatching(/\.png$/) }]);
  }
  expect(Object.keys(world.files()).filter((name) => name.endsWith('.png'))).toHaveLength(3);
  fs.rmSync(at('r.jsonl'));
  expect(await world.gw([...words, '--redis', 'redis://127.0.0.1:1'])).toMatchObject({ code: 8 });
  expect(reported()[0]).toMatchObject({ row_key: 'm/a', status: 'succeeded' });
});

test('a failed row that --only leaves out has its error in the report', async () => {
  const { world, at } = await open({ fault: 'task:fail=Odd:x1' });
  const row = { command: 'video beta', prompt: 'a boat', duration: 3 };
  const rows = ['a', 'b'].map((id) => `${JSON.stringify({ id, ...row })}\n`);
  fs.writeFileSync(at('m.jsonl'), rows.join(''));
  for (const id of ['a', 'b'])
    await world.gw(['batch', 'run', 'm.jsonl', '--only', id, '--report', 'r.jsonl']);
  const [failed] = fs.readFileSync(at('r.jsonl'), 'utf8').split('\n');
  expect(JSON.parse(failed ?? '')).toMatchObject({
    row_key: 'm/a',
    status: 'failed',
    error: { kind: 'task_failed', message: expect.stringContaining('Odd') },
  });
});

test('--limit looks at no failed row behind the rows that it makes', async () => {
  const { world, at } = await open({ fault: 'task:fail=Odd:x1' });
  const row = { command: 'video beta', prompt: 'a boat', duration: 3 };
  const rows = ['a', 'b', 'z'].map((id) => `${JSON.stringify({ id, ...row })}\n`);
  fs.writeFileSync(at('m.jsonl'), rows.join(''));
  expect(await world.gw(['batch', 'run', 'm.jsonl', '--only', 'z'])).toMatchObject({ code: 9 });
  const { code, err } = await world.gw(['batch', 'run', 'm.jsonl', '--limit', '1']);
  expect(code, err).toBe(0);
});

test('a report and a check hold nothing that commands a terminal or a CI, and a report holds no key', async () => {
  const nasty = '\u001b]0;x\u0007\n::error::pwned\u009b\u202e';
  const { world, at, run } = await open({ fault: `task:fail=${KEY}` });
  const rows = [{ id: 'a', command: 'image create', prompt: 'a boat', [nasty]: 1 }];
  fs.writeFileSync(at('bad.jsonl'), rows.map((row) => `${JSON.stringify(row)}\n`).join(''));
  for (const more of [[], ['--json']]) {
    const { code, out } = await world.gw(['batch', 'check', 'bad.jsonl', ...more]);
    expect(code).toBe(2);
    expect(out).not.toMatch(/[\u0007\u001b\u007f-\u009f\u202e]|^::/m);
    expect(out).toContain('pwned');
  }
  const gamma = { command: 'video gamma', prompt: 'a fox', resolution: '768P', duration: 4, ratio: '16:9' };
  fs.writeFileSync(at('m.jsonl'), `${JSON.stringify(gamma)}\n`);
  for (const report of ['r.csv', 'r.jsonl']) {
    expect((await run('m.jsonl', report)).code).toBe(9);
    const text = fs.readFileSync(at(report), 'utf8');
    expect(text).not.toMatch(/[\u0007\u001b\u007f-\u009f\u202e]|^::/m);
    expect([
      text.includes('task_failed') || report === 'r.csv',
      text.includes('***'),
      text.includes(KEY),
    ]).toEqual([true, true, false]);
  }
});

const gammaRow = { command: 'video gamma', resolution: '768P', duration: 4, ratio: '16:9' };
test.each<readonly [string, Readonly<Record<string, unknown>>, string]>([
  ['10m that the row says', { ...gammaRow, 'wait-timeout': '10m' }, '2h'],
  ['10m typed for a video', { command: 'video beta' }, '10m'],
  ['10m typed for an image, whose own command has none', { command: 'image create' }, '10m'],
  ['4s typed for an image, too short for a second try', { command: 'image create' }, '4s'],
])('a 429 that never ends is waited for within the --wait-timeout of %s', async (_, row, typed) => {
  const { world, at } = await open({ fault: 'create:429+5' });
  fs.writeFileSync(at('m.jsonl'), `${JSON.stringify({ prompt: 'a fox', ...row })}\n`);
  const startMs = world.clock.steady();
  const { code, err } = await world.gw(['batch', 'run', 'm.jsonl', '--wait-timeout', typed]);
  expect([code, err]).toEqual([7, expect.stringContaining('429')]);
  expect(world.clock.steady() - startMs).toBeLessThan(typed === '4s' ? 4_000 : 20 * 60_000);
});
