import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import * as path from 'node:path';
import { Readable } from 'node:stream';
import { expect } from 'vitest';
import { onceJobKey } from '../../src/ledger/job-key.ts';
import { openLedger } from '../../src/ledger/open-ledger.ts';
import { intentIn } from '../commands/jobs-seed.ts';
import { cmd } from '../helpers/cmd.ts';
import { fakeGateway } from '../helpers/fake-gateway.ts';
import { test, World } from '../helpers/gw.ts';
import { pngHead } from '../media/fixtures.ts';

const gamma = { command: 'video gamma', prompt: 'a fox', duration: 5, resolution: '768P', ratio: '16:9' };
const alpha = { command: 'video alpha', prompt: 'a fox', model: '2.0-fast', resolution: '480p', duration: 4 };
const beta = { command: 'video beta', prompt: 'a fox', duration: 3 };
const image = { command: 'image create', prompt: 'a fox' };

const write = (world: World, rows: readonly object[], name = 'day.jsonl') =>
  writeFileSync(path.join(world.cwd, name), rows.map((row) => `${JSON.stringify(row)}\n`).join(''));
const jsonLines = (text: string) =>
  text
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line));
const run = (world: World, ...more: string[]) => world.gw(['batch', 'run', 'day.jsonl', ...more]);
/** The number of paid requests. */
const creates = (world: World) => world.requests().filter((each) => each.startsWith('POST')).length;
const mixed = [
  { id: 'a', ...gamma },
  { id: 'b', ...alpha },
  { id: 'c', ...beta },
  { id: 'd', ...image, count: 2 },
];

test('every row is made, waited for and saved; paths go to stdout, one line sums it up', async () => {
  const world = await World.open();
  write(world, mixed);
  const first = await run(world, '-o', 'out/{key}.{ext}');
  expect(first.code, first.err).toBe(0);
  const names = first.out
    .trimEnd()
    .split('\n')
    .map((file) => path.basename(file));
  expect(names.sort()).toEqual(['day-a.mp4', 'day-b.mp4', 'day-c.mp4', 'day-d-1.png', 'day-d-2.png']);
  for (const file of first.out.trimEnd().split('\n')) expect(existsSync(file)).toBe(true);
  expect(first.err).toContain('row 1 of 4 (day/a): saved ');
  expect(first.err).toMatch(/5 rows: 5 saved\n$/);
  expect(creates(world)).toBe(5);
});

test('run again, nothing is sent and nothing is printed; a new row is', async ({ world }) => {
  write(world, mixed);
  await run(world);
  const before = world.requests().length;
  expect(await run(world)).toMatchObject({ code: 0, out: '', err: '5 rows: 5 saved\n' });
  expect(world.requests()).toHaveLength(before);
  write(world, [...mixed, { id: 'e', ...image, set: { moood: 1 } }]);
  const again = await run(world, '-o', '{key}.{ext}');
  expect(again).toMatchObject({ code: 0, out: `${world.cwd}/day-e.png\n` });
  // The warning appears once, although the row is read twice.
  expect(again.err.match(/warning: .*moood/g)).toHaveLength(1);
  expect(creates(world)).toBe(6);
  expect(await world.gw(['batch', 'status', 'day.jsonl'])).toMatchObject({ code: 0, out: '6 saved\n' });
});

test.each([
  ['is saved', undefined, [], 0],
  ['is saved, and its video is gone', undefined, [], 0],
  ['runs', undefined, ['--wait-timeout', '1s'], 0],
  ['was made from a file outside', undefined, ['--allow-outside'], 0],
  ['is of unknown outcome', 'create:reset-after:x1', [], 13],
  ['failed', 'task:fail=x:x1', [], 13],
])(
  'a row that %s needs no input, and stops no other; made anew it does',
  async (state, fault, flags, code) => {
    const world = await World.open({ speed: 1, ...(fault && { fault }) });
    const input = path.join(world.cwd, state.endsWith('outside') ? '../fox.png' : 'fox.png');
    writeFileSync(input, pngHead(768, 432));
    const row = { id: 'a', ...alpha, image: path.relative(world.cwd, input) };
    write(world, [row]);
    const first = await run(world, ...flags);
    if (state.endsWith('gone')) rmSync(first.out.trimEnd());
    if (!state.endsWith('outside')) rmSync(input);
    write(world, [row, { id: 'b', ...image }]);
    const again = await run(world);
    expect(again.code, first.err + again.err).toBe(code);
    expect(/^error: [^;]*fox\.png/m.test(again.err)).toBe(false);
    expect(creates(world)).toBe(2);
    expect(await world.gw(['batch', 'check', 'day.jsonl'])).toMatchObject({ code: 0 });
    expect(await run(world, '--redo', 'a')).toMatchObject({
      code: 2,
      err: expect.stringContaining('fox.png'),
    });
    write(world, [{ ...row, sise: 1 }]);
    if (!existsSync(input)) expect((await run(world)).err).toMatch(/sise[\s\S]*fox\.png/);
  },
);

