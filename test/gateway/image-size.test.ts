import { describe, expect, test } from 'vitest';
import { imageModels } from '../../src/gateway/image/models.ts';
import { nearestSize, parseImageSize, takesSize } from '../../src/gateway/image/size.ts';

/** Pseudo-random numbers, the same for the same seed. */
function* numbers(seed: number): Generator<number, never> {
  let state = seed;
  for (;;) {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    yield state / 2 ** 32;
  }
}

describe.each(Object.entries(imageModels))('the sizes of %s', (_, { size: rule }) => {
  test('the nearest size is one that the model takes, whatever was typed', () => {
    const random = numbers(7);
    const edge = () => Math.max(1, Math.round(10 ** (random.next().value * 5.9)));
    for (let round = 0; round < 2000; round += 1) {
      const typed = `${edge()}x${edge()}`;
      const near = nearestSize(rule, typed);
      expect(near === undefined ? typed : takesSize(rule, near), `${typed} -> ${near}`).toBe(true);
    }
  });

  test('the nearest of a size that is taken is that size', () => {
    const taken = ['1024x1024', '2048x2048', '1536x1024', '256x256', '1792x1024', '2000x2000', '3840x2160'];
    for (const size of taken.filter((each) => takesSize(rule, each)))
      expect(nearestSize(rule, size)).toBe(size);
  });
});

test.each([
  ['img-2', '1000x1000', '1008x1008'],
  ['img-2', '1024X1024', '1024x1024'],
  ['img-2', '1024*768', '1024x768'],
  ['img-2', '1920x1080', '1920x1088'],
  ['img-2', '4096x4096', '2880x2880'],
  ['img-2', '7680x4320', '3840x2160'],
  ['img-2', 'AUTO', 'auto'],
  ['img-2', 'large', undefined],
  ['legacy-image-3', '1920x1080', '1792x1024'],
  ['legacy-image-2', '300x300', '256x256'],
  ['delta-image-5-0-pro-260628', '1.5k', '1.5K'],
  ['delta-image-5-0-pro-260628', '4096x4096', '2150x2150'],
  ['delta-image-4-5-251128', '1920x1080', '2560x1440'],
])('%s: %s is nearest to %s', (model, typed, nearest) => {
  const rule = imageModels[model]?.size ?? { words: [] };
  expect(nearestSize(rule, typed)).toBe(nearest);
});

test.each(['0x1', '01x1', '1x', 'x1', '1x1x1', '1 x 1', '-1x1', '1e3x1', '1234567x1', ''])(
  '%j is no size',
  (text) => {
    expect(parseImageSize(text)).toBeUndefined();
  },
);
