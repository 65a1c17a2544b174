import { expect } from 'vitest';
import { JobEvents } from '../../src/jobs/job-events.ts';
import { cmd } from '../helpers/cmd.ts';
import { test, World } from '../helpers/gw.ts';
import { acceptedJob, HOUR_MS } from './jobs-seed.ts';

// With `--events`, stdout has one JSON object per line as each event happens; the last one of each job is `result`.

interface Told {
  readonly event: string;
  readonly t: string;
  readonly family: string;
  readonly key: string;
  readonly id?: string;
  readonly [field: string]: unknown;
}
const toldIn = (out: string): Told[] =>
  out
    .split('\n')
    .slice(0, -1)
    .map((line) => JSON.parse(line));
const names = (out: string): string[] => toldIn(out).map(({ event }) => event);

const alpha = ['video', 'alpha', 'create', 'a fox', '--events'];

test('a create that waits tells its job from the intent to the result', async ({ world }) => {
  const { out } = await world.ok([...alpha, '--wait']);
  const told = toldIn(out);
  expect(new Set(names(out))).toEqual(
    new Set(['intent', 'accepted', 'status', 'download', 'saved', 'result']),
  );
  expect(names(out).slice(0, 2)).toEqual(['intent', 'accepted']);
  expect(names(out).slice(-2)).toEqual(['saved', 'result']);
  expect(names(out).filter((name) => name === 'download').length).toBeLessThanOrEqual(1);
  const [intent, accepted] = told;
  const last = told.at(-1);
  for (const each of told) {
    expect(each).toMatchObject({ family: 'alpha', key: intent?.key });
    expect(each.t).toBe(new Date(each.t).toISOString());
  }
  expect(intent).not.toHaveProperty('id');
  expect(told.slice(1).every(({ id }) => id === accepted?.id && id?.startsWith('vt-'))).toBe(true);
  const { path, bytes, sha256, type } = told.at(-2) as Told;
  expect(last).toMatchObject({ status: 'succeeded', files: [{ path, bytes, sha256, type }] });
  expect(last?.record).toMatchObject({ id: accepted?.id, status: 'succeeded' });
  const statuses = told.filter(({ event }) => event === 'status').map(({ status }) => status);
  expect(statuses).toEqual([...new Set(statuses)]);
  expect(statuses.at(-1)).toBe('succeeded');
});

test('without --wait the accepted job is the result', async ({ world }) => {
  const { out } = await world.gw(alpha);
  expect(names(out)).toEqual(['intent', 'accepted', 'result']);
  expect(toldIn(out)[2]).toMatchObject({ status: 'queued', files: [] });
});

test.each([
  [
    'create:402',
    [],
    6,
    ['intent', 'failed', 'result'],
    { kind: 'balance', exit_code: 6, status: 402 },
    'refused',
  ],
  ['create:reset-after', [], 14, ['intent', 'unknown', 'result'], { kind: 'unknown_outcome' }, 'unknown'],
  [
    'task:fail=Whatever',
    ['--wait'],
    9,
    ['intent', 'accepted', 'status', 'failed', 'result'],
    { kind: 'task_failed', code: 'Whatever' },
    'failed',
  ],
])('%s ends with one result', async (fault, words, code, events, error, status) => {
  const world = await World.open({ fault });
  const run = await world.gw([...alpha, ...words]);
  expect(run.code).toBe(code);
  expect(names(run.out).filter((name, at, all) => name !== all[at - 1])).toEqual(events);
  const told = toldIn(run.out);
  expect(told.at(-2)).toMatchObject({ error });
  expect(told.at(-1)).toMatchObject({ event: 'result', status, key: told[0]?.key });
  expect(run.err).toContain('error:');
});

test('a wait that ends has a result and calls nothing failed', async () => {
  const world = await World.open({ speed: 0.01 });
  const { code, out } = await world.gw([...alpha, '--wait', '--wait-timeout', '30s']);
  expect(code).toBe(10);
  expect(names(out)).not.toContain('failed');
  expect(toldIn(out).at(-1)).toMatchObject({ event: 'result', id: expect.stringContaining('vt-') });
});

test('an image tells no accepted', async ({ world }) => {
  const { out } = await world.ok(['image', 'create', 'a fox', '--events']);
  expect(names(out)).toEqual(['intent', 'status', 'saved', 'result']);
  expect(toldIn(out)[3]).toMatchObject({ family: 'image', id: expect.stringContaining('gw-') });
});

test('--out - and --events do not go together', async ({ world }) => {
  const { code, err } = await world.gw(['image', 'create', 'a fox', '--events', '-o', '-']);
  expect(code).toBe(2);
  expect(err).toContain('stdout holds the image, and --events prints there too');
});

