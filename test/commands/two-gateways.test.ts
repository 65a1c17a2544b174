import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import * as path from 'node:path';
import { describe, expect } from 'vitest';
import { cmd } from '../helpers/cmd.ts';
import { fakeGateway } from '../helpers/fake-gateway.ts';
import { KEY, test, World } from '../helpers/gw.ts';
import { acceptedJob, HOUR_MS, intentIn, ledgerOf } from './jobs-seed.ts';

// With several gateways in one ledger, each job and each key is used only with its own gateway.

test('jobs sync serves a stored profile with its stored key, never with the key of the environment', async () => {
  const world = await World.open();
  const other = await world.serve({ key: 'other-key' });
  await world.gw(['login', '--profile', 'work', '--base-url', other.baseUrl, '--with-key'], {
    bare: true,
    stdin: 'other-key',
  });
  await world.ok(['video', 'alpha', 'create', 'a fox', '--profile', 'work', '-o', 'work/'], {
    bare: true,
  });
  world.clock.ms += 60_000;
  const sync = await world.gw(['jobs', 'sync']); // The environment holds the base URL and key of the first gateway.
  expect(sync.code, sync.err).toBe(0);
  expect(readdirSync(`${world.cwd}/work`)).toHaveLength(1);
  expect(other.requests.map((request) => request.headers.authorization ?? '')).not.toContain(`Bearer ${KEY}`);
  expect(world.requests()).toEqual([]);
});

test('a job of a gateway that nothing here can reach is named, and the others are served', async () => {
  const world = await World.open();
  const other = await world.serve();
  await world.gw(['video', 'alpha', 'create', 'there'], { env: { GW_BASE_URL: other.baseUrl } });
  await world.gw(['video', 'alpha', 'create', 'here']);
  world.clock.ms += 60_000;
  const sync = await world.gw(['jobs', 'sync']);
  expect([sync.code, sync.err]).toEqual([13, expect.stringContaining(`belongs to ${other.baseUrl}`)]);
  expect(Object.keys(world.files())).toHaveLength(1);
  expect(other.requests).toHaveLength(1);
});

test('the same task ID on two gateways is two jobs', async ({ world }) => {
  const here = await fakeGateway((method) => ({
    body: method === 'POST' ? { id: 't-1' } : { id: 't-1', status: 'running' },
  }));
  const there = await fakeGateway(() => ({
    body: { id: 't-1', status: 'failed', error: { code: 'x', message: 'theirs' } },
  }));
  await world.gw(['video', 'alpha', 'create', 'a fox'], { env: { GW_BASE_URL: here.url } });
  expect(await world.gw(cmd`video alpha wait t-1`, { env: { GW_BASE_URL: there.url } })).toMatchObject({
    code: 9,
  });
  const before = here.requests.length;
  await world.gw(['jobs', 'sync'], { env: { GW_BASE_URL: here.url } });
  expect(here.requests.length).toBe(before + 1);
});

const accountKeys = { p1: 'key-of-p1', p2: 'key-of-p2' };
const bearer = (key: string) => `Bearer ${key}`;

/** One gateway with two accounts and a profile for each; only the key that made a task can see it. */
async function twoAccounts() {
  const world = await World.open();
  const owners = new Map<string, string>();
  /** The keys that were used to query tasks. */
  const used: string[] = [];
  const fake = await fakeGateway((method, url, { authorization = '' }) => {
    if (url.endsWith('/models')) return { body: { object: 'list', data: [] } };
    const id = method === 'POST' ? `t-${owners.size + 1}` : (url.split('/').at(-1) ?? '');
    if (method === 'POST') owners.set(id, authorization);
    else used.push(authorization);
    if (owners.get(id) !== authorization)
      return { status: 404, body: { error: { message: 'no such task' } } };
    return { body: { id, status: 'running' } };
  });
  for (const [profile, key] of Object.entries(accountKeys)) {
    const words = ['login', '--profile', profile, '--base-url', fake.url, '--with-key'];
    await world.ok(words, { bare: true, stdin: key });
  }
  const gw = (...words: string[]) => world.gw(words, { bare: true });
  return { world, fake, gw, used };
}

