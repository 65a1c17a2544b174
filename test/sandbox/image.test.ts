import { imageSize } from 'image-size';
import { describe, expect, it } from 'vitest';
import { sandboxImageModels } from '../../src/sandbox/image/order.ts';
import { newDir } from '../helpers/new-dir.ts';
import { ask, auth, handClock, json, sandbox } from './fixture.ts';
import {
  editsPath,
  generate,
  imagesOf,
  judged,
  nativePath,
  pixels,
  png,
  post,
  postForm,
  prompt,
} from './image-fixture.ts';

// Images of the sandbox, checked with an image library and ffprobe.

const fast = { speed: Number.POSITIVE_INFINITY };

/** The request, and the image that it must get. */
const cases: readonly (readonly [body: object, image: string])[] = [
  [{ model: 'img-2' }, 'png 1024x1024'],
  [{ model: 'img-2', size: 'auto', prompt: 'a wide valley' }, 'png 1536x1024'],
  [{ model: 'img-2', size: 'auto', prompt: 'a portrait of a fox' }, 'png 1024x1536'],
  [{ model: 'img-2-2026-04-21', size: '1536x1024', output_format: 'jpeg' }, 'jpg 1536x1024'],
  [{ model: 'img-2.5-sunburst', size: '64x96', output_format: 'webp' }, 'webp 64x96'],
  [{ model: 'img-2.5-flare', size: '16x16' }, 'png 16x16'],
  [{ model: 'img-2.5-flare', size: '48x16', output_format: 'webp' }, 'webp 48x16'],
  [{ model: 'img-2.5-flare', size: '16x48', output_format: 'jpeg' }, 'jpg 16x48'],
  [{ model: 'img-2.5-flare-2026-09-08', size: '3840x2160' }, 'png 3840x2160'],
  [{ model: 'img-2.5-sunburst-2026-09-08', size: '96x64', output_format: 'jpeg' }, 'jpg 96x64'],
  [{ model: 'legacy-image-2' }, 'png 1024x1024'],
  [{ model: 'legacy-image-2', size: '256x256', response_format: 'b64_json' }, 'png 256x256'],
  [{ model: 'legacy-image-2', size: '512x512', response_format: 'url' }, 'png 512x512'],
  [{ model: 'legacy-image-3', size: '1792x1024', style: 'vivid', quality: 'hd' }, 'png 1792x1024'],
  [{ model: 'legacy-image-3', size: '1024x1792', response_format: 'b64_json' }, 'png 1024x1792'],
  [{ model: 'delta-image-4-0-250828' }, 'jpg 2048x2048'],
  [{ model: 'delta-image-4-0-250828', size: '1K' }, 'jpg 1024x1024'],
  [{ model: 'delta-image-4-5-251128', size: '4K' }, 'jpg 4096x4096'],
  [{ model: 'delta-image-5-0-lite-260128', size: '3K' }, 'jpg 3072x3072'],
  [{ model: 'delta-image-5-0-pro-260628' }, 'jpg 2048x2048'],
  [{ model: 'delta-image-4-0-250828', size: '240x3840' }, 'jpg 240x3840'],
  [{ model: 'sandbox-image-1', size: '64x64', output_format: 'webp' }, 'webp 64x64'],
];

describe('an image of the sandbox', { tags: ['ffmpeg', 'file'] }, () => {
  it('has the requested type and size, or those of its model', async () => {
    const at = await sandbox(fast);
    const images: Buffer[] = [];
    const replies: string[] = [];
    for (const [body] of cases) {
      const answer = await generate(at, body);
      const [image = Buffer.alloc(0), ...more] = await imagesOf(answer);
      expect(more).toEqual([]);
      images.push(image);
      const { size, output_format: format } = json(answer);
      replies.push(`${format === 'jpeg' ? 'jpg' : format} ${size}`);
    }
    const judgements = await judged(images);
    expect(cases.map(([body], nth) => [body, replies[nth], ...(judgements[nth] ?? [])])).toEqual(
      cases.map(([body, expected]) => [body, ...Array(4).fill(expected)]),
    );
  });

  it.each(['png', 'webp'])('is transparent around its card as %s, and opaque else', async (output_format) => {
    const at = await sandbox(fast);
    const body = { model: 'img-2.5-flare', size: '256x256', output_format };
    const [clear] = await imagesOf(await generate(at, { ...body, background: 'transparent' }));
    const [full] = await imagesOf(await generate(at, body));
    const alphas = (raw: Buffer) => ({ corner: raw[3], middle: raw[4 * (128 * 256 + 128) + 3] });
    expect(alphas(await pixels(clear ?? Buffer.alloc(0)))).toEqual({ corner: 0, middle: 255 });
    expect(alphas(await pixels(full ?? Buffer.alloc(0)))).toEqual({ corner: 255, middle: 255 });
  });
});

