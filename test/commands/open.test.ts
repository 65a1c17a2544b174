import { chmodSync, existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import * as path from 'node:path';
import { expect } from 'vitest';
import { cmd } from '../helpers/cmd.ts';
import { KEY, test, World } from '../helpers/gw.ts';
import { acceptedJob, ledgerOf, savedJob } from './jobs-seed.ts';

/** A desktop whose opener program records the file and the environment that it is given. */
function desktop(world: World, exitCode = 0) {
  const bin = path.join(world.dir, 'bin');
  const log = path.join(world.dir, 'opened');
  mkdirSync(bin);
  const script = `#!/bin/sh\nprintf '%s\\n' "$#" "$1" > '${log}'\nenv >> '${log}'\nexit ${exitCode}\n`;
  writeFileSync(path.join(bin, 'xdg-open'), script);
  chmodSync(path.join(bin, 'xdg-open'), 0o755);
  const env = { PATH: `${bin}:/usr/bin:/bin`, DISPLAY: ':0' };
  return { env, opened: () => (existsSync(log) ? readFileSync(log, 'utf8').split('\n') : []) };
}

/** A job whose saved output has a name with characters that are special to a shell. */
function saved(world: World, id: string): string {
  savedJob(world, id, 1000);
  return path.join(world.cwd, `${id}.mp4`);
}

test('opens the output of a job, or its folder, with the program of the desktop, which gets no key', async () => {
  const world = await World.open();
  const file = saved(world, 'cgt-fox');
  const { env, opened } = desktop(world);
  const run = await world.gw(['open', 'cgt-fox'], { env });
  expect([run.code, run.out, run.err]).toEqual([0, '', `opened ${file}\n`]);
  expect(opened().slice(0, 2)).toEqual(['1', file]);
  expect(opened().join()).not.toContain(KEY);
  const folder = await world.gw(['open', 'last', '--folder', '--json'], { env });
  expect(JSON.parse(folder.out)).toEqual({ id: 'cgt-fox', path: world.cwd, opened: true });
  expect(opened()[1]).toBe(world.cwd);
});

test('prints the path where there is no desktop, none of its programs, or one that cannot open it', async () => {
  const world = await World.open();
  const file = saved(world, 'cgt-fox');
  // A wrong size shows that the file is damaged: gw does not read a whole video before it opens one.
  writeFileSync(file, 'cut');
  const said = { code: 0, out: `${file}\n`, err: 'no desktop opened it, so its path is printed\n' };
  expect(await world.gw(['open', 'last'])).toMatchObject(said);
  const page = `${path.join(world.cwd, 'gallery.html')}\n`;
  expect(await world.gw(['gallery', '--open'])).toMatchObject({ code: 0, out: page, err: said.err });
  expect((await world.gw(['open', 'last'], { env: { DISPLAY: ':0', PATH: '/nowhere' } })).out).toBe(
    `${file}\n`,
  );
  const { env, opened } = desktop(world, 3);
  expect((await world.gw(['open', 'last'], { env })).out).toBe(`${file}\n`);
  expect(opened()[1]).toBe(file);
});

test('says what there is not: an output, a file, a job', async ({ world }) => {
  acceptedJob(world, 'cgt-run', 2000);
  const record = { id: 'cgt-failed', status: 'failed' };
  const failed = { event: 'final', state: 'failed', status: 'failed', record, serverDateMs: 0 } as const;
  ledgerOf(world).append(acceptedJob(world, 'cgt-failed', 1500), failed);
  savedJob(world, 'cgt-gone', 1000);
  rmSync(`${world.cwd}/cgt-gone.mp4`);
  for (const [id, said, hint] of [
    ['cgt-run', 'job cgt-run has no saved output', 'save it with: gw jobs download cgt-run'],
    ['cgt-failed', 'job cgt-failed has no saved output: task cgt-failed ended failed', 'make it anew'],
    ['cgt-gone', `${world.cwd}/cgt-gone.mp4 is gone`, 'save it with: gw jobs download cgt-gone'],
    ['cgt-none', 'no job cgt-none in the ledger', 'gw jobs list shows'],
  ] as const) {
    const run = await world.gw(['open', id]);
    expect(run.code).toBe(4);
    expect(run.err).toContain(`error: ${said}`);
    expect(run.err).toContain(`hint: ${hint}`);
  }
});

test('says how an image is had again that the gateway keeps no copy of', async ({ world }) => {
  const { out } = await world.ok(['image', 'create', 'a fox', '-o', 'fox.png', '--json']);
  rmSync(path.join(world.cwd, 'fox.png'));
  const [opened, downloaded] = [await world.gw(cmd`open last`), await world.gw(cmd`jobs download last`)];
  expect(opened.err).toMatch(/hint: .*pay for a new one: gw again gw-/);
  expect(opened.err.split('\n')[1]).toBe(downloaded.err.split('\n')[1]);
  expect(opened.err).toContain(JSON.parse(out).id);
});
