import { appendFileSync, readdirSync, readFileSync } from 'node:fs';
import * as path from 'node:path';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { JobFinder } from '../../src/ledger/job-finder.ts';
import { adoptedJobKey } from '../../src/ledger/job-key.ts';
import { openServer } from '../cli/fake-gateway.ts';
import { cmd } from '../helpers/cmd.ts';
import { clipsDir, World } from '../helpers/gw.ts';
import { acceptedJob, alphaRecord, DAY_MS, HOUR_MS, intentIn, ledgerOf, succeededJob } from './jobs-seed.ts';

/** A gateway and an output host that answer as the test defines. */
async function openPlace(answers: {
  readonly task: () => [number, string, Record<string, string>?];
  output?: number;
  outputHead?: Record<string, string>;
}) {
  const clip = readFileSync(path.join(clipsDir, readdirSync(clipsDir)[0] ?? ''));
  const outputStatuses = answers.output === undefined ? [] : [answers.output];
  const server = await openServer((request, response) => {
    if (request.url?.startsWith('/out/')) {
      const status = outputStatuses.shift() ?? 200;
      const type = { 'content-type': 'video/mp4', ...answers.outputHead };
      response.writeHead(status, type).end(status === 200 ? clip : '');
      return;
    }
    const [status, text, headers] = answers.task();
    response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(text);
  });
  const world = await World.open();
  const env = { GW_BASE_URL: server.url, GW_RETRIES: '1' };
  const gw = (...argv: string[]) => world.gw(argv, { env });
  const record = { ...alphaRecord('t-1'), content: { video_url: `${server.url}/out/t-1` } };
  const looks = () => server.seen.filter((seen) => !seen.path.startsWith('/out/'));
  return { world, server, gw, record, looks };
}

describe('a job that the ledger knows to have succeeded', () => {
  test.each([
    [['jobs', 'sync']],
    [['jobs', 'wait', 't-1']],
    [['jobs', 'wait', '--all']],
    [['jobs', 'download', 't-1']],
  ])('is saved from its live link without a look: %j', async (argv) => {
    const { world, gw, record, looks, server } = await openPlace({ task: () => [500, '{}'] });
    succeededJob(world, 't-1', HOUR_MS, { gateway: server.url }, record);
    const run = await gw(...argv);
    expect(run, run.err).toMatchObject({ code: 0, out: `${world.cwd}/t-1.mp4\n` });
    expect(looks()).toEqual([]);
  });

  test.each([403, 404, 410])(
    'is asked for anew, until it is shown, where its link says %i',
    async (status) => {
      const { world, gw, record, looks, server } = await openPlace({
        task: () => (looks().length === 1 ? [404, '{}'] : [200, JSON.stringify(record)]),
        output: status,
      });
      succeededJob(world, 't-1', 30_000, { gateway: server.url }, record);
      const run = await gw('jobs', 'sync');
      expect(run, run.err).toMatchObject({ code: 0, out: `${world.cwd}/t-1.mp4\n` });
      expect(looks()).toHaveLength(2);
    },
  );

  test('is never said not to be finished, where its link is dead and nobody answers', async () => {
    const { world, gw, record, server } = await openPlace({ task: () => [503, '{}'] });
    succeededJob(world, 't-1', 2 * DAY_MS, { gateway: server.url }, record);
    const run = await gw('jobs', 'wait', 't-1', '--wait-timeout', '30s');
    expect(run.code).toBe(12);
    expect(run.err).toContain('task t-1 succeeded, but');
    expect(run.err).not.toContain('not finished');
  });
});

test.each([
  [404, 'lost'],
  [400, 'running'],
  [401, 'running'],
  [403, 'running'],
  [500, 'running'],
])(
  'a task older than its record is lost only where the gateway does not know it: %i',
  async (status, state) => {
    const { world, gw, server } = await openPlace({ task: () => [status, '{}'] });
    const key = acceptedJob(world, 't-1', 8 * DAY_MS, { gateway: server.url });
    const ways = [['wait', 't-1'], ['download', 't-1'], ['sync'], ['wait', 't-1']];
    for (const argv of ways) {
      const run = await gw('jobs', ...argv);
      expect(run.code).not.toBe(0);
      expect(run.err.includes('make it anew: gw again t-1 --wait')).toBe(status === 404);
    }
    expect((await ledgerOf(world).find({ ids: [key] }))[0]?.state).toBe(state);
  },
);

