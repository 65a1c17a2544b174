import { expect, test } from 'vitest';
import { cmd } from '../helpers/cmd.ts';
import { World } from '../helpers/gw.ts';
import { acceptedJob, DAY_MS, HOUR_MS, savedJob, succeededJob } from './jobs-seed.ts';

// With jobs of several gateways in one ledger, these are the jobs that a command selects.

const SANDBOX = { gateway: 'sandbox:', profile: 'sandbox' };
const WORK = { gateway: 'https://work.example', profile: 'work' };

/** A ledger with jobs of the current gateway, of a stored profile, and of the sandbox. */
async function openWorld(): Promise<World> {
  const world = await World.open();
  await world.gw(['profile', 'add', 'work', '--base-url', WORK.gateway]);
  savedJob(world, 't-here', HOUR_MS);
  savedJob(world, 't-work', 2 * HOUR_MS, WORK);
  savedJob(world, 't-play', 3 * HOUR_MS, SANDBOX);
  savedJob(world, 't-toy', 4 * HOUR_MS, SANDBOX);
  return world;
}

/** Runs without GW_BASE_URL, because a profile without a key does not override it. */
const ofWork = (world: World, ...words: string[]) =>
  world.gw(['jobs', ...words, '--profile', 'work'], { bare: true });

const linesOf = ({ out }: { readonly out: string }) => out.split('\n').filter(Boolean);
const idsOf = async (world: World, ...flags: string[]) => linesOf(await world.gw(cmd`jobs list -q ${flags}`));

test('list is of all gateways, or of the one that the flags name', async () => {
  const world = await openWorld();
  expect(await idsOf(world)).toEqual(['t-here', 't-work', 't-play', 't-toy']);
  expect(await idsOf(world, '--sandbox')).toEqual(['t-play', 't-toy']);
  expect(await idsOf(world, '--profile', 'sandbox')).toEqual(['t-play', 't-toy']);
  expect(linesOf(await ofWork(world, 'list', '-q'))).toEqual(['t-work']);
  expect(await idsOf(world, '--base-url', world.sandbox.baseUrl)).toEqual(['t-here']);
  expect(await idsOf(world, '--sandbox', '--limit', '1')).toEqual(['t-play']);
  expect(await idsOf(world, '--sandbox', '--status', 'succeeded')).toEqual(['t-play', 't-toy']);
});

test('what is about to die is told of, and listed, of that gateway only', async () => {
  const world = await openWorld();
  succeededJob(world, 't-dying', DAY_MS - HOUR_MS, WORK);
  expect(await idsOf(world, '--expiring', '2h')).toEqual(['t-dying']);
  expect(await idsOf(world, '--expiring', '2h', '--sandbox')).toEqual([]);
  expect((await world.gw(['jobs', 'list'])).err).toContain('1 job is not saved');
  expect((await world.gw(['jobs', 'list', '--sandbox'])).err).toBe('');
  expect((await ofWork(world, 'list')).err).toContain('1 job is not saved');
  // doctor counts only the jobs of that gateway too, because its hint saves no others.
  for (const [told, ...flags] of [
    ['1 job is not saved and about to be lost'],
    ['nothing waits to be saved', '--sandbox'],
  ])
    expect((await world.gw(['doctor', '-v', ...flags])).out).toMatch(new RegExp(`links +${told}`));
});

test('prune forgets jobs of that gateway only', async () => {
  const world = await openWorld();
  expect(linesOf(await world.ok(['jobs', 'prune', '--before', '1m', '--yes', '-q', '--sandbox']))).toEqual([
    't-play',
    't-toy',
  ]);
  expect(await idsOf(world)).toEqual(['t-here', 't-work']);
});

test('the short words of a family are for its tasks at the gateway in force', async () => {
  const world = await openWorld();
  acceptedJob(world, 'vt-mine-1', HOUR_MS);
  acceptedJob(world, 'vt-mine-2', HOUR_MS / 2, SANDBOX);
  for (const word of ['last', 'vt-mine'])
    expect((await world.ok(['video', 'alpha', 'get', word, '--dry-run'])).out).toContain('tasks/vt-mine-1\n');
  expect((await world.ok(['jobs', 'show', 'last'])).out).toContain('vt-mine-2');
  const none = await world.gw(['video', 'alpha', 'get', 'last', '--base-url', 'http://127.0.0.1:9']);
  expect([none.code, none.err]).toEqual([4, expect.stringContaining('no alpha job of this gateway')]);
});

test('a row of a sandbox job holds the word, in a pipe, on a terminal and as JSON; no other row does', async () => {
  const world = await openWorld();
  const piped = (await world.gw(['jobs', 'list'])).out.split('\n').filter(Boolean);
  const onTerminal = (await world.gw(['jobs', 'list'], { terminal: true })).out
    .split('\n')
    .filter(Boolean)
    .slice(1);
  for (const lines of [piped, onTerminal]) {
    expect(lines.map((line) => [/t-\w+/.exec(line)?.[0], /\bsandbox\b/.test(line)])).toEqual([
      ['t-here', false],
      ['t-work', false],
      ['t-play', true],
      ['t-toy', true],
    ]);
  }
  const objects = JSON.parse((await world.gw(['jobs', 'list', '--json'])).out) as { gateway: string }[];
  expect(objects.map(({ gateway }) => gateway)).toEqual([
    world.sandbox.baseUrl,
    WORK.gateway,
    'sandbox:',
    'sandbox:',
  ]);
});

test('stats leaves sandbox jobs out and says so, unless they are asked for', async () => {
  const world = await openWorld();
  const total = async (...flags: string[]) =>
    JSON.parse((await world.gw(['jobs', 'stats', '--json', ...flags])).out).total.jobs;
  expect(await total()).toBe(2);
  expect(await total('--sandbox')).toBe(2);
  expect(JSON.parse((await ofWork(world, 'stats', '--json')).out).total.jobs).toBe(1);
  expect(await total('--base-url', world.sandbox.baseUrl)).toBe(1);
  expect((await world.gw(['jobs', 'stats'])).err).toBe(
    '2 jobs of the sandbox are left out; count them with: gw jobs stats --sandbox\n',
  );
  expect((await world.gw(['jobs', 'stats', '--sandbox'])).err).toBe('');
  const rehearsing = await world.gw(['jobs', 'stats', '--json'], {
    bare: true,
    env: { GW_PROFILE: 'sandbox' },
  });
  expect([rehearsing.err, JSON.parse(rehearsing.out).total.jobs]).toEqual(['', 4]);
});

test('sync looks at the jobs of that gateway only', async () => {
  const world = await openWorld();
  acceptedJob(world, 't-open', HOUR_MS);
  const elsewhere = await ofWork(world, 'sync');
  expect(elsewhere).toMatchObject({ code: 0, out: '', err: '' });
  expect(world.requests()).toEqual([]);
  await world.gw(['jobs', 'sync', '--base-url', world.sandbox.baseUrl]);
  expect(world.requests()).toEqual([expect.stringContaining('t-open')]);
});
