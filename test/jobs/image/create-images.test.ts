import nodeFs, * as fs from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';
import * as path from 'node:path';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { ClosedPipe, type GwError } from '../../../src/errors.ts';
import { imageFamily } from '../../../src/gateway/image/job.ts';
import { isOpenImageJob, syncImageJob } from '../../../src/jobs/image/sync-image-job.ts';
import { jobView } from '../../../src/jobs/job-view.ts';
import type { Job } from '../../../src/ledger/event.ts';
import { writeError } from '../../../src/ledger/write-error.ts';
import {
  close,
  cut,
  json,
  raw,
  reply,
  replyBytes,
  reset,
  type Step,
  silence,
} from '../../helpers/fault-server.ts';
import { serveFile, startOutputServer } from '../../helpers/output-server.ts';
import { errorOf } from '../../http/test-client.ts';
import { sha256, tinyPng } from '../save/tiny-media.ts';
import { fakePng, saveTo, serve, world } from './harness.ts';

const read = (file: string | undefined): Buffer => fs.readFileSync(file ?? '');
const b64 = (bytes: Uint8Array): string => Buffer.from(bytes).toString('base64');
const imageReply = (...images: Uint8Array[]) => ({
  created: 1,
  data: images.map((image) => ({ b64_json: b64(image) })),
  usage: { total_tokens: 7 },
});

test('an image is saved whole, and the ledger has all but its data', async () => {
  const png = fakePng(300_000);
  const server = await serve([json(200, imageReply(png), { date: 'Fri, 20 Nov 2026 12:00:00 GMT' })]);
  const here = world(server.url);
  const outcome = await here.create();
  expect(outcome).toMatchObject({
    status: 'succeeded',
    record: { created: 1, data: [{ b64_json: '' }], usage: { total_tokens: 7 } },
    files: [
      {
        role: 'image',
        path: path.join(here.dir, 'fox.png'),
        bytes: png.length,
        sha256: sha256(png),
        type: 'image/png',
      },
    ],
    partials: [],
  });
  expect(outcome.error).toBeUndefined();
  expect(read(outcome.files[0]?.path).equals(png)).toBe(true);
  expect(await here.job()).toMatchObject({
    key: outcome.id,
    state: 'succeeded',
    parts: {},
    files: outcome.files,
    record: outcome.record,
    serverDateMs: Date.parse('2026-11-20T12:00:00Z'),
  });
  expect(here.listing()).toEqual(['fox.png']);
  expect(server.requests).toHaveLength(1);
  expect(JSON.parse(String(server.requests[0]?.body))).toEqual({ model: 'img-2', prompt: 'a fox' });
});

test('several images have their numbers, and a taken name is left alone', async () => {
  const images = [fakePng(3_000, 1), fakePng(4_000, 2)];
  const server = await serve([json(200, imageReply(...images))]);
  const here = world(server.url);
  fs.writeFileSync(path.join(here.dir, 'fox-1.png'), 'mine');
  const { files, error } = await here.create({ outputsExpected: 2, ...saveTo(here, 'fox-{index}.{ext}') });
  expect(error).toBeUndefined();
  expect(files.map((file) => path.basename(file.path))).toEqual(['fox-1-1.png', 'fox-2.png']);
  expect(files.map(({ role }) => role)).toEqual(['image', 'image-2']);
  expect(files.map((file) => read(file.path))).toEqual(images);
  expect(String(read(path.join(here.dir, 'fox-1.png')))).toBe('mine');
});

test('images of a native reply are saved, those of its thoughts are not', async () => {
  const [thought, png] = [fakePng(900, 1), fakePng(1_000, 2)];
  const parts = [
    { thought: true, inlineData: { mimeType: 'image/png', data: b64(thought) } },
    { text: 'here it is' },
    { inlineData: { mimeType: 'image/png', data: b64(png) } },
  ];
  const server = await serve([json(200, { candidates: [{ content: { parts } }] })]);
  const here = world(server.url);
  const { files } = await here.create();
  expect(files.map(({ role, sha256 }) => [role, sha256])).toEqual([['image', sha256(png)]]);
  expect(here.listing()).toEqual(['fox.png']);
  expect((await here.job()).parts).toEqual({});
});

test('an image that comes as a data URI is saved', async () => {
  const server = await serve([json(200, { data: [{ url: `data:image/png;base64,${b64(tinyPng)}` }] })]);
  const here = world(server.url);
  expect((await here.create()).files.map(({ sha256 }) => sha256)).toEqual([sha256(tinyPng)]);
});

