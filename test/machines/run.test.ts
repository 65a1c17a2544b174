import { execFileSync } from 'node:child_process';
import * as fs from 'node:fs';
import { hostname } from 'node:os';
import * as path from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { expect, test, vi } from 'vitest';
import { openLibrary } from '../../src/agents/gw.ts';
import { isAlive } from '../../src/disk/lock-file.ts';
import { onceJobKey } from '../../src/ledger/job-key.ts';
import { openServer } from '../cli/fake-gateway.ts';
import { forward, held, KEY, sha256Of, until } from '../cli/place.ts';
import { assetsDir } from '../helpers/assets-dir.ts';
import { pngHead } from '../media/fixtures.ts';
import { framesOf, ids, story } from '../shots/chain.ts';
import { openRedisProxy } from './redis-proxy.ts';
import {
  alpha,
  beta,
  endsOf,
  gamma,
  giveManifest,
  image,
  mixed,
  openGate,
  openNearStudio,
  openStudio,
  paid,
  rowsIn,
  stop,
  toldIds,
  write,
} from './studio.ts';

// @module-tag redis-server
// `gw batch run --redis` and `gw worker` as processes: each machine has its own home, and all share a real Redis and a gateway.

test('rows are worked on by whoever is there, and followed from the machine that has the manifest', async () => {
  const studio = await openStudio();
  write(studio, [...mixed, ...mixed]);
  const workers = [studio.worker('anna'), studio.worker('bert')];
  const { code, out, err } = await studio.batch('run');
  expect(code, err).toBe(0);
  expect(err).toContain('8 rows: 8 saved\n');
  const files = out.trimEnd().split('\n');
  expect(files).toHaveLength(8);
  for (const named of files) {
    const [, host, file = ''] = /^(anna|bert):(.*)$/.exec(named) ?? [];
    expect(host, named).toBeDefined();
    expect(fs.existsSync(file), named).toBe(true);
  }
  expect(paid(studio)).toHaveLength(8);
  expect(studio.sandbox.requests.filter(({ status }) => status === 429)).toEqual([]);
  for (const worker of workers) expect(await stop(worker)).toMatchObject({ code: 143 });
  // A second run sends and prints nothing; its report has every row with correct checksums.
  const again = await studio.batch('run', '--report', 'all.jsonl');
  expect(again).toMatchObject({ code: 0, out: '' });
  const report = fs.readFileSync(path.join(studio.laptop.cwd, 'all.jsonl'), 'utf8').trimEnd().split('\n');
  for (const line of report) {
    const { files: saved, record } = JSON.parse(line);
    expect(record ?? null).toBeNull();
    expect(saved).toHaveLength(1);
  }
  expect(paid(studio)).toHaveLength(8);
  const everything = await studio.redis.everything();
  expect(everything).not.toContain(KEY);
  expect(everything).not.toMatch(/https?:\/\//);
  expect(everything).toContain('a fox');
});

test('--json tells of each row what its worker saved', async () => {
  const studio = await openNearStudio();
  write(studio, [alpha, { ...image, out: 'own/{row}.{ext}' }]);
  const worker = studio.worker('anna', ['-o', 'clips/{key}.{ext}']);
  const startMs = performance.now();
  const { code, out, err } = await studio.batch('run', '--json');
  const tookMs = performance.now() - startMs;
  expect(code, err).toBe(0);
  // The run asks for steps of its rows twice a second, and at once after each of these two rows' few steps.
  const [, asked] = /xread:calls=(\d+)/.exec(await studio.redis.client.info('commandstats')) ?? [];
  expect(Number(asked)).toBeLessThan(tookMs / 500 + 30);
  const [row, own] = out
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line))
    .sort((a, b) => a.row - b.row);
  const told = { row: 1, row_key: 'day/r0', key: expect.stringMatching(/^gw-/), family: 'alpha' };
  expect(row).toMatchObject({ ...told, status: 'succeeded', record: null, error: null });
  // A path that a row names itself lies below the worker's output directory.
  expect(own.files[0].path).toBe(`anna:${path.join(worker.place.cwd, 'clips/own/2.png')}`);
  const [, file = ''] = row.files[0].path.split('anna:');
  expect(path.relative(worker.place.cwd, file)).toBe('clips/day-r0.mp4');
  expect(sha256Of(file)).toBe(row.files[0].sha256);
});

test('a worker whose place stands in GW_OUT saves below it what names its own, and refuses one of no use', async () => {
  const studio = await openNearStudio();
  write(studio, [{ ...image, count: 10, out: 'own/{row}.{ext}' }]);
  const place = studio.machine();
  const start = (GW_OUT: string) =>
    place.start(['worker', '--redis', '--name', 'anna'], { env: { ...studio.env, GW_OUT } });
  const useless = await start('/dev/null').ended;
  expect([useless.code, useless.err]).toEqual([2, expect.stringContaining('/dev/null: it is a device')]);
  start('clips/');
  const { out, err } = await studio.batch('run');
  // All jobs of a row with a count are saved in the same directory.
  expect(out.split('\n'), err).toContain(`anna:${path.join(place.cwd, 'clips/own/1.png')}`);
});

test('a report has all rows, also those that are open or were left to a later run', async () => {
  const studio = await openNearStudio(held);
  write(studio, [alpha, alpha, alpha, alpha, alpha]);
  const reported = () =>
    fs
      .readFileSync(path.join(studio.laptop.cwd, 'all.jsonl'), 'utf8')
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line))
      .map(({ id, status }) => (id === null ? status : 'has a task'));
  await studio.batch('run', '--limit', '2', '--report', 'all.jsonl', '--detach');
  const left = ['not_sent', 'not_sent', 'not_sent'];
  expect(reported()).toEqual(['not_sent', 'not_sent', ...left]);
  const worker = studio.worker('anna');
  await toldIds(studio, 2);
  await stop(worker);
  // The two rows with tasks count towards the limit, so one more row reaches it.
  expect((await studio.batch('run', '--limit', '3', '--detach')).err).toContain('1 row handed over');
  const words = ['batch', 'run', 'day.jsonl', '--redis', '--limit', '3', '--report', 'all.jsonl'];
  const run = studio.laptop.start(words, { env: { GW_REDIS_URL: studio.redis.url } });
  await until('it follows', () => run.err().includes('no worker is connected'));
  run.child.kill('SIGINT');
  expect(await run.ended).toMatchObject({ code: 130 });
  expect(reported()).toEqual(['has a task', 'has a task', ...left]);
});

test('a report tells failed rows that --limit leaves to a later run, and a price is asked of none that was handed over', async () => {
  const studio = await openNearStudio();
  write(studio, [beta, beta]);
  await studio.faults('create:451:x2');
  const worker = studio.worker('anna');
  expect((await studio.batch('run')).err).toContain('2 rows: 0 saved, 2 failed');
  await stop(worker);
  const retry = ['--retry-failed', '--limit', '1', '--detach', '--report', 'all.jsonl'];
  expect((await studio.batch('run', ...retry)).err).toContain('1 row handed over');
  const report = fs.readFileSync(path.join(studio.laptop.cwd, 'all.jsonl'), 'utf8');
  expect(endsOf(report)).toEqual([
    ['day/r0', 'not_sent', undefined],
    ['day/r1', 'refused', 'rejected'],
  ]);
  await studio.laptop.run(['config', 'set', 'budget.amount', '50 USD/day']);
  expect((await studio.batch('run', '--detach')).err).toContain('0 rows handed over, 1 not done yet');
  expect(await studio.batch('run', '--detach', '--name', 'other')).toMatchObject({
    code: 15,
    err: expect.stringContaining('the cost of 2 rows is not known'),
  });
});

test('a worker that is started again with another -o saves there what it had begun', async () => {
  const studio = await openNearStudio(held);
  write(studio, [alpha]);
  const first = studio.worker('anna', ['-o', 'first/']);
  await studio.batch('run', '--detach');
  await toldIds(studio, 1);
  await stop(first);
  await forward(studio.sandbox);
  studio.worker('anna', ['-o', 'second/{key}.{ext}'], first.place);
  expect((await studio.batch('run')).out).toBe(`anna:${first.place.cwd}/second/day-r0.mp4\n`);
});