const dataUrl = (bytes: Uint8Array, type = 'png') =>
  `data:image/${type};base64,${Buffer.from(bytes).toString('base64')}`;

describe('an image reply', () => {
  it('of an img model has the documented fields', async () => {
    const clock = handClock();
    const at = await sandbox({ ...fast, now: clock.now });
    const answer = await generate(at, { model: 'img-2.5-flare', size: '64x64', quality: 'low', n: 2 });
    const reply = json(answer);
    expect({ ...reply, data: reply.data.map(Object.keys) }).toEqual({
      created: clock.nowMs / 1000,
      background: 'opaque',
      output_format: 'png',
      quality: 'low',
      size: '64x64',
      data: [['b64_json'], ['b64_json']],
      usage: {
        input_tokens: 9,
        output_tokens: 4,
        total_tokens: 13,
        input_tokens_details: { image_tokens: 0, text_tokens: 9 },
        output_tokens_details: { image_tokens: 4, text_tokens: 0 },
      },
    });
    expect(reply.data[0].b64_json).not.toBe(reply.data[1].b64_json);
    expect(at.requests[0]?.acceptedTaskId).toMatch(/^img-[0-9a-f]{24}$/);
  });

  it('is the same for the same request, and another for another prompt', async () => {
    const at = await sandbox(fast);
    const ask1 = async (words: string) =>
      json(await generate(at, { model: 'img-2', size: '64x64', prompt: words })).data[0].b64_json;
    const [first, same, other] = [await ask1('a'), await ask1('a'), await ask1('b')];
    expect(same).toBe(first);
    expect(other).not.toBe(first);
  });

  it('is smaller for a stronger compression', async () => {
    const at = await sandbox(fast);
    const bytesAt = async (output_format: string, output_compression: number) => {
      const body = { model: 'img-2', size: '512x512', output_format, output_compression };
      return (await imagesOf(await generate(at, body)))[0]?.length ?? 0;
    };
    expect(await bytesAt('jpeg', 20)).toBeLessThan((await bytesAt('jpeg', 90)) / 2);
    expect(await bytesAt('webp', 20)).toBeLessThan((await bytesAt('webp', 90)) / 1.3);
  });

  it('of legacy-image-3 tells the revised prompt, of others none', async () => {
    const at = await sandbox(fast);
    const [three] = json(await generate(at, { model: 'legacy-image-3' })).data;
    expect(three).toEqual({
      url: expect.stringContaining(`${at.outputUrl}/outputs/img-`),
      b64_json: '',
      revised_prompt: expect.stringContaining(prompt),
    });
    const [two] = json(await generate(at, { model: 'legacy-image-2' })).data;
    expect(two).toEqual({ url: expect.stringContaining('signature='), b64_json: '' });
  });

  it('links to images that live 60 minutes and may be fetched as often as one likes', async () => {
    const clock = handClock();
    const at = await sandbox({ ...fast, now: clock.now });
    const answer = await generate(at, { model: 'legacy-image-2', size: '256x256', n: 2 });
    const urls: string[] = json(answer).data.map(({ url }: { url: string }) => url);
    clock.pass(60 * 60_000 - 1);
    for (let fetch = 0; fetch < 120; fetch++) expect((await ask(urls[0] ?? '')).status).toBe(200);
    const second = await ask(urls[1] ?? '');
    expect([second.status, second.headers['content-type']]).toEqual([200, 'image/png']);
    clock.pass(1);
    expect((await ask(urls[0] ?? '')).status).toBe(403);
    expect((await ask((urls[1] ?? '').replace('/2.png', '/3.png'))).status).toBe(403);
  });

  it('links across servers on one state directory', async () => {
    const stateDir = newDir();
    const [one, two] = [await sandbox({ ...fast, stateDir }), await sandbox({ ...fast, stateDir })];
    const [{ url }] = json(await generate(one, { model: 'legacy-image-2', size: '256x256' })).data;
    const there = await ask(url.replace(one.outputUrl, two.outputUrl));
    expect([there.status, there.bytes.equals((await ask(url)).bytes)]).toEqual([200, true]);
  });
});