test('images that come as URLs are downloaded, without the key', async () => {
  const outputs = await startOutputServer((request, response) =>
    serveFile(tinyPng, request, response, { type: 'image/png' }),
  );
  const server = await serve([json(200, { data: [{ url: `${outputs.url}/a?sig=1`, b64_json: '' }] })]);
  const here = world(server.url);
  const { files, error, record } = await here.create();
  await outputs.close();
  expect(error).toBeUndefined();
  expect(files.map(({ role, sha256 }) => [role, sha256])).toEqual([['image', sha256(tinyPng)]]);
  expect(record).toMatchObject({ data: [{ url: `${outputs.url}/a?sig=1` }] });
  expect((await here.job()).downloads).toBe(1);
  expect(outputs.gets.map(({ headers }) => headers.authorization)).toEqual([undefined]);
});

describe('an image that stands where none is expected is saved all the same', () => {
  const data = b64(tinyPng);
  const uri = `data:image/png;base64,${data}`;
  test.each<[string, unknown]>([
    ['predictions', { predictions: [{ mimeType: 'image/png', bytesBase64Encoded: data }] }],
    ['a list of images', { images: [{ b64_json: data }] }],
    ['an output', { output: { image_base64: data } }],
    ['data as one object', { data: { b64_json: data } }],
    ['data as a list of texts', { data: [uri] }],
    ['the message of a chat', { choices: [{ message: { images: [{ image_url: { url: uri } }] } }] }],
  ])('%s', async (_, body) => {
    const server = await serve([json(200, body)]);
    const here = world(server.url);
    const { files, error, status } = await here.create();
    expect([error, status, files.map(({ sha256 }) => sha256)]).toEqual([
      undefined,
      'succeeded',
      [sha256(tinyPng)],
    ]);
    expect(here.listing()).toEqual(['fox.png']);
  });

  test('after the others', async () => {
    const extra = fakePng(700);
    const server = await serve([json(200, { extra: { data: b64(extra) }, ...imageReply(tinyPng) })]);
    const here = world(server.url);
    const { files } = await here.create(saveTo(here, 'x-{index}.{ext}'));
    expect(files.map(({ role, bytes }) => [role, bytes])).toEqual([
      ['image', tinyPng.length],
      ['image-2', 700],
    ]);
  });

  test('thoughts and partial images alone are no result', async () => {
    const thought = { thought: true, inlineData: { data: b64(tinyPng) } };
    const body = {
      candidates: [{ content: { parts: [thought] } }],
      steps: [{ partial_image_index: 0, b64_json: b64(tinyPng) }],
    };
    const here = world((await serve([json(200, body)])).url);
    expect((await here.create()).error).toMatchObject({ kind: 'incomplete' });
    expect(here.listing()).toEqual([]);
  });

  test('a link that is not taken for an image is named', async () => {
    const server = await serve([json(200, { result: { href: 'https://cdn.example/a.png' } })]);
    expect((await world(server.url).create()).error).toMatchObject({
      kind: 'incomplete',
      facts: { hint: expect.stringContaining('result.href of the record') },
    });
  });

  test('behind a byte order mark', async () => {
    const server = await serve([reply(200, `\ufeff${JSON.stringify(imageReply(tinyPng))}`)]);
    expect((await world(server.url).create()).files).toHaveLength(1);
  });
});

test.each([
  ['a PNG', fakePng(500).subarray(0, 400), /fox.png may be cut: its last chunk is missing/],
  ['a JPEG', Buffer.from('ffd8ffe000104a46494600010100000100010000ffdb', 'hex'), /its end mark is missing/],
  ['a WebP', Buffer.from('RIFF\xff\0\0\0WEBPVP8 \0\0\0\0', 'latin1'), /it has 20 of 263 bytes/],
])('%s that looks cut is saved with a warning', async (_, bytes, message) => {
  const here = world((await serve([json(200, imageReply(bytes))])).url);
  const { files, error } = await here.create(saveTo(here, 'fox.{ext}'));
  expect([error, files.length]).toEqual([undefined, 1]);
  expect(here.warnings).toEqual([expect.stringMatching(message)]);
});

test('bytes behind the end of an image are no reason to warn', async () => {
  const here = world((await serve([json(200, imageReply(Buffer.concat([tinyPng, Buffer.alloc(500)])))])).url);
  await here.create();
  expect(here.warnings).toEqual([]);
});

