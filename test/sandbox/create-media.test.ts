import { describe, expect, it } from 'vitest';
import { audio, bodyOf, create, image, json, models, pngUri, sandbox, text, wavUri } from './fixture.ts';

// Media that come as Base64. test/wire/creates.test.ts sends the literal requests for every other rule.

const v25 = (over: Record<string, unknown> = {}) => bodyOf({ model: models['2.5'], ...over });

describe('the media of a create request', () => {
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