test('rows without an id are made once too, the same row twice is two jobs', async ({ world }) => {
  write(world, [image, image]);
  await run(world);
  expect(creates(world)).toBe(2);
  write(world, [{ ...image, prompt: 'before' }, image, image]);
  await run(world);
  expect(creates(world)).toBe(3);
});

test('a row that changed after it was saved stops no other, is named, and is made anew by --redo alone', async () => {
  const world = await World.open();
  write(world, mixed);
  await run(world);
  write(world, [
    { id: 'new', ...image },
    { id: 'a', ...gamma, resolution: '2K' },
  ]);
  const changed = await run(world);
  expect(changed.err).toContain(
    'warning: day.jsonl:2: resolution changed after day/a was saved, and its job is left as it is; run with --redo day/a to make it again\n',
  );
  expect([changed.code, creates(world)]).toEqual([0, 6]);
  const redone = await run(world, '--redo', 'a', '-o', '{key}.{ext}');
  expect(redone).toMatchObject({ code: 0, out: `${world.cwd}/day-a.mp4\n` });
  expect(redone.err).not.toContain('changed after');
  expect(creates(world)).toBe(7);
  expect(await run(world)).toMatchObject({ code: 0, out: '', err: '2 rows: 2 saved\n' });
});

test('a row that was a video and is an image now is told as the video that it is, and not as saved', async () => {
  const world = await World.open({ speed: 1 });
  write(world, [{ id: 'a', ...gamma }]);
  expect((await run(world, '--wait-timeout', '1s')).code).toBe(10);
  write(world, [{ id: 'a', ...image }]);
  const { code, out, err } = await run(world);
  expect(err).toContain('warning: day.jsonl:1: command changed after day/a was sent');
  expect([code, out, creates(world)]).toEqual([0, expect.stringMatching(/\.mp4\n$/), 1]);
});

test('a row that the filter refused is mended by one edit and one command', async () => {
  const world = await World.open({ fault: 'create:400:x1' });
  write(world, [
    { id: 'a', ...image },
    { id: 'b', ...image, prompt: 'an owl' },
  ]);
  const first = await run(world, '--concurrency', '1');
  expect([first.code, first.err]).toEqual([13, expect.stringMatching(/error: day\.jsonl:1: /)]);
  expect(first.err).toMatch(
    /create anew what failed with: gw batch run day\.jsonl --concurrency 1 --retry-failed\n$/,
  );
  write(world, [
    { id: 'a', ...image, prompt: 'a kind fox' },
    { id: 'b', ...image, prompt: 'an owl' },
  ]);
  const waits = await run(world);
  expect(waits.err).toContain(
    'prompt changed after day/a failed, and its job is left as it is; run with --retry-failed',
  );
  expect([waits.code, creates(world)]).toEqual([13, 2]);
  const mended = await run(world, '--retry-failed');
  expect([mended.code, creates(world)]).toEqual([0, 3]);
  expect(mended.err).toBe(
    'row 1 of 2 (day/a): saved '.concat(mended.out.trim(), mended.err.slice(mended.err.indexOf(' after '))),
  );
  expect(JSON.stringify(world.sandbox.requests.at(-1)?.body)).toContain('a kind fox');
});

test('--only looks at its rows alone, past the faults of others', async ({ world }) => {
  write(world, [
    { id: 'a', ...image },
    { id: 'b', ...image, sise: '1x1' },
    { id: 'c', ...image, count: 2 },
  ]);
  const run1 = await run(world, '--only', 'c', '--only', 'day/a');
  expect([run1.code, creates(world)]).toEqual([0, 3]);
  expect(run1.err).toMatch(/3 rows: 3 saved\n$/);
  expect((await run(world, '--redo', 'a', '--only', 'c')).err).toMatch(
    /^error: --redo day\/a: .*\nhint: gw batch/,
  );
  const none = await run(world, '--only', 'd');
  expect(none).toMatchObject({
    code: 2,
    err: expect.stringContaining('--only day/d: day.jsonl has no row of this key'),
  });
  const wrong = await run(world, '--only', 'b');
  expect(wrong).toMatchObject({ code: 2, err: expect.stringContaining('day.jsonl:2: sise: no flag') });
});

