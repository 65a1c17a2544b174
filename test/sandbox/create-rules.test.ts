import { describe, expect, it } from 'vitest';
import {
  audio,
  bodyOf,
  create,
  image,
  json,
  models,
  pngUri,
  sandbox,
  text,
  video,
  wavUri,
} from './fixture.ts';

// Literal requests for the rules of the gateway's document: those that are accepted, and the refused ones with the named field.
const v25 = (over: Record<string, unknown> = {}) => bodyOf({ model: models['2.5'], ...over });
const many = <T>(count: number, item: T) => Array.from({ length: count }, () => item);
const reference = image('reference_image');

const taken: [string, Record<string, unknown>][] = [
  ['a prompt alone', bodyOf()],
  ['empty content', bodyOf({ content: [] })],
  ['a blank prompt', bodyOf({ content: [text('  ')] })],
  [
    'every setting of standard 2.0',
    bodyOf({
      resolution: '4k',
      ratio: '21:9',
      duration: 15,
      watermark: true,
      return_last_frame: true,
      generate_audio: true,
    }),
  ],
  ['fast at 720p', bodyOf({ model: models.fast, resolution: '720p', duration: 4 })],
  ['mini at 480p', bodyOf({ model: models.mini, resolution: '480p' })],
  ['2.5 with mov, 30 s, 1080p', v25({ output_format: 'mov', duration: 30, resolution: '1080p' })],
  ['2.5 with a length of its own choice', v25({ duration: -1 })],
  ['web search on 2.0', bodyOf({ tools: [{ type: 'web_search' }] })],
  ['9 images on 2.0', bodyOf({ content: [text('x'), ...many(9, reference)] })],
  [
    '50 references on 2.5',
    v25({ content: [text('x'), ...many(30, reference), ...many(10, video()), ...many(10, audio())] }),
  ],
  ['a first frame on 2.0', bodyOf({ content: [text('x'), image('first_frame')] })],
  [
    'first and last frame on 2.5',
    v25({ ratio: 'adaptive', content: [text('x'), image('first_frame'), image('last_frame')] }),
  ],
  [
    'an edit',
    v25({ content: [text('x'), video()], omni_reference_task_type: 'edit', ratio: 'adaptive', duration: -1 }),
  ],
  [
    'an extension',
    v25({
      content: [text('x'), video()],
      omni_reference_task_type: 'extend',
      ratio: 'adaptive',
      duration: 8,
    }),
  ],
  ['audio alone on 2.5', v25({ content: [audio()] })],
  [
    'an asset of the sandbox',
    bodyOf({ content: [text('x'), image('reference_image', 'asset://asset-sandbox-image-1')] }),
  ],
];

const refused: [string, Record<string, unknown>, string][] = [
  ['no model', { content: [text('x')] }, 'model'],
  ['a misspelled model', bodyOf({ model: 'alpha-video-2-0' }), 'model'],
  ['a short name', bodyOf({ model: '2.5' }), 'model'],
  ['no content', { model: models.standard }, 'content'],
  ['an unknown field', bodyOf({ fps: 24 }), 'fps'],
  ['an unknown field in content', bodyOf({ content: [{ ...text('x'), weight: 1 }] }), 'content[0].weight'],
  ['an unknown type of content', bodyOf({ content: [{ type: 'speech', text: 'x' }] }), 'content[0].type'],
  [
    'no such role',
    bodyOf({
      content: [
        text('x'),
        { type: 'image_url', image_url: { url: 'https://example.com/a.png' }, role: 'mask' },
      ],
    }),
    'content[1].role',
  ],
  [
    'a role of another modality',
    bodyOf({ content: [text('x'), { ...video(), role: 'reference_image' }] }),
    'content[1].role',
  ],
  ['3 s', bodyOf({ duration: 3 }), 'duration'],
  ['16 s on 2.0', bodyOf({ duration: 16 }), 'duration'],
  ['31 s on 2.5', v25({ duration: 31 }), 'duration'],
  ['-1 on 2.0', bodyOf({ duration: -1 }), 'duration'],
  ['half a second', bodyOf({ duration: 5.5 }), 'duration'],
  ['a duration as text', bodyOf({ duration: '5' }), 'duration'],
  ['4k on fast', bodyOf({ model: models.fast, resolution: '4k' }), 'resolution'],
  ['1080p on mini', bodyOf({ model: models.mini, resolution: '1080p' }), 'resolution'],
  ['4k on 2.5', v25({ resolution: '4k' }), 'resolution'],
  ['4K as written elsewhere', bodyOf({ resolution: '4K' }), 'resolution'],
  ['an unknown ratio', bodyOf({ ratio: '2:1' }), 'ratio'],
  ['adaptive on 2.0', bodyOf({ ratio: 'adaptive' }), 'ratio'],
  ['a format on 2.0', bodyOf({ output_format: 'mp4' }), 'output_format'],
  ['a last frame of the output on 2.5', v25({ return_last_frame: true }), 'return_last_frame'],
  ['a task type on 2.0', bodyOf({ omni_reference_task_type: 'auto' }), 'omni_reference_task_type'],
  ['web search on 2.5', v25({ tools: [{ type: 'web_search' }] }), 'tools'],
  [
    'web search with an image',
    bodyOf({ content: [text('x'), reference], tools: [{ type: 'web_search' }] }),
    'tools',
  ],
  ['two tools', bodyOf({ tools: many(2, { type: 'web_search' }) }), 'tools'],
  ['10 images on 2.0', bodyOf({ content: [text('x'), ...many(10, reference)] }), 'content'],
  ['4 videos on 2.0', bodyOf({ content: [text('x'), ...many(4, video())] }), 'content'],
  ['31 images on 2.5', v25({ content: [text('x'), ...many(31, reference)] }), 'content'],
  ['audio alone on 2.0', bodyOf({ content: [audio()] }), 'content'],
  ['text and audio on 2.0', bodyOf({ content: [text('x'), audio()] }), 'content'],
  ['a last frame alone', bodyOf({ content: [text('x'), image('last_frame')] }), 'content'],
  [
    'two first frames',
    bodyOf({ content: [text('x'), image('first_frame'), image('first_frame')] }),
    'content',
  ],
  [
    'a first frame on 2.5 with a fixed ratio',
    v25({ ratio: '16:9', content: [text('x'), image('first_frame')] }),
    'ratio',
  ],
  [
    'an edit of 8 s',
    v25({ content: [text('x'), video()], omni_reference_task_type: 'edit', ratio: 'adaptive', duration: 8 }),
    'duration',
  ],
  [
    'an edit without a video',
    v25({ omni_reference_task_type: 'edit', ratio: 'adaptive', duration: -1 }),
    'omni_reference_task_type',
  ],
  [
    'an extension in 16:9',
    v25({ content: [text('x'), video()], omni_reference_task_type: 'extend', ratio: '16:9' }),
    'ratio',
  ],
  [
    'a bare asset ID',
    bodyOf({ content: [text('x'), image('reference_image', 'asset-sandbox-image-1')] }),
    'content[1].image_url.url',
  ],
  [
    'a video as Base64',
    bodyOf({ content: [text('x'), video('data:video/mp4;base64,AAAA')] }),
    'content[1].video_url.url',
  ],
  [
    'a file address',
    bodyOf({ content: [text('x'), video('file:///etc/passwd')] }),
    'content[1].video_url.url',
  ],
  [
    'an asset that does not exist',
    bodyOf({ content: [text('x'), video('asset://asset-1')] }),
    'content[1].video_url.url',
  ],
  [
    'an asset ID in the prompt',
    bodyOf({
      content: [
        text('like asset-sandbox-image-1'),
        image('reference_image', 'asset://asset-sandbox-image-1'),
      ],
    }),
    'content[0].text',
  ],
];

