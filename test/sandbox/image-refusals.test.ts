import { describe, expect, it } from 'vitest';
import { readImageSize } from '../../src/sandbox/media-check.ts';
import { heif, pngHead } from '../media/fixtures.ts';
import { ask, auth, json, key, sandbox } from './fixture.ts';
import {
  editsPath,
  generate,
  generationsPath,
  nativePath,
  png,
  post,
  postForm,
  prompt,
} from './image-fixture.ts';

// Refusals of the image endpoints over raw HTTP: the status, the code, and the field that the message names. What breaks a rule
// of a body as JSON is sent by test/wire/creates.test.ts.

const fast = { speed: Number.POSITIVE_INFINITY };
const url = 'https://example.com/a.png';
const file = await png();
const notAnImage = `data:image/png;base64,${Buffer.from('<html>not found</html>').toString('base64')}`;

it('an image is measured by its own bytes, not by what lies beside them in memory', async () => {
  const picture = heif('heic', 'mif1heic', 1200, 800);
  const [junk, small] = [Buffer.alloc(80), heif('heic', 'mif1heic', 40, 30)];
  for (const [bytes, size] of [
    [junk, undefined],
    [small, { width: 40, height: 30 }],
  ] as const) {
    const beside = Buffer.concat([picture, bytes]).subarray(picture.length);
    const found = await readImageSize(beside);
    expect(found && { width: found.width, height: found.height }).toEqual(size);
  }
  expect(await readImageSize(pngHead(10, 10).subarray(0, 18))).toBeUndefined();
});

describe('a generation is refused', () => {
  const refused: readonly (readonly [why: string, body: object, message: RegExp])[] = [
    ['a model that is misspelled', { model: 'img-22' }, /model: img-22 is not an image model; img-2, /],
    ['a size that cannot be read', { model: 'sandbox-image-1', size: 'huge' }, /size: not auto/],
    ['a size beyond all models', { model: 'sandbox-image-1', size: '9000x9000' }, /size: at most 16777216/],
    [
      'an edge beyond all formats',
      { model: 'sandbox-image-1', size: '16384x16' },
      /size: edges of at most 16383/,
    ],
    ['a model of another kind', { model: 'geo-3.6-flash' }, /model: geo-3.6-flash is not an image model/],
    ['partial images without a stream', { model: 'img-2', partial_images: 1 }, /partial_images: /],
    [
      'Base64 that is no image',
      { model: 'sandbox-image-1', image: [notAnImage] },
      /image\[0\]: the data are not an image/,
    ],
    [
      'plain Base64 that is no image',
      { model: 'delta-image-4-0-250828', image: 'A'.repeat(80) },
      /image: the data are not/,
    ],
    [
      'a prompt that moderation blocks',
      { model: 'img-2', prompt: 'a sensitive-prompt' },
      /content moderation/,
    ],
  ];
  it.each(refused)('for %s', async (_, body, message) => {
    const at = await sandbox({ ...fast, strict: true });
    const answer = await generate(at, body);
    expect(answer.status, answer.text.slice(0, 300)).toBe(400);
    expect(json(answer).error).toMatchObject({
      message: expect.stringMatching(message),
      type: 'invalid_request_error',
    });
    expect(at.requests.map(({ acceptedTaskId }) => acceptedTaskId)).toEqual([undefined]);
  });

  it('for a wrong key, a wrong method, and a form', async () => {
    const at = await sandbox(fast);
    const headers = { 'content-type': 'application/json' };
    const body = JSON.stringify({ model: 'img-2', prompt });
    const wrong = { ...headers, authorization: 'Bearer no' };
    const restricted = { ...headers, authorization: `Bearer ${key}-restricted` };
    const to = `${at.baseUrl}${generationsPath}`;
    expect((await ask(to, { method: 'POST', headers, body })).status).toBe(401);
    expect((await ask(to, { method: 'POST', headers: wrong, body })).status).toBe(401);
    expect((await ask(to, { method: 'POST', headers: restricted, body })).status).toBe(403);
    expect((await ask(to, { headers: auth })).status).toBe(404);
    const form = { ...auth, 'content-type': 'multipart/form-data; boundary=x' };
    const asForm = await ask(to, { method: 'POST', headers: form, body: '--x--\r\n' });
    expect([asForm.status, json(asForm).error.code]).toEqual([400, 'InvalidContentType']);
  });
});

