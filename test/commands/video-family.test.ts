import { existsSync, readdirSync, readFileSync } from 'node:fs';
import * as path from 'node:path';
import { describe, expect } from 'vitest';
import type { LedgerLine } from '../../src/ledger/event.ts';
import { cmd } from '../helpers/cmd.ts';
import { fakeGateway } from '../helpers/fake-gateway.ts';
import { test, World } from '../helpers/gw.ts';
import { foldJobs } from '../ledger/fixtures.ts';

// The behaviour that the families share (get, wait, download, sync, --queue), and where their queries differ.

const jobsOf = (world: World) => {
  const dir = path.join(world.dir, '.local/state/gw/ledger');
  if (!existsSync(dir)) return [];
  const text = readdirSync(dir)
    .filter((name) => name.endsWith('.jsonl'))
    .map((name) => readFileSync(path.join(dir, name), 'utf8'))
    .join('');
  return foldJobs(
    text
      .split('\n')
      .filter((line) => line !== '')
      .map((line) => JSON.parse(line) as LedgerLine),
  );
};

const beta = ['video', 'beta'];
const quick = ['--duration', '3'];
const createBeta = async (world: World, ...words: string[]) => {
  const run = await world.ok([...beta, 'create', 'a fox', ...quick, ...words]);
  return run.out.trim();
};
const lines = (text: string) => text.trim().split('\n');
const looks = (world: World) =>
  world.sandbox.requests.filter(({ method, path: at }) => method === 'GET' && at.startsWith('/tasks'));

describe('create of family B', () => {
  test('the external ID is in the ledger before anything is sent, and is what was sent', async () => {
    const world = await World.open();
    await createBeta(world);
    const [job] = jobsOf(world);
    expect(job?.externalId).toBe(job?.key);
    const body = world.sandbox.requests[0]?.body as { options: { external_task_id: string } };
    expect(body.options.external_task_id).toBe(job?.key);
  });

  test('--dry-run shows the external ID that would be sent', async ({ world }) => {
    const run = await world.gw([...beta, 'create', 'a fox', '--dry-run', '--json']);
    expect(JSON.parse(run.out).body.options.external_task_id).toMatch(/^gw-[0-7][0-9a-z]{25}$/);
    expect(world.requests()).toEqual([]);
  });

  test('an external ID of the user that is taken is refused, and the task that has it is named', async () => {
    const world = await World.open();
    const id = await createBeta(world, '--external-id', 'order-17');
    const run = await world.gw([...beta, 'create', 'a fox', ...quick, '--external-id', 'order-17', '--json']);
    expect(run.code, run.out + run.err).toBe(5);
    expect(JSON.parse(lines(run.err).at(-1) ?? '').error).toMatchObject({
      kind: 'rejected',
      hint: expect.stringContaining(id),
    });
    expect(world.sandbox.tasks()).toHaveLength(1);
  });
});