describe('the rules of a create request', () => {
  it.each(taken)('takes %s', async (_, body) => {
    const at = await sandbox();
    const answer = await create(at, body);
    expect(answer.text).toContain('"status":"queued"');
    expect(answer.status).toBe(200);
    expect(at.tasks()).toHaveLength(1);
  });

  it.each(refused)('refuses %s', async (_, body, field) => {
    const at = await sandbox({ strict: true });
    const answer = await create(at, body);
    const { error } = json(answer);
    expect([answer.status, error.type, error.code]).toEqual([
      400,
      'invalid_request_error',
      'InvalidParameter',
    ]);
    expect(error.message).toMatch(new RegExp(`^Invalid parameter ${field.replace(/[[\]]/g, '\\$&')}[:.]`));
    expect(error.message.length).toBeGreaterThan(field.length + 25);
    expect(at.tasks()).toEqual([]);
  });

  const withImage = (url: string) => v25({ content: [text('x'), image('reference_image', url)] });
  it.each<[string, () => Promise<Record<string, unknown>>, string | undefined]>([
    ['a good image', async () => withImage(await pngUri(300, 400)), undefined],
    [
      'an image of 299 px',
      async () => withImage(await pngUri(299, 400)),
      '299x400; width and height must be 300-6000 px',
    ],
    ['an image of 6001 px', async () => withImage(await pngUri(6001, 2500)), '6001x2500'],
    [
      'a narrow image',
      async () => withImage(await pngUri(300, 800)),
      'width divided by height must be 0.4-2.5',
    ],
    ['no image at all', async () => withImage('data:image/png;base64,PGh0bWw+'), 'not an image'],
    ['good audio', async () => v25({ content: [audio(wavUri(2))] }), undefined],
    ['audio of 1 s', async () => v25({ content: [audio(wavUri(1))] }), '1.0 s long, 2-30 s are taken'],
    [
      '31 s of audio in sum',
      async () => v25({ content: [audio(wavUri(16)), audio(wavUri(15))] }),
      'at most 30 s in total',
    ],
    [
      'no audio at all',
      async () => v25({ content: [audio('data:audio/mpeg;base64,PGh0bWw+')] }),
      'not audio',
    ],
    [
      'a small image on 2.0, where no limits are stated',
      async () => bodyOf({ content: [text('x'), image('reference_image', await pngUri(10, 10))] }),
      undefined,
    ],
  ])('looks into Base64: %s', async (_, body, rule) => {
    const at = await sandbox();
    const answer = await create(at, await body());
    expect(answer.status).toBe(rule === undefined ? 200 : 400);
    if (rule !== undefined)
      expect(json(answer).error).toMatchObject({
        code: 'InvalidParameter',
        message: expect.stringContaining(rule),
      });
  });

  it('takes an image of many megabytes', async () => {
    const at = await sandbox();
    const png = Buffer.concat([
      Buffer.from((await pngUri(400, 400)).split(',')[1] ?? '', 'base64'),
      Buffer.alloc(20 * 1024 * 1024),
    ]);
    const answer = await create(at, withImage(`data:image/png;base64,${png.toString('base64')}`));
    expect(answer.status, answer.text.slice(0, 300)).toBe(200);
  });
});