test('fewer images than were asked for: each keeps its number, and the missing one is told of', async () => {
  const data = [
    { b64_json: b64(fakePng(300, 1)) },
    { error: { message: 'blocked by review' } },
    { b64_json: b64(fakePng(400, 2)) },
  ];
  const here = world((await serve([json(200, { data })])).url);
  const { files, error } = await here.create({ outputsExpected: 3, ...saveTo(here, 'x-{index}.{ext}') });
  expect([error, files.map(({ bytes }) => bytes)]).toEqual([undefined, [300, 400]]);
  expect(here.listing()).toEqual(['x-1.png', 'x-3.png']);
  expect(here.warnings).toEqual(['2 of 3 images came: blocked by review']);
});

test('files stand in the order of the reply, however they came', async () => {
  const outputs = await startOutputServer((request, response) =>
    serveFile(tinyPng, request, response, { type: 'image/png' }),
  );
  const data = [{ url: `${outputs.url}/a` }, { b64_json: b64(fakePng(400)) }];
  const here = world((await serve([json(200, { data })])).url);
  const { files } = await here.create({ outputsExpected: 2, ...saveTo(here, 'x-{index}.{ext}') });
  await outputs.close();
  expect(files.map(({ role }) => role)).toEqual(['image', 'image-2']);
});

test('a link that is no web address is not promised to be tried again', async () => {
  const here = world((await serve([json(200, { data: [{ url: 'file:///etc/passwd' }] })])).url);
  const { error } = await here.create();
  expect((error as GwError).message).toMatch(/^the image of image job gw-/);
  expect((error as GwError).facts.hint).toMatch(/follows no file: link/);
});

describe('a disk or a ledger that fails once the image has its name', () => {
  test('a part that cannot be removed is a warning', async () => {
    const here = world((await serve([json(200, imageReply(tinyPng))])).url);
    const unlink = vi.spyOn(nodeFs, 'unlinkSync').mockImplementation(() => {
      throw Object.assign(new Error('EACCES'), { code: 'EACCES' });
    });
    syncBuiltinESMExports();
    onTestFinished(() => {
      unlink.mockRestore();
      syncBuiltinESMExports();
    });
    const { files, error } = await here.create();
    expect([error, files.map(({ path: file }) => path.basename(file))]).toEqual([undefined, ['fox.png']]);
    expect(here.warnings.join()).toMatch(/a second name of .*fox\.png, could not be removed/);
  });

  test('an image that could not be recorded is in the result, and its part goes', async () => {
    const here = world((await serve([json(200, imageReply(tinyPng))])).url);
    const { ledger } = here.deps;
    const append = ledger.append.bind(ledger);
    vi.spyOn(ledger, 'append').mockImplementation((key, event) => {
      if (event.event === 'saved') throw Object.assign(new Error('EIO'), { code: 'EIO' });
      append(key, event);
    });
    const { files, error } = await here.create();
    expect(files.map(({ bytes }) => bytes)).toEqual([tinyPng.length]);
    expect((error as GwError).message).toContain('could not be recorded');
    expect((error as GwError).facts.hint).not.toContain('sync');
    expect(here.listing()).toEqual(['fox.png']);
  });
});

describe('what is no image', () => {
  test.each([
    ['HTML', b64(Buffer.from('<!doctype html><p>no')), /HTML/],
    ['no Base64', '<html>', /no valid Base64: character 1 is "<"/],
    ['cut in mid-byte', 'AAAAA', /cut/],
    ['a video', b64(Buffer.concat([Buffer.from('\0\0\0\x18ftypisom\0\0\0\0isommp41', 'latin1')])), /MP4/],
    ['an empty text', '', /no data/],
  ])('%s is a download error, and leaves no file', async (_, data, message) => {
    const server = await serve([json(200, { data: [{ b64_json: data }] })]);
    const here = world(server.url);
    const { error, files, status } = await here.create();
    expect([(error as GwError).kind, files, status]).toEqual(['download', [], 'succeeded']);
    expect((error as GwError).message).toMatch(message);
    expect(here.listing()).toEqual([]);
    expect((await here.job()).parts).toEqual({});
  });

  test('one bad image does not cost the good one', async () => {
    const server = await serve([json(200, { data: [{ b64_json: '???' }, { b64_json: b64(tinyPng) }] })]);
    const here = world(server.url);
    const { error, files } = await here.create({ outputsExpected: 2, ...saveTo(here, 'x-{index}.{ext}') });
    expect((error as GwError).message).toContain('the image of gw-');
    expect(files.map(({ role }) => role)).toEqual(['image-2']);
    expect(here.listing()).toEqual(['x-2.png']);
  });

  test('a reply without an image is incomplete, and says why', async () => {
    const refusal = {
      candidates: [{ content: { parts: [{ text: 'I cannot draw that' }] }, finishReason: 'STOP' }],
    };
    const server = await serve([json(200, refusal)]);
    const here = world(server.url);
    const { error, status, record } = await here.create();
    expect(error).toMatchObject({
      kind: 'incomplete',
      message: 'the reply holds no image: I cannot draw that',
      facts: { taskId: (await here.job()).key },
    });
    expect([status, record]).toEqual(['no image', refusal]);
    expect((await here.job()).state).toBe('failed');
  });
});