test('batch status lists the rows that are not saved, with their reasons; a row is named by its key everywhere', async () => {
  const world = await World.open({ fault: 'create:400:x1' });
  write(world, [
    { id: 'a', ...image },
    { id: 'b', ...image },
    { id: 'c', ...image },
  ]);
  await run(world, '--concurrency', '1', '--limit', '2');
  const status = await world.gw(['batch', 'status', 'day.jsonl']);
  const [saved, failed, open2, a, c, ...more] = status.out.split('\n');
  expect([saved, failed, open2]).toEqual(['1 saved', '1 failed', '1 not sent']);
  expect(a).toMatch(/^day\/a\tfailed\tgw-\S+\t\S.+/);
  expect([c, more]).toEqual(['day/c\tnot sent\t-\t-', ['']]);
  expect((await world.gw(['batch', 'status', 'day.jsonl', '-q'])).out).toBe(`${a?.split('\t')[2]}\n`);
  const json = await world.gw(['batch', 'status', 'day.jsonl', '--json', '--all']);
  const rows = jsonLines(json.out);
  expect(rows.map(({ row_key, status: state }) => [row_key, state])).toEqual([
    ['day/a', 'failed'],
    ['day/b', 'saved'],
    ['day/c', 'not_sent'],
  ]);
  expect(Object.keys(rows[0])).toEqual(['row', 'line', 'row_key', 'status', 'id', 'reason']);
  expect((await world.gw(['batch', 'status', 'day.jsonl', '--row', 'b'])).out).toMatch(
    /^day\/b\tsaved\tgw-\S+\t-\n$/,
  );
  expect((await world.gw(['batch', 'status', 'day.jsonl', '--row', 'x'])).code).toBe(2);
  const redis = ['--redis', 'redis://127.0.0.1:1', '--all'];
  expect((await world.gw(['batch', 'status', 'day.jsonl', ...redis])).err).toMatch(
    /^error: --all: does not go/,
  );
  const shown = await world.gw(['jobs', 'show', 'day/b', '--json']);
  expect(JSON.parse(shown.out).id).toBe(rows[1].id);
  expect(await world.gw(['again', 'day/b', '--dry-run'])).toMatchObject({ code: 0 });
  expect((await world.gw(['jobs', 'show', 'day/none'])).code).toBe(4);
});

test('a row of unknown outcome is not made anew before it is known', async () => {
  const world = await World.open({ fault: 'create:cut:x1' });
  write(world, [{ id: 'a', ...image }]);
  const lost = await run(world);
  expect([lost.code, lost.err]).toEqual([14, expect.stringContaining('gw jobs resolve closes it')]);
  const redo = await run(world, '--redo', 'a');
  expect(redo).toMatchObject({
    code: 2,
    err: expect.stringContaining('--redo day/a: it is not known what became of'),
  });
  write(world, [{ id: 'a', ...image, prompt: 'other' }]);
  const changed = await run(world);
  expect(changed.err).toContain('was sent, and its outcome is not known');
  expect([changed.code, creates(world)]).toEqual([14, 1]);
});

test('a row that another gw is sending is running, and whoever waits for a gw that saves one says so', async () => {
  const world = await World.open();
  write(world, [{ id: 'a', ...alpha }]);
  const { clock, sandbox } = world;
  const ledger = openLedger({ dir: path.join(world.dir, '.local/state/gw'), clock, keepPrompts: true });
  const status = async () =>
    JSON.parse((await world.gw(['batch', 'status', 'day.jsonl', '--row', 'a', '--json'])).out).status;
  const once = { key: 'day/a', attempt: 1, fields: {} };
  const sending = ledger.begin(
    intentIn(world, { once }),
    onceJobKey(new URL(sandbox.baseUrl).origin, once.key),
  );
  expect(await status()).toBe('running');
  ledger.append(sending.key, { event: 'sent' });
  expect(await status()).toBe('running');
  expect((await run(world, '--redo', 'a')).err).toContain('it is not known what became of');
  ledger.append(sending.key, { event: 'refused', kind: 'absent', message: '' });
  sending.release();
  await world.ok(cmd`
    video alpha create --json --again --once ${once.key} "a fox" --model ${alpha.model}
  `);
  const [job] = await ledger.find({ limit: 1 });
  const saving = await ledger.hold(job?.key ?? '');
  const waited = await run(world, '--wait-timeout', '1m');
  expect([waited.code, waited.err]).toEqual([
    10,
    expect.stringMatching(/^another gw \(process \d+\) is saving task .*; waiting for it$/m),
  ]);
  saving?.release();
});

test('the line that says how to go on holds every flag that was typed, and runs as printed', async () => {
  const world = await World.open();
  write(world, [
    { id: 'a', ...image },
    { id: 'b', ...image, prompt: "an owl's day" },
  ]);
  const first = await run(world, ...cmd`--limit 1 --quality low -o "z dir/{key}.{ext}" --redo a`);
  const line = /go on with: (.*)\n$/.exec(first.err)?.[1] ?? '';
  expect(line).toBe("gw batch run day.jsonl --limit 1 --quality low -o 'z dir/{key}.{ext}'");
  const words = [...line.matchAll(/'([^']*)'|(\S+)/g)].map(([, quoted, plain]) => quoted ?? plain ?? '');
  const next = await world.gw(words.slice(1));
  expect(next).toMatchObject({
    code: 0,
    out: `${world.cwd}/z dir/day-b.png\n`,
    err: expect.not.stringContaining('warning'),
  });
  expect(creates(world)).toBe(2);
});

test('{row} is padded for the whole manifest, whichever rows a run looks at', async ({ world }) => {
  write(world, [
    ...Array.from({ length: 9 }, (_, at) => ({ id: `r${at + 1}`, ...image, prompt: `fox ${at}` })),
    { id: 'last', ...image, skip: true },
  ]);
  const one = await run(world, '--only', 'r3', '-o', '{row}.{ext}');
  expect(one.out, one.err).toBe(`${world.cwd}/03.png\n`);
  expect(one.err).toContain('row 3 of 10 (day/r3)');
  expect((await run(world, '--limit', '1', '-o', '{row}.{ext}')).out).toBe(`${world.cwd}/01.png\n`);
});

