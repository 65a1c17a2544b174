import fs from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';
import * as path from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { cmd } from './helpers/cmd.ts';
import { World } from './helpers/gw.ts';

// The gateway behind --sandbox in a home that nobody can write to.

const world = await World.open();

const gw = (...argv: string[]) =>
  world.gw([...argv, '--sandbox'], { bare: true, env: { GW_STATE_DIR: '/proc/gw' } });

test.each([['--dry-run'], ['--curl']])(
  'a request that is only shown (%s) needs no state directory',
  async (how) => {
    const { code, err } = await gw(
      ...cmd`video alpha create "a fox" -o ${path.join(world.cwd, 'x.mp4')} ${how}`,
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

test('where the disk is full at the first use, --sandbox forgets, and sandbox serve is refused', async () => {
  const { writeFileSync } = fs;
  fs.writeFileSync = ((file: string, bytes: Buffer, how: object) => {
    if (!file.includes('/secret.')) return writeFileSync(file, bytes, how);
    writeFileSync(file, '', how);
    throw Object.assign(new Error('ENOSPC'), { code: 'ENOSPC', syscall: 'write' });
  }) as typeof writeFileSync;
  syncBuiltinESMExports();
  onTestFinished(() => {
    fs.writeFileSync = writeFileSync;
    syncBuiltinESMExports();
  });
  const full = await World.open();
  const state = path.join(full.dir, '.local/state/gw');
  const said = `the state directory ${state} cannot be made or written: the disk is full (ENOSPC)`;
  const listed = await full.gw(['models', '--sandbox'], { bare: true });
  expect([listed.code, listed.err]).toEqual([0, expect.stringContaining(`${said}: the sandbox forgets`)]);
  const served = await full.gw(['sandbox', 'serve'], { bare: true });
  expect([served.code, served.err]).toEqual([2, expect.stringContaining(`error: ${said}\nhint: `)]);
  expect(fs.readdirSync(state, { recursive: true }).join()).not.toContain('.tmp');
});