const cutAt = (bytes: number, how: 'close' | 'reset'): Step =>
  cut(replyBytes(200, JSON.stringify(imageReply(fakePng(30_000)))), bytes, how);

describe('faults: the gateway has accepted one request, and nothing was sent again', () => {
  const fine = json(200, imageReply(tinyPng));
  test.each<[string, Step]>([
    ['reset', reset],
    ['close', close],
    ['silence', silence],
    ['HTTP 500', json(500, { error: { message: 'try again' } })],
    ['HTTP 502', reply(502, '<html>')],
    ['HTTP 503 with Retry-After', reply(503, '', { 'retry-after': '1' })],
    ['HTML with 200', reply(200, '<!doctype html>')],
    ['an object that says nothing', json(200, {})],
    ['a reply that says when it was made, and no more', json(200, { created: 1_750_000_000 })],
    ['an empty 200', reply(200)],
    ['null', reply(200, 'null')],
    ['a list', reply(200, '[]')],
    ['broken JSON', reply(200, '{"data":[')],
    ['data that is no list', json(200, { created: 1, data: 7 })],
    ['candidates that are no list', json(200, { candidates: 'none' })],
    ['an error with 200', json(200, { error: { message: 'upstream failed' } })],
    [
      'silence in the reply',
      raw('HTTP/1.1 200 OK\r\ncontent-length: 999\r\n\r\n{"data":[{"b64_json":"iVBOR'),
    ],
    ...[0, 1, 17, 40, 60, 90, 1_000, 20_000, 40_000].flatMap((at): [string, Step][] => [
      [`closed after ${at} bytes`, cutAt(at, 'close')],
      [`reset after ${at} bytes`, cutAt(at, 'reset')],
    ]),
  ])('%s', async (_, step) => {
    const server = await serve([step, fine]);
    const here = world(server.url, { silenceMs: 400 });
    const error = await errorOf<GwError>(here.create());
    expect(error.kind).toBe('unknown_outcome');
    expect(error.facts.hint).toContain('gw jobs show gw-');
    expect(`${error.message} ${error.facts.hint}`).not.toMatch(/try again/);
    expect(server.requests).toHaveLength(1);
    expect(here.listing()).toEqual([]);
    expect(await here.job()).toMatchObject({ state: 'unknown', parts: {} });
  });

  test('a 429 is waited out, and a refusal stops', async () => {
    const server = await serve([json(429, {}, { 'retry-after': '3' }), fine]);
    const here = world(server.url);
    expect((await here.create()).files).toHaveLength(1);
    expect(server.requests).toHaveLength(2);
    const refusing = await serve([json(400, { error: { message: 'bad size' } })]);
    const there = world(refusing.url);
    expect((await errorOf<GwError>(there.create())).kind).toBe('rejected');
    expect([(await there.job()).state, refusing.requests.length]).toEqual(['refused', 1]);
  });

  test('images that came whole before the break are saved and listed', async () => {
    const images = [fakePng(3_000, 1), fakePng(4_000, 2)];
    const whole = replyBytes(200, JSON.stringify(imageReply(...images)));
    const server = await serve([cut(whole, whole.length - 1_000, 'reset')]);
    const here = world(server.url);
    const { files, error, status, record } = await here.create({
      outputsExpected: 2,
      ...saveTo(here, 'x-{index}.{ext}'),
    });
    expect(error).toMatchObject({ kind: 'unknown_outcome' });
    expect((error as GwError).message).toContain('the image that came whole before it is saved');
    expect([status, record]).toEqual(['unknown', null]);
    expect(files.map((file) => read(file.path))).toEqual([images[0]]);
    expect(here.listing()).toEqual(['x-1.png']);
    expect(await here.job()).toMatchObject({ state: 'unknown', parts: {}, files });
  });
});