test('a worker whose stdout closes hands back what runs', async () => {
  const studio = await openStudio({ speed: 1 });
  write(studio, [alpha, image]);
  const worker = studio.worker('anna');
  worker.child.stdout?.destroy();
  await studio.batch('run', '--detach');
  expect(await worker.ended).toMatchObject({ code: 0 });
  expect((await studio.batch('status', '--row', 'r0')).out).toContain('handed_back');
});

test('what another machine was sending is not made anew for a job that had failed here before', async () => {
  const studio = await openNearStudio();
  write(studio, [alpha]);
  await studio.faults('task:fail=Odd:x1');
  const place = studio.machine();
  giveManifest(studio, place);
  expect(await place.run(['batch', 'run', 'day.jsonl'])).toMatchObject({ code: 9 });
  await studio.batch('run', '--retry-failed', '--detach');
  const { client } = studio.redis;
  const [row = ''] = await client.keys('*:row:day/r0');
  await client.hset(row, { state: 'sending', sender: 'bert' });
  studio.worker('anna', [], place);
  expect(await studio.batch('run')).toMatchObject({
    code: 14,
    err: expect.stringContaining('worker bert was lost while it sent this row'),
  });
  expect(paid(studio)).toHaveLength(1);
});

test('SIGTERM hands back what runs, and another worker goes on with the same task', async () => {
  const studio = await openStudio(held);
  write(studio, [alpha, beta, gamma]);
  const first = studio.worker('anna');
  expect((await studio.batch('run', '--detach')).err).toContain('3 rows handed over');
  await toldIds(studio, 3);
  expect(await stop(first)).toMatchObject({ code: 143 });
  await forward(studio.sandbox);
  const second = studio.worker('bert', ['--events']);
  const { code, out, err } = await studio.batch('run');
  expect(code, err).toBe(0);
  expect(
    out
      .trimEnd()
      .split('\n')
      .map((line) => line.split(':')[0]),
  ).toEqual(['bert', 'bert', 'bert']);
  expect(paid(studio)).toHaveLength(3);
  const log = await studio.batch('status', '--row', 'r0');
  expect(log.out).toMatch(/handed_back\s.*anna/);
  expect(log.out).toMatch(/saved\s.*bert/);
  const events = rowsIn((await stop(second)).out);
  const told = events.filter(({ row_key }) => row_key === 'day/r2').map(({ event, line }) => [event, line]);
  expect(told).toEqual(
    expect.arrayContaining([
      ['saved', 3],
      ['result', 3],
    ]),
  );
  expect(events.filter(({ row_key }) => row_key === undefined)).toEqual([]);
});

test.each([
  ['delay', 0],
  ['delay', 1_500],
  ['NOAUTH', 0],
] as const)(
  '--events tells what happens to a row elsewhere, whatever becomes of its first look: %s, %i ms',
  async (fault, delayMs) => {
    const studio = await openNearStudio();
    const proxy = await openRedisProxy(studio.redis.port);
    proxy.delayMs = delayMs;
    write(studio, [alpha]);
    const follows = proxy.at('xread', fault);
    const env = { GW_INTERVAL: '100ms', GW_REDIS_URL: proxy.url };
    const running = studio.laptop.start(['batch', 'run', 'day.jsonl', '--events', '--redis'], { env });
    await follows;
    if (fault !== 'delay') proxy.fault = 'none';
    const worker = studio.worker('anna', ['--events']);
    const { code, out, err } = await running.ended;
    expect(code, err).toBe(0);
    const events = out
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line));
    expect(events.map(({ event }) => event)).toEqual([
      'intent',
      'accepted',
      'status',
      'download',
      'saved',
      'result',
    ]);
    expect(events[1]).toMatchObject({
      family: 'alpha',
      row_key: 'day/r0',
      line: 1,
      id: expect.any(String),
      host: 'anna',
    });
    expect(events[4].path).toMatch(/^anna:/);
    const { out: own } = await stop(worker);
    const names = own
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line))
      .filter(({ row_key }) => row_key === 'day/r0')
      .map(({ event }) => event);
    expect(names).toEqual(expect.arrayContaining(['intent', 'accepted', 'saved', 'result']));
  },
);

test('--events tells of an image that it ended well, and of a task that failed that it did', async () => {
  const studio = await openNearStudio({ fault: 'task:fail=Moderated' });
  write(studio, [image, alpha]);
  studio.worker('anna');
  const { code, out, err } = await studio.batch('run', '--events');
  expect(code, err).toBe(13);
  const told = (row: string) =>
    rowsIn(out)
      .filter(({ row_key }) => row_key === row)
      .map(({ event, status, id }) => [event, status, id === undefined ? id : typeof id]);
  const none = [undefined, undefined];
  const own = ['result', 'succeeded', 'string'];
  expect(told('day/r0')).toEqual([
    ['intent', ...none],
    ['status', 'succeeded', undefined],
    ['saved', ...none],
    own,
  ]);
  const failed = [
    ['status', 'failed', 'string'],
    ['failed', undefined, 'string'],
    ['result', 'failed', 'string'],
  ];
  expect(told('day/r1')).toEqual([['intent', ...none], ['accepted', undefined, 'string'], ...failed]);
});

test('a program gets the events of rows that other machines work on, and none of them as a result', async () => {
  const studio = await openNearStudio();
  write(studio, [alpha]);
  studio.worker('anna');
  const { laptop } = studio;
  const events: string[] = [];
  const gw = openLibrary({ version: '0.0.0-test', distDir: assetsDir });
  const { results } = await gw(['batch', 'run', 'day.jsonl', '--redis'], {
    env: { ...laptop.env(), ...studio.env },
    cwd: laptop.cwd,
    onEvent: ({ event }) => events.push(event),
  });
  expect(results).toEqual([expect.objectContaining({ row_key: 'day/r0', status: 'succeeded' })]);
  expect(events).toEqual(['intent', 'accepted', 'status', 'download', 'saved', 'result']);
});

test('a worker tells of the pause that the gateway asks for while it lasts, and no longer', async () => {
  const studio = await openNearStudio({ fault: 'create:429+10:x1' });
  write(studio, [alpha]);
  const worker = studio.worker('anna');
  expect((await studio.batch('run')).code).toBe(0);
  const pause = 'no alpha task is made until';
  await until('it is told', () => worker.err().includes(pause));
  const status = async () => (await studio.batch('status')).out;
  await vi.waitFor(async () => expect(await status()).not.toContain(pause), { timeout: 60_000 });
});

test('what was not sent yet is taken out, and put back by the next run', async () => {
  const studio = await openNearStudio();
  write(studio, mixed);
  expect((await studio.batch('run', '--detach')).code).toBe(0);
  expect(await studio.batch('status')).toMatchObject({ code: 0, out: expect.stringContaining('4 waiting') });
  expect(await studio.batch('cancel')).toMatchObject({ code: 0, out: '4 taken out\n' });
  expect(await studio.batch('status')).toMatchObject({
    out: expect.not.stringMatching(/[1-9]\d* rows? waits?/),
  });
  const worker = studio.worker('anna');
  await until('the worker is there', () => worker.err().includes('takes rows'));
  expect(await studio.batch('status')).toMatchObject({
    code: 0,
    out: expect.stringMatching(/4 cancelled\n[\s\S]*workers: anna\n/),
  });
  expect(paid(studio)).toHaveLength(0);
  const { code, err } = await studio.batch('run');
  expect(code, err).toBe(0);
  expect(paid(studio)).toHaveLength(4);
});

test('a row that still waits is saved where the last run says, and another machine changes nothing there', async () => {
  const studio = await openNearStudio(held);
  write(studio, [alpha]);
  const { code, err } = await studio.batch('run', '--detach', '-o', 'old/{key}.{ext}');
  expect(code, err).toBe(0);
  expect((await studio.batch('run', '--detach', '-o', 'new/{key}.{ext}')).code).toBe(0);
  const other = studio.machine();
  giveManifest(studio, other);
  const typed = ['batch', 'run', 'day.jsonl', '--detach', '-o', 'other/', '--redis'];
  expect((await other.run(typed, { env: studio.env })).code).toBe(0);
  const worker = studio.worker('anna');
  await toldIds(studio, 1);
  await stop(worker);
  await forward(studio.sandbox);
  // A row that a worker has begun stays where it was, and the run says so.
  const begun = await studio.batch('run', '--detach', '-o', 'late/{key}.{ext}');
  expect(begun.err).toContain('the new -o does not hold for 1 row that a worker has begun');
  studio.worker('anna', [], worker.place);
  const { out, err: told } = await studio.batch('run', '-o', 'new/{key}.{ext}');
  expect(out).toMatch(/^anna:.*\/new\/day-r0\.mp4\n$/);
  expect(told).not.toContain('has begun');
});

