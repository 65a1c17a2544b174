import { expect } from 'vitest';
import { openLedger } from '../../src/ledger/open-ledger.ts';
import { cmd } from '../helpers/cmd.ts';
import { test, World } from '../helpers/gw.ts';
import { acceptedJob, HOUR_MS, intentIn, ledgerOf } from './jobs-seed.ts';

// A job whose answer was lost is closed with what its user found out.

async function openWorld(fault?: string): Promise<World> {
  const world = await World.open({ ...(fault !== undefined && { fault }) });
  return world;
}

/** A world whose gateway accepted a task, while the ledger knows only that the request was sent. */
async function withLost(family = 'alpha') {
  const world = await openWorld();
  const isBeta = family === 'beta';
  const id = await madeElsewhere(world, ['video', family, ...(isBeta ? ['--external-id', 'mine-1'] : [])]);
  const key = sentJob(world, {
    family,
    ...(isBeta && { endpoint: 'beta.textToVideo', externalId: 'mine-1' }),
  });
  return { world, key, id };
}

/** Creates a task and removes it from the ledger. */
async function madeElsewhere(world: World, [group = '', family = '', ...flags]: string[]): Promise<string> {
  const made = await world.gw([group, family, 'create', 'a hare', ...flags]);
  const id = made.out.trim();
  const ledger = ledgerOf(world);
  await ledger.remove(new Set((await ledger.find({ ids: [id] })).map((job) => job.key)));
  return id;
}

/** An alpha job that was sent and never answered. */
function sentJob(world: World, changes: Parameters<typeof intentIn>[1] = {}): string {
  const ledger = ledgerOf(world);
  const key = ledger.begin(intentIn(world, changes));
  ledger.append(key, { event: 'sent' });
  ledger.append(key, { event: 'unknown', message: 'the connection was reset' });
  return key;
}

const stateOf = async (world: World, key: string) => (await ledgerOf(world).find({ ids: [key] }))[0]?.state;
const creates = (world: World) =>
  world.sandbox.requests.filter(({ acceptedTaskId }) => acceptedTaskId !== undefined);

test('a task that is named is looked up until the gateway shows it, and sync goes on with it', async () => {
  const world = await openWorld('create:reset-after:x1,query:404:x2');
  expect((await world.gw(['video', 'alpha', 'create', 'a fox'])).code).toBe(14);
  const [{ key = '' } = {}] = await ledgerOf(world).find();
  const [{ id = '' } = {}] = world.sandbox.tasks();
  const run = await world.ok(['jobs', 'resolve', key, '--as', id]);
  expect(run.out.split('\t').slice(0, 2)).toEqual([id, expect.stringMatching(/^(queued|running)$/)]);
  expect(run.err).toBe(`go on with it: gw jobs wait ${id}\n`);
  world.clock.ms += 600_000;
  const synced = await world.gw(['jobs', 'sync']);
  expect(synced, synced.err).toMatchObject({ code: 0, out: `${world.cwd}/${id}.mp4\n` });
  expect(creates(world)).toHaveLength(1);
});

test('--json prints the job as jobs list does, -q its ID', async () => {
  const first = await withLost();
  const json = await first.world.gw(['jobs', 'resolve', first.key, '--as', first.id, '--json']);
  expect(json.code, json.err).toBe(0);
  expect(JSON.parse(json.out)).toMatchObject({ id: first.id, job: first.key, status: 'queued', saved: null });
  const second = await withLost();
  const quiet = await second.world.gw(['jobs', 'resolve', second.key, '--as', second.id, '-q']);
  expect(quiet).toEqual({ code: 0, out: `${second.id}\n`, err: '' });
});

test('a task that has ended is recorded with its end', async () => {
  const { world, key, id } = await withLost();
  world.clock.ms += 600_000;
  const run = await world.ok(['jobs', 'resolve', key, '--as', id, '--json']);
  expect(JSON.parse(run.out)).toMatchObject({ status: 'succeeded', saved: false });
});