test.each([
  [400, ''],
  [401, 'check the key: GW_API_KEY, --api-key-file, or store another one with gw login; '],
  [403, 'the console of the gateway its settings; '],
])(
  'a look that is refused with %i has its cure, the way back, and when to ask again',
  async (status, cure) => {
    const { world, gw, server } = await openPlace({ task: () => [status, '{}', { 'retry-after': '30' }] });
    acceptedJob(world, 't-1', HOUR_MS, { gateway: server.url });
    for (const argv of [
      ['jobs', 'sync'],
      ['jobs', 'wait', 't-1'],
    ])
      expect((await gw(...argv)).err).toContain(
        `${cure}the job goes on; pick it up with: gw video alpha wait t-1; the gateway may be asked again in 30 s, at 2026-`,
      );
  },
);

test.each([1, 24])(
  'an output whose server asks for %i h is not asked for within one by a later run',
  async (hours) => {
    const { world, gw, record, server } = await openPlace({
      task: () => [200, JSON.stringify(record)],
      output: 429,
      outputHead: { 'retry-after': `${3600 * hours}` },
    });
    succeededJob(world, 't-1', HOUR_MS, { gateway: server.url }, record);
    const first = await gw('jobs', 'sync');
    expect(first.err).toContain(new Date(world.clock.ms + hours * HOUR_MS).toISOString().slice(0, 16));
    const until = new Date(world.clock.ms + HOUR_MS).toISOString().slice(0, 16);
    for (const argv of [
      ['jobs', 'sync'],
      ['jobs', 'wait', 't-1'],
      ['video', 'alpha', 'download', 't-1', '-o', 'elsewhere.mp4'],
    ]) {
      const run = await gw(...argv);
      expect(run.code, run.err).toBe(12);
      expect(run.err).toContain(`asks to wait until ${until}`);
      expect(run.err).toContain('after that, gw jobs sync fetches it');
    }
    expect(server.seen.filter(({ path }) => path.startsWith('/out/'))).toHaveLength(1);
    world.clock.ms += HOUR_MS;
    expect(await gw('jobs', 'sync')).toMatchObject({ code: 0 });
  },
);

test('a gateway that asks for an hour ends sync, wait and download at once', async () => {
  const { world, gw, looks, server } = await openPlace({
    task: () => [429, '{"error":{"message":"slow down"}}', { 'retry-after': '3600' }],
  });
  for (let at = 0; at < 12; at += 1) acceptedJob(world, `t-${at}`, HOUR_MS, { gateway: server.url });
  const startMs = world.clock.ms;
  const runs = [['jobs', 'sync'], cmd`jobs wait --all --wait-timeout 10m`, cmd`jobs download t-1`];
  const asked: number[] = [];
  for (const argv of runs) {
    const run = await gw(...argv);
    expect([7, 10, 13], run.err).toContain(run.code);
    expect(run.err).toMatch(/2026-11-20T13:0/);
    asked.push(looks().length);
  }
  expect(world.clock.ms - startMs).toBeLessThan(60_000);
  // Only the first run asks the gateway; the others respect its Retry-After time and ask nothing.
  expect(asked[0]).toBeLessThan(12);
  expect(asked).toEqual(asked.map(() => asked[0]));
});

test('a look by hand says in a pipe why and until when it waits out a 429', async () => {
  const { gw, looks, record } = await openPlace({
    task: () =>
      looks().length === 1
        ? [429, '{"error":{"message":"slow down"}}', { 'retry-after': '75' }]
        : [200, JSON.stringify(record)],
  });
  const run = await gw('video', 'alpha', 'get', 't-1');
  expect([run.code, looks().length], run.err).toEqual([0, 2]);
  // The pause of 75 s begins with a line, and one follows after 30 and after 60 s.
  expect(run.err.match(/the gateway asks to wait .*: trying again at 2026-/g), run.err).toHaveLength(3);
});