test('rows that are taken out while a run follows them are errors of that run', async () => {
  const studio = await openNearStudio();
  write(studio, [image, image]);
  const env = { GW_REDIS_URL: studio.redis.url };
  const following = studio.laptop.start(['batch', 'run', 'day.jsonl', '--redis'], { env });
  await until('both rows are followed', () => following.err().includes('no worker is connected'));
  expect((await studio.batch('cancel')).out).toBe('2 taken out\n');
  const { code, out, err } = await following.ended;
  expect([code, out], err).toEqual([13, '']);
  expect(err).toContain('error: day.jsonl:2: it was taken out of the queue, and nothing was sent');
  expect(err).toContain('2 rows: 0 saved, 2 taken out; go on with: gw batch run day.jsonl --redis');
});

test.each([
  ['follows them too', ['--detach']],
  ['tells what came of them', []],
])('a run that puts rows back behind another one %s', async (_what, words) => {
  const studio = await openNearStudio({ fault: 'create:400:x2' });
  write(studio, [image, image]);
  studio.worker('anna');
  expect((await studio.batch('run')).code).toBe(5);
  const late = await openGate(studio.redis.port, '"step":"again"');
  const env = { GW_REDIS_URL: late.url };
  const second = studio.laptop.start(['batch', 'run', 'day.jsonl', '--redis', '--retry-failed'], { env });
  await late.reached;
  expect((await studio.batch('run', '--retry-failed', ...words)).code).toBe(0);
  late.open();
  const { code, out, err } = await second.ended;
  expect(code, err).toBe(0);
  expect(err).toContain('2 rows: 2 saved\n');
  expect(paid(studio)).toHaveLength(4);
  if (words.length > 0) expect(out.match(/^anna:/gm)).toHaveLength(2);
});

/** A row whose first attempt failed on one machine; a second one was requested, and a worker was lost while sending it. */
async function openSecondAttempt(row: object, failing: number) {
  const studio = await openNearStudio({ fault: `task:fail=Moderated:x${failing}` });
  write(studio, [row]);
  const anna = studio.worker('anna');
  expect((await studio.batch('run')).code).toBe(9);
  await stop(anna);
  await studio.batch('run', '--detach', '--retry-failed');
  const [key = ''] = await studio.redis.client.keys('*:row:day/r0');
  const change = (fields: Record<string, string>) => studio.redis.client.hset(key, fields);
  await change({ state: 'sending', sender: 'bert' });
  return { studio, anna: anna.place, change };
}

test('a task that failed before says nothing of the next attempt that a lost worker was sending', async () => {
  const { studio, anna } = await openSecondAttempt(alpha, 1);
  studio.worker('anna', [], anna);
  const { code, err } = await studio.batch('run');
  expect(code, err).toBe(14);
  expect(err).toContain('worker bert was lost while it sent this row');
  expect(paid(studio)).toHaveLength(1);
});

test.each([
  ['lost', { error: JSON.stringify({ kind: 'unknown_outcome', message: 'lost' }) }],
  ['it is not known what became of it', {}],
])(
  'an attempt of unknown outcome is not cleared by the task of the one before: %s',
  async (reason, error) => {
    const { studio, anna, change } = await openSecondAttempt(alpha, 1);
    await change({ state: 'unknown', ...error });
    const env = { GW_REDIS_URL: studio.redis.url };
    giveManifest(studio, anna);
    const { code, err } = await anna.run(['batch', 'run', 'day.jsonl', '--redis'], { env });
    expect(code, err).toBe(14);
    expect(err).toContain(`error: day.jsonl:1: ${reason}\n`);
  },
);

test.each([
  ['alpha', alpha],
  ['beta', beta],
])(
  'an attempt whose end this machine has not heard of does not stand for the next one: %s',
  async (_family, row) => {
    const studio = await openStudio({ fault: 'task:fail=Moderated:x1' });
    write(studio, [row]);
    // The task is made on this machine, and another machine sees how it ends.
    const key = onceJobKey(new URL(studio.sandbox.baseUrl).origin, 'day/r0');
    const anna = studio.machine();
    giveManifest(studio, anna);
    const alone = anna.start(['batch', 'run', 'day.jsonl'], { env: { GW_INTERVAL: '60s' } });
    await vi.waitFor(async () => expect((await anna.jobs())[0]?.id).toBeDefined(), { timeout: 60_000 });
    alone.child.kill('SIGKILL');
    await alone.ended;
    const [job] = await anna.jobs();
    expect(job).toMatchObject({ key, state: 'running' });
    await studio.batch('run', '--detach');
    const [rowKey = ''] = await studio.redis.client.keys('*:row:day/r0');
    const error = { kind: 'task_failed', message: 'Moderated' };
    await studio.redis.client.hset(rowKey, {
      ...{ state: 'failed', id: job?.id ?? '', error: JSON.stringify(error) },
    });
    studio.worker('anna', [], anna);
    const { code, err } = await studio.batch('run', '--retry-failed');
    expect(code, err).toBe(0);
    expect(paid(studio)).toHaveLength(2);
  },
);

test('a row whose job of this machine failed is told so, and handed over with --retry-failed alone', async () => {
  const studio = await openNearStudio({ fault: 'task:fail=Moderated:x1' });
  write(studio, [alpha]);
  expect((await studio.laptop.run(['batch', 'run', 'day.jsonl'])).code).toBe(9);
  const { code, out, err } = await studio.batch('run', '--json');
  expect([code, rowsIn(out)], err).toMatchObject([9, [{ status: 'failed', error: { kind: 'task_failed' } }]]);
  expect(err).toContain('its job on this machine failed","hint":"--retry-failed makes a new one"');
  expect(await studio.redis.client.keys('*:row:*')).toEqual([]);
  expect((await studio.batch('run', '--retry-failed', '--detach')).err).toContain('1 row handed over');
  expect(paid(studio)).toHaveLength(1);
});

test('--redo makes a row anew whose second attempt another machine has made', async () => {
  const studio = await openNearStudio({ fault: 'task:fail=Moderated:x1' });
  write(studio, [beta]);
  const alone = { env: { GW_INTERVAL: '100ms' } };
  expect((await studio.laptop.run(['batch', 'run', 'day.jsonl'], alone)).code).toBe(9);
  const worker = studio.worker('anna');
  expect((await studio.batch('run', '--retry-failed')).code).toBe(0);
  await stop(worker);
  const { code, err } = await studio.laptop.run(['batch', 'run', 'day.jsonl', '--redo', 'r0'], alone);
  expect([code, paid(studio).length], err).toEqual([0, 3]);
});

test('--retry-failed of a machine that knows no attempt makes the next one at once', async () => {
  const studio = await openNearStudio({ fault: 'task:fail=Moderated:x2' });
  write(studio, [alpha]);
  const anna = studio.machine();
  giveManifest(studio, anna);
  expect((await anna.run(['batch', 'run', 'day.jsonl'])).code).toBe(9);
  expect((await anna.run(['batch', 'run', 'day.jsonl', '--retry-failed'])).code).toBe(9);
  studio.worker('anna', [], anna);
  // The first run reports the attempts that the machine knows; then the next attempt is made, by its number.
  expect((await studio.batch('run')).code).toBe(9);
  const { code, err } = await studio.batch('run', '--retry-failed');
  expect(code, err).toBe(0);
  expect(paid(studio)).toHaveLength(3);
});

test('a row whose job is of unknown outcome in the ledger of its worker ends as that', async () => {
  const studio = await openNearStudio({ fault: 'create:reset-after:x1' });
  write(studio, [alpha]);
  const anna = studio.machine();
  giveManifest(studio, anna);
  expect((await anna.run(['batch', 'run', 'day.jsonl'])).code).toBe(14);
  studio.worker('anna', [], anna);
  const { code, err } = await studio.batch('run');
  expect(code, err).toBe(14);
  expect(paid(studio)).toHaveLength(1);
});