describe('looking at tasks of family B', () => {
  test('get of one ID prints the reply unchanged, of several one record a line, asked for at once', async () => {
    const world = await World.open();
    const ids = [await createBeta(world), await createBeta(world), await createBeta(world)];
    const one = await world.gw([...beta, 'get', ids[0] ?? '', '--json']);
    expect(JSON.parse(one.out)).toMatchObject({ code: 0, data: [{ id: ids[0] }] });
    const before = looks(world).length;
    const all = await world.ok([...beta, 'get', ...ids, '--json']);
    expect(lines(all.out).map((line) => JSON.parse(line).id)).toEqual(ids);
    expect(looks(world).length - before).toBe(1);
  });

  test('an unknown ID is exit 4, of several 13; the young are asked for again', async ({ world }) => {
    const id = await createBeta(world);
    expect((await world.gw([...beta, 'get', 'nobody'])).code).toBe(4);
    const both = await world.gw([...beta, 'get', 'nobody', id, '--json']);
    expect(both.code).toBe(13);
    expect(lines(both.out)).toHaveLength(1);
    expect(JSON.parse(lines(both.err).at(-1) ?? '').error).toMatchObject({
      kind: 'not_found',
      task_id: 'nobody',
    });
  });

  test("gw's own key names the task wherever its ID does, and one job however often it is named", async ({
    world,
  }) => {
    const id = await createBeta(world);
    const [{ key = '' } = {}] = jobsOf(world);
    expect((await world.ok([...beta, 'get', key, id, '--json'])).out).toContain(id);
    for (const command of ['get', 'wait', 'download'])
      expect((await world.ok([...beta, command, key, '--dry-run'])).out).toContain(`task_ids=${id}`);
    const run = await world.ok(['jobs', 'wait', key, id]);
    expect(lines(run.out)).toHaveLength(1);
    const asked = looks(world).map(({ path: at }) => new URL(at, 'http://here').searchParams.get('task_ids'));
    expect(new Set(asked)).toEqual(new Set([id]));
  });

  test('a job without a task is not asked for under the name that gw gave it', async () => {
    const world = await World.open({ fault: 'create:reset-after' });
    const gamma = ['--resolution', '768P', '--duration', '5', '--ratio', '16:9'];
    expect((await world.gw(['video', 'gamma', 'create', 'a fox', ...gamma])).code).toBe(14);
    const [{ key = '' } = {}] = jobsOf(world);
    for (const command of ['get', 'wait', 'download'])
      for (const name of [key, 'last']) {
        const run = await world.gw(['video', 'gamma', command, name, '--json']);
        expect(run, run.err).toMatchObject({ code: 14, err: expect.stringContaining(key) });
      }
    expect((await world.ok(['jobs', 'wait', '--all'])).err).toBe(
      'nothing is to be waited for; what became of 1 job is not known: gw jobs list --status unknown\n',
    );
    expect(world.sandbox.requests.filter(({ method }) => method === 'GET')).toEqual([]);
  });

  test.each([
    [...beta, 'create', 'a fox', ...quick],
    ['jobs', 'sync'],
  ])('an interrupt of the look-up leaves a job that --json prints as unknown: %s %s', async (...words) => {
    const world = await World.open();
    let interrupt = () => {};
    const fake = await fakeGateway((method) => {
      if (method === 'GET') interrupt();
      return method === 'GET' ? { status: 503 } : { body: {} };
    });
    const run = (argv: string[]) =>
      world.gw(argv, {
        env: { GW_BASE_URL: fake.url },
        interrupts: (send) => {
          interrupt = () => send('SIGINT');
        },
      });
    if (words[0] === 'jobs') await run([...beta, 'create', 'a fox', ...quick]);
    const ended = await run([...words, '--json']);
    expect(ended.code).toBe(130);
    expect(lines(ended.out).map((line) => JSON.parse(line))).toMatchObject([
      { status: 'unknown', files: [] },
    ]);
  });

  test('get --external asks by the external ID', async ({ world }) => {
    const id = await createBeta(world, '--external-id', 'order-17');
    const run = await world.ok([...beta, 'get', '--external', 'order-17', '--json']);
    expect(JSON.parse(run.out).data[0]).toMatchObject({ id, external_id: 'order-17' });
    // --external also accepts an ID that only --set or --body can give.
    const odd = await createBeta(world, '--set', 'options.external_task_id=order 19');
    expect((await world.ok([...beta, 'get', '--external', 'order 19', '--json'])).out).toContain(odd);
    const lost = await world.gw([...beta, 'get', '--external', 'order-18', 'order-17']);
    expect(lost.code).toBe(13);
    expect(lost.err).toContain('order-18');
    const bad = await world.gw([...beta, 'get', '--external', 'a,b']);
    expect(bad.code).toBe(2);
    expect((await world.gw(['video', 'alpha', 'get', '--external', 'x'])).code).toBe(2);
  });

  test('wait saves many, asking for all of them in one request a round', async ({ world }) => {
    const ids: string[] = [];
    for (let at = 0; at < 6; at += 1) ids.push(await createBeta(world));
    const before = looks(world).length;
    const run = await world.ok([...beta, 'wait', ...ids, '--json']);
    const results = lines(run.out).map((line) => JSON.parse(line));
    expect(new Set(results.map(({ id }) => id))).toEqual(new Set(ids));
    expect(results.every(({ files }) => files.length === 1)).toBe(true);
    expect(Object.keys(world.files())).toHaveLength(6);
    // Six separate polls would make at least twelve requests.
    expect(looks(world).length - before).toBeLessThan(12);
    const asked = (at: string) => new URL(at, 'http://here').searchParams.get('task_ids')?.split(',').length;
    expect(looks(world).some(({ path: at }) => asked(at) === 6)).toBe(true);
  });

  test('wait and download on a machine that does not know the jobs confirm them in one request', async () => {
    const world = await World.open();
    const ids = [await createBeta(world), await createBeta(world)];
    world.clock.ms += 120_000;
    const before = looks(world).length;
    const env = { GW_STATE_DIR: path.join(world.dir, 'elsewhere') };
    const run = await world.gw([...beta, 'download', ...ids, 'nobody'], { env });
    expect(run.code).toBe(13);
    expect(lines(run.out)).toEqual(ids.map((id) => `${world.cwd}/${id}.mp4`));
    expect(run.err).toContain('nobody');
    // One request confirms all of them; an unknown ID is queried alone only when the gateway refuses the batch.
    expect(looks(world).length - before).toBe(1);
  });

  test('what a create left unanswered is taken in by jobs sync, looked at and saved', async () => {
    const world = await World.open({ fault: 'create:reset-after:x1,query:503:x20' });
    const run = await world.gw([...beta, 'create', 'a fox', ...quick]);
    expect(run.code, run.err).toBe(14);
    expect(run.err).toContain('gw jobs sync');
    expect(jobsOf(world)).toMatchObject([{ state: 'unknown', id: undefined }]);
    world.clock.ms += 120_000;
    await world.ok(['jobs', 'sync']);
    const [task] = world.sandbox.tasks();
    expect(jobsOf(world)).toMatchObject([{ state: 'succeeded', id: task?.id }]);
    expect(Object.keys(world.files())).toEqual([`${task?.id}.mp4`]);
    expect(world.sandbox.requests.filter(({ method }) => method === 'POST')).toHaveLength(1);
  });

  test('a create that was lost is said to be open at every sync, and closed an hour later, once', async () => {
    const world = await World.open();
    const date = () => ({ date: new Date(world.clock.now()).toUTCString() });
    const gateway = await fakeGateway((method) =>
      method === 'POST'
        ? { status: 502, headers: date(), body: {} }
        : { headers: date(), body: { code: 0, message: '', request_id: 'r', data: [] } },
    );
    const env = { GW_BASE_URL: gateway.url };
    const run = await world.gw([...beta, 'create', 'a fox', ...quick, '--json'], { env });
    expect(run.code, run.err).toBe(14);
    const { id } = JSON.parse(run.out);
    expect(JSON.parse(lines(run.err).at(-1) ?? '').error).toMatchObject({ task_id: id });
    const posts = () => gateway.requests.filter((line) => line.startsWith('POST')).length;
    const sent = posts();
    for (let at = 0; at < 2; at += 1) {
      const sync = await world.gw(['jobs', 'sync'], { env });
      expect(sync).toMatchObject({ code: 14, out: '' });
      expect(sync.err).toContain(`${id}: its answer is not known yet`);
      expect(jobsOf(world)).toMatchObject([{ state: 'unknown' }]);
    }
    const told = await world.gw(['jobs', 'sync', '--json'], { env });
    expect(JSON.parse(told.out)).toMatchObject({ id, status: 'unknown', files: [] });
    world.clock.ms += 3_600_000;
    const last = await world.gw(['jobs', 'sync'], { env });
    expect(last).toMatchObject({ code: 8, out: '' });
    expect(last.err).toContain(`${id} was never created: the gateway has no task under its external ID`);
    expect(last.err).not.toContain('the job goes on');
    expect(await world.gw(['jobs', 'sync'], { env })).toMatchObject({ code: 0, out: '', err: '' });
    expect(posts()).toBe(sent);
  });

  test('a lost create that is found has no warning about a reply of its own', async () => {
    const world = await World.open({ fault: 'create:reset-after:x1' });
    const run = await world.ok([...beta, 'create', 'a fox', ...quick]);
    expect(run.err).not.toContain('warning');
  });

  test('get --external asks for many in one request; what is missing is not found', async ({ world }) => {
    for (const id of ['e-1', 'e-2', 'e-3']) await createBeta(world, '--external-id', id);
    const before = looks(world).length;
    const run = await world.gw([...beta, 'get', '--external', 'e-1', 'e-9', 'e-2', 'e-3', '--json']);
    expect(run.code, run.err).toBe(13);
    expect(lines(run.out).map((line) => JSON.parse(line).external_id)).toEqual(['e-1', 'e-2', 'e-3']);
    expect(run.err).toContain('e-9');
    expect(looks(world).length - before).toBe(1);
  });

  test('records that do not say whose they are are asked for one by one', async ({ world }) => {
    const gateway = await fakeGateway((_, url) => {
      const asked = new URL(url, 'http://here').searchParams.get('external_task_ids')?.split(',') ?? [];
      const data = asked.map((id) => ({ id: `t-${id}`, status: 'processing' }));
      return { body: { code: 0, message: '', request_id: 'r', data } };
    });
    const run = await world.ok(cmd`${beta} get --external a b --json`, {
      env: { GW_BASE_URL: gateway.url },
    });
    expect(lines(run.out).map((line) => JSON.parse(line).id)).toEqual(['t-a', 't-b']);
    expect(gateway.requests).toHaveLength(3);
  });

  test('two syncs at once save each file once', async ({ world }) => {
    for (let at = 0; at < 6; at += 1) await createBeta(world);
    world.clock.ms += 120_000;
    const runs = await Promise.all([world.gw(['jobs', 'sync']), world.gw(['jobs', 'sync'])]);
    expect(runs.map(({ code }) => code)).toEqual([0, 0]);
    for (const { err } of runs) expect(err).not.toContain('waiting for it');
    // Only the run that saved a path prints it.
    const told = runs.flatMap(({ out }) => lines(out)).filter(Boolean);
    expect(told.sort()).toEqual(Object.keys(world.files()).map((name) => `${world.cwd}/${name}`));
    expect(told).toHaveLength(6);
    const fetched = world.sandbox.requests.filter(({ server }) => server === 'output');
    expect(fetched).toHaveLength(6);
    expect(looks(world).length).toBe(2);
  });

  test('an element is no file: the wait ends well, nothing is missing, and sync leaves it alone', async () => {
    const world = await World.open();
    const run = await world.ok([...beta, 'create', 'a fox output-element', ...quick, '--wait', '--json']);
    expect(JSON.parse(run.out)).toMatchObject({ status: 'succeeded', files: [] });
    const before = world.requests().length;
    await world.ok(['jobs', 'sync']);
    expect(world.requests()).toHaveLength(before);
  });

  test('a watermarked result lies beside the clip, also where the name is fixed', async ({ world }) => {
    await world.ok([...[...beta, 'create', 'a fox', ...quick, '--watermark', '--wait', '-o', 'fox.mp4']]);
    expect(Object.keys(world.files()).sort()).toEqual(['fox-watermarked.mp4', 'fox.mp4']);
  });

  test('of several records each keeps a number that JavaScript cannot hold', async ({ world }) => {
    const records = ['{"id":"t-1","status":"processing","n":9007199254740993}', '{"id":"t-2","n":1}'];
    const gateway = await fakeGateway(() => ({ body: `{"code":0,"data":[${records.join(', ')}]}` }));
    const run = await world.gw([...beta, 'get', 't-1', 't-2', '--json'], {
      env: { GW_BASE_URL: gateway.url },
    });
    expect(run, run.err).toMatchObject({ code: 0, out: `${records.join('\n')}\n` });
  });
});