describe('an edit is refused', () => {
  const images = [{ image_url: url }];
  const refused: readonly (readonly [why: string, body: object, message: RegExp])[] = [
    ['an empty prompt', { model: 'img-2', images, prompt: '' }, /prompt: the prompt is empty/],
    [
      'a file that is not known',
      { model: 'img-2', images: [{ file_id: 'upload-1' }] },
      /images\[0\]\.file_id: there is no file upload-1/,
    ],
    ['a mask that is not known', { model: 'img-2', images, mask: { file_id: 'x' } }, /mask\.file_id: /],
    [
      'a mask that is no image',
      { model: 'img-2', images, mask: { image_url: notAnImage } },
      /mask\.image_url: the data/,
    ],
    [
      'an image that is none',
      { model: 'img-2', images: [{ image_url: notAnImage }] },
      /images\[0\]\.image_url: the data/,
    ],
  ];
  it.each(refused)('for %s', async (_, body, message) => {
    const at = await sandbox(fast);
    const answer = await post(at, editsPath, { prompt, ...body });
    expect(answer.status, answer.text.slice(0, 300)).toBe(400);
    expect(json(answer).error.message).toMatch(message);
  });

  type Parts = Parameters<typeof postForm>[1];
  const base: Parts = [
    ['model', 'img-2'],
    ['prompt', prompt],
  ];
  const forms: readonly (readonly [why: string, parts: Parts, message: RegExp])[] = [
    ['no image', base, /image\[\]: at least one/],
    [
      'an image under another name',
      [...base, ['image', file]],
      /image: no file is taken here; images go into image\[\]/,
    ],
    ['an image as text', [...base, ['image[]', 'a.png']], /image\[\]: not a file/],
    ['two masks', [...base, ['image[]', file], ['mask', file], ['mask', file]], /mask: one mask/],
    ['a mask that is no image', [...base, ['image[]', file], ['mask', Buffer.from('x')]], /mask: the data/],
    [
      'a second image that is none',
      [...base, ['image[]', file], ['image[]', Buffer.from('x')]],
      /image\[\]\[1\]: the data/,
    ],
    ['a field twice', [...base, ['image[]', file], ['n', '1'], ['n', '2']], /n: given 2 times/],
    ['a field that is not listed', [...base, ['image[]', file], ['seed', '1']], /seed: not a parameter/],
    ['a number in words', [...base, ['image[]', file], ['n', 'two']], /^Invalid parameter n: /],
    ['a switch in words', [...base, ['image[]', file], ['stream', 'yes']], /stream: /],
    [
      '17 images',
      [...base, ...Array.from({ length: 17 }, () => ['image[]', file] as const)],
      /images: up to 16/,
    ],
    [
      'no prompt',
      [
        ['model', 'img-2'],
        ['image[]', file],
      ],
      /prompt: /,
    ],
  ];
  it.each(forms)('as a form for %s', async (_, parts, message) => {
    const at = await sandbox({ ...fast, strict: true });
    const answer = await postForm(at, parts);
    expect(answer.status, answer.text.slice(0, 300)).toBe(400);
    expect(json(answer).error.message).toMatch(message);
  });

  it('as a form that breaks off', async () => {
    const at = await sandbox(fast);
    const headers = { ...auth, 'content-type': 'multipart/form-data; boundary=x' };
    const body = '--x\r\nContent-Disposition: form-data; name="model"\r\n\r\nimg-2';
    const answer = await ask(`${at.baseUrl}${editsPath}`, { method: 'POST', headers, body });
    expect([answer.status, json(answer).error.code]).toEqual([400, 'InvalidRequest']);
  });
});

describe('a native image is refused', () => {
  const parts = [{ text: 'a boat' }];
  const refused: readonly (readonly [why: string, body: object, message: RegExp])[] = [
    ['no parts', { contents: [{ parts: [] }] }, /contents\[0\]\.parts: /],
    ['no prompt', { contents: [{ parts: [{ text: ' ' }] }] }, /contents: a prompt/],
    ['an unknown role', { contents: [{ role: 'system', parts }] }, /contents\[0\]\.role: /],
    ['a part of nothing', { contents: [{ parts: [...parts, {}] }] }, /contents\[0\]\.parts\[1\]: /],
    [
      'Base64 that is none',
      { contents: [{ parts: [{ inlineData: { mimeType: 'image/png', data: '%' } }] }] },
      /inlineData\.data: /,
    ],
    [
      'data that are no image',
      { contents: [{ parts: [...parts, { inlineData: { mimeType: 'image/png', data: 'AAAA' } }] }] },
      /parts\[1\]\.inlineData\.data: the data/,
    ],
    [
      'a size in lower case',
      { contents: [{ parts }], generationConfig: { imageConfig: { imageSize: '2k' } } },
      /imageSize: /,
    ],
    [
      'a shape that is none',
      { contents: [{ parts }], generationConfig: { imageConfig: { aspectRatio: 'wide' } } },
      /aspectRatio: /,
    ],
  ];
  it.each(refused)('for %s', async (_, body, message) => {
    const at = await sandbox(fast);
    const answer = await post(at, nativePath('img-2'), body);
    expect(answer.status, answer.text.slice(0, 300)).toBe(400);
    expect(json(answer).error.message).toMatch(message);
  });

  it('for a model that is none', async () => {
    const at = await sandbox(fast);
    const answer = await post(at, nativePath('img-0'), { contents: [{ parts }] });
    expect([answer.status, json(answer).error.code]).toEqual([400, 'ModelNotFound']);
  });
});
