import { expect, test, vi } from 'vitest';
import { forward, held, until } from '../cli/place.ts';
import { story } from '../shots/chain.ts';
import { alpha, beta, endsOf, gamma, openStudio, paid, stop, toldIds, write } from './studio.ts';

// @module-tag redis-server
// What the other machines see when a lease has expired: a worker is lost or does not answer, and they wait for it.

test('a worker that is killed loses no row: another goes on from the task ID within 30 s', async () => {
  const studio = await openStudio(held);
  write(studio, [alpha, beta, gamma]);
  const first = studio.worker('anna');
  await studio.batch('run', '--detach');
  await toldIds(studio, 3);
  first.child.kill('SIGKILL');
  await first.ended;
  const leases = await studio.redis.client.keys('*:lock');
  expect(leases).toHaveLength(3);
  for (const lease of leases) expect(await studio.redis.client.pttl(lease)).toBeLessThanOrEqual(30_000);
  await forward(studio.sandbox);
  studio.worker('bert');
  const { code, err } = await studio.batch('run');
  expect(code, err).toBe(0);
  expect(paid(studio)).toHaveLength(3);
});

test('Redis away: what runs is brought home, nothing is created, and the worker ends as unavailable', async () => {
  const studio = await openStudio(held);
  write(studio, [alpha]);
  const machine = studio.machine();
  const env = { GW_INTERVAL: '100ms', GW_REDIS_URL: studio.redis.url, GW_TIMEOUT: '2s' };
  const first = machine.start(['worker', '--redis', '--name', 'anna'], { env });
  await studio.batch('run', '--detach');
  await toldIds(studio, 1);
  await studio.redis.stop();
  await forward(studio.sandbox);
  const ended = await first.ended;
  expect(ended).toMatchObject({ code: 8 });
  expect(ended.err).toMatch(/error: Redis has been away for \d+ s/);
  expect(machine.files().filter((name) => name.endsWith('.mp4'))).toHaveLength(1);
  await studio.redis.start();
  studio.worker('anna', [], machine);
  const { code, out, err } = await studio.batch('run');
  expect(code, err).toBe(0);
  expect(out).toMatch(/^anna:.*\.mp4\n$/);
  expect(machine.files().filter((name) => name.endsWith('.mp4'))).toHaveLength(1);
  expect(paid(studio)).toHaveLength(1);
});

test.each([
  ['busy', 'query:503'],
  ['no key', 'query:401'],
])(
  'family B, lost with its worker, whose look-up fails (%s): it is not taken out as not sent',
  async (_, faults) => {
    const studio = await openStudio({ fault: 'create:slow', slowGapMs: 60_000 });
    write(studio, [beta]);
    const first = studio.worker('anna');
    await studio.batch('run', '--detach');
    await until('it is asked for', () => paid(studio).length === 1);
    first.child.kill('SIGKILL');
    await first.ended;
    await studio.faults(faults);
    const second = studio.worker('bert');
    const log = async () => (await studio.batch('status', '--row', 'r0')).out;
    await until('it is taken up', () => second.err().includes('r0'), 120_000);
    await vi.waitFor(async () => expect(await log()).toMatch(/handed_back\s.*bert/), 60_000);
    expect((await studio.batch('cancel')).out).toMatch(/^0 taken out, 1 were sent/);
    await stop(second);
    expect(paid(studio)).toHaveLength(1);
  },
);

test('an output that no live worker has is named with its machine; the row is sent once one has it', {
  tags: ['ffmpeg'],
}, async () => {
  const studio = await openStudio();
  const [s1, s0] = story.slice(3);
  // This image is made without the queue, so only the laptop's ledger has the output of `job:last`.
  const kept = await studio.laptop.run(['image', 'create', 'a boat', '--size', '256x256', '--json']);
  const { id } = JSON.parse(kept.out);
  write(studio, [{ ...s0 }, { ...alpha, id: 'boat', 'first-frame': 'job:last' }]);
  expect((await studio.batch('run', '--detach')).code).toBe(0);
  const anna = studio.worker('anna');
  const lacks = await studio.batch('run', '--json');
  expect(endsOf(lacks.out), lacks.err).toContainEqual(['day/boat', 'not_sent', 'usage']);
  await stop(anna);
  write(studio, [{ ...s0 }, { ...alpha, id: 'boat', 'first-frame': 'job:last' }, { ...s1 }]);
  // `job:last` now means another job.
  await studio.laptop.run(['image', 'create', 'a fox', '--size', '256x256']);
  studio.worker('bert', [], studio.laptop);
  const run = await studio.batch('run', '--json');
  expect(endsOf(run.out), run.err).toEqual(
    expect.arrayContaining([
      ['day/boat', 'succeeded', undefined],
      ['day/s1', 'not_sent', 'usage'],
    ]),
  );
  expect(run.err).toMatch(/its image lies on another machine: anna:\/\S+\.png/);
  const made = (await studio.laptop.jobs()).find(({ once }) => once?.key === 'day/boat');
  expect(made?.request?.outputs).toEqual({ 'job:last': `job:${id}#image` });
  studio.worker('anna', [], anna.place);
  expect(await studio.batch('run')).toMatchObject({ code: 0 });
  expect(paid(studio)).toHaveLength(5);
});
