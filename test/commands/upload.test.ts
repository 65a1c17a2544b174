import { createHash } from 'node:crypto';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import * as path from 'node:path';
import { PassThrough } from 'node:stream';
import { expect, onTestFinished, test, vi } from 'vitest';
import { clipsDir, KEY, World } from '../helpers/gw.ts';

// `upload_command`: the user's own command provides an address for a local file that a request can only name by address.

const clip = readFileSync(path.join(clipsDir, '768p-9x16.mp4'));
/** A world with a clip whose upload command records each file and its environment and prints an address. */
async function open(command?: string): Promise<World> {
  const world = await World.open();
  writeFileSync(path.join(world.cwd, 'a clip.mp4'), clip);
  const log = path.join(world.dir, 'log');
  const own = `echo "$GW_FILE" >> '${log}'; env >> '${log}.env'; echo "https://files.example.com/$(wc -l < '${log}' | tr -d ' ').mp4?sig=s3cret"; echo more`;
  await world.ok(['config', 'set', 'upload_command', command ?? own]);
  return world;
}
const uploads = (world: World): string[] => {
  const log = path.join(world.dir, 'log');
  return existsSync(log) ? readFileSync(log, 'utf8').trim().split('\n') : [];
};
const create = ['video', 'alpha', 'create', 'run on', '--video', 'a clip.mp4'];

test('the command runs once for all jobs of a create, with the file and without the key; its first line is sent', async () => {
  const world = await open();
  const run = await world.ok([...create, '--yes', '--count', '2']);
  expect(uploads(world)).toEqual([path.join(world.cwd, 'a clip.mp4')]);
  expect(readFileSync(path.join(world.dir, 'log.env'), 'utf8')).not.toContain(KEY);
  expect(world.sandbox.tasks()).toHaveLength(2);
  expect(run.err).not.toContain('upload.invalid');
  const shown = await world.gw(['jobs', 'show', 'last', '--json']);
  expect(shown.out).not.toContain('upload.invalid');
});

test('off a terminal it wants --yes, and nothing is uploaded or sent', async () => {
  const world = await open();
  const run = await world.gw(create);
  expect([run.code, run.err]).toEqual([
    2,
    'error: --video a clip.mp4: upload_command would upload it, and there is no terminal to ask on\n' +
      'hint: add --yes to upload it without a question\n',
  ]);
  expect([uploads(world), world.requests()]).toEqual([[], []]);
});

test.each([
  ['y\n', 0, 1],
  ['n\n', 2, 0],
])('on a terminal it asks once: %j', async (answer, code, uploaded) => {
  const world = await open();
  const stdin = Object.assign(new PassThrough(), { isTTY: true, setRawMode: () => stdin });
  stdin.write(answer);
  const run = await world.gw(create, { stdin, terminal: true });
  expect(run.code, run.err).toBe(code);
  expect(run.err.split('Upload a clip.mp4 (').length).toBe(2);
  expect(run.err).toContain('by upload_command, for the gateway to fetch? [y/N] ');
  if (code === 2) expect(run.err).toContain('nothing was uploaded, and nothing was sent\n');
  expect([uploads(world).length, world.requests().length]).toEqual([uploaded, uploaded]);
});

test('is checked before it is uploaded, and so is all else of the request', async () => {
  const world = await open();
  writeFileSync(path.join(world.cwd, 'page.mp4'), '<!doctype html><p>not a clip</p>');
  for (const argv of [
    ['video', 'alpha', 'create', 'run', '--video', 'page.mp4', '--yes'],
    [...create, '--yes', '--duration', '99'],
    ['video', 'alpha', 'create', 'run', '--video', 'none.mp4', '--yes'],
  ]) {
    const run = await world.gw(argv);
    expect(run.code, run.err).toBe(2);
  }
  expect([uploads(world), world.requests()]).toEqual([[], []]);
});

test('a request that is only shown uploads nothing and has a stand-in', async () => {
  const world = await open();
  const run = await world.ok([...create, '--dry-run', '--json']);
  const digest = createHash('sha256').update(clip).digest('hex');
  expect(run.out).toContain(`https://upload.invalid/${digest}/a%20clip.mp4`);
  expect(run.err).toBe('--video a clip.mp4: upload_command gives it an address first; a stand-in is shown\n');
  expect(uploads(world)).toEqual([]);
});

test('under --once a second run uploads nothing, and another file is another request', async () => {
  const world = await open();
  const argv = [...create, '--yes', '--once', 'k'];
  const first = await world.ok(argv);
  const second = await world.gw(argv);
  expect([second.code, second.out]).toEqual([0, first.out]);
  expect(uploads(world)).toHaveLength(1);
  writeFileSync(path.join(world.cwd, 'a clip.mp4'), readFileSync(path.join(clipsDir, '768p-16x9.mp4')));
  expect((await world.gw(argv)).code).toBe(2);
  expect(uploads(world)).toHaveLength(1);
});

test('gw again uploads the file anew, where it holds what it held', async () => {
  const world = await open();
  await world.ok([...create, '--yes']);
  await world.ok(['again', 'last', '--yes']);
  expect(uploads(world)).toHaveLength(2);
  writeFileSync(path.join(world.cwd, 'a clip.mp4'), 'else');
  const changed = await world.gw(['again', 'last', '--yes']);
  expect(changed.err).toContain('a clip.mp4: the file has changed since job');
});

test.each([
  [
    'exit 3',
    'error: --video a clip.mp4: the upload command ended with exit code 3\nhint: run it by hand to see why; gw config get upload_command shows it\n',
  ],
  [
    'echo http://files.example.com/a.mp4',
    'error: --video a clip.mp4: the upload command printed no https:// address\nhint: the first line of its stdout is to be the address; gw config get upload_command shows it\n',
  ],
  [
    'echo; echo https://files.example.com/a.mp4',
    'error: --video a clip.mp4: the upload command printed no https:// address\nhint: the first line of its stdout is to be the address; gw config get upload_command shows it\n',
  ],
])('a command that gives no address ends the create before it is sent: %s', async (command, said) => {
  const world = await open(command);
  const run = await world.gw([...create, '--yes']);
  expect([run.code, run.err, world.requests()]).toEqual([2, said, []]);
});

test('a command that hangs is told of after ten seconds, and ended after ten minutes', async () => {
  const world = await open();
  const started = path.join(world.dir, 'started');
  await world.gw(['config', 'set', 'upload_command', `touch '${started}'; exec sleep 1000`]);
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  onTestFinished(() => void vi.useRealTimers());
  const running = world.gw([...create, '--yes']);
  while (!existsSync(started)) await new Promise(setImmediate);
  await vi.advanceTimersByTimeAsync(600_000);
  const { code, err } = await running;
  expect([code, world.requests()]).toEqual([2, []]);
  expect(err).toMatch(
    /the upload command still runs; it is ended after 10 min\n(.*\n)*error: .*no address within 600 s/,
  );
});