describe('links that came whole before the reply was cut are written down, and followed', () => {
  /** A gateway that cuts its reply with links, and an output server that reads the ledger before it answers. */
  const linked = async (bodyOf: (url: string) => string, lacking = 5) => {
    const seen: Job[] = [];
    const look: { world?: ReturnType<typeof world> } = {};
    const outputs = await startOutputServer(async (request, response) => {
      const job = await look.world?.job();
      if (job) seen.push(job);
      serveFile(tinyPng, request, response, { type: 'image/png' });
    });
    const body = bodyOf(outputs.url);
    const length = { 'content-length': String(body.length + lacking), date: 'Fri, 20 Nov 2026 12:00:00 GMT' };
    const whole = replyBytes(200, body, length);
    const server = await serve([cut(whole, whole.length, 'close')]);
    const here = world(server.url);
    look.world = here;
    const create = () => here.create({ outputsExpected: 2, ...saveTo(here, 'x-{index}.{ext}') });
    return { here, create, outputs, seen, server };
  };
  const links = (url: string) =>
    JSON.stringify({ created: 1, data: [{ url: `${url}/a` }, { url: `${url}/b` }] });

  test.each<[string, (url: string) => string, string[]]>([
    ['behind the whole JSON text', links, ['/a', '/b']],
    ['one byte before its end', (url) => links(url).slice(0, -1), ['/a', '/b']],
    ['behind the closing quote of a link', (url) => links(url).slice(0, -3), ['/a', '/b']],
    ['before the closing quote of a link', (url) => links(url).slice(0, -4), ['/a']],
    [
      'in a link, behind an escaped quote',
      (url) => `{"data":[{"url":"${url}/a"},{"url":"${url}/b\\"`,
      ['/a'],
    ],
    ['in the name of a field', (url) => `{"data":[{"url":"${url}/a"},{"url"`, ['/a']],
    ['in Base64 beside a link', (url) => `{"data":[{"url":"${url}/a","b64_json":"iVBOR`, ['/a']],
  ])('%s', async (_, bodyOf, paths) => {
    const { here, create, outputs, seen, server } = await linked(bodyOf);
    const { error, files, status, record } = await create();
    expect(error).toMatchObject({ kind: 'unknown_outcome', exitCode: 14 });
    expect((error as GwError).message).toContain('that came whole before it is saved');
    expect([status, files.map((file) => sha256(read(file.path)))]).toEqual([
      'unknown',
      paths.map(() => sha256(tinyPng)),
    ]);
    expect(here.listing()).toEqual(paths.map((_, at) => `x-${at + 1}.png`));
    expect(outputs.gets.map((get) => get.path)).toEqual(paths);
    const data = paths.map((each) => expect.objectContaining({ url: `${outputs.url}${each}` }));
    expect(seen[0]?.record).toMatchObject({ data: expect.arrayContaining(data) });
    const serverDateMs = Date.parse('2026-11-20T12:00:00Z');
    expect(await here.job()).toMatchObject({ state: 'unknown', record, serverDateMs, files, parts: {} });
    expect(server.requests).toHaveLength(1);
  });

  test('before the first of them came whole, nothing is fetched', async () => {
    const { here, create, outputs } = await linked((url) => `{"data":[{"url":"${url}/a`);
    expect((await errorOf<GwError>(create())).kind).toBe('unknown_outcome');
    expect([outputs.gets, (await here.job()).record]).toEqual([[], undefined]);
  });

  test('beside Base64 each keeps its place', async () => {
    const png = fakePng(700);
    const { here, create } = await linked(
      (url) => `{"data":[{"url":"${url}/a"},{"b64_json":"${b64(png)}"},{"u`,
    );
    const { files } = await create();
    expect(files.map(({ role, sha256 }) => [role, sha256])).toEqual([
      ['image', sha256(tinyPng)],
      ['image-2', sha256(png)],
    ]);
    expect(here.listing()).toEqual(['x-1.png', 'x-2.png']);
  });

  test('one that could not be fetched is told of, and gw jobs sync brings it home while it lives', async () => {
    const { here, create, outputs } = await linked(links);
    const { answer } = outputs;
    outputs.answer = (request, response, number) =>
      number === 1 ? response.writeHead(404).end() : answer(request, response, number);
    const { error, files } = await create();
    expect(files.map(({ role }) => role)).toEqual(['image-2']);
    expect((error as GwError).facts.hint).toContain('gw jobs sync fetches what it had a link to');
    const job = await here.job();
    const nowMs = job.serverDateMs ?? 0;
    expect([isOpenImageJob(job, nowMs), isOpenImageJob(job, nowMs + 25 * 3_600_000)]).toEqual([true, false]);
    expect(jobView(job, imageFamily)).toMatchObject({
      saved: false,
      link_expires_at: '2026-11-20T13:00:00.000Z',
    });
    const synced = await syncImageJob(job, here.deps);
    expect(synced).toMatchObject({ status: 'unknown', files: [{ role: 'image' }] });
    expect(here.listing()).toEqual(['x-1.png', 'x-2.png']);
    expect(isOpenImageJob(await here.job(), nowMs)).toBe(false);
  });

  test('one that the ledger does not take is followed all the same, and no sync is promised', async () => {
    const { here, create, outputs } = await linked(links);
    fillFor(here, ['unknown', 'get', 'part', 'saved']);
    const { answer } = outputs;
    outputs.answer = (request, response, number) =>
      number === 2 ? response.writeHead(404).end() : answer(request, response, number);
    const { error, files, record } = await create();
    expect([files.length, record]).toMatchObject([1, { data: [{}, {}] }]);
    expect(error).toMatchObject({ kind: 'unknown_outcome' });
    expect((error as GwError).facts.hint).toMatch(/gw jobs sync cannot fetch .* in the record alone/);
  });

  test('with -o - a kill leaves it to a sync, and stdout gets it', async () => {
    const { here, seen } = await linked(links);
    const taken: Uint8Array[] = [];
    const { intent } = here.request();
    const outcome = await here.create({
      intent: { ...intent, save: { ...intent.save, download: false } },
      toStdout: async (bytes) => void taken.push(Buffer.from(bytes)),
    });
    expect(outcome.error).toMatchObject({ kind: 'unknown_outcome' });
    expect(Buffer.concat(taken)).toEqual(tinyPng);
    expect(seen[0]).toMatchObject({ state: 'unknown', save: { download: true } });
    expect((await here.job()).save.download).toBe(false);
  });
});

