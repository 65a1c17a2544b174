import { readdirSync } from 'node:fs';
import { afterEach, describe, expect, test } from 'vitest';
import { startSandbox } from '../../src/sandbox/server.ts';
import { wasmDir } from '../helpers/assets-dir.ts';
import { fakeGateway } from '../helpers/fake-gateway.ts';
import { clipsDir, KEY, World } from '../helpers/gw.ts';

// One ledger, several gateways: each job stays with its own, and so does each key.

const open: { close(): unknown }[] = [];
afterEach(async () => {
  for (const item of open.splice(0)) await item.close();
});

test('jobs sync serves a stored profile with its stored key, never with the key of the environment', async () => {
  const world = await World.open();
  const other = await startSandbox({
    key: 'other-key',
    account: 'enterprise',
    speed: 10,
    faults: [],
    clipsDir,
    wasmDir,
    now: world.clock.now,
  });
  open.push(world, other);
  await world.gw(['login', '--profile', 'work', '--base-url', other.baseUrl, '--with-key'], {
    bare: true,
    stdin: 'other-key',
  });
  const made = await world.gw(['video', 'alpha', 'create', 'a fox', '--profile', 'work', '-o', 'work/'], {
    bare: true,
  });
  expect(made.code, made.err).toBe(0);
  world.clock.ms += 60_000;
  const sync = await world.gw(['jobs', 'sync']); // base URL and key of the first gateway in the environment
  expect(sync.code, sync.err).toBe(0);
  expect(readdirSync(`${world.cwd}/work`)).toHaveLength(1);
  expect(other.requests.map((request) => request.headers.authorization ?? '')).not.toContain(`Bearer ${KEY}`);
  expect(world.requests()).toEqual([]);
});

test('a job of a gateway that nothing here can reach is named, and the others are served', async () => {
  const world = await World.open();
  const other = await startSandbox({
    key: KEY,
    account: 'enterprise',
    speed: 10,
    faults: [],
    clipsDir,
    wasmDir,
    now: world.clock.now,
  });
  open.push(world, other);
  await world.gw(['video', 'alpha', 'create', 'there'], { env: { GW_BASE_URL: other.baseUrl } });
  await world.gw(['video', 'alpha', 'create', 'here']);
  world.clock.ms += 60_000;
  const sync = await world.gw(['jobs', 'sync']);
  expect(sync.err).toContain(`belongs to ${other.baseUrl}`);
  expect(Object.keys(world.files())).toHaveLength(1);
  expect(other.requests).toHaveLength(1);
});

test('the same task ID on two gateways is two jobs', async () => {
  const world = await World.open();
  const here = await fakeGateway((method) => ({
    body: method === 'POST' ? { id: 't-1' } : { id: 't-1', status: 'running' },
  }));
  const there = await fakeGateway(() => ({
    body: { id: 't-1', status: 'failed', error: { code: 'x', message: 'theirs' } },
  }));
  open.push(world, here, there);
  await world.gw(['video', 'alpha', 'create', 'a fox'], { env: { GW_BASE_URL: here.url } });
  expect(
    await world.gw(['video', 'alpha', 'wait', 't-1'], { env: { GW_BASE_URL: there.url } }),
  ).toMatchObject({ code: 9 });
  const before = here.requests.length;
  await world.gw(['jobs', 'sync'], { env: { GW_BASE_URL: here.url } });
  expect(here.requests.length).toBe(before + 1);
});

describe('tasks that the ledger does not know', () => {
  test('a mistyped ID becomes no job', async () => {
    const world = await World.open();
    open.push(world);
    for (const word of ['wait', 'download']) {
      expect(await world.gw(['video', 'alpha', word, 'gone-1'])).toMatchObject({ code: 4 });
    }
    expect((await world.gw(['jobs', 'list', '-q'])).out).toBe('');
  });

  test('taken in by several runs at once, a task is one job with one file', async () => {
    const world = await World.open();
    open.push(world);
    const id = (await world.gw(['video', 'alpha', 'create', 'a fox'])).out.trim();
    world.clock.ms += 60_000;
    const elsewhere = { env: { GW_STATE_DIR: `${world.dir}/elsewhere` } };
    const runs = await Promise.all([1, 2, 3].map(() => world.gw(['video', 'alpha', 'wait', id], elsewhere)));
    for (const run of runs) expect(run, run.err).toMatchObject({ code: 0, out: `${world.cwd}/${id}.mp4\n` });
    expect((await world.gw(['jobs', 'list', '-q'], elsewhere)).out).toBe(`${id}\n`);
    expect(world.requests().filter((line) => line.includes('/outputs/'))).toHaveLength(1);
  });

  test('several tasks and one fixed name are refused', async () => {
    const world = await World.open();
    open.push(world);
    for (const word of ['wait', 'download']) {
      const run = await world.gw(['video', 'alpha', word, 'a-1', 'a-2', '-o', 'same.mp4', '--force']);
      expect(run).toMatchObject({ code: 2, err: expect.stringContaining('{id}') });
    }
    expect(world.requests()).toEqual([]);
  });
});