describe('two profiles of one gateway', () => {
  test('each job is looked at with the key of its own profile, and --profile chooses its jobs', async () => {
    const { gw, used } = await twoAccounts();
    for (const profile of ['p1', 'p2']) {
      const made = await gw('video', 'alpha', 'create', 'a fox', '--profile', profile);
      expect(made, made.err).toMatchObject({ code: 0 });
    }
    const both = await gw('jobs', 'sync');
    expect(both, both.err).toMatchObject({ code: 0, err: '2 tasks go on: 2 running\n' });
    expect(used.splice(0).sort()).toEqual(Object.values(accountKeys).map(bearer));
    expect(await gw('jobs', 'sync', '--profile', 'p2')).toMatchObject({ code: 0 });
    expect(used.splice(0)).toEqual([bearer(accountKeys.p2)]);
    // The key of another account cannot see the task, so gw names the key instead of calling the task missing.
    for (const verb of ['get', 'wait'])
      expect((await gw('video', 'alpha', verb, 't-2', '--profile', 'p1')).err, verb).toContain(
        't-2 was made with another key',
      );
    used.splice(0);
    const other = await gw('jobs', 'wait', 't-2', '--profile', 'p1');
    expect(other).toMatchObject({ code: 4, err: expect.stringContaining('profile p1') });
    expect(used).toEqual([]);
  });

  test('a job whose profile is gone is looked at with the key in force, and never called lost for it', async () => {
    const { world, gw, used } = await twoAccounts();
    await gw('video', 'alpha', 'create', 'a fox', '--profile', 'p2');
    expect(await gw('profile', 'remove', 'p2')).toMatchObject({ code: 0 });
    world.clock.ms += 30 * 24 * HOUR_MS;
    const run = await gw('jobs', 'sync', '--json');
    expect(run.code, run.err).toBe(4);
    expect(used.at(-1)).toBe(bearer(accountKeys.p1));
    const { error } = JSON.parse(run.err);
    expect(error).toMatchObject({ kind: 'not_found', task_id: 't-1' });
    expect(error.message).toContain('t-1 was made with another key');
    expect((await ledgerOf(world).find({ ids: ['t-1'] }))[0]?.state).toBe('running');
    const wait = await gw('jobs', 'wait', 't-1');
    expect(wait).toMatchObject({ code: 4, err: expect.stringContaining('made with another key') });
  });

  test('gw video FAMILY wait and download ask with the key of the job, unless a profile is named', async () => {
    const { gw, used } = await twoAccounts();
    await gw('video', 'alpha', 'create', 'a fox', '--profile', 'p2');
    expect(await gw('video', 'alpha', 'download', 't-1')).toMatchObject({ code: 10 });
    expect(await gw('video', 'alpha', 'wait', 't-1', '--wait-timeout', '1s')).toMatchObject({ code: 10 });
    expect(new Set(used.splice(0))).toEqual(new Set([bearer(accountKeys.p2)]));
    const named = await gw('video', 'alpha', 'wait', 't-1', '--profile', 'p1');
    expect(named).toMatchObject({ code: 4, err: expect.stringContaining('made with another key') });
    expect(new Set(used.splice(0))).toEqual(new Set([bearer(accountKeys.p1)]));
  });

  test('a lost create is looked up with the key that sent it', async () => {
    const { world, gw, fake, used } = await twoAccounts();
    const ledger = ledgerOf(world);
    const asked = { gateway: fake.url, family: 'beta', profile: 'p2', externalId: 'gw-mine' };
    const key = ledger.begin(intentIn(world, asked));
    ledger.append(key, { event: 'sent' });
    ledger.append(key, { event: 'unknown', message: 'reset' });
    const run = await gw('jobs', 'sync', '--json');
    expect(run.code, run.err).toBe(14);
    expect(JSON.parse(run.err.trim().split('\n').at(-1) ?? '').error).toMatchObject({
      kind: 'unknown_outcome',
      task_id: key,
    });
    expect(new Set(used)).toEqual(new Set([bearer(accountKeys.p2)]));
    expect((await ledger.find({ ids: [key] }))[0]?.state).toBe('unknown');
  });

  test('a record that is gone under the key that made it is lost', async () => {
    const { world, fake, gw } = await twoAccounts();
    const { keyIdOf } = await import('../../src/config/api-key.ts');
    acceptedJob(world, 'gone-1', 30 * 24 * HOUR_MS, {
      gateway: fake.url,
      profile: 'p1',
      keyId: keyIdOf(accountKeys.p1),
    });
    expect(await gw('jobs', 'sync')).toMatchObject({ code: 4 });
    expect((await ledgerOf(world).find({ ids: ['gone-1'] }))[0]?.state).toBe('lost');
  });

  test('a profile without a stored key is served by the key in force only where it made the job', async () => {
    const { world, gw, used } = await twoAccounts();
    await gw('video', 'alpha', 'create', 'a fox', '--profile', 'p2');
    await gw('logout', '--profile', 'p2');
    const refused = await gw('jobs', 'sync', '--json');
    expect(refused).toMatchObject({ code: 3, err: expect.stringContaining('--profile p2') });
    expect(JSON.parse(refused.err).error).toMatchObject({ kind: 'auth', task_id: 't-1' });
    expect(used).toEqual([]);
    const served = await world.gw(['jobs', 'sync'], { bare: true, env: { GW_API_KEY: accountKeys.p2 } });
    expect(served, served.err).toMatchObject({ code: 0 });
    expect(used).toEqual([bearer(accountKeys.p2)]);
  });

  test('the ledger tells keys apart and holds none', async () => {
    const { world, gw } = await twoAccounts();
    for (const profile of ['p1', 'p2']) await gw('video', 'alpha', 'create', 'a fox', '--profile', profile);
    const ids = (await ledgerOf(world).find()).map(({ keyId = '' }) => keyId);
    expect(new Set(ids).size).toBe(2);
    for (const id of ids) expect(id).toMatch(/^[0-9a-f]{12}$/);
  });

  test('a --once job whose key is gone is printed as it stands, with what hinders going on', async () => {
    const { gw, used } = await twoAccounts();
    const once = ['video', 'alpha', 'create', 'a fox', '--once', 'k'];
    expect((await gw(...once, '--profile', 'p1')).out).toBe('t-1\n');
    await gw('logout', '--profile', 'p1');
    const waited = await gw(...once, '--wait', '--json', '--profile', 'p2');
    expect(waited.code, waited.err).toBe(3);
    expect(JSON.parse(waited.out)).toMatchObject({
      family: 'alpha',
      id: 't-1',
      status: 'running',
      files: [],
    });
    expect(waited.err).toContain('job t-1: there is no stored key of profile p1');
    expect(used).toEqual([]);
  });

  test('a damaged name of a profile in the ledger is that of no profile: its job is named, and blocks no other', async () => {
    const { world, gw, used } = await twoAccounts();
    for (const profile of ['p1', 'p2']) await gw('video', 'alpha', 'create', 'a fox', '--profile', profile);
    const dir = path.join(world.dir, '.local/state/gw/ledger');
    const [journal = ''] = readdirSync(dir).filter((name) => name.endsWith('.jsonl'));
    const file = path.join(dir, journal);
    // An earlier build wrote lines without a checksum.
    const lines = readFileSync(file, 'utf8').replaceAll(/,"sum":"\w+"\}$/gm, '}');
    writeFileSync(file, lines.replace('"profile":"p1"', '"profile":"p\\u00071!"'));
    const own = await gw('jobs', 'sync', '--profile', 'p2');
    expect(own).toMatchObject({ code: 13 });
    expect(own.err).toContain('but t-1 was made with another key');
    expect(own.err).toContain('task t-2 is still running');
    expect((await gw('jobs', 'list', '--profile', 'p2', '-q')).out).toBe('t-2\nt-1\n');
    expect(new Set(used.splice(0))).toEqual(new Set([bearer(accountKeys.p2)]));
    const elsewhere = await world.gw(['jobs', 'sync']);
    expect(elsewhere.code, elsewhere.err).toBe(13);
    expect(elsewhere.err).toContain('job t-1 belongs to http://127.0.0.1:');
    expect(elsewhere.err).toContain('profile p\\x071! is not stored');
    const shown = await world.gw(['jobs', 'wait', 't-1', '--dry-run']);
    expect(shown, shown.err).toMatchObject({ code: 0 });
  });
});

