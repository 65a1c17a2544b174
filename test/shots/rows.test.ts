import { writeFileSync } from 'node:fs';
import * as path from 'node:path';
import { expect, test } from 'vitest';
import { schedule } from '../../src/batch/schedule.ts';
import { World } from '../helpers/gw.ts';

// @module-tag ffmpeg
// Shots that follow one another: rows that name outputs of other rows.

const shot = (id: string, from?: string) =>
  JSON.stringify({
    command: 'video alpha',
    id,
    prompt: `shot ${id}`,
    resolution: '480p',
    duration: 4,
    ...(from && { 'first-frame': from }),
  });
/** An image, and four shots that each begin with the last frame of the one before; listed from the last to the first. */
const story = [
  shot('s4', 'row:s3'),
  shot('s3', 'row:s2#last_frame'),
  shot('s2', 'row:s1'),
  shot('s1', 'row:s0'),
  JSON.stringify({ command: 'image create', id: 's0', prompt: 'a fox' }),
];

async function open(rows: readonly string[], options: Parameters<typeof World.open>[0] = {}) {
  const world = await World.open(options);
  writeFileSync(path.join(world.cwd, 'day.jsonl'), `${rows.join('\n')}\n`);
  const gw = (words: string) => world.gw(words.split(' '), { env: { PATH: process.env.PATH ?? '' } });
  const creates = () => world.requests().filter((each) => /^POST .*(tasks|generations)$/.test(each)).length;
  const status = async () => {
    const { out } = await gw('batch status day.jsonl --json');
    const rows =
      out.trim() === ''
        ? []
        : out
            .trim()
            .split('\n')
            .map((line) => JSON.parse(line));
    return Object.fromEntries(rows.map(({ row_key, status, reason }) => [row_key, [status, reason]]));
  };
  return { world, gw, creates, status };
}

test('five rows in any order are made in theirs, each from the frame before it; a second run makes none', async () => {
  const { gw, creates, status } = await open(story);
  expect(await status()).toMatchObject({
    'day/s0': ['not_sent', null],
    'day/s4': ['waiting', 'waits for day/s3'],
  });
  const check = await gw('batch check day.jsonl');
  expect(check.out).toContain('longest chain: 5 rows one after the other');
  const run = await gw('batch run day.jsonl --json');
  expect([run.code, creates()], run.err).toEqual([0, 5]);
  const ended = run.out
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line).row_key);
  expect(ended).toEqual(['day/s0', 'day/s1', 'day/s2', 'day/s3', 'day/s4']);
  const shows = await Promise.all(
    ended.map(async (key) => JSON.parse((await gw(`jobs show ${key} --json`)).out)),
  );
  expect(shows.map(({ made_from }) => made_from[0]?.name)).toEqual([
    undefined,
    `job:${shows[0].id}#image`,
    ...shows.slice(1, 4).map(({ id }) => `job:${id}#last_frame`),
  ]);
  const again = await gw('batch run day.jsonl');
  expect([again.code, creates(), await status()], again.err).toEqual([0, 5, {}]);
  const other = await gw('batch check day.jsonl --name other');
  const [, chain, whole] = /one after the other, (about .*)\n(about .*)\n/.exec(other.out) ?? [];
  expect([chain, other.code], other.out).toEqual([whole, 0]);
});

test('a redo pays for one and marks what follows as stale; with --following it pays for all of them', async () => {
  const edit = (id: string, from: string) =>
    JSON.stringify({ command: 'image create', id, prompt: id, image: [from] });
  const { gw, creates, status } = await open([...story, edit('z', 'row:s0'), edit('a', 'row:z')]);
  await gw('batch run day.jsonl');
  const one = await gw('batch run --retry-failed day.jsonl --redo s0');
  expect([one.code, creates()], one.err).toEqual([0, 8]);
  expect(one.err).toContain('6 rows are stale, made from what was made anew since: day/a, day/s1, day/s2');
  expect(await status()).toMatchObject({ 'day/s2': ['stale', null], 'day/a': ['stale', null] });
  const [, printed = ''] = /make them anew with: gw (.*)\n/.exec(one.err) ?? [];
  expect(printed).toBe('batch run day.jsonl --redo day/s1 --redo day/z --following');
  const all = await gw(printed);
  expect([all.code, creates(), await status()], all.err).toEqual([0, 14, {}]);
  expect((await gw('batch run day.jsonl --following')).code).toBe(2);
});

test('what follows a failed row is not sent and says why; after the cure one command makes the rest', async () => {
  const { world, gw, creates, status } = await open(
    story.map((row) => row.replace('shot s2', 'shot s2 sensitive-output')),
  );
  const run = await gw('batch run day.jsonl --json');
  expect([run.code, creates()], run.err).toEqual([13, 3]);
  const rows = run.out
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line));
  expect(rows.slice(2).map(({ row_key, status, error }) => [row_key, status, error.kind])).toEqual([
    ['day/s2', 'failed', 'task_failed'],
    ['day/s3', 'not_sent', 'partial'],
    ['day/s4', 'not_sent', 'partial'],
  ]);
  expect(rows[3].error.message).toMatch(/^not sent: it waits for day\/s2, which is not saved: /);
  expect(await status()).toMatchObject({
    'day/s3': ['not_sent', expect.stringMatching(/^waits for day\/s2, which failed/)],
    'day/s4': [
      'not_sent',
      expect.stringMatching(/^waits for day\/s3, which waits for day\/s2, which failed/),
    ],
  });
  const still = await gw('batch run day.jsonl');
  expect([still.code, creates()]).toEqual([13, 3]);
  writeFileSync(path.join(world.cwd, 'day.jsonl'), `${story.join('\n')}\n`);
  const cured = await gw('batch run day.jsonl --retry-failed');
  expect([cured.code, creates()], cured.err).toEqual([0, 6]);
});