/** Makes the ledger's disk full for these events. */
function fillFor(here: ReturnType<typeof world>, events: readonly string[]): void {
  const { ledger } = here.deps;
  const append = ledger.append.bind(ledger);
  vi.spyOn(ledger, 'append').mockImplementation((key, event) => {
    if (events.includes(event.event)) {
      const full = Object.assign(new Error('ENOSPC'), { code: 'ENOSPC', syscall: 'write' });
      throw writeError(full, 'journal', key, event);
    }
    append(key, event);
  });
}

describe('a ledger whose disk is full when the reply comes', () => {
  const linked = async (status: number) => {
    const outputs = await startOutputServer((request, response) => {
      if (status === 200) serveFile(tinyPng, request, response, { type: 'image/png' });
      else response.writeHead(status).end();
    });
    return world((await serve([json(200, { data: [{ url: `${outputs.url}/a` }] })])).url);
  };

  test('the image behind a link is saved all the same, and nothing is said that a sync could do', async () => {
    const here = await linked(200);
    fillFor(here, ['final', 'get', 'part', 'saved']);
    const { error, files } = await here.create();
    expect(files.map((file) => read(file.path))).toEqual([tinyPng]);
    expect(here.listing()).toEqual(['fox.png']);
    expect(error).toMatchObject({ kind: 'download' });
    expect((error as GwError).facts.hint).not.toContain('sync');
    expect(here.warnings.join()).toMatch(/the ledger cannot be written: .*; going on without it/);
  });

  test('where nothing but the reply was not taken, the error names that', async () => {
    const here = await linked(200);
    fillFor(here, ['final']);
    const { error, files } = await here.create();
    expect(files).toHaveLength(1);
    expect(error).toMatchObject({ kind: 'download', message: expect.stringContaining('the disk is full') });
    expect((error as GwError).facts.hint).toMatch(/what came is saved/);
  });

  test('a link that could not be fetched is in the record alone', async () => {
    const here = await linked(404);
    fillFor(here, ['final', 'get', 'part', 'saved']);
    const { error, record } = await here.create();
    expect(record).toMatchObject({ data: [{ url: expect.stringMatching(/^http/) }] });
    expect(error).toMatchObject({ kind: 'download' });
    expect((error as GwError).facts.hint).toMatch(/gw jobs sync cannot fetch .* in the record alone/);
  });
});

