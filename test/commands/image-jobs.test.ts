import { readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import * as path from 'node:path';
import { describe, expect } from 'vitest';
import { newPartName } from '../../src/jobs/save/output-path.ts';
import { cut, json, replyBytes, startFaultServer } from '../helpers/fault-server.ts';
import { test, World } from '../helpers/gw.ts';
import { serveFile, startOutputServer } from '../helpers/output-server.ts';
import { tinyPng } from '../jobs/save/tiny-media.ts';
import { intentIn, ledgerOf } from './jobs-seed.ts';

// Image jobs whose create ended before their images were saved.

/** An image job that was sent and never answered, and whose gateway can no longer be reached. */
function sentJob(world: World, changes: Parameters<typeof intentIn>[1] = {}) {
  const ledger = ledgerOf(world);
  const gateway = 'https://gone.example';
  const key = ledger.begin(
    intentIn(world, { family: 'image', endpoint: 'image.generate', model: 'img-2', gateway, ...changes }),
  );
  ledger.append(key, { event: 'sent' });
  return { key, ledger };
}

function wholePart(world: World): string {
  const file = path.join(world.cwd, newPartName());
  writeFileSync(file, tinyPng);
  return file;
}

async function linkedJob(world: World, download: boolean, { isCut = false, type = 'image/png' } = {}) {
  const outputs = await startOutputServer((request, response) =>
    serveFile(tinyPng, request, response, { type }),
  );
  const save = { target: `${world.cwd}/{id}.{ext}`, force: false, download };
  // gw fetches outputs on loopback only for a gateway on loopback; nothing listens on this one.
  const { key, ledger } = sentJob(world, { save, gateway: 'http://127.0.0.1:9' });
  const links = { record: { data: [{ url: `${outputs.url}/a` }] }, serverDateMs: world.clock.now() };
  ledger.append(
    key,
    isCut
      ? { event: 'unknown', message: 'the reply was cut', ...links }
      : { event: 'final', state: 'succeeded', status: 'succeeded', ...links },
  );
  return { key, outputs };
}

const images = (world: World) => readdirSync(world.cwd).filter((name) => name.endsWith('.png'));

describe.each([
  ['before its reply was recorded', false],
  ['between its reply and its name', true],
])('an image whose bytes are here, killed %s', (_, isFinal) => {
  test.for(['sync', 'wait --all', 'wait last', 'download last'])(
    'is brought home by jobs %s, without a key or a gateway',
    async (words, { world }) => {
      const { key, ledger } = sentJob(world);
      ledger.append(key, {
        event: 'part',
        role: 'image',
        path: wholePart(world),
        totalBytes: tinyPng.length,
      });
      const record = { data: [{ b64_json: 'left out' }] };
      const final = { event: 'final', state: 'succeeded', status: 'succeeded', record } as const;
      if (isFinal) ledger.append(key, { ...final, serverDateMs: world.clock.now() });
      const run = await world.gw(['jobs', ...words.split(' ')], { bare: true });
      expect(run.out, run.err).toBe(`${path.join(world.cwd, `${key}.png`)}\n`);
      expect(readFileSync(run.out.trim())).toEqual(tinyPng);
    },
  );
});

test('an image behind a link is fetched without a key or a gateway', async ({ world }) => {
  const { key, outputs } = await linkedJob(world, true);
  await world.ok(['jobs', 'sync'], { bare: true });
  expect(images(world)).toEqual([`${key}.png`]);
  expect(outputs.gets.map(({ headers }) => headers.authorization)).toEqual([undefined]);
});

test.each([
  ['under its default name', [], /^gw-\w+\.png$/],
  ['under the name that is given', ['-o', 'later.png'], /^later\.png$/],
])('jobs download saves what was to go to stdout, %s', async (_, flags, name) => {
  const world = await World.open();
  const { key } = await linkedJob(world, false);
  await world.ok(['jobs', 'download', key, ...flags], { bare: true });
  expect(images(world)).toEqual([expect.stringMatching(name)]);
});

test.each(['download', 'wait'])('jobs %s saves each of four that were to go to stdout', async (word) => {
  const world = await World.open();
  const keys: string[] = [];
  for (let count = 0; count < 4; count += 1) keys.push((await linkedJob(world, false)).key);
  const run = await world.ok(['jobs', word, ...keys], { bare: true });
  expect(run.out.trim().split('\n').sort()).toEqual(
    keys.map((key) => path.join(world.cwd, `${key}.png`)).sort(),
  );
});

test('an image that nobody fetched while its link lived is told of by a sync, and tried for whoever names it', async () => {
  const world = await World.open();
  const { key } = await linkedJob(world, true);
  world.clock.ms += 25 * 3_600_000;
  const run = await world.gw(['jobs', 'sync']);
  expect([run.code, run.out, images(world)], run.err).toEqual([12, '', []]);
  expect(run.err).toContain(`image job ${key}: its image was not saved while its link lived`);
  const named = await world.gw(['jobs', 'download', key]);
  expect([named.code, images(world)], named.err).toEqual([0, [`${key}.png`]]);
  await world.ok(['jobs', 'sync']);
});

test.each([
  ['for a day', 23, 'gw jobs sync tries again while the link lives'],
  [
    'no longer than a day',
    25,
    'gw jobs download KEY tries its link again, which is older than a day; or pay for a new one: gw again KEY',
  ],
])('a link that fails is tried again by a sync %s, as its hint says', async (_, hours, hint) => {
  const world = await World.open();
  const { key } = await linkedJob(world, true, { type: 'text/html' });
  world.clock.ms += hours * 3_600_000;
  for (const word of ['wait', 'download']) {
    const run = await world.gw(['jobs', word, key]);
    expect([run.code, run.err.trim().split('\n').at(-1)]).toEqual([
      12,
      `hint: ${hint.replaceAll('KEY', key)}`,
    ]);
  }
});

test('a job that broke off after one of three images: what is saved is printed, and it does not count as saved', async () => {
  const world = await World.open();
  const { key, ledger } = sentJob(world, { settings: { n: 3 } });
  ledger.append(key, { event: 'part', role: 'image', path: wholePart(world), totalBytes: tinyPng.length });
  await world.gw(['jobs', 'sync'], { bare: true });
  const saved = `${path.join(world.cwd, `${key}.png`)}\n`;
  for (const word of ['wait', 'download']) {
    const run = await world.gw(['jobs', word, key], { bare: true });
    expect([run.code, run.out]).toEqual([14, saved]);
  }
  const [view] = JSON.parse((await world.gw(['jobs', 'list', '--json'], { bare: true })).out);
  expect(view).toMatchObject({ status: 'unknown', saved: false, files: [{ path: saved.trim() }] });
});

test('what came before an answer broke off is told by the create again under its key', async ({ world }) => {
  const image = { b64_json: tinyPng.toString('base64') };
  const reply = replyBytes(200, JSON.stringify({ data: [image, image] }));
  const server = await startFaultServer({ steps: [cut(reply, reply.length - 20, 'close')] });
  const create = 'image create fox --n 2 --once k'.split(' ');
  const run = () => world.gw(create, { env: { GW_BASE_URL: server.url } });
  const first = await run();
  expect([first.code, images(world).length], first.err).toEqual([14, 1]);
  expect(first.out).toMatch(/\.png\n$/);
  const second = await run();
  expect([second.code, second.out], second.err).toEqual([14, first.out]);
  expect(second.err).toContain('nothing was sent now');
  expect(server.requests).toHaveLength(1);
});

test('gw video FAMILY wait and download mean tasks of that family alone: an image is none', async () => {
  const world = await World.open();
  const { key } = await linkedJob(world, false);
  for (const word of ['wait', 'download']) {
    const run = await world.gw(['video', 'alpha', word, key]);
    expect([run.code, run.out]).toEqual([4, '']);
  }
  expect(images(world)).toEqual([]);
});

test('an image that came broken with its reply is missing each time the job is asked for, and stays so', async () => {
  const world = await World.open();
  const data = [{ b64_json: tinyPng.toString('base64') }, { b64_json: 'no Base64!' }];
  const server = await startFaultServer({ steps: [json(200, { data })] });
  const env = { GW_BASE_URL: server.url };
  const create = 'image create fox --n 2 --once k'.split(' ');
  const first = await world.gw(create, { env });
  expect(first.code, first.err).toBe(12);
  const saved = first.out;
  expect(saved).toMatch(/^\S+-1\.png\n$/);
  const [job] = await ledgerOf(world).find();
  const manifest = path.join(world.cwd, 'day.jsonl');
  writeFileSync(manifest, `${JSON.stringify({ id: 'a', command: 'image create', prompt: 'fox', n: 2 })}\n`);
  for (const argv of [
    create,
    ['jobs', 'wait', job?.key ?? ''],
    ['jobs', 'download', job?.key ?? ''],
    ['jobs', 'download', job?.key ?? '', '-o', 'elsewhere/'],
    ['batch', 'run', manifest],
    ['batch', 'run', manifest],
  ]) {
    const run = await world.gw(argv, { env });
    expect(run.code, `${argv.join(' ')}: ${run.err}`).toBe(12);
    expect(run.err).toMatch(/image-2/);
    // No other command can bring the image, so each names the ones that pay for a new one.
    expect(run.err).toMatch(argv[0] === 'batch' ? /--redo day\/a/ : /gw again gw-\w+/);
    expect(run.err).not.toContain('go on with');
    if (argv.includes('elsewhere/')) expect(run.out).toMatch(/elsewhere\/gw-\w+-1\.png\n$/);
  }
  expect(server.requests).toHaveLength(2);
  const views = JSON.parse((await world.gw(['jobs', 'list', '--json'], { env })).out);
  expect(views).toMatchObject([{ saved: false }, { saved: false }]);
  expect(await world.gw(['jobs', 'sync'], { env })).toMatchObject({ code: 0, out: '' });
});

test('a partial image is kept beside the finished one, and is none of those that a download copies', async () => {
  const world = await World.open();
  const b64_json = tinyPng.toString('base64');
  const partial = { type: 'image_generation.partial_image', partial_image_index: 0, b64_json };
  const events = [partial, { type: 'image_generation.completed', b64_json }];
  const stream = events.map((event) => `data: ${JSON.stringify(event)}\n\n`).join('');
  const reply = replyBytes(200, stream, { 'content-type': 'text/event-stream' });
  const server = await startFaultServer({ steps: [(socket) => void socket.write(reply)] });
  const env = { GW_BASE_URL: server.url };
  await world.ok('image create fox --partial-images 1 --keep-partials -o fox.png'.split(' '), { env });
  expect(images(world)).toEqual(['fox.partial-1.png', 'fox.png']);
  rmSync(path.join(world.cwd, 'fox.partial-1.png'));
  const copied = await world.gw('jobs download last -o copy.png'.split(' '), { env });
  expect([copied.code, copied.out], copied.err).toEqual([0, `${world.cwd}/copy.png\n`]);
});

test.for<[string, number, (key: string) => string[]]>([
  ['gw jobs sync', 0, () => ['jobs', 'sync']],
  ['gw jobs download, which says that more may have been made', 14, (key) => ['jobs', 'download', key]],
])('the links of a reply that was cut are followed by %s', async ([_, code, argv], { world }) => {
  const { key, outputs } = await linkedJob(world, true, { isCut: true });
  const run = await world.gw(argv(key));
  expect([run.code, images(world)], run.err).toEqual([code, [`${key}.png`]]);
  const again = await world.gw(['jobs', 'sync']);
  expect([again.code, outputs.gets.length], again.err).toEqual([0, 1]);
  if (code !== 0) expect(run.err).toContain('its answer was cut, what came whole is saved');
  const shown = await world.gw(['jobs', 'show', key, '--json']);
  expect(JSON.parse(shown.out)).toMatchObject({ status: 'unknown', files: [{}] });
});

test('a job whose links are still to be fetched is not closed as never created', async ({ world }) => {
  const { key } = await linkedJob(world, true, { isCut: true });
  const none = () => world.gw(['jobs', 'resolve', key, '--as', 'none']);
  expect(await none()).toMatchObject({ code: 2, err: expect.stringContaining('first run: gw jobs sync') });
  await world.gw(['jobs', 'sync']);
  expect(images(world)).toEqual([`${key}.png`]);
  expect((await none()).code).toBe(0);
});