test('the line that goes on makes no row anew that --redo has made, and those that it has not', async () => {
  const world = await World.open();
  write(world, [
    { id: 'a', ...image },
    { id: 'n', ...image, prompt: 'an owl', count: 2 },
  ]);
  await run(world, '-o', '{key}.{ext}');
  const some = await run(world, '--redo', 'n', '--redo=a', '--limit', '2', '-o', '{key}.{ext}');
  expect(some.err).toMatch(
    /go on with: gw batch run day\.jsonl --limit 2 -o '\{key\}\.\{ext\}' --redo day\/n\/2\n$/,
  );
  expect(creates(world)).toBe(5);
});

test('a failed row that has no price hinders no run that does not make it anew', async ({ world }) => {
  write(world, [
    { id: 'a', ...alpha, prompt: 'sensitive-output' },
    { id: 'b', ...image },
  ]);
  expect((await run(world)).code).toBe(13);
  const next = await run(world, '--max-cost', '5 CNY');
  expect([next.code, creates(world)], next.err).toEqual([13, 2]);
  const anew = await run(world, '--max-cost', '5 CNY', '--retry-failed');
  expect([anew.code, creates(world)], anew.err).toEqual([15, 2]);
});

test('a row that --redo could not send is not told as the job that it was to replace', async ({ world }) => {
  write(world, [{ id: 'a', ...image }]);
  await run(world);
  await world.ok(['config', 'set', 'budget.jobs', '1/day']);
  const redo = await run(world, '--redo', 'a');
  expect([redo.code, redo.out]).toEqual([15, '']);
  expect(redo.err).toContain('1 row: 0 saved, 1 not sent; go on with: gw batch run day.jsonl --redo a\n');
  const [row] = jsonLines((await run(world, '--redo', 'a', '--json')).out);
  expect(row).toMatchObject({ status: 'not_sent', id: null, files: [], error: { kind: 'budget' } });
});

test('rows that were made before under another name are counted before they are sent, and asked for on a terminal', async () => {
  const world = await World.open();
  const rows = [1, 2, 3].map((n) => ({
    id: `s${n}`,
    ...image,
    prompt: `shot ${n}`,
    ...(n === 3 && { count: 2 }),
  }));
  write(world, rows);
  await run(world);
  write(world, [...rows, { id: 'new', ...image, prompt: 'new' }], 'day-v2.jsonl');
  const text = 'warning: 4 rows were made before as day/…: made under another key they are paid for again\n';
  expect((await world.gw(['batch', 'check', 'day-v2.jsonl'])).err).toContain(text);
  const no = Object.assign(Readable.from([Buffer.from('n\n')]), { isTTY: true });
  const asked = await world.gw(['batch', 'run', 'day-v2.jsonl'], { terminal: true, stdin: no });
  expect([asked.code, creates(world)]).toEqual([2, 4]);
  expect(asked.err).toContain('nothing was sent');
  const made = await world.gw(['batch', 'run', 'day-v2.jsonl']);
  expect([made.code, creates(world)]).toEqual([0, 9]);
  expect(made.err).toContain(text);
  // Under its own name the batch continues as before, and the warning counts a renamed row too.
  expect((await run(world)).err).toBe('4 rows: 4 saved\n');
  write(world, [...rows.slice(0, 2), { ...rows[2], id: 'renamed' }]);
  expect((await world.gw(['batch', 'check', 'day.jsonl'])).err).toMatch(
    /warning: 2 rows were made before as day/,
  );
});

test('rows that were made before are told of only where they would be made once more', async () => {
  const world = await World.open();
  write(world, [{ id: 'a', ...image }]);
  await run(world);
  write(world, [{ id: 'b', ...image }], 'v2.jsonl');
  const noKey = await world.gw(['batch', 'run', 'v2.jsonl'], {
    bare: true,
    env: { GW_BASE_URL: world.sandbox.baseUrl },
  });
  expect([noKey.code, noKey.err]).toEqual([3, expect.not.stringContaining('made before')]);
  const unpriced = await world.gw(['batch', 'run', 'v2.jsonl', '--max-cost', '1 CNY']);
  expect([unpriced.code, unpriced.err]).toEqual([15, expect.not.stringContaining('made before')]);
  expect((await world.ok(['batch', 'run', 'v2.jsonl'])).err).toContain('made before');
});

test('a faulty row stops all of them', async ({ world }) => {
  write(world, [
    { id: 'a', ...image },
    { id: 'b', ...image, sise: '1x1' },
    { id: 'c', ...gamma, ratio: '5:4' },
  ]);
  const refused = await run(world);
  expect(refused).toMatchObject({ code: 2, out: '' });
  expect(refused.err).toContain('error: day.jsonl:2: sise: no flag of gw image create; did you mean size?');
  expect(refused.err).toContain('error: day.jsonl:3: ratio: 5:4: one of');
  expect(creates(world)).toBe(0);
});

