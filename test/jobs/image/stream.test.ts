import * as fs from 'node:fs';
import * as path from 'node:path';
import { describe, expect, test } from 'vitest';
import type { GwError } from '../../../src/errors.ts';
import { cut, json, replyBytes, type Step } from '../../helpers/fault-server.ts';
import { errorOf } from '../../http/test-client.ts';
import { tinyPng } from '../save/tiny-media.ts';
import { fakePng, saveTo, serve, world } from './harness.ts';

const b64 = (bytes: Uint8Array): string => Buffer.from(bytes).toString('base64');
const partial = (index: number, image: Uint8Array) => ({
  type: 'image_generation.partial_image',
  partial_image_index: index,
  b64_json: b64(image),
});
const completed = (image: Uint8Array) => ({
  type: 'image_generation.completed',
  b64_json: b64(image),
  usage: { total_tokens: 5 },
});
const events = (...all: { type: string }[]): string =>
  all.map((event) => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`).join('');
const sse = (text: string): Buffer => replyBytes(200, text, { 'content-type': 'text/event-stream' });
const send =
  (bytes: Buffer): Step =>
  (socket) =>
    void socket.write(bytes);
const named = (name: string, event: object): string => `event: ${name}\ndata: ${JSON.stringify(event)}\n\n`;
const streamed = { streams: true, partialsExpected: 2 };

const [first, second, final] = [fakePng(5_000, 1), fakePng(6_000, 2), fakePng(9_000, 3)];

test('the final image is saved, the partial ones are told of', async () => {
  const server = await serve([send(sse(events(partial(0, first), partial(1, second), completed(final))))]);
  const here = world(server.url);
  const outcome = await here.create(streamed);
  expect(here.shown).toEqual(['waiting for the image', 'partial 1 of 2', 'partial 2 of 2']);
  expect(outcome).toMatchObject({
    status: 'succeeded',
    record: { type: 'image_generation.completed', b64_json: '', usage: { total_tokens: 5 } },
    partials: [],
  });
  expect(outcome.error).toBeUndefined();
  expect(fs.readFileSync(path.join(here.dir, 'fox.png')).equals(final)).toBe(true);
  expect(here.listing()).toEqual(['fox.png']);
  expect((await here.job()).parts).toEqual({});
  expect(server.requests[0]?.headers.accept).toBe('text/event-stream');
});

test.each([false, true])(
  '400 partial images leave room for the final one; kept: %s',
  async (keepPartials) => {
    const many = Array.from({ length: 400 }, (_, at) => partial(at, fakePng(60, at)));
    const server = await serve([send(sse(events(...many, completed(final))))]);
    const here = world(server.url);
    let most = 0;
    here.shown.push = () => (most = Math.max(most, fs.readdirSync(here.dir).length));
    await here.create({ streams: true, partialsExpected: 2, keepPartials });
    expect(fs.readFileSync(path.join(here.dir, 'fox.png')).equals(final)).toBe(true);
    expect(most).toBeGreaterThan(1);
    expect(most).toBeLessThan(110);
  },
);

test('a partial image replaces with force none of another output of the command', async () => {
  const reply = send(sse(events(partial(0, first), completed(final))));
  const here = world((await serve([reply, reply])).url);
  const kept: string[] = [];
  for (const name of ['x.png', 'x.jpg']) {
    const { intent } = here.request(saveTo(here, name));
    const forced = { intent: { ...intent, save: { ...intent.save, force: true } } };
    kept.push(...(await here.create({ ...streamed, ...forced, keepPartials: true })).partials);
  }
  expect(kept.map((file) => path.basename(file))).toEqual(['x.partial-1.png', 'x.partial-1-1.png']);
});

test('the final image may come before the partial ones, which are kept beside it', async () => {
  const server = await serve([send(sse(events(completed(final), partial(0, first), partial(1, second))))]);
  const here = world(server.url);
  fs.writeFileSync(path.join(here.dir, 'fox.png'), 'mine');
  const { files, partials } = await here.create({ ...streamed, keepPartials: true });
  expect(files.map((file) => path.basename(file.path))).toEqual(['fox-1.png']);
  expect(partials.map((file) => path.basename(file))).toEqual(['fox-1.partial-1.png', 'fox-1.partial-2.png']);
  expect(partials.map((file) => fs.readFileSync(file))).toEqual([first, second]);
  expect(here.listing()).toEqual(['fox-1.partial-1.png', 'fox-1.partial-2.png', 'fox-1.png', 'fox.png']);
});

test('plain JSON in place of a stream is read', async () => {
  const server = await serve([json(200, { data: [{ b64_json: b64(tinyPng) }] })]);
  const here = world(server.url);
  expect((await here.create(streamed)).files).toHaveLength(1);
});

test('a stream where JSON was expected is read', async () => {
  const server = await serve([send(sse(events(completed(tinyPng))))]);
  const here = world(server.url);
  expect((await here.create()).files).toHaveLength(1);
});

test('several final images are numbered, and their record holds each', async () => {
  const server = await serve([send(sse(`${events(completed(first), completed(second))}data: [DONE]\n\n`))]);
  const here = world(server.url);
  const { files, record } = await here.create({
    ...streamed,
    outputsExpected: 2,
    ...saveTo(here, 'x-{index}.{ext}'),
  });
  expect(files.map(({ role }) => role)).toEqual(['image', 'image-2']);
  expect(here.listing()).toEqual(['x-1.png', 'x-2.png']);
  expect(record).toMatchObject({ data: [{ b64_json: '' }, { b64_json: '' }], usage: { total_tokens: 5 } });
});

test('a long number in one of several final images is kept as it came', async () => {
  const n = '12345678901234567890';
  const text = events(completed(first), completed(second)).replaceAll('"usage":{', `"usage":{"n":${n},`);
  const server = await serve([send(sse(text))]);
  const here = world(server.url);
  await here.create({ ...streamed, outputsExpected: 2, ...saveTo(here, 'x-{index}.{ext}') });
  const { recordText = '' } = await here.job();
  expect(recordText.split(n)).toHaveLength(4);
  expect(JSON.parse(recordText)).toMatchObject({ data: [{ b64_json: '' }, {}], usage: { total_tokens: 5 } });
});

test('an error event ends it, and the outcome is not known', async () => {
  const failed = { type: 'error', error: { message: 'the upstream hiccuped', code: 'x1' } };
  const server = await serve([send(sse(events(partial(0, first), failed)))]);
  const here = world(server.url);
  const error = await errorOf<GwError>(here.create(streamed));
  expect(error).toMatchObject({ kind: 'unknown_outcome', facts: { code: 'x1' } });
  expect(error.message).toContain('the gateway broke off with an error: the upstream hiccuped');
  expect(here.listing()).toEqual([]);
  expect(await here.job()).toMatchObject({ state: 'unknown', parts: {} });
});

test('a stream that is cut at any place is taken once; an image that is whole by then is saved', async () => {
  const text = events(partial(0, fakePng(300, 1)), completed(fakePng(400, 2)));
  const whole = sse(text);
  const head = whole.length - text.length;
  const last = fakePng(400, 2).toString('base64');
  const isHereAt = whole.indexOf(last) + last.length + 1;
  const places = Array.from({ length: Math.ceil(text.length / 23) }, (_, step) => head + 23 * step);
  for (const at of [...places, isHereAt - 1, isHereAt]) {
    const server = await serve([cut(whole, at, 'close'), json(200, {})]);
    const here = world(server.url);
    const { error } = await here.create(streamed).catch((thrown: GwError) => ({ error: thrown }));
    const saved = at < isHereAt ? [] : ['fox.png'];
    expect([at, (error as GwError).kind, server.requests.length, here.listing()]).toEqual([
      at,
      'unknown_outcome',
      1,
      saved,
    ]);
    expect((await here.job()).state).toBe('unknown');
  }
  const server = await serve([
    (socket) => {
      // The reply is shorter than announced, but the whole final image arrived.
      socket.end(replyBytes(200, text, { 'content-type': 'text/event-stream', 'content-length': '99999' }));
    },
  ]);
  const here = world(server.url);
  const { files, error, status } = await here.create({ ...streamed, keepPartials: true });
  expect([files.length, error, status]).toEqual([1, undefined, 'succeeded']);
  expect(here.warnings).toEqual(['the stream broke off after its last image']);
});

test('where the chunks of a stream end does not matter', async () => {
  const text = events(partial(0, fakePng(100, 1)), completed(fakePng(120, 2))).replaceAll('\n', '\r\n');
  const bytes = sse(text);
  const head = bytes.length - Buffer.byteLength(text);
  for (const size of [1, 2, 3, 7, 16]) {
    const server = await serve([
      (socket) => {
        let at = 0;
        const next = () => {
          if (at >= bytes.length) return;
          const end = at < head ? head : Math.min(at + size, bytes.length);
          const piece = bytes.subarray(at, end);
          at = end;
          socket.write(piece, () => setImmediate(next));
        };
        next();
      },
    ]);
    const here = world(server.url);
    const { files, error } = await here.create(streamed);
    expect([error, files.map((file) => file.bytes)]).toEqual([undefined, [120]]);
  }
});

test('one event of many megabytes is read in time that grows with its length', async () => {
  const large = fakePng(12 * 1024 * 1024, 4);
  const server = await serve([send(sse(events(completed(large))))]);
  const here = world(server.url);
  const { files, error } = await here.create(streamed);
  expect(error).toBeUndefined();
  expect(files[0]?.bytes).toBe(large.length);
});

describe('a stream whose connection stays open is taken at its end', () => {
  test.each([
    ['[DONE]', `${events(partial(0, first), completed(final))}data: [DONE]\n\n`, 2],
    ['the last image', events(partial(0, first), completed(final)), 1],
  ])('%s', async (_, text, partialsExpected) => {
    const open = replyBytes(200, text, { 'content-type': 'text/event-stream', 'content-length': '99999' });
    const server = await serve([send(open)]);
    // Longer than a test may take, so that the silence timeout cannot end this one.
    const here = world(server.url, { silenceMs: 60_000 });
    const outcome = await here.create({ ...streamed, partialsExpected, keepPartials: true });
    expect([outcome.error, outcome.files.length, here.warnings]).toEqual([undefined, 1, []]);
  });
});

test('the name of an event counts where its JSON has no type', async () => {
  const text =
    named('image_generation.partial_image', { b64_json: b64(first) }) +
    named('image_generation.completed', { b64_json: b64(final) });
  const server = await serve([send(sse(text))]);
  const here = world(server.url);
  const { files } = await here.create(streamed);
  expect(files.map((file) => fs.readFileSync(file.path))).toEqual([final]);
});

test('an error after the first of two images is told with the ID of the request', async () => {
  const text = events(completed(first)) + named('error', { message: 'out of paint', code: 'E9' });
  const headers = { 'content-type': 'text/event-stream', 'x-request-id': 'r-1' };
  const server = await serve([send(replyBytes(200, text, headers))]);
  const { files, error } = await world(server.url).create({ ...streamed, outputsExpected: 2 });
  expect(files).toHaveLength(1);
  expect(error).toMatchObject({ kind: 'unavailable', facts: { code: 'E9', requestId: 'r-1' } });
});

test('an error that only the name of its event tells of', async () => {
  const server = await serve([send(sse(named('error', { message: 'out of paint', code: 'E9' })))]);
  const error = await errorOf<GwError>(world(server.url).create(streamed));
  expect(error.message).toContain('the gateway broke off with an error: out of paint');
});

test('a stream that ends after its partial images is called that, and not an empty body', async () => {
  const server = await serve([send(sse(events(partial(0, first))))]);
  const error = await errorOf<GwError>(world(server.url).create(streamed));
  expect(error).toMatchObject({ kind: 'unknown_outcome' });
  expect(error.message).toContain('the stream ended without the finished image');
});

test('partial images stand beside the image that they became', async () => {
  const text = events(partial(0, first), completed(first), partial(0, second), completed(second));
  const server = await serve([send(sse(text))]);
  const here = world(server.url);
  const { partials } = await here.create({
    ...streamed,
    outputsExpected: 2,
    partialsExpected: 1,
    keepPartials: true,
    ...saveTo(here, 'x-{index}.{ext}'),
  });
  expect(partials.map((file) => path.basename(file))).toEqual(['x-1.partial-1.png', 'x-2.partial-1.png']);
  expect(
    (await here.job()).files.map(({ role, path: file, type }) => [role, path.basename(file), type]),
  ).toEqual(
    [
      ['image', 'x-1.png'],
      ['image-2', 'x-2.png'],
      ['partial-1', 'x-1.partial-1.png'],
      ['image-2-partial-1', 'x-2.partial-1.png'],
    ].map((each) => [...each, 'image/png']),
  );
});

test('an image in an event that gw does not know is the result, where no other came', async () => {
  const unknown = { type: 'image.ready', output: { image_base64: b64(final) } };
  const server = await serve([send(sse(events(partial(0, first), unknown)))]);
  const here = world(server.url);
  expect((await here.create(streamed)).files.map((file) => file.bytes)).toEqual([final.length]);
  const both = await serve([send(sse(events(unknown, completed(first))))]);
  const there = world(both.url);
  expect((await there.create(streamed)).files.map((file) => file.bytes)).toEqual([first.length]);
  expect(there.listing()).toEqual(['fox.png']);
});

test('one of several images that failed keeps its place, and is told of', async () => {
  const text =
    named('image_generation.partial_succeeded', { b64_json: b64(first) }) +
    named('image_generation.partial_failed', { error: { message: 'blocked' } }) +
    named('image_generation.partial_succeeded', { b64_json: b64(second) }) +
    named('image_generation.completed', { usage: { total_tokens: 5 } });
  const server = await serve([send(sse(text))]);
  const here = world(server.url);
  const { files, error } = await here.create({
    ...streamed,
    outputsExpected: 3,
    ...saveTo(here, 'x-{index}.{ext}'),
  });
  expect([error, files.map(({ role }) => role)]).toEqual([undefined, ['image', 'image-3']]);
  expect(here.listing()).toEqual(['x-1.png', 'x-3.png']);
  expect(here.warnings).toEqual(['2 of 3 images came: blocked']);
});