test('a long integer of a record is printed as it came, also from the ledger', async () => {
  const seed = '9007199254740993';
  const text = (url: string) =>
    `{ "status":"succeeded", "seed": ${seed}, "id":"t-1", "content":{"video_url":"${url}/out/t-1"} }`;
  const { world, gw, server } = await openPlace({ task: () => [200, text(server.url)] });
  acceptedJob(world, 't-1', HOUR_MS, { gateway: server.url });
  const record = `"record":${text(server.url).replaceAll(' ', '')},`;
  const run = await gw('jobs', 'wait', 't-1', '--json');
  expect(run.code, run.err).toBe(0);
  expect(run.out).toContain(record);
  for (const argv of [
    ['wait', 't-1'],
    ['download', 't-1'],
  ]) {
    expect((await gw('jobs', ...argv, '--json')).out).toContain(record);
  }
  expect((await gw('jobs', 'show', 't-1', '--json')).out).toContain(record.slice(0, -1));
  expect((await gw('jobs', 'show', 't-1')).out).toContain(seed);
});

test('the fields of a family B record keep their order', async () => {
  const record = {
    id: 'b-1',
    status: 'failed',
    create_time: 1,
    zeta: [],
    message: 'no',
    billing: [],
    update_time: 2,
  };
  const { world, gw, server } = await openPlace({
    task: () => [200, JSON.stringify({ code: 0, data: [record] })],
  });
  acceptedJob(world, 'b-1', HOUR_MS, { family: 'beta', gateway: server.url });
  const run = await gw('jobs', 'wait', 'b-1', '--json');
  expect(run.out).toContain(`"record":${JSON.stringify(record)}`);
});

test('a new wait writes down nothing that the ledger already says', async () => {
  const { world, gw, server } = await openPlace({ task: () => [200, '{"id":"t-1","status":"queued"}'] });
  acceptedJob(world, 't-1', HOUR_MS, { gateway: server.url });
  const journal = () => readJournals(world);
  const before = journal();
  await gw('jobs', 'wait', 't-1', '--wait-timeout', '30s');
  expect(journal()).toBe(before);
});

test.each(['8.7e15', '-9e15', '1e999'])('one line of the time %s spoils nothing', async (time) => {
  const { world, gw, server } = await openPlace({ task: () => [200, '{"id":"t-1","status":"queued"}'] });
  const key = acceptedJob(world, 't-1', HOUR_MS, { gateway: server.url });
  const file = journalOf(world);
  const [intent = ''] = readFileSync(file, 'utf8').trim().split('\n');
  appendFileSync(
    file,
    `\n${intent.replace(/"t":\d+/, `"t":${time}`).replace(key, key.replace(/.$/, '0'))}\n`,
  );
  appendFileSync(
    file,
    `\n{"v":1,"t":1,"job":"${key}","event":"final","state":"failed","status":"failed","record":{},"serverDateMs":${time}}\n`,
  );
  for (const argv of [
    ['list'],
    ['stats', '--by', 'day'],
    ['show', 't-1'],
    ['sync'],
    ['prune', '--before', '1d', '--dry-run'],
  ]) {
    const run = await gw('jobs', ...argv);
    expect(run.code, `${argv}: ${run.err}`).toBe(0);
  }
  expect((await ledgerOf(world).find()).map(({ id, state }) => [id, state])).toEqual([['t-1', 'running']]);
});

const journalOf = (world: World): string => {
  const dir = path.join(world.dir, '.local/state/gw/ledger');
  return path.join(dir, readdirSync(dir).at(-1) ?? '');
};
const readJournals = (world: World): string => readFileSync(journalOf(world), 'utf8');