test('--json is one object a row as it ends; --report holds all of them', async ({ world }) => {
  write(world, mixed.slice(0, 2));
  await run(world);
  write(world, mixed.slice(0, 3));
  const json = await run(world, '--json', '--report', 'report.jsonl');
  const rows = json.out
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line));
  expect(rows).toHaveLength(1);
  expect(Object.keys(rows[0])).toEqual([
    ...['row', 'line', 'row_key', 'key', 'family', 'id', 'status', 'files', 'record', 'error'],
  ]);
  expect(rows[0]).toMatchObject({ row: 3, line: 3, row_key: 'day/c', family: 'beta', error: null });
  expect(rows[0].key).toMatch(/^gw-/);
  const report = readFileSync(path.join(world.cwd, 'report.jsonl'), 'utf8').trimEnd().split('\n');
  expect(report.map((line) => JSON.parse(line).row_key)).toEqual(['day/a', 'day/b', 'day/c']);
  await run(world, '--report', 'report.csv');
  const csv = readFileSync(path.join(world.cwd, 'report.csv'), 'utf8').split('\n');
  expect(csv[0]).toBe('row,line,row_key,key,family,id,status,files,error');
  expect(csv[1]).toMatch(/^1,1,day\/a,gw-\w+,gamma,\S+,succeeded,\/.*\.mp4,$/);
  expect(await run(world, '--report', 'report.txt')).toMatchObject({ code: 2 });
  mkdirSync(path.join(world.cwd, 'folder.csv'));
  expect((await run(world, '--report', 'folder.csv')).code).not.toBe(0);
  expect(readdirSync(world.cwd).filter((name) => /\.(tmp|part)$/.test(name))).toEqual([]);
});

test('each event tells its own row: one that is refused says nothing of the job beside it', async () => {
  const world = await World.open({ fault: 'create:451:x1' });
  write(world, [
    { id: 'a', ...gamma },
    { id: 'b', ...gamma, prompt: 'another' },
    { id: 'c', ...gamma, out: 'day.jsonl/under-a-file.mp4' },
  ]);
  const { code, out } = await run(world, '--events');
  expect(code).toBe(13);
  const told = out
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line));
  const byRow = new Map<string, { event: string; key: string | null; status: string }[]>();
  for (const each of told) byRow.set(each.row_key, [...(byRow.get(each.row_key) ?? []), each]);
  expect([...byRow.keys()].sort()).toEqual(['day/a', 'day/b', 'day/c']);
  const ends = [...byRow.values()].map((events) => {
    const names = events.map(({ event }) => event);
    expect(new Set(events.map(({ key }) => key)).size).toBe(1);
    return `${names[0]} … ${names.at(-2)}, ${names.at(-1)} ${events.at(-1)?.status}`;
  });
  expect(ends.sort()).toEqual([
    'failed … failed, result not_sent',
    'intent … failed, result refused',
    'intent … saved, result succeeded',
  ]);
});

test.each([
  ['--limit', '1'],
  ['--stop-on-error', '--concurrency=1'],
  ['--only', 'nobody'],
  ['SIGINT'],
  ['SIGTERM'],
  ['SIGINT', 'at once'],
])('a report has all rows, whatever ends the run: %s', async (...words) => {
  const [signal, isAtOnce] = words[0]?.startsWith('SIG') ? words : [];
  const world = await World.open(signal ? {} : { fault: 'create:451:x1' });
  const ids = ['a', 'b', 'c', 'd', 'e'];
  write(
    world,
    ids.map((id) => ({ id, ...gamma, prompt: id })),
  );
  writeFileSync(path.join(world.cwd, 'r.jsonl'), '{"row":1,"line":1,"row_key":"old/a"}\n');
  const report = ['batch', 'run', 'day.jsonl', '--report', 'r.jsonl'];
  const { code } = await world.gw(signal ? report : [...report, ...words], {
    interrupts: (send) => {
      if (isAtOnce) send('SIGINT');
      const { sleep } = world.clock;
      world.clock.sleep = async (ms, ended) => {
        if (signal) send(signal as 'SIGINT');
        world.clock.sleep = sleep;
        return sleep.call(world.clock, ms, ended);
      };
    },
  });
  expect(code).not.toBe(0);
  const rows = readFileSync(path.join(world.cwd, 'r.jsonl'), 'utf8').trimEnd().split('\n');
  expect(rows.map((line) => JSON.parse(line).row_key)).toEqual(ids.map((id) => `day/${id}`));
});

test('a row that fails has a line of its own, the others are saved, and --retry-failed makes it anew', async () => {
  const world = await World.open({ fault: 'task:fail=Odd:x1' });
  write(world, [
    { id: 'a', ...gamma },
    { id: 'd', ...image },
  ]);
  const first = await run(world);
  expect(first.code).toBe(13);
  expect(first.err).toMatch(
    /error: day\.jsonl:1: task \S+ ended failed: .*\nhint: change the row, and run the batch again with --retry-failed\n/,
  );
  expect(first.err).toContain(
    '2 rows: 1 saved, 1 failed; create anew what failed with: gw batch run day.jsonl --retry-failed',
  );
  const again = await run(world);
  expect(again).toMatchObject({ code: 13, out: '' });
  expect(creates(world)).toBe(2);
  const anew = await run(world, '--retry-failed');
  expect(anew.code, anew.err).toBe(0);
  expect(creates(world)).toBe(3);
});