test.each([
  ['video', 'alpha', 'wait'],
  ['jobs', 'wait'],
])('%s %s: one result a job, nothing of an intent that is history', async (...words) => {
  const world = await World.open();
  const ids = [];
  for (let at = 0; at < 2; at += 1) ids.push((await world.gw(cmd`video alpha create "a fox"`)).out.trim());
  const { out } = await world.ok([...words, ...ids, '--events']);
  const told = toldIn(out);
  const results = told.filter(({ event }) => event === 'result');
  expect(results.map(({ id }) => id).sort()).toEqual(ids.sort());
  expect(names(out)).not.toContain('intent');
  expect(names(out)).not.toContain('accepted');
  for (const id of ids) {
    const own = told.filter((each) => each.id === id).map(({ event }) => event);
    expect(own.slice(-2)).toEqual(['saved', 'result']);
  }
});

test.each([
  ['video', 'alpha', 'download'],
  ['jobs', 'download'],
])('%s %s tells what it saves', async (...words) => {
  const world = await World.open();
  const id = (await world.gw(['video', 'alpha', 'create', 'a fox', '--wait', '--no-download'])).out.trim();
  const { out } = await world.ok([...words, id, '--events']);
  expect(names(out)).toEqual(['download', 'saved', 'result']);
});

test('a task of another machine is taken in without an intent, and waited for', async ({ world }) => {
  const id = (await world.gw(['video', 'alpha', 'create', 'a fox'])).out.trim();
  const elsewhere = { env: { GW_STATE_DIR: `${world.dir}/other` } };
  const { out } = await world.gw(['video', 'alpha', 'wait', id, '--events'], elsewhere);
  expect(new Set(names(out))).toEqual(new Set(['status', 'download', 'saved', 'result']));
});

test('sync: a result for each job, the running ones too', async () => {
  const world = await World.open({ speed: 1 });
  const id = (await world.gw(['video', 'alpha', 'create', 'a fox'])).out.trim();
  const gone = acceptedJob(world, 'vt-20261120120000-00000000000000000000', HOUR_MS);
  const { out } = await world.gw(['jobs', 'sync', '--events']);
  const results = toldIn(out).filter(({ event }) => event === 'result');
  expect(results).toHaveLength(2);
  expect(results.find((each) => each.id === id)).toMatchObject({ family: 'alpha', status: 'queued' });
  expect(results.find((each) => each.key === gone)?.key).toBe(gone);
});

test.each([
  ['refused', 'create:400'],
  ['unknown', 'create:reset-after,query:500'],
])('a job that is %s has the same result when its key is given again', async (status, fault) => {
  const world = await World.open({ fault });
  const resultOf = async (argv: readonly string[]) => toldIn((await world.gw(argv)).out).at(-1);
  const create = [...alpha, '--once', 'r-1'];
  const first = await resultOf(create);
  const wait = ['jobs', 'wait', first?.key ?? '', '--events'];
  for (const result of [first, await resultOf(create), await resultOf(wait)])
    expect(result).toMatchObject({ event: 'result', status, key: first?.key, record: null });
});

test('a job that is only followed has no result without its end, and no error of others', async () => {
  const lines: unknown[] = [];
  const write = async (line: unknown) => void lines.push(line);
  const events = new JobEvents({ clock: { now: () => 0, steady: () => 0 }, write } as never);
  events.about({ key: 'gw-1', family: 'beta' }, false);
  await events.ended(undefined, { kind: 'usage', message: 'the ledger cannot be read' } as never);
  await events.close();
  expect(lines).toEqual([]);
});

test('a dry run prints the request, and an ID that nobody knows is told as failed', async ({ world }) => {
  expect((await world.gw([...alpha, '--dry-run'])).out).toContain('POST');
  const named = { kind: 'not_found', task_id: 'nothing-1' };
  for (const noun of [['jobs'], ['video', 'alpha'], ['video', 'beta'], ['video', 'gamma']]) {
    for (const verb of ['wait', 'download']) {
      const { code, out } = await world.gw([...noun, verb, 'nothing-1', '--events']);
      expect(code).toBe(4);
      expect(names(out), `${noun.join(' ')} ${verb}`).toEqual(['failed', 'result']);
      expect(toldIn(out)[0]).toMatchObject({ id: 'nothing-1', error: named });
      const json = await world.gw([...noun, verb, 'nothing-1', '--json']);
      expect(JSON.parse(json.err).error).toMatchObject(named);
    }
  }
});

test('a job that was looked at because it takes a slot has no lines among those of the one that waits', async () => {
  const world = await World.open({ account: 'personal' });
  for (const prompt of ['one', 'two', 'three']) await world.ok(['video', 'alpha', 'create', prompt]);
  const { out } = await world.ok([...alpha, '--wait']);
  expect(new Set(toldIn(out).map(({ key }) => key)).size).toBe(1);
});
