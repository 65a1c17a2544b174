import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import * as path from 'node:path';
import { afterEach, expect, onTestFinished, test } from 'vitest';
import { fakeGateway } from '../helpers/fake-gateway.ts';
import { World } from '../helpers/gw.ts';

const worlds: World[] = [];
const open = async (options: Parameters<typeof World.open>[0] = {}) => {
  const world = await World.open(options);
  worlds.push(world);
  return world;
};
afterEach(async () => {
  for (const world of worlds.splice(0)) await world.close();
});

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
/** Requests that are paid for. */
const creates = (world: World) => world.requests().filter((each) => each.startsWith('POST')).length;
const mixed = [
  { id: 'a', ...gamma },
  { id: 'b', ...alpha },
  { id: 'c', ...beta },
  { id: 'd', ...image, count: 2 },
];

test('every row is made, waited for and saved; paths go to stdout, one line sums it up', async () => {
  const world = await open();
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

test('run again, nothing is sent and nothing is printed; a new row is', async () => {
  const world = await open();
  write(world, mixed);
  await run(world);
  const before = world.requests().length;
  expect(await run(world)).toMatchObject({ code: 0, out: '', err: '5 rows: 5 saved\n' });
  expect(world.requests()).toHaveLength(before);
  write(world, [...mixed, { id: 'e', ...image }]);
  const again = await run(world, '-o', '{key}.{ext}');
  expect(again).toMatchObject({ code: 0, out: `${world.cwd}/day-e.png\n` });
  expect(creates(world)).toBe(6);
  expect(await world.gw(['batch', 'status', 'day.jsonl'])).toMatchObject({ code: 0, out: '6 saved\n' });
});

test('rows without an id are made once too, the same row twice is two jobs', async () => {
  const world = await open();
  write(world, [image, image]);
  await run(world);
  expect(creates(world)).toBe(2);
  write(world, [{ ...image, prompt: 'before' }, image, image]);
  await run(world);
  expect(creates(world)).toBe(3);
});

test('a changed row with an id is refused before anything is sent, and named', async () => {
  const world = await open();
  write(world, mixed);
  await run(world);
  write(world, [
    { id: 'new', ...image },
    { id: 'a', ...gamma, resolution: '2K' },
  ]);
  const changed = await run(world);
  expect(changed).toMatchObject({ code: 2, out: '' });
  expect(changed.err).toMatch(
    /error: day\.jsonl:2: resolution: the row has changed since its job \S+ was made/,
  );
  expect(creates(world)).toBe(5);
});

test('a faulty row stops all of them', async () => {
  const world = await open();
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

test('--json is one object a row as it ends; --report holds all of them', async () => {
  const world = await open();
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
    ...['row', 'line', 'key', 'id', 'family', 'status', 'files', 'record', 'error'],
  ]);
  expect(rows[0]).toMatchObject({ row: 3, line: 3, key: 'day/c', family: 'beta', error: null });
  const report = readFileSync(path.join(world.cwd, 'report.jsonl'), 'utf8').trimEnd().split('\n');
  expect(report.map((line) => JSON.parse(line).key)).toEqual(['day/a', 'day/b', 'day/c']);
  await run(world, '--report', 'report.csv');
  const csv = readFileSync(path.join(world.cwd, 'report.csv'), 'utf8').split('\n');
  expect(csv[0]).toBe('row,line,key,family,id,status,files,error');
  expect(csv[1]).toMatch(/^1,1,day\/a,gamma,\S+,succeeded,\/.*\.mp4,$/);
  expect(await run(world, '--report', 'report.txt')).toMatchObject({ code: 2 });
  mkdirSync(path.join(world.cwd, 'folder.csv'));
  expect((await run(world, '--report', 'folder.csv')).code).not.toBe(0);
  expect(readdirSync(world.cwd).filter((name) => /\.(tmp|part)$/.test(name))).toEqual([]);
});

test('a row that fails has a line of its own, the others are saved, and --retry-failed makes it anew', async () => {
  const world = await open({ fault: 'task:fail=Odd:x1' });
  write(world, [
    { id: 'a', ...gamma },
    { id: 'd', ...image },
  ]);
  const first = await run(world);
  expect(first.code).toBe(13);
  expect(first.err).toMatch(/error: day\.jsonl:1: task \S+ ended failed/);
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

test('--limit takes the first that are not done, --stop-on-error begins no more', async () => {
  const world = await open();
  write(
    world,
    ['a', 'b', 'c', 'd'].map((id) => ({ id, ...image })),
  );
  expect(await run(world, '--limit', '1')).toMatchObject({ code: 0 });
  const two = await run(world, '--limit', '2');
  expect(two.err).toContain('4 rows: 3 saved, 1 not sent; go on with: gw batch run day.jsonl');
  expect(creates(world)).toBe(3);
});

test('outputs that were lost from the disk are no reason to pay again', async () => {
  const world = await open();
  write(world, [{ id: 'a', ...gamma }]);
  const first = await run(world, '-o', 'a.mp4');
  rmSync(first.out.trimEnd());
  expect(await run(world)).toMatchObject({ code: 0 });
  expect(creates(world)).toBe(1);
});

test('an interrupt ends it with 130, and the next run goes on', async () => {
  const world = await open();
  write(
    world,
    Array.from({ length: 6 }, (_, at) => ({ id: at, ...gamma })),
  );
  let send: ((signal: 'SIGINT') => void) | undefined;
  const slept = world.clock.sleep;
  world.clock.sleep = async (ms, signal) => {
    send?.('SIGINT');
    return slept.call(world.clock, ms, signal);
  };
  const first = await world.gw(['batch', 'run', 'day.jsonl'], {
    interrupts: (heard) => {
      send = (signal) => {
        send = undefined;
        heard(signal);
      };
    },
  });
  world.clock.sleep = slept;
  expect(first.code, first.err).toBe(130);
  const rest = await run(world);
  expect(rest.code, rest.err).toBe(0);
  expect(creates(world)).toBe(6);
  expect(world.sandbox.tasks()).toHaveLength(6);
});

test('a personal account of three slots is never met with a 429', async () => {
  const world = await open({ account: 'personal' });
  write(
    world,
    Array.from({ length: 9 }, (_, at) => ({ id: at, ...alpha })),
  );
  const all = await world.gw(['batch', 'run', 'day.jsonl', '--json'], { env: { GW_INTERVAL: '1s' } });
  expect(all.code, all.err).toBe(0);
  expect(creates(world)).toBe(9);
  expect(world.sandbox.requests.filter(({ status }) => status === 429)).toEqual([]);
});

test('rows that nobody could send all fail alike', async () => {
  const world = await open();
  write(world, [
    { id: 'a', ...image },
    { id: 'b', ...image },
  ]);
  const run = await world.gw(['batch', 'run', 'day.jsonl'], { bare: true });
  expect(run.code, run.err).toBe(3);
  expect(run.err.match(/error:/g)).toHaveLength(1);
});

test('--events tells what happens to each row, its result last', async () => {
  const world = await open();
  write(world, mixed.slice(1, 3));
  const told = await run(world, '--events');
  expect(told.code, told.err).toBe(0);
  const lines = told.out
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line));
  for (const family of ['alpha', 'beta']) {
    const mine = lines.filter((line) => line.family === family).map((line) => line.event);
    expect(mine).toEqual(expect.arrayContaining(['intent', 'accepted', 'saved']));
    expect(mine.at(-1)).toBe('result');
  }
  expect(
    lines
      .filter((line) => line.event === 'result')
      .map((line) => line.key)
      .sort(),
  ).toEqual(['day/b', 'day/c']);
});

test('a row that the gateway refuses is told as refused under its job, now and later; --retry-failed is named', async () => {
  const world = await open({ fault: 'create:422' });
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

test('a row that runs and cannot be asked for now is told under its task, not as one that was not sent', async () => {
  const world = await open();
  write(world, [{ id: 'a', ...alpha }]);
  // Made by a run that did not wait for it.
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
  const world = await open({ fault: 'create:reset-after' });
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

// Two accounts of one gateway: what the one has made, the other cannot be asked for.
async function twoProfiles() {
  const world = await open();
  let made = 0;
  const gateway = await fakeGateway((method, url) => {
    if (url.endsWith('/models')) return { body: { object: 'list', data: [] } };
    if (method === 'POST') made += 1;
    return {
      body: method === 'POST' ? { id: `t-${made}` } : { id: url.split('/').at(-1), status: 'running' },
    };
  });
  onTestFinished(() => gateway.close());
  const gw = (...words: string[]) => world.gw(words, { bare: true });
  for (const profile of ['p1', 'p2']) {
    const words = ['login', '--profile', profile, '--base-url', gateway.url, '--with-key'];
    expect((await world.gw(words, { bare: true, stdin: `key-of-${profile}` })).code).toBe(0);
  }
  return { world, gateway, gw, creates: () => made };
}

test('a row whose wait ran out is not done, and is to be gone on with, not created anew', async () => {
  const { world, gw } = await twoProfiles();
  write(world, [{ id: 'a', ...alpha }]);
  const { code, err } = await gw('batch', 'run', 'day.jsonl', '--wait-timeout', '1s', '--profile', 'p1');
  expect(code, err).toBe(10);
  expect(err).toMatch(/^1 row: 0 saved, 1 not done; go on with: gw batch run day\.jsonl --profile p1$/m);
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
  const world = await open();
  let looks = 0;
  const gateway = await fakeGateway((method) => {
    if (method === 'POST') return { status: 502 };
    looks += 1;
    // Before the create nothing stands there; afterwards the key may not look any more.
    return looks === 1 ? { body: { code: 0, data: [] } } : { status: 401, body: {} };
  });
  onTestFinished(() => gateway.close());
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