test('--limit takes the first that are not done, --stop-on-error begins no more', async ({ world }) => {
  write(
    world,
    ['a', 'b', 'c', 'd'].map((id) => ({ id, ...image })),
  );
  expect(await run(world, '--limit', '1')).toMatchObject({ code: 0 });
  const two = await run(world, '--limit', '2');
  expect(two.err).toContain('4 rows: 3 saved, 1 not sent; go on with: gw batch run day.jsonl');
  expect(creates(world)).toBe(3);
});

test('a paid row that --limit leaves out is not called unsent', async ({ world }) => {
  write(
    world,
    ['a', 'b'].map((id) => ({ id, ...gamma })),
  );
  expect((await run(world, '--wait-timeout', '1s')).err).toContain('2 rows: 0 saved, 2 not done');
  world.clock.ms += 600_000;
  expect((await run(world, '--limit', '1')).err).toContain('2 rows: 1 saved, 1 not done');
  expect(creates(world)).toBe(2);
});

test('a password of Redis that was printed as *** is asked for', async ({ world }) => {
  write(world, [{ id: 'a', ...beta }]);
  const words = ['batch', 'status', 'day.jsonl', '--redis', 'redis://:***@127.0.0.1:1'];
  const stdin = Object.assign(Readable.from([Buffer.from('sec/ret\n')]), { isTTY: true });
  const { code, err } = await world.gw(words, { terminal: true, stdin });
  expect([code, err]).toEqual([
    8,
    expect.stringMatching(/^Password of Redis: [\s\S]*127\.0\.0\.1:1 cannot be reached/),
  ]);
  expect(err).not.toContain('sec');
});

test('--limit counts no failed row that is not made anew', async () => {
  const world = await World.open({ fault: 'task:fail=Odd:x2' });
  write(
    world,
    ['a', 'b', 'c', 'd'].map((id) => ({ id, ...beta })),
  );
  expect(await run(world, '--limit', '2', '--concurrency', '1')).toMatchObject({ code: 9 });
  const next = await run(world, '--limit', '1');
  expect(next.err).toContain('4 rows: 1 saved, 2 failed, 1 not sent');
  expect(creates(world)).toBe(3);
  expect((await run(world, '--limit', '1', '--retry-failed')).err).toContain('2 saved');
});

test('on a terminal a saved row is one line, and the whole is what this run looks at', async () => {
  // A bar is drawn only after its work has taken a moment.
  const world = await World.open({ fault: 'create:slow:x1' });
  write(
    world,
    ['a', 'b', 'c'].map((id) => ({ id, ...gamma, prompt: id })),
  );
  const { out, err } = await world.gw(['batch', 'run', 'day.jsonl', '--limit', '2'], { terminal: true });
  expect(out.trimEnd().split('\n')).toHaveLength(2);
  expect(err).not.toMatch(/succeeded after| in \d+ s/);
  expect(err).toContain('of 2 done');
});

test('an interrupt ends it with 130, and the next run goes on', async ({ world }) => {
  write(
    world,
    Array.from({ length: 6 }, (_, at) => ({ id: at, ...gamma })),
  );
  const slept = world.clock.sleep;
  const interrupted = async (...more: string[]) => {
    let send: ((signal: 'SIGINT') => void) | undefined;
    world.clock.sleep = async (ms, signal) => {
      send?.('SIGINT');
      return slept.call(world.clock, ms, signal);
    };
    const ended = await world.gw(['batch', 'run', 'day.jsonl', ...more], {
      interrupts: (heard) => {
        send = (signal) => {
          send = undefined;
          heard(signal);
        };
      },
    });
    world.clock.sleep = slept;
    expect(ended.code, ended.err).toBe(130);
    return ended;
  };
  await interrupted();
  const rest = await run(world);
  expect(rest.code, rest.err).toBe(0);
  expect(creates(world)).toBe(6);
  expect(world.sandbox.tasks()).toHaveLength(6);
  // The printed command must not repeat --redo, which would make these rows once more.
  const redo = await interrupted('-q', ...[0, 1, 2, 3, 4, 5].flatMap((id) => ['--redo', `day/${id}`]));
  const line = /hint: go on with: gw (.*)\n/.exec(redo.err)?.[1] ?? '';
  expect((await world.gw(line.split(' '))).code, line).toBe(0);
  expect(world.sandbox.tasks()).toHaveLength(12);
});

test('a personal account of three slots is never met with a 429', async () => {
  const world = await World.open({ account: 'personal' });
  write(
    world,
    Array.from({ length: 9 }, (_, at) => ({ id: at, ...alpha })),
  );
  await world.ok(['batch', 'run', 'day.jsonl', '--json'], { env: { GW_INTERVAL: '1s' } });
  expect(creates(world)).toBe(9);
  expect(world.sandbox.requests.filter(({ status }) => status === 429)).toEqual([]);
});