test('none closes the job for good, and nothing is asked of the gateway', async () => {
  const world = await openWorld();
  const key = sentJob(world);
  const run = await world.ok(['jobs', 'resolve', key, '--as', 'none', '--json']);
  expect(JSON.parse(run.out)).toMatchObject({
    id: key,
    status: 'refused',
    message: 'you said that it was never created',
  });
  expect(await world.gw(['jobs', 'sync'])).toMatchObject({ code: 0, out: '', err: '' });
  expect(await world.gw(['jobs', 'resolve', sentJob(world), '--as', 'none', '-q'])).toMatchObject({
    code: 0,
    err: '',
  });
  expect(world.requests()).toEqual([]);
});

test('a job whose outcome is known is usage, and stays as it is', async () => {
  const world = await openWorld();
  acceptedJob(world, 't-1', HOUR_MS);
  const closed = sentJob(world);
  await world.gw(['jobs', 'resolve', closed, '--as', 'none']);
  const unsent = ledgerOf(world).begin(intentIn(world));
  for (const [word, key, state] of [
    ['t-1', 't-1', 'its outcome is known: it is running'],
    [closed, closed, 'its outcome is known: it is refused'],
    [unsent, unsent, 'nothing of it was sent; gw jobs sync closes it'],
  ] as const) {
    for (const answer of ['none', 't-9']) {
      const run = await world.gw(['jobs', 'resolve', word, '--as', answer]);
      expect(run.code, run.err).toBe(2);
      expect(run.err).toContain(`cannot be resolved: ${state}`);
      expect(await stateOf(world, key)).toBe(
        word === 't-1' ? 'running' : word === closed ? 'refused' : 'intent',
      );
    }
  }
  expect(world.requests()).toEqual([]);
});

test('a task that is not there, or is another job’s, is not taken', async () => {
  const world = await openWorld();
  const key = sentJob(world);
  const none = 'vt-20261120000000-0123456789abcdef0123';
  const gone = await world.gw(['jobs', 'resolve', key, '--as', none, '--json']);
  expect(gone.code, gone.err).toBe(4);
  const { hint, task_id } = JSON.parse(gone.err.trim().split('\n').at(-1) ?? '').error;
  expect([hint, task_id]).toEqual([`check the ID; job ${key} stays as it was`, none]);
  const made = await world.gw(['video', 'alpha', 'create', 'a hare']);
  const taken = await world.gw(['jobs', 'resolve', key, '--as', made.out.trim()]);
  expect(taken.code, taken.err).toBe(2);
  expect(taken.err).toMatch(/that is the task of job gw-/);
  expect(await stateOf(world, key)).toBe('unknown');
});

test('a task that carries another external ID is not taken', async () => {
  const world = await openWorld();
  const key = sentJob(world, { family: 'beta', endpoint: 'beta.create', externalId: 'mine-1' });
  const id = await madeElsewhere(world, ['video', 'beta', '--external-id', 'theirs-1']);
  const run = await world.gw(['jobs', 'resolve', key, '--as', id]);
  expect(run.code, run.err).toBe(2);
  expect(run.err).toContain('that task was created with external ID theirs-1');
  expect(await stateOf(world, key)).toBe('unknown');
});

test('an image job can only be closed as none', async () => {
  const world = await openWorld();
  const key = sentJob(world, { family: 'image', endpoint: 'image.generate', model: 'img-2' });
  const run = await world.gw(['jobs', 'resolve', key, '--as', 't-1']);
  expect(run.code).toBe(2);
  expect(run.err).toContain('image jobs have no task that could be looked up');
  expect(run.err).toContain(`gw jobs resolve ${key} --as none`);
  await world.ok(['jobs', 'resolve', key, '--as', 'none']);
  expect(await stateOf(world, key)).toBe('refused');
});

test('images that came are saved before their job is closed', async () => {
  const world = await openWorld();
  const key = sentJob(world, { family: 'image', endpoint: 'image.generate', model: 'img-2' });
  ledgerOf(world).append(key, {
    event: 'part',
    role: 'image',
    path: `${world.cwd}/.gw-x.part`,
    totalBytes: 9,
  });
  const run = await world.gw(['jobs', 'resolve', key, '--as', 'none']);
  expect(run).toMatchObject({ code: 2, err: expect.stringContaining('first run: gw jobs sync') });
  expect(await stateOf(world, key)).toBe('unknown');
});