test('a job that another gw is creating is followed beside the rest as soon as it is made', async () => {
  const clip = readFileSync(path.join(clipsDir, readdirSync(clipsDir)[0] ?? ''));
  let isFetched = false;
  const server = await openServer((request, response) => {
    const id = request.url?.split('/').at(-1) ?? '';
    if (request.url?.startsWith('/out/')) {
      isFetched ||= id === 't-2';
      response.writeHead(200, { 'content-type': 'video/mp4' }).end(clip);
      return;
    }
    const status = id === 't-2' || isFetched ? 'succeeded' : 'running';
    const record = { ...alphaRecord(id), status, content: { video_url: `${server.url}/out/${id}` } };
    response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(record));
  });
  const world = await World.open();
  acceptedJob(world, 't-1', HOUR_MS, { gateway: server.url });
  const other = ledgerOf(world);
  const key = other.begin(intentIn(world, { gateway: server.url }));
  other.append(key, { event: 'sent' });
  const hold = await other.hold(key);
  const waiting = world.gw(cmd`jobs wait t-1 ${key} --wait-timeout 10m`, {
    env: { GW_BASE_URL: server.url },
  });
  while (!world.clock.slept.includes(500)) await new Promise((resolve) => setTimeout(resolve, 1));
  other.append(key, { event: 'accepted', id: 't-2' });
  hold?.release();
  const run = await waiting;
  expect(run.code, run.err).toBe(0);
  expect(run.out.split('\n').sort()).toEqual(['', `${world.cwd}/t-1.mp4`, `${world.cwd}/t-2.mp4`]);
  await world.close();
});

/** Begins a job that another gw creates: its create ends while this one reads it for the `last` time. */
async function createdWhileRead(world: World, last: number, gateway?: string): Promise<string> {
  const other = ledgerOf(world);
  const key = other.begin(intentIn(world, gateway === undefined ? {} : { gateway }));
  other.append(key, { event: 'sent' });
  const hold = await other.hold(key);
  const own = JobFinder.prototype.each;
  const each = vi.spyOn(JobFinder.prototype, 'each');
  onTestFinished(() => each.mockRestore());
  let reads = 0;
  each.mockImplementation(async function* (this: JobFinder, wanted) {
    for await (const job of own.call(this, wanted)) {
      reads += 1;
      if (reads === last) {
        other.append(key, { event: 'accepted', id: 't-1', status: 'queued' });
        hold?.release();
      }
      yield job;
    }
  });
  return key;
}

test.each(['wait', 'download'])('jobs %s saves a job that is accepted after it was read', async (verb) => {
  const { world, server, gw, record } = await openPlace({ task: () => [200, JSON.stringify(record)] });
  // The first read only finds out what the word means.
  const key = await createdWhileRead(world, 2, server.url);
  expect(await gw('jobs', verb, key)).toMatchObject({ code: 0, out: `${world.cwd}/t-1.mp4\n` });
});

test.each([
  [['list', '-q', '--status', 'queued'], /^t-1\n$/],
  [['list', '--json'], /"status":"queued"/],
  [['show', 'last', '--json'], /"status":"queued"/],
  [['stats', '--json'], /"running":1/],
])('jobs %j never tells a create of another gw as unsent that ends while it is read', async (argv, told) => {
  const world = await World.open();
  await createdWhileRead(world, 1);
  expect((await world.ok(['jobs', ...argv])).out).toMatch(told);
});

describe('the first look at a task that the ledger does not know ends with --wait-timeout and the way back', () => {
  const wait = ['video', 'alpha', 'wait', 't-1', '--wait-timeout'];
  const wayBack = 'hint: the job goes on; pick it up with: gw video alpha wait t-1';

  test('if the gateway asks for a longer pause', async () => {
    const { world, gw, looks } = await openPlace({ task: () => [429, '{}', { 'retry-after': '60' }] });
    const { code, err } = await gw(...wait, '30s');
    expect([code, err]).toEqual([10, expect.stringContaining('2026-11-20T12:01:00')]);
    expect(err).toContain(wayBack);
    expect(world.clock.steady()).toBeLessThan(30_000);
    expect(looks()).toHaveLength(1);
  });

  test('if the gateway does not answer', async () => {
    const server = await openServer(() => {});
    const world = await World.open();
    const run = await world.gw([...wait, '300ms'], { env: { GW_BASE_URL: server.url } });
    expect(run, run.err).toMatchObject({ code: 10, err: expect.stringContaining(wayBack) });
  });

  test('if another gw works on the task', async () => {
    const { world, server, gw, record } = await openPlace({ task: () => [200, JSON.stringify(record)] });
    const ledger = ledgerOf(world);
    const hold = await ledger.hold(adoptedJobKey(server.url, 't-1'));
    expect(await gw(...wait, '5s')).toMatchObject({ code: 10 });
    expect(world.clock.steady()).toBeLessThan(10_000);
    hold?.release();
  });
});
