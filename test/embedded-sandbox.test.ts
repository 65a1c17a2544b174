import * as path from 'node:path';
import { expect, test } from 'vitest';
import { World } from './helpers/gw.ts';

// The gateway behind --sandbox in a home that nobody can write to.

const world = await World.open();

const gw = (...argv: string[]) =>
  world.gw([...argv, '--sandbox'], { bare: true, env: { GW_STATE_DIR: '/proc/gw' } });

test.each([['--dry-run'], ['--curl']])(
  'a request that is only shown (%s) needs no state directory',
  async (how) => {
    const { code, err } = await gw(
      'video',
      'alpha',
      'create',
      'a fox',
      '-o',
      path.join(world.cwd, 'x.mp4'),
      how,
    );
    expect({ code, err }).toEqual({ code: 0, err: expect.not.stringMatching(/state directory|forgets/) });
  },
);

test('what was made there is asked for there without --sandbox, also where the request is only shown', async () => {
  const made = await world.gw(['video', 'alpha', 'create', 'a fox', '--sandbox'], { bare: true });
  const id = made.out.trim();
  const shown = await world.gw(['jobs', 'download', id, '--dry-run'], { bare: true });
  expect([shown.code, shown.err]).toEqual([0, '']);
  expect(shown.out).toMatch(new RegExp(`^GET http://127\\.0\\.0\\.1:\\d+/\\S+/${id}\n`));
});

test('a chat is answered, and one is told that the sandbox forgets', async () => {
  const { code, out, err } = await gw('chat', 'hello');
  expect(code).toBe(0);
  expect(out).toContain('hello');
  expect(err).toMatch(/^the state directory \/proc\/gw cannot be made .*: the sandbox forgets/);
});

test('a create says that its job cannot be kept, and nothing is made', async () => {
  const { code, out, err } = await gw('video', 'alpha', 'create', 'a fox');
  expect({ code, out }).toEqual({ code: 2, out: '' });
  expect(err).toContain('error: ');
  expect(err).toContain('GW_STATE_DIR');
});