/** A row that was handed over with --retry-failed, and whose first attempt a worker was lost while sending. */
async function openFirstAttempt(row: object) {
  const studio = await openNearStudio({ fault: 'task:fail=Moderated:x1' });
  write(studio, [row]);
  await studio.batch('run', '--detach', '--retry-failed');
  const [key = ''] = await studio.redis.client.keys('*:row:day/r0');
  await studio.redis.client.hset(key, { state: 'sending', sender: 'bert' });
  return { studio };
}

test.each([
  [1, openFirstAttempt],
  [2, openSecondAttempt],
] as const)(
  'attempt %i was asked for: where it has failed, a worker without a ledger makes no other',
  async (attempt, open) => {
    const { studio } = await open(beta, attempt);
    const origin = new URL(studio.sandbox.baseUrl).origin;
    const sent = ['--external-id', onceJobKey(origin, 'day/r0', attempt), '--wait'];
    const bert = studio.machine();
    expect((await bert.run(['video', 'beta', 'create', 'a fox', '--duration', '3', ...sent])).code).toBe(9);
    studio.worker('carl');
    const { code, err } = await studio.batch('run');
    expect(code, err).toBe(9);
    expect(paid(studio)).toHaveLength(attempt);
    // A further attempt is made once it is requested.
    expect((await studio.batch('run', '--retry-failed')).code).toBe(0);
    expect(paid(studio)).toHaveLength(attempt + 1);
  },
);

test.each(['auth', 'usage'])(
  'a task whose row failed with %s on its way home is gone on with, and not made anew',
  async (kind) => {
    const studio = await openNearStudio(held);
    write(studio, [alpha]);
    const first = studio.worker('anna');
    await studio.batch('run', '--detach');
    await toldIds(studio, 1);
    await stop(first);
    await forward(studio.sandbox);
    const [row = ''] = await studio.redis.client.keys('*:row:day/r0');
    const error = JSON.stringify({ kind, message: 'no look was taken', exit_code: 3 });
    await studio.redis.client.hset(row, { state: 'failed', error });
    studio.worker('bert');
    const { code, out, err } = await studio.batch('run', '--retry-failed', '--json');
    expect(code, err).toBe(0);
    expect(JSON.parse(out)).toMatchObject({ status: 'succeeded', error: null });
    expect(paid(studio)).toHaveLength(1);
  },
);

test('a row whose output could not be saved is not done, and the printed command goes on with it', async () => {
  const studio = await openNearStudio({ fault: 'output:404' });
  write(studio, [alpha]);
  studio.worker('anna');
  const { code, err } = await studio.batch('run');
  expect(code, err).toBe(12);
  expect(err).toContain('1 row: 0 saved, 1 not done; go on with: gw batch run day.jsonl --redis\n');
});

test('what a new attempt comes to is told of it alone: one that lacks its file was not sent, and the next run sends it', async () => {
  const studio = await openNearStudio({ fault: 'task:fail=Moderated:x1' });
  const anna = studio.machine();
  const seen = path.join(anna.cwd, 'fox.png');
  for (const dir of [studio.laptop.cwd, anna.cwd])
    fs.writeFileSync(path.join(dir, 'fox.png'), pngHead(768, 432));
  write(studio, [{ ...alpha, image: 'fox.png' }]);
  studio.worker('anna', [], anna);
  expect((await studio.batch('run')).code).toBe(9);
  fs.renameSync(seen, `${seen}.away`);
  const unsent = await studio.batch('run', '--retry-failed', '--json');
  expect(rowsIn(unsent.out)).toMatchObject([{ id: null, status: 'not_sent', error: { kind: 'usage' } }]);
  fs.renameSync(`${seen}.away`, seen);
  const { code, err } = await studio.batch('run');
  expect(code, err).toBe(0);
  expect(paid(studio)).toHaveLength(2);
});

test.each([
  [{ ...gamma, 'first-frame': '/etc/fox.png' }, /first-frame: \/etc\/fox\.png: .*below --root/],
  [{ ...gamma, 'first-frame': '../fox.png' }, /first-frame: \.\.\/fox\.png: .*below --root/],
  [{ ...gamma, out: '/tmp/' }, /out: \/tmp\/: /],
  [{ ...alpha, image: 'https://x.example/a.png?X-Amz-Signature=1234' }, /a signed link/],
  [{ ...alpha, prompt: `a fox ${KEY}` }, /the row holds the API key/],
])('%j is not handed over', async (row, message) => {
  const studio = await openNearStudio();
  write(studio, [row]);
  const { code, err } = await studio.batch('run', '--detach');
  expect(code, err).toBe(2);
  expect(err).toMatch(message);
  expect(await studio.redis.client.keys('*:row:*')).toEqual([]);
});

test('a queue that was wiped: nothing is created by itself, and --refill sends what is lost', async () => {
  const studio = await openNearStudio();
  write(studio, [alpha, beta]);
  await studio.batch('run', '--detach');
  await studio.redis.client.flushall();
  studio.worker('anna');
  const lost = await studio.batch('run');
  expect(lost).toMatchObject({ code: 14, out: '' });
  expect(lost.err).toContain('error: day.jsonl:1: the queue does not know this row any more');
  expect(lost.err).toContain('--refill sends such rows again');
  expect(paid(studio)).toHaveLength(0);
  const again = await studio.batch('run', '--refill');
  expect(again.code, again.err).toBe(0);
  expect(paid(studio)).toHaveLength(2);
});

test('a row whose job was made on the worker with --no-download is brought home all the same', async () => {
  const studio = await openNearStudio();
  write(studio, [alpha]);
  const machine = studio.machine();
  const { command, prompt, ...flags } = alpha;
  const words = Object.entries(flags).flatMap(([name, value]) => [`--${name}`, String(value)]);
  const create = [...command.split(' '), 'create', prompt, ...words, '--once', 'day/r0', '--no-download'];
  const made = await machine.run(create);
  expect(made.code, made.err).toBe(0);
  studio.worker('anna', [], machine);
  const { code, out, err } = await studio.batch('run');
  expect(code, err).toBe(0);
  expect(out).toMatch(/^anna:.*\.mp4\n$/);
  expect(paid(studio)).toHaveLength(1);
});

test('a row whose image its worker has already made needs its input there no more', async () => {
  const studio = await openNearStudio();
  const anna = studio.machine();
  const input = (place: { cwd: string }) => path.join(place.cwd, 'fox.png');
  for (const place of [studio.laptop, anna]) fs.writeFileSync(input(place), pngHead(768, 432));
  write(studio, [{ command: 'image edit', prompt: 'a fox', image: 'fox.png' }]);
  giveManifest(studio, anna);
  const { out } = await anna.run(['batch', 'run', 'day.jsonl']);
  fs.rmSync(input(anna));
  studio.worker('anna', [], anna);
  const followed = await studio.batch('run');
  expect(followed, followed.err).toMatchObject({ code: 0, out: `anna:${out}` });
  expect(paid(studio)).toHaveLength(1);
});

test('a row under whose key its worker has a task of another family does not go on with that', async () => {
  const studio = await openNearStudio();
  write(studio, [beta]);
  const machine = studio.machine();
  const made = await machine.run(['video', 'alpha', 'create', 'a fox', '--once', 'day/r0']);
  expect(made.code, made.err).toBe(0);
  studio.worker('anna', [], machine);
  const { code, err } = await studio.batch('run');
  expect(code, err).toBe(2);
  expect(err).toContain('was made under this key by gw video alpha create, and this is gw video beta create');
  expect(paid(studio)).toHaveLength(1);
});

test('images that were made on this machine and are not saved are made nowhere else', async () => {
  const studio = await openNearStudio({ fault: 'output:404' });
  write(studio, [{ ...image, model: 'legacy-image-2', 'response-format': 'url' }]);
  const alone = await studio.laptop.run(['batch', 'run', 'day.jsonl']);
  expect(alone, alone.err).toMatchObject({ code: 12, out: '' });
  studio.worker('anna');
  const { code, out, err } = await studio.batch('run');
  expect([code, out], err).toEqual([12, '']);
  expect(err).toContain('gw jobs sync');
  // Neither this command again nor --retry-failed goes on with the row.
  expect(err).toMatch(/^1 row: 0 saved, 1 not done$/m);
  expect(paid(studio)).toHaveLength(1);
});

