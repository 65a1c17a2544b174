import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import * as path from 'node:path';
import { expect, test } from 'vitest';
import { cmd } from '../helpers/cmd.ts';
import { KEY, World } from '../helpers/gw.ts';
import { recordingGateway } from '../helpers/recording-gateway.ts';
import { fakePng } from '../jobs/image/harness.ts';
import { tinyMp4 } from '../jobs/save/tiny-media.ts';

// `--exec` and the setting `after_save` run the user's own command for each saved file.

let world: World;

const log = () => path.join(world.dir, 'log');
const command = () =>
  `echo "$GW_FILE|$GW_ID|$GW_FAMILY|$GW_KEY" >> '${log()}'; env >> '${log()}.env'; test -s "$GW_FILE" && echo seen`;
const told = () => (existsSync(log()) ? readFileSync(log(), 'utf8').trim().split('\n') : []);
const clip = ['--duration', '4', '--resolution', '480p'];

test.each<readonly [string, readonly string[], RegExp[]]>([
  ['a video', ['video', 'alpha', 'create', 'a fox', '--wait', ...clip], [/\.mp4\|vt-.*\|alpha\|gw-/]],
  ['a key', ['video', 'beta', 'create', 'a fox', '--wait', '--once', 'my/fox'], [/\|beta\|my\/fox$/]],
  ['images', ['image', 'create', 'a fox', '--n', '2'], [/-1\.\w+\|gw-.*\|image\|gw-/, /-2\.\w+\|/]],
  ['rows', ['batch', 'run', 'day.jsonl'], [/\|image\|day\/a$/, /\|image\|day\/b$/]],
])('%s: typed, by the setting, and told where it fails', async (_, words, expected) => {
  world = await World.open();
  const rows = ['a', 'b'].map((id) => JSON.stringify({ id, command: 'image create', prompt: id }));
  writeFileSync(path.join(world.cwd, 'day.jsonl'), `${rows.join('\n')}\n`);
  const run = await world.ok([...words, '--exec', command()]);
  const lines = told().sort(
    (one, other) =>
      (one.split('|')[3] ?? '').localeCompare(other.split('|')[3] ?? '') || one.localeCompare(other),
  );
  expect(lines).toHaveLength(expected.length);
  for (const [at, form] of expected.entries()) expect(lines[at]).toMatch(form);
  expect(run.out.split('\n').filter(Boolean).sort()).toEqual(lines.map((line) => line.split('|')[0]).sort());
  // The output of the user's command goes to stderr, because it is no result of gw.
  expect(run.err).toContain('seen');
  expect(readFileSync(`${log()}.env`, 'utf8')).not.toContain(KEY);
  if (words.includes('--once') || words[0] === 'batch') return;
  await world.ok(['config', 'set', 'after_save', 'exit 3']);
  const failed = await world.gw(words);
  expect([failed.code, failed.out]).toEqual([13, expect.stringMatching(/\.\w+\n$/)]);
  expect(failed.err).toMatch(
    /error: the command after \S+ was saved ended with exit code 3; the file stays\n/,
  );
});

test('it is of the user alone, and of what is saved', async () => {
  world = await World.open();
  const alone = await world.gw(['video', 'alpha', 'create', 'a fox', '--exec', 'true']);
  expect([alone.code, alone.err]).toEqual([
    2,
    'error: --exec: nothing is saved without --wait\nhint: add --wait, or keep it for later: gw config set after_save COMMAND\n',
  ]);
  const unsaved = await world.gw(cmd`video alpha create "a fox" --wait --no-download --exec true`);
  expect([unsaved.code, unsaved.err]).toEqual([
    2,
    'error: --exec: nothing is saved with --no-download\nhint: leave one out, or keep it for later: gw config set after_save COMMAND\n',
  ]);
  writeFileSync(path.join(world.cwd, 'm.jsonl'), '{"command":"image create","prompt":"a","exec":"true"}\n');
  const row = await world.gw(['batch', 'run', 'm.jsonl']);
  expect([row.code, row.err]).toEqual([2, expect.stringContaining('m.jsonl:1: exec: ')]);
  expect(world.requests()).toEqual([]);
  // The command of a profile's default runs when an output is saved, also for `gw again`.
  await world.ok(['config', 'set', 'defaults.video.alpha.exec', command()]);
  await world.ok(['video', 'alpha', 'create', 'a fox', ...clip]);
  expect(told()).toEqual([]);
  await world.ok(['video', 'alpha', 'create', 'a fox', '--wait', ...clip]);
  await world.ok(['again', 'last', '--wait']);
  expect(told()).toHaveLength(2);
  rmSync(log());
  await world.ok(['config', 'unset', 'defaults']);
  // For a job that was created without waiting, the command runs when the output is saved.
  const id = (await world.gw(['video', 'alpha', 'create', 'a fox', ...clip])).out.trim();
  await world.ok(['jobs', 'wait', id, '--exec', command()]);
  expect(told()).toEqual([expect.stringContaining(`|${id}|alpha|`)]);
  // With several jobs, each failure names its own job.
  const more = [1, 2].map(() => world.gw(['video', 'alpha', 'create', 'a hare', ...clip]));
  const ids = (await Promise.all(more)).map(({ out }) => out.trim());
  const failed = await world.gw(['jobs', 'wait', ...ids, '--exec', 'false', '--json']);
  const errors = failed.err.split('\n').filter((line) => line.startsWith('{"error"'));
  expect(errors.map((line) => JSON.parse(line).error.task_id).sort()).toEqual(ids.sort());
  // The command does not run again, because no file is saved again.
  await world.ok(['jobs', 'wait', id, '--exec', command()]);
  expect(told()).toHaveLength(1);
});

test('a picture that came cut is kept, and is not what the command runs for', async () => {
  world = await World.open();
  const png = fakePng(500);
  const gateway = await recordingGateway(({ method }, response) => {
    if (method === 'GET') return void response.end(png.subarray(0, -20));
    response.setHeader('content-type', 'application/json');
    response.end(JSON.stringify({ data: [{ url: `${gateway.url}/fox.png` }] }));
  });
  const run = await world.gw(['image', 'create', 'a fox', '--exec', command()], {
    env: { GW_BASE_URL: gateway.url },
  });
  expect([run.code, run.err]).toEqual([12, expect.stringContaining('may be cut')]);
  expect(Object.keys(world.files())).toHaveLength(1);
  expect(told()).toEqual([]);
  await gateway.close();
});

test('a task that two creates were answered with is saved once, and the command runs once', async () => {
  world = await World.open();
  const gateway = await recordingGateway(({ method, url }, response) => {
    if (url.endsWith('.mp4')) return void response.end(tinyMp4());
    response.setHeader('content-type', 'application/json');
    const task = { id: 'vt-1', status: 'succeeded', content: { video_url: `${gateway.url}/fox.mp4` } };
    response.end(JSON.stringify(method === 'GET' ? task : { id: 'vt-1', status: 'queued' }));
  });
  const run = await world.gw([...'video alpha create fox --count 2 --wait --exec'.split(' '), command()], {
    env: { GW_BASE_URL: gateway.url },
  });
  expect(run.code, run.err).toBe(0);
  expect(told()).toHaveLength(1);
  await gateway.close();
});