describe('a reply that cannot be read whole: what came is kept, and the outcome is unknown', () => {
  const png = fakePng(3_000);
  const image = JSON.stringify({ b64_json: b64(png) });
  const deep = (levels: number) => `${'[{"a":'.repeat(levels)}1${'}]'.repeat(levels)}`;
  const event = (data: string, name = 'image_generation.completed') => `event: ${name}\ndata: ${data}\n\n`;
  const stream = (text: string) => reply(200, text, { 'content-type': 'text/event-stream' });
  const wide = `[${'0,'.repeat(9 * 1024 * 1024)}0]`;
  const cases: [name: string, step: Step, saved: number, words: RegExp][] = [
    ['5,000 levels, no image', reply(200, deep(2_500)), 0, /nests deeper than 256 levels/],
    ['5,000 levels behind an image', reply(200, `{"data":[${image}],"x":${deep(2_500)}}`), 1, /nests deeper/],
    ['100,000 levels before it', reply(200, `{"x":${deep(50_000)},"data":[${image}]}`), 1, /nests deeper/],
    ['16 MiB beside an image', reply(200, `{"data":[${image}],"x":${wide}}`), 1, /more than 16777216 bytes/],
    [
      '16 MiB in many texts',
      reply(200, `{"x":[${'"","a",'.repeat(2_500_000)}1]}`),
      0,
      /more than 16777216 bytes/,
    ],
    [
      'an event of 5,000 levels',
      stream(event(`{"b64_json":"${b64(png)}","x":${deep(2_500)}}`)),
      1,
      /nests deeper/,
    ],
    ['an event of 16 MiB', stream(event(`{"b64_json":"${b64(png)}","x":${wide}}`)), 1, /more than 16777216/],
    [
      'an event that is cut behind its image',
      (socket) =>
        void socket.end(`HTTP/1.1 200 X\r\n\r\n${event(`{"b64_json":"${b64(png)}","usage":{`)}`.trimEnd()),
      1,
      /broken JSON|is not known/,
    ],
  ];
  test.each(cases)('%s', async (_, step, saved, words) => {
    const server = await serve([step]);
    const here = world(server.url);
    const outcome = await here.create({ streams: false }).catch((error: GwError) => ({ error, files: [] }));
    expect(outcome.error).toMatchObject({ kind: 'unknown_outcome', exitCode: 14 });
    expect((outcome.error as GwError).message).toMatch(words);
    expect(outcome.files.map((file) => sha256(read(file.path)))).toEqual(Array(saved).fill(sha256(png)));
    expect(here.listing()).toHaveLength(saved);
    expect(await here.job()).toMatchObject({ state: 'unknown', parts: {}, files: outcome.files });
    expect(server.requests).toHaveLength(1);
  });

  test('more images than anyone asks for: the first 100 are kept, and no more files made', async () => {
    const server = await serve([
      reply(200, `{"data":[${Array(150).fill(`{"b64_json":"${b64(tinyPng)}"}`)}]}`),
    ]);
    const here = world(server.url);
    const outcome = await here.create(saveTo(here, '{index}.{ext}'));
    expect(outcome.error).toMatchObject({
      kind: 'unknown_outcome',
      message: expect.stringContaining('100 images'),
    });
    expect(here.listing()).toHaveLength(100);
    expect(await here.job()).toMatchObject({ state: 'unknown', parts: {} });
  });

  test('a deep partial image is none', async () => {
    const partial = `{"type":"image_generation.partial_image","b64_json":"${b64(png)}","partial_image_index":0,"x":${deep(300)}}`;
    const server = await serve([stream(event(partial))]);
    const here = world(server.url);
    expect((await errorOf<GwError>(here.create())).kind).toBe('unknown_outcome');
    expect(here.listing()).toEqual([]);
  });

  test('a deep event beside a finished image: both are saved', async () => {
    const other = fakePng(2_000, 7);
    const text =
      event(`{"b64_json":"${b64(other)}","x":${deep(300)}}`) +
      event(`{"type":"image_generation.completed","b64_json":"${b64(png)}"}`);
    const server = await serve([stream(text)]);
    const here = world(server.url);
    const { files, error } = await here.create(saveTo(here, '{index}.{ext}'));
    expect(error).toBeUndefined();
    expect(files.map((file) => sha256(read(file.path)))).toEqual([sha256(png), sha256(other)]);
  });
});

describe('-o -', () => {
  const stdout = () => {
    const taken: Buffer[] = [];
    return { taken, toStdout: async (bytes: Uint8Array) => void taken.push(Buffer.from(bytes)) };
  };
  const unsaved = (here: ReturnType<typeof world>) => {
    const { intent } = here.request();
    return { intent: { ...intent, save: { ...intent.save, download: false } } };
  };

  test('the bytes and nothing else', async () => {
    const png = fakePng(3_000_000);
    const server = await serve([json(200, imageReply(png))]);
    const here = world(server.url);
    const { taken, toStdout } = stdout();
    const outcome = await here.create({ toStdout, ...unsaved(here) });
    expect(Buffer.concat(taken).equals(png)).toBe(true);
    expect([outcome.files, outcome.error, here.listing()]).toEqual([[], undefined, []]);
    expect(await here.job()).toMatchObject({ state: 'succeeded', parts: {}, files: [] });
  });

  test('what stdout does not take is kept, because it is paid for', async () => {
    const server = await serve([json(200, imageReply(tinyPng))]);
    const here = world(server.url);
    const full = new Error('ENOSPC');
    const outcome = await here.create({
      ...unsaved(here),
      toStdout: async () => {
        throw full;
      },
    });
    expect(outcome.error).toBe(full);
    expect(outcome.files.map(({ path: file }) => read(file))).toEqual([tinyPng]);
    expect(here.warnings.join()).toContain('it is saved as');
  });

  test('what a reader that has left does not take is saved, with one note and without an error', async () => {
    const here = world((await serve([json(200, imageReply(tinyPng))])).url);
    const outcome = await here.create({
      ...unsaved(here),
      toStdout: async () => {
        throw new ClosedPipe();
      },
    });
    expect(outcome.error).toBeInstanceOf(ClosedPipe);
    expect(outcome.files.map(({ path: file }) => read(file))).toEqual([tinyPng]);
    expect((await here.job()).files).toEqual(outcome.files);
    expect(here.warnings).toEqual([
      `stdout did not take the image; it is saved as ${outcome.files[0]?.path}`,
    ]);
  });

  test.each([
    ['b64_json', { b64_json: '' }],
    ['b64_json and url', { b64_json: '', url: '' }],
  ])('an image without a byte (%s) is a download error', async (_, item) => {
    const here = world((await serve([json(200, { data: [item] })])).url);
    const { taken, toStdout } = stdout();
    const { error } = await here.create({ toStdout, ...unsaved(here) });
    expect(error).toMatchObject({ kind: 'download' });
    expect(taken).toEqual([]);
  });

  test('every further image is saved', async () => {
    const images = [fakePng(300, 1), fakePng(400, 2)];
    const here = world((await serve([json(200, imageReply(...images))])).url);
    const { taken, toStdout } = stdout();
    const { files, error } = await here.create({ toStdout, ...unsaved(here) });
    expect([error, Buffer.concat(taken)]).toEqual([undefined, images[0]]);
    expect(files.map((file) => read(file.path))).toEqual([images[1]]);
    expect((await here.job()).files).toEqual(files);
    expect(here.warnings.join()).toMatch(
      /stdout takes one image; a further one is saved as .*fox-image-2\.png/,
    );
  });

  const linked = async (status = 200) => {
    const outputs = await startOutputServer((request, response) => {
      if (status === 200) serveFile(tinyPng, request, response, { type: 'image/png' });
      else response.writeHead(status).end();
    });
    const server = await serve([json(200, { data: [{ url: `${outputs.url}/a` }] })]);
    return world(server.url);
  };

  test('an image behind a link that stdout does not take is saved as one that came with the reply', async () => {
    const here = await linked();
    const full = new Error('ENOSPC');
    const toStdout = async () => {
      throw full;
    };
    const { files, error } = await here.create({ toStdout, ...unsaved(here) });
    expect(error).toBe(full);
    expect(files.map((file) => file.path)).toEqual([path.join(here.dir, 'fox.png')]);
    expect(await here.job()).toMatchObject({ files, parts: {} });
    expect(here.listing()).toEqual(['fox.png']);
  });

  test('a link that could not be fetched is left to gw jobs sync', async () => {
    const here = await linked(404);
    const { toStdout } = stdout();
    const { error } = await here.create({ toStdout, ...unsaved(here) });
    expect(error).toMatchObject({ kind: 'download' });
    const job = await here.job();
    expect([job.save.download, isOpenImageJob(job, here.deps.clock.now())]).toEqual([true, true]);
  });

  test('until stdout has the image behind a link, a sync would bring it home: the process may be killed', async () => {
    const seen: Job[] = [];
    const look = async () => void seen.push(await here.job());
    const outputs = await startOutputServer(async (request, response) => {
      await look();
      serveFile(tinyPng, request, response, { type: 'image/png' });
    });
    const server = await serve([json(200, { data: [{ url: `${outputs.url}/a` }] })]);
    const here = world(server.url);
    await here.create({ toStdout: look, ...unsaved(here) });
    expect(seen.length).toBeGreaterThanOrEqual(2);
    for (const job of seen) {
      expect([job.save.download, isOpenImageJob(job, here.deps.clock.now())]).toEqual([true, true]);
    }
    expect((await here.job()).save.download).toBe(false);
  });

  test('a link that was written leaves nothing open', async () => {
    const here = await linked();
    const { taken, toStdout } = stdout();
    await here.create({ toStdout, ...unsaved(here) });
    expect(Buffer.concat(taken)).toEqual(tinyPng);
    expect(isOpenImageJob(await here.job(), here.deps.clock.now())).toBe(false);
  });
});