test.each([
  ['an image', image],
  ['of another family', beta],
])(
  'a row that is %s now, and whose job of this machine runs, is left on it, with the way on',
  async (_, row) => {
    const studio = await openNearStudio();
    write(studio, [row]);
    const made = await studio.laptop.run(['video', 'alpha', 'create', 'a fox', '--once', 'day/r0']);
    expect(made.code, made.err).toBe(0);
    const { code, out, err } = await studio.batch('run', '--detach', '--json');
    expect(code, err).toBe(13);
    const told = { family: 'alpha', id: made.out.trim(), status: expect.not.stringMatching('not_sent') };
    expect(rowsIn(out)).toMatchObject([{ ...told, error: { kind: 'download' } }]);
    expect(err).toContain('gw batch run without --redis waits for it');
    expect(await studio.redis.client.keys('*:row:*')).toEqual([]);
    const alone = await studio.laptop.run(['batch', 'run', 'day.jsonl'], { env: { GW_INTERVAL: '100ms' } });
    expect([alone.code, alone.out], alone.err).toEqual([0, expect.stringMatching(/\.mp4\n$/)]);
    expect(paid(studio)).toHaveLength(1);
  },
);

test('a row that failed unsent on a worker, and whose job of this machine runs, is not put back', async () => {
  const studio = await openNearStudio();
  fs.writeFileSync(path.join(studio.laptop.cwd, 'fox.png'), pngHead(768, 432));
  write(studio, [{ ...alpha, image: 'fox.png' }]);
  studio.worker('anna');
  expect((await studio.batch('run')).err).toMatch(/fox\.png: no such file/);
  const create = ['video', 'alpha', 'create', 'a fox', '--once', 'day/r0'];
  expect((await studio.laptop.run(create)).code).toBe(0);
  const { code, err } = await studio.batch('run');
  expect(code, err).toBe(12);
  expect(paid(studio)).toHaveLength(1);
});

test.each([
  ['a task', alpha, ['video', 'alpha', 'create', 'a fox']],
  ['an image', image, ['image', 'create', 'a dog']],
])(
  'a row that waits on the queue goes on with %s that this machine has made by hand',
  async (_, row, create) => {
    const studio = await openNearStudio();
    write(studio, [row]);
    expect((await studio.batch('run', '--detach')).code).toBe(0);
    const made = await studio.laptop.run([...create, '--once', 'day/r0']);
    expect(made.code, made.err).toBe(0);
    expect((await studio.batch('run', '--detach')).code).toBe(0);
    studio.worker('anna');
    const { code, err } = await studio.batch('run');
    expect(code, err).toBe(0);
    expect(paid(studio)).toHaveLength(1);
  },
);

test('a row that runs needs its input no more where the manifest is', async () => {
  const studio = await openNearStudio(held);
  const input = (place: { cwd: string }) => path.join(place.cwd, 'fox.png');
  const anna = studio.machine();
  for (const place of [studio.laptop, anna]) fs.writeFileSync(input(place), pngHead(768, 432));
  const alone = ['batch', 'run', 'day.jsonl', '--wait-timeout', '1s'];
  write(studio, [{ ...alpha, image: 'fox.png' }]);
  const begun = await studio.laptop.run(alone, { env: { GW_INTERVAL: '100ms' } });
  expect(begun.code, begun.err).toBe(10);
  fs.rmSync(input(studio.laptop));
  await forward(studio.sandbox);
  studio.worker('anna', [], anna);
  const { code, out, err } = await studio.batch('run');
  expect([code, out], err).toEqual([0, expect.stringMatching(/^anna:.*\.mp4\n$/)]);
  expect(await studio.batch('run')).toMatchObject({ code: 0, out: '' });
  expect(paid(studio)).toHaveLength(1);
});

test('a saved file of this machine that is gone is fetched once more, as without a queue', async () => {
  const studio = await openNearStudio();
  write(studio, [alpha]);
  studio.worker(hostname(), [], studio.laptop);
  const { code, out, err } = await studio.batch('run');
  expect([code, out], err).toEqual([0, expect.stringMatching(/^\/.*\.mp4\n$/)]);
  fs.rmSync(out.trim());
  expect(await studio.batch('run')).toMatchObject({ code: 0, out });
  expect(await studio.batch('run')).toMatchObject({ code: 0, out: '' });
  expect(paid(studio)).toHaveLength(1);
});

test('images that a worker has made and not saved are not made once more by --retry-failed', async () => {
  const studio = await openNearStudio({ fault: 'output:404' });
  write(studio, [{ ...image, model: 'legacy-image-2', 'response-format': 'url' }]);
  const first = studio.worker('anna');
  expect((await studio.batch('run')).code).toBe(12);
  await stop(first);
  studio.worker('bert');
  const { code, err } = await studio.batch('run', '--retry-failed');
  expect(code, err).toBe(12);
  expect(paid(studio)).toHaveLength(1);
  // --redo makes them anew, also once they are saved.
  await studio.faults('');
  for (const jobs of [2, 3]) {
    const redone = await studio.batch('run', '--redo', 'r0');
    expect(redone, redone.err).toMatchObject({ code: 0, out: expect.stringMatching(/^bert:.*\.png\n$/) });
    expect(paid(studio)).toHaveLength(jobs);
  }
  expect(await studio.batch('run')).toMatchObject({ code: 0, out: '' });
  expect((await studio.laptop.run(['batch', 'status', 'day.jsonl'])).out).toBe('1 saved\n');
  await studio.faults('create:reset-after');
  expect((await studio.batch('run', '--redo', 'r0')).code).toBe(14);
  expect((await studio.batch('run', '--redo', 'r0')).err).toContain(
    '--redo day/r0: it is not known what became',
  );
  expect(paid(studio)).toHaveLength(4);
});

test('SIGTERM while an image is on its way: it comes home, and is not made once more', async () => {
  const studio = await openNearStudio({ fault: 'create:slow', slowGapMs: 50 });
  write(studio, [image]);
  const first = studio.worker('anna');
  await studio.batch('run', '--detach');
  await until('it is asked for', () => paid(studio).length === 1);
  const { code, out } = await stop(first);
  expect(code).toBe(143);
  const file = out.trim();
  expect(path.relative(first.place.cwd, file)).toMatch(/^gw-.*\.png$/);
  studio.worker('bert');
  const followed = await studio.batch('run');
  expect(followed, followed.err).toMatchObject({ code: 0, out: `anna:${file}\n` });
  expect(paid(studio)).toHaveLength(1);
});

test('SIGTERM before images are fetched from their links: they are not made once more', async () => {
  const studio = await openNearStudio({ fault: 'output:slow:x1', slowGapMs: 60_000 });
  write(studio, [{ ...image, model: 'legacy-image-2', 'response-format': 'url' }]);
  const first = studio.worker('anna');
  await studio.batch('run', '--detach');
  const fetches = () => studio.sandbox.requests.filter(({ server }) => server === 'output');
  await until('it is fetched', () => fetches().length > 0);
  expect((await stop(first)).code).toBe(143);
  const second = studio.worker('bert');
  const { code, err } = await studio.batch('run', '--retry-failed');
  expect(code, err).toBe(12);
  expect(err).toContain('on anna, gw jobs sync saves');
  expect(err).toContain('1 not done');
  expect(paid(studio)).toHaveLength(1);
  await stop(second);
  // When gw jobs sync saves the output on that machine, a batch run there reports it to the queue.
  const anna = first.place;
  const sync = await anna.run(['jobs', 'sync']);
  expect(sync.code, sync.err).toBe(0);
  giveManifest(studio, anna);
  const env = { GW_REDIS_URL: studio.redis.url };
  const told = await anna.run(['batch', 'run', 'day.jsonl', '--redis', '--name', 'day'], { env });
  expect(told.code, told.err).toBe(0);
  expect((await studio.batch('run')).code).toBe(0);
});

