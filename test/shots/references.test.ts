import { appendFileSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import * as path from 'node:path';
import { describe, expect, test } from 'vitest';
import type { AnyCommand } from '../../src/command.ts';
import { createCommands } from '../../src/commands/batch/row-command.ts';
import { EMBEDDED } from '../../src/ledger/job-key.ts';
import {
  acceptedJob,
  DAY_MS,
  HOUR_MS,
  intentIn,
  ledgerOf,
  savedJob,
  succeededJob,
} from '../commands/jobs-seed.ts';
import { cmd } from '../helpers/cmd.ts';
import { fakeGateway } from '../helpers/fake-gateway.ts';
import { World } from '../helpers/gw.ts';

// @module-tag ffmpeg
// `job:WHICH[#PART]` wherever a flag takes media: found in the ledger, checked as a file, sent as data or as a link.

async function made(world: World, words: string, env: Record<string, string> = {}): Promise<string> {
  const run = await world.ok([...words.split(' '), '--json'], { env: { ...withPath, ...env } });
  return (JSON.parse(run.out) as { id: string }).id;
}
const withPath = { PATH: process.env.PATH ?? '' };
const VIDEO = 'video alpha create --resolution 720p a boat --wait';

async function open() {
  const world = await World.open();
  const video = await made(world, VIDEO);
  const image = await made(world, 'image create a boat');
  const gw = (...argv: string[]) => world.gw(argv, { env: withPath });
  return { world, video, image, gw };
}
const journal = ({ dir }: World) => {
  const ledger = path.join(dir, '.local/state/gw/ledger');
  return readdirSync(ledger)
    .filter((name) => name.endsWith('.jsonl'))
    .map((name) => readFileSync(path.join(ledger, name), 'utf8'))
    .join('');
};

/** The other flags that a request with the tested flag needs. */
const beside: Record<string, string[]> = {
  'video beta': ['--mode', 'o1', '--duration', '5', '--ratio', '1:1'],
  'video gamma': ['--resolution', '768P', '--duration', '5'],
  'image edit --mask': ['--image', 'fox.png'],
  'video alpha --last-frame': ['--first-frame', 'fox.png'],
  'video gamma --last-frame': ['--first-frame', 'fox.png'],
  'video alpha --audio': ['--image', 'fox.png'],
  'video gamma --audio': ['--image', 'fox.png'],
  'video beta --last-frame': ['--first-frame', 'fox.png'],
  'video beta --feature-video': [],
  'asset create': ['--group', 'group-1', '--name', 'shot', '--type', 'Video'],
};
const media = [
  ...Object.entries(createCommands).flatMap(([command, { flags }]: [string, AnyCommand]) =>
    Object.entries(flags)
      .filter(
        ([key, flag]) => key !== 'callbackUrl' && /(REF|URL)$/.test((flag as { value?: string }).value ?? ''),
      )
      .map(([key]): [string, string] => [
        command,
        `--${key.replace(/[A-Z]/g, (big) => `-${big.toLowerCase()}`)}`,
      ]),
  ),
  ['chat', '--image'] as [string, string],
  ['asset create', '--url'] as [string, string],
];

describe('every flag that takes a medium takes an output', () => {
  test('of an image, of a video, and of a job that cannot serve', async () => {
    const { world, video, image, gw } = await open();
    const { makePng } = await import('../../src/sandbox/media-check.ts');
    writeFileSync(path.join(world.cwd, 'fox.png'), await makePng(512, 512, (row) => row.fill(90)));
    const told: Record<string, unknown> = {};
    const sent = world.requests().length;
    for (const [command, flag] of media) {
      const words = command.startsWith('video') ? `${command} create` : command;
      const ask = async (reference: string) => {
        const more = [...(beside[command] ?? []), ...(beside[`${command} ${flag}`] ?? [])];
        const id = command === 'video beta' ? 'a=' : '';
        world.clock.ms += 1;
        const run = await gw(
          ...words.split(' '),
          ...(command === 'asset create' ? [] : ['@a a boat']),
          ...more,
          flag,
          `${id}${reference}`,
          '--dry-run',
        );
        const [part] = /job:[\w-]+#\w+ sha256:[0-9a-f]{64}/.exec(run.out) ?? [];
        return run.code === 0 ? part?.replace(/^.*#(\w+) .*$/, '$1') : run.code;
      };
      told[`${command} ${flag}`] = [
        await ask(`job:${image}`),
        await ask(`job:${video}`),
        await ask(`job:${video}#audio`),
      ];
    }
    const ofImage = ['image', 'last_frame', 2];
    const ofVideo = [2, 'video', 2];
    const ofAudio = [2, 2, 2];
    expect(told).toEqual({
      'video alpha --first-frame': ofImage,
      'video alpha --last-frame': ofImage,
      'video alpha --image': ofImage,
      'video alpha --video': ofVideo,
      'video alpha --audio': ofAudio,
      'video beta --first-frame': ofImage,
      'video beta --last-frame': ofImage,
      'video beta --image': ofImage,
      'video beta --feature-video': ofVideo,
      'video beta --base-video': ofVideo,
      'video gamma --first-frame': ofImage,
      'video gamma --last-frame': ofImage,
      'video gamma --image': ofImage,
      'video gamma --video': ofVideo,
      'video gamma --audio': ofAudio,
      'image create --image': ofImage,
      'image edit --image': ofImage,
      'image edit --mask': ofImage,
      'image native --image': ofImage,
      'chat --image': ofImage,
      'asset create --url': ofVideo,
    });
    expect(world.requests().length).toBe(sent);
  });
});

describe('what is sent', () => {
  test('is shown where it will stand: Base64 is no address', async () => {
    const { image, gw } = await open();
    const run = await gw('image', 'native', 'on', '--image', `job:${image}`, '--dry-run', '--json');
    const { body } = JSON.parse(run.out);
    expect(body.contents[0].parts[1]).toEqual({
      inlineData: { data: expect.stringMatching(/^job:[\w-]+#image sha256:/) },
    });
  });

  test('is the saved file, or the frame cut out of it, as Base64; what is kept is its name and digest', async () => {
    const { world, video, gw } = await open();
    const run = await gw(...cmd`video alpha create on --first-frame job:${video} --sidecar --wait --json`);
    expect(run.code, run.err).toBe(0);
    const { id, files } = JSON.parse(run.out) as { id: string; files: { path: string }[] };
    const shown = JSON.parse((await gw('jobs', 'show', id, '--json')).out);
    const label = `job:${video}#last_frame`;
    expect(shown.made_from).toEqual([{ name: label, sha256: expect.stringMatching(/^[0-9a-f]{64}$/) }]);
    const beside = JSON.parse(readFileSync(`${files[0]?.path}.json`, 'utf8'));
    expect(beside.references).toEqual(shown.made_from);
    expect((await gw('jobs', 'show', id)).out).toContain(`made from   ${label} (sha256 `);
    expect(journal(world)).not.toContain('base64,');
    // `gw again` uses the same output, even if another job is the last one by now.
    const again = await gw('again', id, '--dry-run');
    const { sha256 } = shown.made_from[0];
    expect(again.out).toContain(`${label} sha256:${sha256}`);
    const first = await gw('again', id, '--first-frame', `job:${video}#first_frame`, '--dry-run');
    expect(first.out).toMatch(/#first_frame sha256:[0-9a-f]{64}/);
    expect(first.out).not.toContain(sha256);
  });

  test('is the link where only addresses are taken: counted as a download, and never shown', async () => {
    const { world, video, gw } = await open();
    const before = JSON.parse((await gw('jobs', 'show', video, '--json')).out);
    const link = before.record.content.video_url as string;
    world.clock.ms += 1_000;
    const run = await gw('video', 'alpha', 'create', 'on', '--video', `job:${video}`, '-v');
    expect(run.code, run.err).toBe(0);
    expect(run.err + run.out).not.toContain(new URL(link).search);
    const after = JSON.parse((await gw('jobs', 'show', video, '--json')).out);
    expect(after.downloads).toBe(before.downloads + 1);
    const made = journal(world)
      .split('\n')
      .filter((line) => line.includes(`job:${video}#video`));
    expect(made.join('')).not.toContain('http://127.0.0.1:0');
    expect(made.join('')).not.toContain(new URL(link).search);
    // A link near its end is looked up again; a link that expires within five minutes is not sent.
    world.clock.ms += 23 * 3_600_000 + 58 * 60_000;
    const late = await gw('video', 'alpha', 'create', 'on', '--video', `job:${video}`);
    expect([late.code, late.err]).toEqual([12, expect.stringContaining('less than 5 min to live')]);
  });

  test('is not sent when almost all downloads are used, and the hint names a way that uses none', async () => {
    const { world, video, gw } = await open();
    const ledger = ledgerOf(world);
    const [job] = await ledger.find({ ids: [video] });
    for (let used = 1; used < 95; used += 1) {
      world.clock.ms += 1;
      ledger.append(job?.key ?? '', { event: 'get', role: 'video' });
    }
    const run = await gw('video', 'alpha', 'create', 'on', '--video', `job:${video}`);
    expect([run.code, run.err]).toEqual([12, expect.stringContaining('95 of the 100 downloads')]);
    expect(run.err).toContain('put the file where the gateway can fetch it');
    expect(run.err).not.toContain('--force');
  });

  test('is saved first where the file is gone or changed, and is download where it cannot be', async () => {
    const { world, video, gw } = await open();
    const file = path.join(world.cwd, `${video}.mp4`);
    appendFileSync(file, 'x');
    const changed = await gw('image', 'edit', 'on', '--image', `job:${video}`);
    expect(changed.code, changed.err).toBe(0);
    rmSync(file);
    for (const name of readdirSync(world.cwd)) if (name.startsWith(video)) rmSync(path.join(world.cwd, name));
    expect((await gw('image', 'edit', 'on', '--image', `job:${video}`, '--dry-run')).code).toBe(12);
    world.clock.ms += 8 * 24 * 3_600_000;
    const sent = world.sandbox.requests.filter(({ method }) => method === 'POST').length;
    const late = await gw('image', 'edit', 'on', '--image', `job:${video}`);
    expect([late.code, late.err]).toEqual([12, expect.stringContaining(video)]);
    expect(world.sandbox.requests.filter(({ method }) => method === 'POST').length).toBe(sent);
  });
});

describe('what is refused', () => {
  const opened = (async () => {
    const { world, video, gw } = await open();
    const ledger = ledgerOf(world);
    const key = acceptedJob(world, 'cgt-failed', HOUR_MS);
    const error = { code: 'Sensitive', message: 'not made' };
    const record = { id: 'cgt-failed', status: 'failed', error };
    ledger.append(key, { event: 'final', state: 'failed', status: 'failed', record, serverDateMs: 0 });
    const unknown = ledger.begin(intentIn(world));
    ledger.append(unknown, { event: 'sent' });
    const refused = ledger.begin(intentIn(world));
    ledger.append(refused, { event: 'sent' });
    ledger.append(refused, { event: 'refused', kind: 'quota', message: 'no quota' });
    acceptedJob(world, 'cgt-running', HOUR_MS);
    succeededJob(world, 'cgt-foreign', HOUR_MS, { gateway: 'https://elsewhere.example/v1' });
    succeededJob(world, 'cgt-sandbox', HOUR_MS, { gateway: EMBEDDED });
    savedJob(world, 'cgt-pruned', 90 * DAY_MS);
    const prune = await gw('jobs', 'prune', '--before', '30d', '--yes');
    expect([prune.code, prune.out], prune.err).toEqual([0, expect.stringContaining('cgt-pruned')]);
    return {
      world,
      gw,
      known: { VIDEO: video, UNKNOWN: unknown, REFUSED: refused } as Record<string, string>,
    };
  })();
  test.each([
    ['job:', 2, 'names no job'],
    ['job:last#image.0', 2, 'counted from 1'],
    ['job:VIDEO#image', 2, 'its parts are video, first_frame, last_frame'],
    ['job:VIDEO#video.2', 2, 'has no video.2'],
    ['job:VIDEO#video', 2, 'an image is taken here'],
    ['job:gw-nothing', 4, 'there is no job gw-nothing'],
    [
      'job:cgt-failed',
      2,
      'it has made nothing: task cgt-failed ended failed: Sensitive: not made; make it anew: gw again cgt-failed',
    ],
    [
      'job:UNKNOWN',
      2,
      'not known what became of job UNKNOWN; find out first: gw jobs sync, or gw jobs resolve UNKNOWN --as ID',
    ],
    ['job:REFUSED', 2, 'job REFUSED was never created, or is lost: no quota; name another job'],
    ['job:cgt-running', 2, 'job cgt-running still runs; wait for it first: gw jobs wait cgt-running'],
    [
      'job:cgt-foreign',
      2,
      'belongs to another gateway (https://elsewhere.example/v1); name that one with --profile',
    ],
    [
      'job:cgt-sandbox',
      2,
      'belongs to another gateway (sandbox:); name that one with --profile, --base-url or --sandbox',
    ],
    ['job:cgt-pruned', 4, 'there is no job cgt-pruned in the ledger'],
    ['job:../../etc/passwd', 2, 'not a task ID'],
    ['job:last#nope', 2, 'not a task ID'],
    ['row:r1', 2, 'names a row of a manifest'],
    ['./job:x', 2, 'no such file'],
  ])('%s', async (reference, code, said) => {
    const { world, known, gw } = await opened;
    const filled = (text: string) => text.replace(/[A-Z]{5,}/g, (name) => known[name] ?? name);
    const sent = world.requests().length;
    const run = await gw('video', 'alpha', 'create', 'on', '--image', filled(reference));
    expect([run.code, world.requests().length - sent], run.err).toEqual([code, 0]);
    expect(run.err.replaceAll('\nhint: ', '; ')).toContain(filled(said));
  });

  test('a job that runs, but with --wait, also where it then fails; and one made here for the sandbox', async () => {
    const { world, video, gw } = await open();
    const running = await made(world, 'video alpha create --resolution 480p a boat');
    const failing = await made(world, 'video alpha create --resolution 480p sensitive-output');
    const sent = world.sandbox.requests.filter(({ method }) => method === 'POST').length;
    const failed = await gw('video', 'alpha', 'create', 'on', '--image', `job:${failing}`, '--wait');
    expect([failed.code, failed.err]).toEqual([9, expect.stringContaining(failing)]);
    expect(world.sandbox.requests.filter(({ method }) => method === 'POST').length).toBe(sent);
    const waited = await gw('video', 'alpha', 'create', 'on', '--image', `job:${running}`, '--wait');
    expect(waited.code, waited.err).toBe(0);
    const elsewhere = await world.gw(
      ['image', 'edit', 'on', '--image', `job:${video}`, '--sandbox', '--dry-run'],
      { env: withPath },
    );
    expect([elsewhere.code, elsewhere.err]).toEqual([
      2,
      expect.stringContaining('belongs to another gateway'),
    ]);
  });
});

test.each([
  ['video alpha create on --image'],
  ['asset create --group group-1 --name shot --type Video --url'],
])('a job that runs is waited for no longer than --wait-timeout says: %s', async (line) => {
  const world = await World.open({ speed: 0.001 });
  const running = await made(world, 'video alpha create --resolution 480p a boat');
  const startMs = world.clock.steady();
  const run = await world.gw([...line.split(' '), `job:${running}`, '--wait', '--wait-timeout', '30s']);
  expect([run.code, run.err]).toEqual([10, expect.stringContaining(`waiting for job ${running}`)]);
  expect(world.clock.steady() - startMs).toBeLessThan(40_000);
});

test('a key compares the words, and goes on with the job that they meant the first time', async () => {
  const { world, image, gw } = await open();
  const first = await gw('video', 'alpha', 'create', 'on', '--image', 'job:last', '--once', 'k', '--json');
  expect(first.code, first.err).toBe(0);
  const { id } = JSON.parse(first.out);
  await made(world, 'image create another');
  const second = await gw(...cmd`video alpha create on --image job:last --once k --wait --json`);
  expect([second.code, JSON.parse(second.out).id], second.err).toEqual([0, id]);
  expect(JSON.parse((await gw('jobs', 'show', id, '--json')).out).made_from[0].name).toBe(
    `job:${image}#image`,
  );
  const other = await gw('video', 'alpha', 'create', 'on', '--image', `job:${image}`, '--once', 'k');
  expect([other.code, other.err]).toEqual([2, expect.stringContaining('another')]);
  // This holds even after the file that it was made from is gone.
  for (const name of readdirSync(world.cwd)) if (name.startsWith(image)) rmSync(path.join(world.cwd, name));
  expect(
    (await gw('video', 'alpha', 'create', 'on', '--image', 'job:last', '--once', 'k', '--wait')).code,
  ).toBe(0);
});

const gamma = 'video gamma create on --resolution 768P --duration 4 --ratio 16:9 --image job:last'.split(' ');

test('with --count more jobs of a key are made from the output that its first one was made from', async () => {
  const { world, image, gw } = await open();
  await world.ok([...gamma, '--once', 'k', '--count', '1']);
  await made(world, 'image create another');
  const more = await gw(...gamma, '--once', 'k', '--count', '2');
  expect([more.code, more.out.trim().split('\n').length], more.err).toEqual([0, 2]);
  const shown = await gw('jobs', 'show', 'k/2', '--json');
  expect(JSON.parse(shown.out).made_from[0].name).toBe(`job:${image}#image`);
});

test('one that its create said had failed is made anew from the output, by --again', async () => {
  const { world, image } = await open();
  const b64_json = readFileSync(path.join(world.cwd, `${image}.png`), 'base64');
  let creates = 0;
  const gateway = await fakeGateway((_, url) => {
    if (url.includes('images')) return { body: { data: [{ b64_json }] } };
    creates += 1;
    return { body: { id: `cgt-${creates}`, status: creates === 1 ? 'failed' : 'queued' } };
  });
  const env = { GW_BASE_URL: gateway.url };
  await made(world, 'image create a boat', env);
  const run = (...more: string[]) =>
    world.gw(['video', 'alpha', 'create', 'on', '--image', 'job:last', '--once', 'k', ...more], { env });
  expect((await run()).code).toBe(9);
  expect(await run('--again')).toMatchObject({ code: 0, out: 'cgt-2\n' });
});

test('a sidecar of a stranger names no output that lies outside its folder', async () => {
  const { world, image, gw } = await open();
  const film = path.join(world.cwd, 'film');
  mkdirSync(film);
  writeFileSync(path.join(film, 'clip.mp4'), 'not one of ours');
  const request = { command: 'image edit', flags: { image: [`job:${image}`] }, prompted: true, files: {} };
  const sidecar = {
    id: 'vt-elsewhere',
    family: 'image',
    model: null,
    prompt: 'on',
    settings: {},
    references: [],
    request,
  };
  writeFileSync(path.join(film, 'clip.mp4.json'), JSON.stringify(sidecar));
  const sent = world.requests().length;
  const run = await gw('again', 'film/clip.mp4');
  expect([run.code, world.requests().length - sent], run.err).toEqual([2, 0]);
  expect(run.err).toContain('lies outside the folder of the sidecar');
  // A reference that the user types instead is trusted.
  const typed = await gw('again', 'film/clip.mp4', '--image', `job:${image}`, '--dry-run');
  expect(typed.code, typed.err).toBe(0);
});