test('rows that nobody could send all fail alike', async ({ world }) => {
  write(world, [
    { id: 'a', ...image },
    { id: 'b', ...image },
  ]);
  const run = await world.gw(['batch', 'run', 'day.jsonl'], { bare: true });
  expect(run.code, run.err).toBe(3);
  expect(run.err.match(/error:/g)).toHaveLength(1);
});

test('a row that the gateway refuses is told as refused under its job, now and later; --retry-failed is named', async () => {
  const world = await World.open({ fault: 'create:422' });
  write(world, [
    { id: 'a', ...gamma },
    { id: 'b', ...alpha },
    { id: 'c', ...image },
  ]);
  const lines = (out: string) =>
    out
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line));
  const first = await run(world, '--events');
  const jobs = lines((await world.gw(['jobs', 'list', '--json'])).out).flat();
  for (const { job, family } of jobs) {
    const told = lines(first.out).filter(({ key, id }) => key === job || id === job);
    expect(told.map(({ event }) => event)).toEqual(['intent', 'failed', 'result']);
    expect(told[1]).toMatchObject({ error: { kind: 'rejected', task_id: job } });
    const row = { family, id: job, status: 'refused', files: [], error: { kind: 'rejected', task_id: job } };
    expect(told[2]).toMatchObject({ ...row, line: told[2].row });
  }
  const again = await run(world, '--json');
  const rows = lines(again.out);
  expect(rows.map(({ id }) => id).sort()).toEqual(jobs.map(({ job }) => job).sort());
  for (const { status, error } of rows) {
    expect(status).toBe('refused');
    expect(error.hint).toMatch(/; --retry-failed sends it again$/);
  }
  expect([first.code, again.code]).toEqual([5, 5]);
  expect(creates(world)).toBe(3);
});

test.each([402, 401])(
  'a row that was refused with %i is not sent, and batch status says why',
  async (status) => {
    const world = await World.open({ fault: `create:${status}` });
    write(world, [{ id: 'a', ...image }]);
    await run(world);
    const told = await world.gw(['batch', 'status', 'day.jsonl']);
    expect(told.out).toMatch(new RegExp(`^1 not sent\\nday/a\tnot sent\t-\t\\S.*HTTP ${status}`));
  },
);

test('a row that is forbidden ends alone, and a key that is refused ends the run', async () => {
  const rows = ['a', 'b', 'c'].map((id) => ({ id, ...image }));
  const world = await World.open({ fault: 'create:403:x1' });
  write(world, rows);
  const forbidden = await run(world, '--concurrency', '1');
  expect(forbidden.code, forbidden.err).toBe(13);
  expect(forbidden.out.trim().split('\n')).toHaveLength(2);
  expect(forbidden.err).toContain('day.jsonl:1: the key may not do this (HTTP 403');
  const refused = await World.open({ fault: 'create:401' });
  write(refused, rows);
  expect((await run(refused, '--concurrency', '1')).code).toBe(3);
  expect([creates(world), creates(refused)]).toEqual([3, 1]);
});

test('a row that runs and cannot be asked for now is told under its task, not as one that was not sent', async () => {
  const world = await World.open();
  write(world, [{ id: 'a', ...alpha }]);
  // This job was made by a run that did not wait for it.
  const flags = ['-m', '2.0-fast', '--resolution', '480p', '--duration', '4', '--once', 'day/a'];
  const id = (await world.gw(['video', 'alpha', 'create', 'a fox', ...flags])).out.trim();
  expect(id).toMatch(/^vt-/);
  const { code, out, err } = await world.gw(['batch', 'run', 'day.jsonl', '--json'], {
    env: { GW_API_KEY: 'another-key-of-the-same-gateway' },
  });
  expect(code, err).toBe(3);
  expect(JSON.parse(out)).toMatchObject({ id, status: 'queued', error: { kind: 'auth' } });
});

test('a row whose answer was lost is told as unknown under its job', async () => {
  const world = await World.open({ fault: 'create:reset-after' });
  write(world, [
    { id: 'a', ...gamma },
    { id: 'b', ...image },
  ]);
  for (const _ of [1, 2]) {
    const { code, out } = await run(world, '--json');
    expect(code).toBe(14);
    const jobs = JSON.parse((await world.gw(['jobs', 'list', '--json'])).out) as { id: string }[];
    const rows = out
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line));
    expect(rows.map(({ id }) => id).sort()).toEqual(jobs.map(({ id }) => id).sort());
    expect(rows.map(({ status }) => status)).toEqual(['unknown', 'unknown']);
  }
  expect(creates(world)).toBe(2);
});

// Two accounts of one gateway: neither can see the tasks of the other.
async function twoProfiles() {
  const world = await World.open();
  let made = 0;
  const gateway = await fakeGateway((method, url) => {
    if (url.endsWith('/models')) return { body: { object: 'list', data: [] } };
    if (method === 'POST') made += 1;
    return {
      body: method === 'POST' ? { id: `t-${made}` } : { id: url.split('/').at(-1), status: 'running' },
    };
  });
  const gw = (...words: string[]) => world.gw(words, { bare: true });
  for (const profile of ['p1', 'p2']) {
    const words = ['login', '--profile', profile, '--base-url', gateway.url, '--with-key'];
    await world.ok(words, { bare: true, stdin: `key-of-${profile}` });
  }
  return { world, gateway, gw, creates: () => made };
}