test('after a redo whose first row failed, the printed line makes what follows it anew', async () => {
  const rows = story.slice(2);
  const { gw, world, creates } = await open(rows);
  const write = (lines: readonly string[]) =>
    writeFileSync(path.join(world.cwd, 'day.jsonl'), `${lines.join('\n')}\n`);
  await gw('batch run day.jsonl');
  write(rows.map((row) => row.replace('shot s1', 'shot s1 sensitive-output')));
  const failed = await gw('batch run day.jsonl --redo s1 --following');
  expect([failed.code, creates()], failed.err).toEqual([13, 4]);
  const line = /create anew what failed with: gw (.*)\n$/.exec(failed.err)?.[1] ?? '';
  expect(line).toBe('batch run day.jsonl --retry-failed --redo day/s2');
  write(rows);
  const cured = await gw(line);
  expect([cured.code, creates()], cured.err).toEqual([0, 6]);
});

test('what is left out holds up only what follows it', async () => {
  const { gw, creates } = await open([...story, shot('alone')]);
  const run = await gw('batch run day.jsonl --only s2 --only alone');
  expect([run.code, creates()], run.err).toEqual([13, 1]);
  expect(run.err).toContain('it waits for day/s1, which was left out and is not saved');
  expect(run.err).toContain('run day/s1 too: --only, --limit or skip leaves it out');
  // The same command could not make the row, so gw does not suggest it.
  expect(run.err).not.toContain('go on with');
});

const circle = Array.from({ length: 50 }, (_, at) => shot(`c${at}`, `row:c${(at + 1) % 50}`));
test.each<[string, readonly string[], string]>([
  [
    'two rows that wait for each other',
    [shot('z'), shot('a', 'row:b'), shot('b', 'row:a')],
    'day.jsonl:2: the row waits for itself: day/a -> day/b -> day/a',
  ],
  ['fifty', circle, '(50 rows)'],
  ['a row that waits for itself', [shot('a', 'row:a')], 'the row waits for itself; name another row'],
  ['an unknown row', [shot('a', 'row:b')], 'there is no row of this id'],
  [
    'a part that the row cannot have',
    [shot('a'), shot('b', 'row:a#audio')],
    'a row of video alpha has no audio',
  ],
  ['a second video', [shot('a'), shot('b', 'row:a#last_frame.2')], 'has no last_frame.2'],
  [
    'a video where an image is taken',
    [shot('a'), shot('b', 'row:a#video')],
    'is a video, and an image is taken here',
  ],
  [
    'an image where a video is taken',
    [story[4] ?? '', shot('b').replace('"id"', '"video":"row:s0","id"')],
    'is an image, and a video is taken here',
  ],
  [
    'a row of a count that is not there',
    [shot('a').replace('"id"', '"count":2,"id"'), shot('b', 'row:a/3')],
    'there is no row of this id',
  ],
  [
    'all rows of a count',
    [shot('a').replace('"id"', '"count":2,"id"'), shot('b', 'row:a')],
    'name one of them, as in row:a/1',
  ],
  ['no row at all', [shot('a', 'row:')], 'names no row'],
])('%s is refused, and nothing is sent', async (_, rows, said) => {
  const { world, gw } = await open(rows);
  const check = await gw('batch check day.jsonl');
  expect([check.code, check.out], check.err).toEqual([2, expect.stringContaining(said)]);
  expect((await gw('batch run day.jsonl')).code).toBe(2);
  expect(world.requests()).toEqual([]);
});

test('a row reaches outputs of its own batch, and those of other jobs only where their files may be named', async () => {
  const { world, gw } = await open([]);
  await gw('image create a boat -o ../elsewhere/');
  writeFileSync(path.join(world.cwd, 'day.jsonl'), `${shot('a', 'job:last')}\n`);
  const run = await gw('batch run day.jsonl');
  expect([run.code, run.err]).toEqual([2, expect.stringContaining("lies outside the manifest's folder")]);
  const allowed = await gw('batch run day.jsonl --allow-outside');
  expect(allowed.code, allowed.err).toBe(0);
  await gw('image create a boat -o ../elsewhere/');
  writeFileSync(path.join(world.cwd, 'day.jsonl'), `${shot('b')}\n`);
  const typed = await gw('batch run day.jsonl --first-frame job:last');
  expect(typed.code, typed.err).toBe(0);
});

test('a row that waits takes no place, and goes before those that wait for nothing', async () => {
  const begun: string[] = [];
  const waits: Record<string, string> = { b: 'a', c: 'b', lost: 'never', behind: 'lost' };
  const over = new Set<string>();
  async function* rows() {
    yield* ['behind', 'c', 'b', 'a', 'd', 'e', 'lost'];
  }
  const results = schedule({
    rows: rows(),
    placeOf: () => ({ pool: 'p', most: 1 }),
    atOnce: 9,
    keyOf: (row) => row,
    waitsFor: (row) => (waits[row] !== undefined && !over.has(waits[row]) ? waits[row] : undefined),
    work: async (row) => {
      begun.push(row);
      over.add(row);
      return row;
    },
    isStopped: () => false,
  });
  for await (const _ of results);
  expect(begun).toEqual(['a', 'b', 'c', 'd', 'e', 'lost', 'behind']);
});