describe('tasks that the ledger does not know', () => {
  test('a mistyped ID becomes no job', async ({ world }) => {
    for (const word of ['wait', 'download']) {
      expect(await world.gw(['video', 'alpha', word, 'gone-1'])).toMatchObject({ code: 4 });
    }
    expect((await world.gw(['jobs', 'list', '-q'])).out).toBe('');
  });

  test('taken in by several runs at once, a task is one job with one file', async ({ world }) => {
    const id = (await world.gw(['video', 'alpha', 'create', 'a fox'])).out.trim();
    world.clock.ms += 60_000;
    const elsewhere = { env: { GW_STATE_DIR: `${world.dir}/elsewhere` } };
    const runs = await Promise.all([1, 2, 3].map(() => world.gw(['video', 'alpha', 'wait', id], elsewhere)));
    for (const run of runs) expect(run, run.err).toMatchObject({ code: 0, out: `${world.cwd}/${id}.mp4\n` });
    expect((await world.gw(['jobs', 'list', '-q'], elsewhere)).out).toBe(`${id}\n`);
    expect(world.requests().filter((line) => line.includes('/outputs/'))).toHaveLength(1);
  });

  test('several tasks and one fixed name are refused', async ({ world }) => {
    for (const word of ['wait', 'download']) {
      const run = await world.gw(['video', 'alpha', word, 'a-1', 'a-2', '-o', 'same.mp4', '--force']);
      expect(run).toMatchObject({ code: 2, err: expect.stringContaining('{id}') });
    }
    expect(world.requests()).toEqual([]);
  });
});

test('the status of a batch names the gateway where its rows were made, when that is another', async () => {
  const world = await World.open();
  writeFileSync(path.join(world.cwd, 'day.jsonl'), '{"command":"image create","prompt":"a fox"}\n');
  await world.ok(['batch', 'run', 'day.jsonl']);
  expect(await world.gw(['batch', 'status', 'day.jsonl'])).toMatchObject({ out: '1 saved\n', err: '' });
  const { out, err } = await world.gw(cmd`
    batch status day.jsonl --base-url https://gateway.example.com
  `);
  expect(out).toMatch(/^1 not sent\n/);
  expect(err).toContain(
    `rows of day were made at another gateway (${world.sandbox.baseUrl}): name it by --sandbox`,
  );
});
