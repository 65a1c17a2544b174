import * as path from 'node:path';
import { afterEach, describe, expect, test } from 'vitest';
import { World } from '../helpers/gw.ts';

// Where outputs go and what is kept beside them, from the command line to the disk.

const worlds: World[] = [];
const open = async (options: Parameters<typeof World.open>[0] = {}) => {
  const world = await World.open(options);
  worlds.push(world);
  return world;
};
afterEach(async () => {
  for (const world of worlds.splice(0)) await world.close();
});

const pattern = '{prompt}/{duration}-{resolution}-{seed}-{key}-{row}.{ext}';

describe('a pattern of --out', () => {
  test('names a video by what was asked for, and by its record where that was left open', async () => {
    const world = await open();
    const run = await world.gw([
      ...['video', 'alpha', 'create', 'A fox, in the Snow!', '--wait', '-o', pattern, '--json'],
      ...['--duration', '4'],
    ]);
    expect(run.code, run.err).toBe(0);
    const { record, files } = JSON.parse(run.out);
    expect(record.seed).toEqual(expect.any(Number));
    const name = `a-fox-in-the-snow/4-${record.resolution}-${record.seed}-none-none.mp4`;
    expect(files).toEqual([expect.objectContaining({ path: path.join(world.cwd, name) })]);
  });

  test('names it the same where a later run brings it home', async () => {
    const world = await open();
    const made = await world.gw(['video', 'alpha', 'create', 'A fox', '-o', '{prompt}-{resolution}.{ext}']);
    expect(made.code, made.err).toBe(0);
    expect((await world.gw(['jobs', 'wait', made.out.trim()])).code).toBe(0);
    expect(Object.keys(world.files())).toEqual(['a-fox-720p.mp4']);
  });

  test('names images', async () => {
    const world = await open();
    const run = await world.gw(['image', 'create', 'A red boat', '-o', '{prompt}-{seed}.{ext}']);
    expect(run.code, run.err).toBe(0);
    expect(Object.keys(world.files())).toEqual(['a-red-boat-none.png']);
  });

  test.each([
    ['video', 'alpha', 'create'],
    ['video', 'beta', 'create'],
    ['video', 'gamma', 'create'],
    ['image', 'create'],
  ])('is looked at before anything is sent, also under --dry-run: %s %s %s', async (...words) => {
    const world = await open();
    const command = words.filter((word) => word !== undefined);
    for (const dry of [[], ['--dry-run']]) {
      const run = await world.gw([...command, 'a fox', '-o', '{promt}.mp4', ...dry]);
      expect(run.code).toBe(2);
      expect(run.err).toContain('error: --out: {promt} is not a placeholder\n');
      expect(run.err).toContain('{prompt} {seed} {duration} {resolution} {key} {row}');
    }
    expect(world.sandbox.tasks()).toEqual([]);
  });
});