test('an image that came whole before its stream broke off with an error is saved, and not made once more', async () => {
  const studio = await openNearStudio();
  write(studio, [{ ...image, n: 2, stream: true }]);
  const events = [
    { type: 'image_generation.completed', b64_json: pngHead(256, 256).toString('base64') },
    { type: 'error', error: { message: 'The answer broke off.' } },
  ];
  const gateway = await openServer((_, response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    response.end(events.map((each) => `event: ${each.type}\ndata: ${JSON.stringify(each)}\n\n`).join(''));
  });
  const env = { GW_BASE_URL: gateway.baseUrl, GW_REDIS_URL: studio.redis.url };
  const worker = studio.machine().start(['worker', '--redis', '--name', 'anna'], { env });
  const { code, out, err } = await studio.laptop.run(['batch', 'run', 'day.jsonl', '--redis'], { env });
  expect(code, err).toBe(0);
  expect(out).toMatch(/^anna:.*\.png\n$/);
  expect((await stop(worker)).err).toContain('day/r0: the stream ended with an error after its images');
  expect(gateway.seen.filter(({ method }) => method === 'POST')).toHaveLength(1);
});

test('a row that lacks one of its images is not saved, also where their record holds a long number', async () => {
  const studio = await openNearStudio();
  write(studio, [{ ...image, n: 2 }]);
  const data = [{ b64_json: pngHead(256, 256).toString('base64') }, { b64_json: '???' }];
  const gateway = await openServer((_, response) => {
    response.writeHead(200, { 'content-type': 'application/json' });
    response.end(JSON.stringify({ seed: 0, data }).replace('0', '9007199254740993'));
  });
  const env = { GW_BASE_URL: gateway.baseUrl, GW_REDIS_URL: studio.redis.url };
  studio.machine().start(['worker', '--redis', '--name', 'anna'], { env });
  const { code, err } = await studio.laptop.run(['batch', 'run', 'day.jsonl', '--redis'], { env });
  expect(code, err).toBe(12);
  // The gateway sends an image once, so no run brings it: only another job does.
  expect(err).toMatch(/to pay for a new one: run the batch again with --redo day\/r0$/m);
  expect(err).toMatch(/^1 row: 0 saved, 1 not done$/m);
});

test('a task whose ID the disk does not take is on the queue, and another worker goes on with it', async () => {
  const studio = await openStudio({ fault: 'create:slow', slowGapMs: 300 });
  write(studio, [alpha]);
  const first = studio.worker('anna');
  await studio.batch('run', '--detach');
  await until('it is asked for', () => paid(studio).length === 1);
  execFileSync('prlimit', ['--pid', String(first.pid), '--fsize=10']);
  const { code: ended, err: said } = await first.ended;
  expect([ended, said]).toEqual([
    12,
    expect.stringMatching(/is not in the ledger[\s\S]*error: .*size limit/),
  ]);
  await toldIds(studio, 1);
  studio.worker('bert');
  const { code, out, err } = await studio.batch('run', '--retry-failed');
  expect(code, err).toBe(0);
  expect(out).toMatch(/^bert:/);
  expect(paid(studio)).toHaveLength(1);
});

/** Another worker saves the row's output, and the row is paid for only once. */
async function bertGoesOn(studio: Awaited<ReturnType<typeof openNearStudio>>) {
  studio.worker('bert');
  const { code, out, err } = await studio.batch('run');
  expect(code, err).toBe(0);
  expect(out).toMatch(/^bert:/);
  expect(paid(studio)).toHaveLength(1);
}

test('a task that its worker cannot follow for a ledger that it cannot read goes on elsewhere', async () => {
  const studio = await openNearStudio();
  write(studio, [alpha]);
  const gate = await openGate(studio.redis.port, 'accepted');
  const env = { ...studio.env, GW_REDIS_URL: gate.url };
  const anna = studio.machine();
  const first = anna.start(['worker', '--redis', '--name', 'anna'], { env });
  await studio.batch('run', '--detach');
  await gate.reached;
  const ledger = path.join(anna.state, 'ledger');
  const [journal = ''] = fs.readdirSync(ledger).filter((name) => name.endsWith('.jsonl'));
  fs.renameSync(path.join(ledger, journal), path.join(anna.dir, journal));
  fs.mkdirSync(path.join(ledger, journal));
  gate.open();
  await until('it says so', () => first.err().includes('could not be read'));
  await stop(first);
  await bertGoesOn(studio);
});

test('a worker that cannot use its ledger puts its rows back, says why and ends: they go on elsewhere', async () => {
  const studio = await openNearStudio();
  write(studio, [alpha]);
  const gate = await openGate(studio.redis.port, 'it has ended');
  const anna = studio.machine();
  const state = path.join(anna.dir, 'no-directory');
  const env = { ...studio.env, GW_REDIS_URL: gate.url, GW_STATE_DIR: state };
  fs.writeFileSync(state, '');
  const first = anna.start(['worker', '--redis', '--name', 'anna'], { env });
  await studio.batch('run', '--detach');
  await gate.reached;
  // It does not end before Redis has its reason.
  await pause(500);
  gate.open();
  expect(await first.ended).toMatchObject({ code: 2 });
  expect((await studio.batch('status')).out).toMatch(
    /^1 waiting\n[\s\S]*anna: it has ended: the ledger .* could not be read/,
  );
  await bertGoesOn(studio);
});

test('a worker whose key is refused while it waits hands its rows back and ends: they go on elsewhere', async () => {
  const studio = await openNearStudio({ fault: 'query:401:x1' });
  write(studio, [alpha]);
  const first = studio.worker('anna');
  await studio.batch('run', '--detach');
  expect(await first.ended).toMatchObject({ code: 3 });
  expect((await studio.batch('status')).out).toContain('1 running');
  await bertGoesOn(studio);
});

test('a row that has changed since it was handed over is made as it now stands, or is left as it was made; that of another user is refused', async () => {
  const studio = await openNearStudio();
  for (const row of [beta, { ...alpha, set: { seed: 1 } }]) {
    write(studio, [row]);
    await studio.batch('run', '--detach');
  }
  write(studio, [{ ...alpha, body: { seed: 2 } }]);
  const other = studio.machine();
  giveManifest(studio, other);
  const env = { GW_REDIS_URL: studio.redis.url };
  const follow = () => other.run(['batch', 'run', 'day.jsonl', '--redis', '--detach'], { env });
  // The settings of another machine may differ, and the row stays as it was handed over.
  const followed = await follow();
  expect(followed.code, followed.err).toBe(0);
  expect(followed.err).toContain(
    'day.jsonl:1: seed changed after day/r0 was handed over, and its job is left',
  );
  fs.writeFileSync(
    path.join(other.cwd, 'day.jsonl'),
    JSON.stringify({ ...alpha, id: 'r0', prompt: 'a dog' }),
  );
  const refused = await follow();
  expect(refused.code, refused.err).toBe(2);
  expect(refused.err).toContain('the row has changed since it was handed over (day/r0)');
  expect((await studio.batch('run', '--detach')).code).toBe(0);
  expect((await studio.batch('status')).out).toContain('0 of 3, 1 row waits\n');
  studio.worker('anna');
  const { code, err } = await studio.batch('run');
  expect(code, err).toBe(0);
  expect(paid(studio).map(({ body }) => body)).toEqual([expect.objectContaining({ seed: 2 })]);
  write(studio, [{ ...alpha, body: { seed: 3 } }]);
  const left = await studio.batch('run');
  expect([left.code, left.out], left.err).toEqual([0, '']);
  expect(left.err).toContain('day.jsonl:1: seed changed after day/r0 was saved');
  expect(paid(studio)).toHaveLength(1);
});

test('a default that yielded to the words of a row makes no other row of it, whoever follows', async () => {
  const studio = await openNearStudio();
  const other = studio.machine();
  write(studio, [{ ...alpha, model: '2.5', 'first-frame': 'https://example.com/a.png' }]);
  giveManifest(studio, other);
  // The second default is for the machine that hands over, and is not on the queue.
  const stored = [['ratio', '9:16'] as const, ['yes', 'true'] as const];
  for (const place of [studio.laptop, other])
    for (const [name, value] of stored)
      await place.run(['config', 'set', `defaults.video.alpha.${name}`, value]);
  const env = { GW_REDIS_URL: studio.redis.url };
  for (const place of [studio.laptop, studio.laptop, other]) {
    const { code, err } = await place.run(['batch', 'run', 'day.jsonl', '--redis', '--detach'], { env });
    expect(code, err).toBe(0);
    expect(err).not.toContain('changed');
  }
});