test.each([
  [[], 2, '--as is missing'],
  [['--as', '../x'], 2, '--as ../x: not a task ID'],
  [['--as', 'none', '--dry-run'], 2, '--as none sends no request'],
  [['--as', 'none', '--curl'], 2, '--as none sends no request'],
])('%j', async (flags, code, words) => {
  const world = await openWorld();
  const key = sentJob(world);
  const run = await world.gw(['jobs', 'resolve', key, ...flags]);
  expect(run).toMatchObject({ code, err: expect.stringContaining(words) });
  expect(await stateOf(world, key)).toBe('unknown');
});

test.for(['jobs wait', 'jobs download', 'video alpha wait'])(
  '%s --dry-run says of a job without a task that there is no request to show',
  async (words, { world }) => {
    const key = sentJob(world);
    const run = await world.ok([...words.split(' '), key, '--dry-run']);
    expect(run).toMatchObject({ out: '', err: `job ${key} has no task, and no request can ask for one\n` });
  },
);

test('--dry-run shows the look', async () => {
  const world = await openWorld();
  const run = await world.gw(['jobs', 'resolve', sentJob(world), '--as', 't-9', '--dry-run']);
  expect(run, run.err).toMatchObject({ code: 0, out: expect.stringContaining('/t-9') });
  expect(world.requests()).toEqual([]);
});

test('an ID that the ledger does not know is not_found', async () => {
  const world = await openWorld();
  expect((await world.gw(['jobs', 'resolve', 'gw-nothing', '--as', 'none'])).code).toBe(4);
});

test.each(['none', 'task'])('what another gw finds out meanwhile comes first: %s', async (answer) => {
  const { world, key, id } = await withLost();
  const dir = `${world.dir}/.local/state/gw`;
  const other = openLedger({ dir, clock: world.clock, keepPrompts: true });
  const hold = await other.hold(key);
  const before = world.clock.slept.length;
  const resolving = world.gw(cmd`jobs resolve ${key} --as ${answer === 'none' ? 'none' : id} --retries 60`);
  while (!world.clock.slept.slice(before).includes(500))
    await new Promise((resolve) => setTimeout(resolve, 1));
  other.append(key, { event: 'accepted', id });
  hold?.release();
  const run = await resolving;
  expect(run.code, run.err).toBe(2);
  expect(run.err).toMatch(
    new RegExp(`another gw \\(process \\d+\\) is working on job ${key}; waiting for it`),
  );
  expect(run.err).toContain('its outcome is known: it is running');
  expect(await stateOf(world, key)).toBe('running');
});

test.each(['none', 'task'])('a sync beside it changes nothing of what is known: %s', async (answer) => {
  const { world, key, id } = await withLost('beta');
  const [resolved, synced] = await Promise.all([
    world.gw(['jobs', 'resolve', key, '--as', answer === 'none' ? 'none' : id]),
    world.gw(['jobs', 'sync']),
  ]);
  expect([0, 2], resolved.err).toContain(resolved.code);
  const [job] = await ledgerOf(world).find({ ids: [key] });
  const isClosed = answer === 'none' && resolved.code === 0;
  expect(job?.state === 'refused', `${resolved.err}${synced.err}`).toBe(isClosed);
  if (!isClosed) expect(job?.id).toBe(id);
  expect(creates(world)).toHaveLength(1);
});

test('a job is named by the beginning of its ID, or last; one that two begin with is refused', async () => {
  const world = await openWorld();
  const [first, second, third] = [sentJob(world), sentJob(world), sentJob(world)];
  const cutOf = (key: string) => key.slice(0, 12);
  const both = await world.gw(['jobs', 'resolve', 'gw-', '--as', 'none']);
  expect(both.code).toBe(4);
  await world.ok(['jobs', 'resolve', cutOf(first), '--as', 'none']);
  await world.ok(['jobs', 'resolve', 'last', '--as', 'none']);
  const states = await Promise.all([first, second, third].map((key) => stateOf(world, key)));
  expect(states).toEqual(['refused', 'unknown', 'refused']);
});