test('a row whose image is gone names --redo, which completes it', async ({ world }) => {
  write(world, [{ id: "a fox's", ...image }]);
  const [file = ''] = (await run(world)).out.trimEnd().split('\n');
  rmSync(file);
  const gone = await run(world);
  expect(gone.code, gone.err).toBe(12);
  expect(gone.err).toContain(`or pay for a new one: run the batch again with --redo 'day/a fox'\\''s'\n`);
  expect(gone.err).toMatch(/^1 row: 0 saved, 1 not done$/m);
  expect(await run(world, '--redo', "day/a fox's")).toMatchObject({ code: 0 });
  expect(await run(world)).toMatchObject({ code: 0, err: '1 row: 1 saved\n' });
});

test('a row whose record has expired before its video was saved names --redo', async () => {
  const world = await World.open();
  let isExpired = false;
  const gateway = await fakeGateway((method) => {
    if (method === 'POST') return { body: { id: 't-1' } };
    if (isExpired) return { status: 404, body: {} };
    const content = { video_url: `${gateway.url}/gone.mp4` };
    return { body: { id: 't-1', status: 'succeeded', content } };
  });
  write(world, [{ id: 'a', ...alpha }]);
  const again = () => world.gw(['batch', 'run', 'day.jsonl'], { env: { GW_BASE_URL: gateway.url } });
  expect((await again()).code).toBe(12);
  isExpired = true;
  const { code, err } = await again();
  expect(code, err).toBe(12);
  expect(err).toContain('make it anew: run the batch again with --redo day/a\n');
  expect(err).toMatch(/^1 row: 0 saved, 1 not done$/m);
});

test('a row whose wait ran out is not done, and is to be gone on with, not created anew', async () => {
  const { world, gw } = await twoProfiles();
  write(world, [{ id: 'a', ...alpha }]);
  const { code, err } = await gw('batch', 'run', 'day.jsonl', '--wait-timeout', '1s', '--profile', 'p1');
  expect(code, err).toBe(10);
  expect(err).toMatch(
    /^1 row: 0 saved, 1 not done; go on with: gw batch run day\.jsonl --wait-timeout 1s --profile p1$/m,
  );
});

test('a row that runs under a key which is gone is told with its task, and the others go on', async () => {
  const { world, gw, creates } = await twoProfiles();
  const rows = ['a', 'b', 'c'].map((id) => ({ id, ...alpha }));
  write(world, rows.slice(0, 1));
  const words = ['batch', 'run', 'day.jsonl', '--wait-timeout', '1s'];
  expect(await gw(...words, '--profile', 'p1')).toMatchObject({ code: 10 });
  expect(await gw('logout', '--profile', 'p1')).toMatchObject({ code: 0 });
  write(world, rows.slice(0, 1));
  const lone = await gw(...words, '--profile', 'p2', '--json');
  expect(lone.code).toBe(3);
  const [told] = jsonLines(lone.out);
  expect(told).toMatchObject({ id: 't-1', status: 'running', error: { kind: 'auth', task_id: 't-1' } });
  write(world, rows);
  const all = await gw(...words, '--profile', 'p2', '--concurrency', '1', '--report', 'all.jsonl');
  expect(all.code).toBe(13);
  expect(all.err).toMatch(/^error: day\.jsonl:1: job t-1: there is no stored key of profile p1 /m);
  expect(all.err).toMatch(/^3 rows: 0 saved, 3 not done; go on with: /m);
  const report = jsonLines(readFileSync(path.join(world.cwd, 'all.jsonl'), 'utf8'));
  expect(report.map(({ id }) => id)).toEqual(['t-1', 't-2', 't-3']);
  expect(report[0]).toMatchObject({ status: 'running', error: { kind: 'auth' } });
  expect(creates()).toBe(3);
});

test('a row whose lost job cannot be looked up is told as unknown under its job, not as one that was not sent', async () => {
  const world = await World.open();
  let looks = 0;
  const gateway = await fakeGateway((method) => {
    if (method === 'POST') return { status: 502 };
    looks += 1;
    // The first query finds no task; after the create the gateway refuses the key.
    return looks === 1 ? { body: { code: 0, data: [] } } : { status: 401, body: {} };
  });
  write(world, [{ id: 'a', ...beta }]);
  const again = () =>
    world.gw(['batch', 'run', 'day.jsonl', '--json'], { env: { GW_BASE_URL: gateway.url } });
  const [first] = jsonLines((await again()).out);
  expect(first).toMatchObject({ id: expect.stringMatching(/^gw-/), status: 'unknown' });
  const second = await again();
  expect(second.code, second.err).toBe(3);
  const { id } = first;
  expect(jsonLines(second.out)).toMatchObject([{ id, status: 'unknown', error: { kind: 'auth' } }]);
  expect(second.err).not.toContain('not sent');
  expect(gateway.requests.filter((each) => each.startsWith('POST'))).toHaveLength(1);
});