test('a row that was made alone before the batch went to a queue is made by no other follower', async () => {
  const studio = await openNearStudio();
  const other = studio.machine();
  write(studio, [image, alpha]);
  giveManifest(studio, other);
  const alone = await studio.laptop.run(['batch', 'run', 'day.jsonl'], { env: { GW_INTERVAL: '100ms' } });
  expect(alone.code, alone.err).toBe(0);
  studio.worker('anna');
  expect((await studio.batch('run')).code).toBe(0);
  const env = { GW_REDIS_URL: studio.redis.url };
  const { code, err } = await other.run(['batch', 'run', 'day.jsonl', '--redis'], { env });
  expect(code, err).toBe(0);
  expect(paid(studio)).toHaveLength(2);
});

test('a run that forgets --redis makes no row that was handed over, unless it was taken out', async () => {
  const studio = await openNearStudio();
  const alone = (...more: string[]) =>
    studio.laptop.run(['batch', 'run', 'day.jsonl', ...more], { env: { GW_INTERVAL: '100ms' } });
  write(studio, [image]);
  await studio.batch('run', '--detach');
  const early = await alone();
  expect([early.code, early.out], early.err).toEqual([14, '']);
  expect(early.err).toMatch(/handed over[\s\S]*--redis/);
  const look = async (command: string) => (await studio.laptop.run(['batch', command, 'day.jsonl'])).out;
  expect(await look('status')).toMatch(/^1 of unknown outcome\n.*handed over to other machines/);
  expect(paid(studio)).toHaveLength(0);
  expect((await studio.batch('cancel')).out).toBe('1 taken out\n');
  expect((await alone()).code).toBe(0);
  expect(paid(studio)).toHaveLength(1);
  write(studio, [image, alpha]);
  studio.worker('anna');
  const { code, err } = await studio.batch('run');
  expect(code, err).toBe(0);
  expect(paid(studio)).toHaveLength(2);
  expect((await studio.batch('status')).out).toContain('2 saved');
  // The wait timeout is not part of a row's request.
  const late = await alone('--wait-timeout', '5m');
  expect([late.code, late.out, late.err]).toEqual([0, '', expect.not.stringContaining('changed')]);
  expect(paid(studio)).toHaveLength(2);
  expect([await look('status'), await look('check')]).toEqual([
    '2 saved\n',
    expect.stringContaining('2 of 2 saved already'),
  ]);
  // A saved row keeps the request and the gateway with which it was made.
  write(studio, [image, { ...alpha, prompt: 'a boat' }]);
  const changed = await alone();
  expect([changed.code, changed.out], changed.err).toEqual([0, '']);
  expect(changed.err).toContain('warning: day.jsonl:2: prompt changed after day/r1 was saved');
  await studio.redis.client.flushall();
  const wiped = await studio.batch('run', '--detach');
  expect([wiped.code, wiped.out], wiped.err).toEqual([0, '']);
  expect(wiped.err).toContain('day.jsonl:2: prompt changed after day/r1 was saved');
  write(studio, [image, alpha]);
  const other = ['batch', 'run', 'day.jsonl', '--base-url', 'http://127.0.0.1:9', '--retries', '0'];
  expect((await studio.laptop.run(other)).code).toBe(8);
});

test('no row is handed over while runs on this machine make them, and one that was killed is none', async () => {
  const studio = await openStudio(held);
  write(studio, [alpha, alpha, alpha]);
  const alone = (rows: number) =>
    studio.laptop.start(['batch', 'run', 'day.jsonl', '--concurrency', String(rows)]);
  const runs = [alone(1)];
  await until('the first run makes a row', () => paid(studio).length === 1);
  runs.push(alone(2));
  await until('another makes one beside it', () => paid(studio).length === 2);
  for (const run of runs) {
    const { code, err } = await studio.batch('run', '--detach');
    expect(code, err).toBe(2);
    expect(err).toContain(
      'error: day.jsonl: a gw batch run without --redis is making its rows on this machine',
    );
    expect(err).toContain('then: gw batch run day.jsonl --redis\n');
    expect(await studio.redis.client.keys('*:row:*')).toEqual([]);
    run.child.kill('SIGKILL');
    await run.ended;
  }
  const { code, err } = await studio.batch('run', '--detach');
  expect(code, err).toBe(0);
  expect(err).toContain('3 rows handed over');
  expect(paid(studio)).toHaveLength(2);
});

test('a hand-over that is refused puts nothing back', async () => {
  const studio = await openStudio({ fault: 'create:400:x1', speed: 1 });
  write(studio, [image]);
  const worker = studio.worker('anna');
  expect((await studio.batch('run')).code).toBe(5);
  await stop(worker);
  write(studio, [image, alpha, alpha]);
  const alone = studio.laptop.start(['batch', 'run', 'day.jsonl', '--concurrency', '1']);
  await until('it makes a row', () => paid(studio).length === 2);
  const { code, err } = await studio.batch('run', '--retry-failed', '--detach');
  expect(code, err).toBe(2);
  expect(err).toContain('gw batch run day.jsonl --retry-failed --redis');
  expect(await studio.redis.everything()).toContain('"state":"failed"');
  alone.child.kill('SIGKILL');
  await alone.ended;
});

test('rows that were made before under another name are counted before they are handed over, and not after', async () => {
  const studio = await openNearStudio();
  write(studio, [image]);
  await studio.laptop.run(['batch', 'run', 'day.jsonl', '--name', 'other']);
  const warning = 'warning: 1 row was made before as other/…: made under another key they are paid for again';
  expect((await studio.batch('run', '--detach')).err).toContain(warning);
  expect((await studio.batch('run', '--detach')).err).not.toContain('made before');
});

test('a row of a count is named by its id and number on a queue too', async () => {
  const studio = await openStudio();
  write(studio, [{ ...image, id: 'n', count: 2 }]);
  expect((await studio.batch('run', '--detach')).code).toBe(0);
  for (const row of ['n/2', 'day/n/2'])
    expect((await studio.batch('status', '--row', row)).out).toMatch(/\thanded_over\t/);
  const none = await studio.batch('status', '--row', 'n');
  expect([none.code, none.err]).toEqual([4, expect.stringContaining('one of a count by id/1')]);
});

test('a run without --redis does not begin while rows are handed over, and another with it does', async () => {
  const studio = await openStudio();
  write(studio, [image, image]);
  const gate = await openGate(studio.redis.port, '"step":"handed_over"');
  const env = { GW_REDIS_URL: gate.url };
  const handing = studio.laptop.start(['batch', 'run', 'day.jsonl', '--redis'], { env });
  await gate.reached;
  const alone = () => studio.laptop.run(['batch', 'run', 'day.jsonl']);
  const early = await alone();
  expect([early.code, early.out], early.err).toEqual([2, '']);
  expect(early.err).toContain('hint: follow them with: gw batch run day.jsonl --redis\n');
  expect((await studio.batch('run', '--detach', '--refill')).code).toBe(0);
  gate.open();
  await until('it only follows', () => handing.err().includes('no worker is connected'));
  // A run without --redis reports that the rows it follows are made elsewhere.
  expect((await alone()).code).toBe(14);
  expect(paid(studio)).toHaveLength(0);
  studio.worker('anna');
  const { code, err } = await handing.ended;
  expect(code, err).toBe(0);
  expect(paid(studio)).toHaveLength(2);
});