describe('editing', () => {
  it('takes addresses, Base64 and file IDs in JSON, and counts them', async () => {
    const at = await sandbox(fast);
    const images = [
      { image_url: 'https://example.com/a.png' },
      { file_id: 'file-abc123' },
      { image_url: dataUrl(await png(600, 200)) },
    ];
    const body = { model: 'img-2', prompt: 'x', size: '64x64', images, mask: { file_id: 'file-m' } };
    const answer = await post(at, editsPath, body);
    expect(answer.status).toBe(200);
    expect(json(answer).usage.input_tokens_details).toEqual({ image_tokens: 4 * 170, text_tokens: 1 });
  });

  it('takes a form with images and a mask, and shapes auto as the first image', async () => {
    const at = await sandbox(fast);
    const answer = await postForm(at, [
      ['model', 'img-2'],
      ['prompt', 'make it night'],
      ['n', '2'],
      ['output_format', 'webp'],
      ['image[]', await png(640, 200)],
      ['image[]', await png()],
      ['mask', await png()],
    ]);
    expect(answer.status, answer.text.slice(0, 300)).toBe(200);
    expect(json(answer)).toMatchObject({ size: '1536x1024', output_format: 'webp', data: [{}, {}] });
  });

  it('takes inputs in every format, and tells them apart in its pictures', async () => {
    const at = await sandbox(fast);
    const [jpeg] = await imagesOf(
      await generate(at, { model: 'img-2', size: '64x64', output_format: 'jpeg' }),
    );
    const [webp] = await imagesOf(
      await generate(at, { model: 'img-2', size: '64x64', output_format: 'webp' }),
    );
    const gif = Buffer.from('R0lGODlhAQABAIAAAAAAAP///yH5BAEAAAAALAAAAAABAAEAAAIBRAA7', 'base64');
    const seen = new Set<string>();
    for (const [type, bytes] of Object.entries({ jpeg, webp, gif, png: await png() })) {
      const image = [dataUrl(bytes ?? Buffer.alloc(0), type)];
      const answer = await generate(at, { model: 'sandbox-image-1', image, response_format: 'b64_json' });
      expect(answer.status, `${type} ${answer.text.slice(0, 200)}`).toBe(200);
      seen.add(json(answer).data[0].b64_json);
    }
    expect(seen.size).toBe(4);
  });

  it('takes the references of delta models as one text or a list, plain Base64 too', async () => {
    const at = await sandbox(fast);
    const plain = Buffer.from(await png()).toString('base64');
    for (const image of [
      'https://example.com/a.png',
      plain,
      [dataUrl(await png()), 'https://example.com/b'],
    ]) {
      const answer = await generate(at, { model: 'delta-image-4-0-250828', size: '1K', image });
      expect(answer.status, answer.text).toBe(200);
    }
  });
});

describe('a native image', () => {
  const contents = [{ role: 'user', parts: [{ text: 'a boat' }] }];

  it('comes as inlineData, in the shape and size that imageConfig asks for', async () => {
    const at = await sandbox(fast);
    const generationConfig = { imageConfig: { aspectRatio: '16:9', imageSize: '1K' } };
    const reply = json(await post(at, nativePath('img-2'), { contents, generationConfig }));
    expect(reply.candidates[0]).toMatchObject({
      finishReason: 'STOP',
      content: {
        role: 'model',
        parts: [{ text: expect.any(String) }, { inlineData: { mimeType: 'image/png' } }],
      },
    });
    expect(reply.usageMetadata.totalTokenCount).toBe(
      reply.usageMetadata.promptTokenCount + reply.usageMetadata.candidatesTokenCount,
    );
    const bytes = Buffer.from(reply.candidates[0].content.parts[1].inlineData.data, 'base64');
    expect(imageSize(bytes)).toMatchObject({ type: 'png', width: 1360, height: 768 });
  });

  it('comes as an address from the model of the sandbox that sends addresses', async () => {
    const at = await sandbox(fast);
    const inlineData = { mimeType: 'image/png', data: Buffer.from(await png()).toString('base64') };
    const body = { contents: [{ parts: [{ text: 'a boat' }, { inlineData }] }] };
    const answer = await post(at, nativePath('sandbox-image-url-1'), body);
    const [, { fileData }] = json(answer).candidates[0].content.parts;
    const file = await ask(fileData.fileUri);
    expect([file.status, file.headers['content-type']]).toEqual([200, fileData.mimeType]);
  });

  it('is withheld where the prompt asks for a refusal', async () => {
    const at = await sandbox(fast);
    const body = { contents: [{ parts: [{ text: 'a sensitive-prompt' }] }] };
    const reply = json(await post(at, nativePath('img-2'), body));
    expect(reply.candidates).toEqual([
      { index: 0, content: { role: 'model', parts: [] }, finishReason: 'IMAGE_SAFETY' },
    ]);
  });
});

it('lists every image model', async () => {
  const at = await sandbox();
  const list = json(await ask(`${at.baseUrl}/v1/models`, { headers: auth }));
  const ids = list.data.map(({ id }: { id: string }) => id);
  expect(ids).toEqual(expect.arrayContaining(Object.keys(sandboxImageModels)));
});
