import * as fs from 'node:fs';
import * as path from 'node:path';
import { expect } from 'vitest';
import { test, World } from '../helpers/gw.ts';

// `--count N` makes N jobs with the same body.

const create = (world: World, ...more: string[]) =>
  world.gw(['video', 'beta', 'create', 'a fox', '--duration', '3', ...more]);
const posts = (world: World) => world.sandbox.requests.filter(({ method }) => method === 'POST');
const queries = (world: World) => world.requests().filter((each) => each.startsWith('GET /tasks'));
const lines = (text: string) => text.trim().split('\n');

test('each is a job of its own, with an external ID of its own and a line', async ({ world }) => {
  const run = await create(world, '--count', '3');
  expect(run.code, run.err).toBe(0);
  expect(new Set(lines(run.out)).size).toBe(3);
  const ids = posts(world).map(({ body }) => (body as { options: Record<string, string> }).options);
  expect(new Set(ids.map(({ external_task_id: id }) => id)).size).toBe(3);
});

test('with --wait --json one object a line, each with its file', async ({ world }) => {
  const run = await create(world, '--count', '3', '--wait', '--json', '-o', 'clip.mp4');
  expect(run.code, run.err).toBe(0);
  const results = lines(run.out).map((line) => JSON.parse(line));
  expect(results.map(({ status }) => status)).toEqual(['succeeded', 'succeeded', 'succeeded']);
  expect(Object.keys(world.files()).sort()).toEqual(['clip-1.mp4', 'clip-2.mp4', 'clip.mp4']);
});

test('{index} is the number of the job, also where it stands under its key', async ({ world }) => {
  const words = ['--count', '3', '--once', 'k', '--wait', '-o', 'clips/{{a}}-{index}.{ext}'];
  const names = ['clips/{a}-1.mp4', 'clips/{a}-2.mp4', 'clips/{a}-3.mp4'];
  expect((await create(world, ...words)).code).toBe(0);
  expect(Object.keys(world.files()).sort()).toEqual(names);
  fs.rmSync(path.join(world.cwd, 'clips/{a}-2.mp4'));
  const again = await create(world, ...words);
  expect(again.code, again.err).toBe(0);
  expect(Object.keys(world.files()).sort()).toEqual(names);
});

test('with --once K the jobs are K/1 to K/N: run again, with more, only those are made that lack', async () => {
  const world = await World.open();
  const first = await create(world, '--count', '2', '--once', 'k');
  const second = await create(world, '--count', '4', '--once', 'k');
  expect(second.code, second.err).toBe(0);
  expect(lines(second.out)).toEqual(expect.arrayContaining(lines(first.out)));
  expect(posts(world)).toHaveLength(4);
  expect((await create(world, '--once', 'k/3')).out.trim()).toBe(lines(second.out)[2]);
});

test.for(['the profile', 'a preset'])(
  'the job that was made under K alone is gone on with where %s has a count since, and nothing is paid again',
  async (by, { world }) => {
    const words = ['--once', 'k', ...(by === 'a preset' ? ['--preset', 'p'] : [])];
    const presets = path.join(world.dir, '.config/gw/presets');
    fs.mkdirSync(presets, { recursive: true });
    fs.writeFileSync(path.join(presets, 'p.json'), '{}');
    const first = await create(world, ...words);
    if (by === 'a preset') fs.writeFileSync(path.join(presets, 'p.json'), '{"count":3}');
    else await world.ok(['config', 'set', 'defaults.video.beta.count', '3']);
    const told = by === 'a preset' ? '--preset p, count' : 'defaults.video.beta.count';
    const second = await create(world, ...words);
    expect(second).toMatchObject({ code: 0, out: first.out });
    expect(second.err).toContain(`${told} 3 is left out: the job of --once k was made without it\n`);
    expect(posts(world)).toHaveLength(1);
    expect(lines((await create(world, '--once', 'n', ...words.slice(2))).out)).toHaveLength(3);
  },
);

test('jobs that stand under K go on as one command: no output replaces another, each is told by its ID', async ({
  world,
}) => {
  const again = ['--count', '3', '--once', 'k', '--wait', '-o', 'clip-{duration}.mp4', '--force'];
  await create(world, ...again);
  for (const file of Object.keys(world.files())) fs.rmSync(path.join(world.cwd, file));
  const looksBefore = queries(world).length;
  const run = await create(world, ...again);
  expect(run.code, run.err).toBe(0);
  expect(Object.keys(world.files()).sort()).toEqual(['clip-3-1.mp4', 'clip-3-2.mp4', 'clip-3.mp4']);
  expect(new Set(lines(run.out)).size).toBe(3);
  expect(run.err.match(/task \S+: 3 s/g), run.err).toHaveLength(3);
  expect(queries(world).length - looksBefore).toBeLessThan(3);
});

test('of those that fail in different ways the exit code is 13, of those that fail alike theirs', async () => {
  const some = await World.open({ fault: 'create:503:x1' });
  const partial = await create(some, '--count', '3', '--retries', '0');
  expect(partial.code).toBe(some.sandbox.tasks().length === 3 ? 0 : 13);
  const all = await World.open({ fault: 'task:fail=policy' });
  expect((await create(all, '--count', '2', '--wait')).code).toBe(9);
  const one = await World.open({ fault: 'task:fail=policy:x1' });
  const mixed = await create(one, '--count', '2', '--wait');
  expect(mixed.code).toBe(13);
  expect(lines(mixed.out)).toHaveLength(1);
});

test('what one create is refused for the next would be too: nothing more is sent', async () => {
  const world = await World.open({ fault: 'create:402' });
  const run = await create(world, '--count', '5');
  expect(run.code).toBe(6);
  expect(posts(world)).toHaveLength(1);
  expect(run.err).toContain('after that, gw did not send 4 of the 5 jobs');
});

test('an interrupt names what goes on, once', async ({ world }) => {
  let interrupt = () => {};
  const run = world.gw(
    ['video', 'beta', 'create', 'a fox', '--duration', '3', '--count', '3', '--wait', '--interval', '50s'],
    {
      interrupts: (send) => {
        interrupt = () => send('SIGINT');
      },
    },
  );
  while (world.sandbox.tasks().length < 3) await new Promise((resolve) => setTimeout(resolve, 5));
  interrupt();
  const { code, err } = await run;
  expect([130, 0]).toContain(code);
  if (code === 130) expect(err.match(/gw jobs wait --all/g)).toHaveLength(1);
});

test.each([
  [['--count', '0'], '--count 0: not a whole number from 1 to 100'],
  [['--count', '101'], '--count 101'],
  [['--count', '1.5'], '--count 1.5'],
  [['--count', '2', '--external-id', 'x'], '--external-id x'],
  [['--count', '2', '--force', '-o', 'clip.mp4'], 'one file name for 2 tasks'],
])('%j is refused, and nothing is sent', async (more, says) => {
  const world = await World.open();
  const run = await create(world, ...more);
  expect(run.code).toBe(2);
  expect(run.err).toContain(says);
  expect(world.requests()).toEqual([]);
});

test('--dry-run shows the request once and says how many there are', async ({ world }) => {
  const run = await create(world, '--count', '3', '--dry-run', '--json');
  expect(JSON.parse(run.out)).toMatchObject({ method: 'POST' });
  expect(run.err).toContain('3 requests like this one');
});