test('flags that do not go with each other, a URL that is none, and a Redis that is not there', async () => {
  const studio = await openNearStudio();
  write(studio, [alpha]);
  const run = (...words: string[]) => studio.laptop.run(['batch', 'run', 'day.jsonl', ...words]);
  expect((await run('--detach')).err).toContain('error: --detach: goes with --redis');
  for (const words of [['--stop-on-error'], ['--only', 'a'], ['--concurrency', '2'], ['--exec', 'false']])
    expect((await run('--redis', ...words)).err).toContain(`error: ${words[0]}: does not go with --redis\n`);
  expect((await run('--redis')).err).toContain('error: --redis: GW_REDIS_URL is not set');
  expect((await run('--redis', 'http://x')).err).toMatch(
    /^error: --redis: not the URL of a Redis server\nhint: write it as redis:\/\/HOST:6379 or .*/m,
  );
  const none = await run('--redis', 'redis://:secret-of-redis-0123@127.0.0.1:1');
  expect(none).toMatchObject({ code: 8 });
  expect(none.err).toMatch(
    /Redis at redis:\/\/127\.0\.0\.1:1 cannot be reached: .*ECONNREFUSED.*\nhint: is it running\? gw queue serve/,
  );
  expect(none.err).not.toContain('secret-of-redis');
  // gw prints a password as `***` in a command that goes on, so somebody may type that.
  expect((await run('--redis', 'redis://:***@127.0.0.1:1')).err).toContain('type the password there');
  const gateway = await run('--redis', studio.sandbox.baseUrl.replace('http', 'redis'));
  expect(gateway, gateway.err).toMatchObject({ code: 8 });
  expect(gateway.err).toMatch(/what answers there is no Redis\nhint: check the address and port/);
  for (const place of [
    ['--root', '/nope'],
    ['-o', '{nope}.mp4'],
    ['-o', '/dev/null'],
  ]) {
    const worker = await studio.laptop.run(['worker', '--redis', studio.redis.url, ...place]);
    expect(worker, worker.err).toMatchObject({ code: 2, out: '' });
    expect(worker.err).not.toContain('takes rows');
  }
  fs.mkdirSync(studio.laptop.state, { recursive: true });
  fs.chmodSync(studio.laptop.state, 0o777);
  const open = await studio.laptop.run(['worker', '--redis', studio.redis.url]);
  expect(open, open.err).toMatchObject({ code: 2, err: expect.stringContaining('hint: run: chmod go-w') });
  expect(open.err).not.toContain('takes rows');
});

test('who only looks at a queue is told where it is of another kind of account', async () => {
  const studio = await openNearStudio();
  write(studio, [alpha]);
  const place = studio.machine();
  giveManifest(studio, place);
  const said =
    'warning: the account of the queue is enterprise, and its limits hold; here it is set to personal';
  await studio.laptop.run(['config', 'set', 'account', 'enterprise']);
  for (const run of [await studio.batch('run', '--detach'), await studio.batch('status')])
    expect([run.code, run.err], run.err).toEqual([
      0,
      expect.not.stringContaining('the account of the queue'),
    ]);
  const status = await place.run(['batch', 'status', 'day.jsonl', '--redis', studio.redis.url]);
  expect([status.code, status.err]).toEqual([0, expect.stringContaining(said)]);
});

test('gw queue serve starts a Redis of this user, and prints its URL', async () => {
  const studio = await openStudio();
  const bin = path.join(studio.laptop.dir, 'bin');
  fs.mkdirSync(bin);
  const script = `#!/bin/sh
export -p > ${bin}/environment
PATH=\${PATH#*:}
exec redis-server "$@"
`;
  fs.writeFileSync(path.join(bin, 'redis-server'), script, { mode: 0o755 });
  const queue = studio.laptop.start(['queue', 'serve'], {
    env: { GW_API_KEY: KEY, PATH: `${bin}:${process.env.PATH}` },
  });
  await until('its URL is printed', () => queue.out().endsWith('\n'));
  const url = queue.out().trim();
  expect(url).toMatch(/^redis:\/\/:[0-9a-f]{48}@127\.0\.0\.1:\d+$/);
  const environment = fs.readFileSync(path.join(bin, 'environment'), 'utf8');
  expect(environment).toContain('PATH=');
  expect(environment).not.toContain(KEY);
  expect(await studio.laptop.run(['queue', 'serve'])).toMatchObject({
    code: 2,
    err: expect.stringContaining('serves this queue already'),
  });
  expect(await studio.machine().run(['queue', 'serve', '--port', new URL(url).port])).toMatchObject({
    code: 2,
    err: expect.stringMatching(/^error: --port \d+: another program has it$/m),
  });
  write(studio, [image]);
  const env = { GW_REDIS_URL: url };
  const worker = studio.machine().start(['worker', '--redis'], { env });
  const { code, err } = await studio.laptop.run(['batch', 'run', 'day.jsonl', '--redis'], { env });
  expect(code, err).toBe(0);
  expect(err).not.toContain('warning');
  await stop(worker);
  const printed = queue.err();
  expect(await stop(queue)).toMatchObject({ code: 143, err: printed });
});

test('a Redis that outlives its gw queue serve keeps its journal to itself', async () => {
  const studio = await openStudio();
  const killed = studio.laptop.start(['queue', 'serve']);
  await until('its URL is printed', () => killed.out().endsWith('\n'));
  killed.child.kill('SIGKILL');
  await killed.ended;
  const refused = await studio.laptop.run(['queue', 'serve']);
  expect(refused).toMatchObject({
    code: 2,
    err: expect.stringContaining('serves this queue already'),
  });
  const pid = Number(/process (\d+)/.exec(refused.err)?.[1]);
  process.kill(pid, 'SIGTERM');
  await until('it is gone', () => !isAlive({ pid, host: '', started: '' }));
  const next = studio.laptop.start(['queue', 'serve']);
  await until('its URL is printed', () => next.out().endsWith('\n'));
  expect(await stop(next)).toMatchObject({ code: 143 });
});

test('rows that wait for rows are made by whoever is there, each from the last picture of the one before it', {
  tags: ['ffmpeg'],
}, async () => {
  const studio = await openNearStudio();
  write(studio, story);
  // A worker without the image hands its row back; a worker without a video queries the video's task.
  for (const name of ['anna', 'bert']) studio.worker(name);
  const run = await studio.batch('run', '--json');
  expect([run.code, endsOf(run.out)], run.err).toEqual([
    0,
    ids.map((id) => [`day/${id}`, 'succeeded', undefined]),
  ]);
  const saved = rowsIn(run.out).map(({ files: [file] }) => file.path.replace(/^\w+:/, ''));
  const { sent, last, different } = framesOf(studio.sandbox, saved, studio.laptop.temp);
  expect([sent, different]).toEqual([last, 4]);
  expect(await studio.batch('run')).toMatchObject({ code: 0, out: '' });
  expect(paid(studio)).toHaveLength(5);
  expect(await studio.redis.everything()).not.toMatch(/https?:\/\//);
});

test('what follows a failed row is not sent and says why, on workers too; after the cure one command makes the rest', {
  tags: ['ffmpeg'],
}, async () => {
  const studio = await openNearStudio();
  write(
    studio,
    story.map((row) => (row.id === 's2' ? { ...row, prompt: 'shot s2. sensitive-output' } : row)),
  );
  studio.worker('anna');
  const run = await studio.batch('run', '--json');
  expect([run.code, endsOf(run.out)], run.err).toEqual([
    13,
    [
      ['day/s0', 'succeeded', undefined],
      ['day/s1', 'succeeded', undefined],
      ['day/s2', 'failed', 'task_failed'],
      ['day/s3', 'not_sent', 'partial'],
      ['day/s4', 'not_sent', 'partial'],
    ],
  ]);
  expect(run.err).toContain('not sent: it waits for day/s2, which is not saved: ');
  expect(await studio.batch('run')).toMatchObject({ code: 13 });
  expect(paid(studio)).toHaveLength(3);
  write(studio, story);
  const cured = await studio.batch('run', '--retry-failed', '--json');
  expect([cured.code, endsOf(cured.out).length], cured.err).toEqual([0, 3]);
  expect(paid(studio)).toHaveLength(6);
});

test('a row that one machine has saved alone is there for workers that make what follows it', {
  tags: ['ffmpeg'],
}, async () => {
  const studio = await openNearStudio();
  const [s2, s1] = story.slice(2);
  write(studio, [{ ...s1, 'first-frame': undefined }]);
  const alone = await studio.laptop.run(['batch', 'run', 'day.jsonl'], { env: { GW_INTERVAL: '100ms' } });
  expect(alone.code, alone.err).toBe(0);
  write(studio, [{ ...s1, 'first-frame': undefined }, { ...s2 }]);
  studio.worker('anna');
  const run = await studio.batch('run', '--json');
  expect([run.code, endsOf(run.out)], run.err).toEqual([0, [['day/s2', 'succeeded', undefined]]]);
  expect(paid(studio)).toHaveLength(2);
});
