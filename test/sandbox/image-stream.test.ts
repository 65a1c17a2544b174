import { imageSize } from 'image-size';
import { describe, expect, it } from 'vitest';
import { parseFaults } from '../../src/sandbox/faults.ts';
import { Canvas } from '../../src/sandbox/image/draw.ts';
import { inSteps } from '../../src/sandbox/image/order.ts';
import { type Answer, ask, CutReply, json, sandbox } from './fixture.ts';
import { editsPath, generate, png, postForm } from './image-fixture.ts';

// Streamed images over raw HTTP, and the effects of create faults on them.

const fast = { speed: Number.POSITIVE_INFINITY };
const body = { model: 'img-2', size: '256x128', stream: true };

// biome-ignore lint/suspicious/noExplicitAny: events are looked at field by field, each expectation is the check
const eventsOf = (answer: Answer): any[] =>
  answer.text
    .split('\n\n')
    .filter((event) => event !== '')
    .map((event) => {
      const [, type, data] = /^event: (\S+)\ndata: (.*)$/.exec(event) ?? [];
      const value = JSON.parse(data ?? '');
      expect(value.type).toBe(type);
      return value;
    });

const typesOf = (answer: Answer) => eventsOf(answer).map(({ type }) => type);
const partial = 'image_generation.partial_image';
const completed = 'image_generation.completed';

describe('a stream of images', () => {
  it.each([0, 1, 2, 3])('sends %i unfinished images and a finished one', async (partials) => {
    const at = await sandbox(fast);
    const answer = await generate(at, { ...body, partial_images: partials, output_format: 'webp' });
    expect(answer.headers['content-type']).toBe('text/event-stream');
    const events = eventsOf(answer);
    expect(events.map(({ type }) => type)).toEqual([...Array(partials).fill(partial), completed]);
    expect(events.slice(0, -1).map((event) => event.partial_image_index)).toEqual(
      [0, 1, 2].slice(0, partials),
    );
    for (const { b64_json: base64, ...fields } of events) {
      expect(imageSize(Buffer.from(base64, 'base64'))).toMatchObject({
        type: 'webp',
        width: 256,
        height: 128,
      });
      expect(fields).toMatchObject({
        created_at: expect.any(Number),
        background: 'opaque',
        output_format: 'webp',
        quality: 'high',
        size: '256x128',
      });
    }
    expect(new Set(events.map((event) => event.b64_json)).size).toBe(partials + 1);
    expect(events.at(-1).usage.output_tokens).toBe(130 + 100 * partials);
  });

  it('draws an unfinished image in twice the blocks of the one before it, the last in 48', () => {
    const canvas = new Canvas(480, 8);
    canvas.pixels.set(Array.from({ length: 480 * 8 }, (_, at) => at % 480));
    const blocks = [0, 1, 2].map((step) => new Set(inSteps(canvas, step, 3).pixels).size);
    expect(blocks).toEqual([12, 24, 48]);
  });

  it('ends with the image that comes unstreamed', async () => {
    const at = await sandbox(fast);
    const [final] = eventsOf(await generate(at, body));
    const [whole] = json(await generate(at, { ...body, stream: false })).data;
    expect(final.b64_json).toBe(whole.b64_json);
  });

  it('sends the finished image first where the prompt asks for it', async () => {
    const at = await sandbox(fast);
    const answer = await generate(at, { ...body, prompt: 'a boat, final-first', partial_images: 2 });
    expect(typesOf(answer)).toEqual([completed, partial, partial]);
  });

  it('sends several images one after the other', async () => {
    const at = await sandbox(fast);
    const answer = await generate(at, { ...body, n: 2, partial_images: 1 });
    expect(typesOf(answer)).toEqual([partial, completed, partial, completed]);
  });

  it('of an edit has events of its own names', async () => {
    const at = await sandbox(fast);
    const answer = await postForm(at, [
      ['model', 'img-2'],
      ['prompt', 'x'],
      ['size', '64x64'],
      ['stream', 'true'],
      ['partial_images', '1'],
      ['image[]', await png()],
    ]);
    expect(typesOf(answer)).toEqual(['image_edit.partial_image', 'image_edit.completed']);
  });
});

describe('the faults of creates', () => {
  const withFault = (fault: string) => sandbox({ ...fast, faults: parseFaults(fault) });

  it('refuse an image before it is taken', async () => {
    const at = await withFault('create:429+7:x1,create:503');
    const first = await generate(at, body);
    expect([first.status, first.headers['retry-after']]).toEqual([429, '7']);
    expect((await generate(at, body)).status).toBe(503);
    expect(at.requests.every(({ acceptedTaskId }) => acceptedTaskId === undefined)).toBe(true);
  });

  it.each(['reset-after', 'cut', 'garbage', 'empty'])(
    'lose the reply of one that was taken: %s',
    async (what) => {
      const at = await withFault(`create:${what}`);
      const answer = await generate(at, { model: 'img-2', size: '64x64' }).catch((error: unknown) => error);
      if (what === 'cut') expect(answer).toBeInstanceOf(CutReply);
      expect(at.requests[0]?.acceptedTaskId).toMatch(/^img-/);
    },
  );

  it('strike the fetching of an image', async () => {
    const at = await withFault('output:expired:x1');
    const [{ url }] = json(await generate(at, { model: 'legacy-image-2', size: '256x256' })).data;
    expect((await ask(url)).status).toBe(403);
    expect((await ask(url)).status).toBe(200);
  });

  it('bend a stream', async () => {
    const at = await withFault('create:no-end:x1,create:end-twice:x1,create:plain-json:x1');
    const streamed = { ...body, partial_images: 1 };
    expect(typesOf(await generate(at, streamed))).toEqual([partial]);
    expect(typesOf(await generate(at, streamed))).toEqual([partial, completed, completed]);
    const plain = await generate(at, streamed);
    expect(plain.headers['content-type']).toContain('application/json');
    expect(json(plain).data).toHaveLength(1);
  });

  it('end a stream with an error', async () => {
    const at = await withFault('create:error-event');
    const answer = await generate(at, { ...body, partial_images: 1 });
    expect(typesOf(answer)).toEqual([partial, 'error']);
  });
});

it('keeps its edits apart from its generations in the log', async () => {
  const at = await sandbox(fast);
  await postForm(at, [
    ['model', 'img-2'],
    ['prompt', 'x'],
    ['size', '64x64'],
    ['image[]', await png()],
  ]);
  expect(at.requests).toMatchObject([
    {
      path: editsPath,
      body: { fields: { prompt: ['x'] }, files: [{ field: 'image[]', name: 'image.png' }] },
    },
  ]);
});