describe('--queue', () => {
  test('counts the jobs of every process of this user, and waits before anything is sent', async () => {
    const world = await World.open();
    const create = ['video', 'alpha', 'create', 'a fox'];
    for (let at = 0; at < 3; at += 1) await world.gw(create);
    const posts = () => world.sandbox.requests.filter(({ method }) => method === 'POST').length;
    const full = await world.gw([...create, '--queue', '--wait-timeout', '5s', '--json']);
    expect(full.code).toBe(7);
    expect(JSON.parse(lines(full.err).at(-1) ?? '').error).toMatchObject({
      kind: 'rate_limited',
      message: expect.stringContaining('nothing was sent'),
    });
    expect(posts()).toBe(3);
    expect(jobsOf(world)).toHaveLength(3);
    await world.ok([...create, '--queue']);
    expect(posts()).toBe(4);
    expect(jobsOf(world).filter(({ state }) => state === 'succeeded').length).toBeGreaterThan(0);
  });

  test('is implied by --wait; --no-queue meets the limit', async () => {
    const world = await World.open({ account: 'personal', speed: 0.5 });
    const create = ['video', 'alpha', 'create', 'a fox'];
    for (let at = 0; at < 3; at += 1) await world.gw(create);
    const refused = await world.gw([...create, '--wait', '--no-queue', '--retries', '0']);
    expect(refused).toMatchObject({ code: 7, err: expect.stringContaining('with --queue gw waits') });
    const run = await world.ok([...create, '--wait']);
    expect(run.err).toMatch(/no free slot|it is sent again at/);
    expect(Object.keys(world.files())).toHaveLength(1);
  });

  test('an enterprise profile has ten places', async ({ world }) => {
    await world.gw(['config', 'set', 'account', 'enterprise']);
    const create = ['video', 'alpha', 'create', 'a fox', '--queue'];
    for (let at = 0; at < 5; at += 1) {
      const run = await world.gw(create);
      expect(run.err).not.toContain('no free slot');
    }
  });
});
