import { describe, expect, it } from 'vitest';
import { alphaModels } from '../../src/gateway/alpha/models.ts';
import { MB, type MediaLimits, type Range } from '../../src/gateway/limits.ts';
import { checkMedia, checkModality, checkTotals } from '../../src/media/check.ts';
import type { MediaFacts } from '../../src/media/probe.ts';

const media = alphaModels['alpha-video-2-5-260628']?.media ?? {};
const image: MediaFacts = {
  modality: 'image',
  format: 'png',
  mime: 'image/png',
  bytes: MB,
  widthPx: 1000,
  heightPx: 1000,
};
const video: MediaFacts = {
  ...{ modality: 'video', format: 'mp4', mime: 'video/mp4', bytes: MB, widthPx: 1280, heightPx: 720 },
  ...{ durationS: 5, framesPerS: 24, videoCodec: 'avc' },
} as const;
const audio: MediaFacts = { modality: 'audio', format: 'wav', mime: 'audio/wav', bytes: MB, durationS: 5 };

const breaches = (facts: MediaFacts, limits: MediaLimits | undefined) =>
  checkMedia(facts, limits ?? {}, '--image a');

describe('checkMedia with the limits of alpha 2.5', () => {
  it.each<[string, MediaFacts, MediaLimits | undefined]>([
    ['an ordinary image', image, media.image],
    ['the smallest edges', { ...image, widthPx: 300, heightPx: 300 }, media.image],
    ['the largest edges', { ...image, widthPx: 6000, heightPx: 6000 }, media.image],
    ['the narrowest image', { ...image, widthPx: 400, heightPx: 1000 }, media.image],
    ['the widest image', { ...image, widthPx: 2500, heightPx: 1000 }, media.image],
    ['one byte under 30 MB', { ...image, bytes: 30 * MB - 1 }, media.image],
    ['an ordinary video', video, media.video],
    ['200 MB of video', { ...video, bytes: 200 * MB }, media.video],
    ['2 s', { ...video, durationS: 2 }, media.video],
    ['30 s', { ...video, durationS: 30 }, media.video],
    ['30 s and a frame of rounding', { ...video, durationS: 30.04 }, media.video],
    ['60 frames a second', { ...video, framesPerS: 60.0001 }, media.video],
    ['one byte under 15 MB of audio', { ...audio, bytes: 15 * MB - 1 }, media.audio],
    ['2 s of audio', { ...audio, durationS: 2 }, media.audio],
  ])('passes %s', (_name, facts, limits) => {
    expect(limits).toBeDefined();
    expect(breaches(facts, limits)).toEqual([]);
  });

  it.each<[string, MediaFacts, MediaLimits | undefined, RegExp]>([
    [
      'an edge of 299',
      { ...image, widthPx: 299, heightPx: 300 },
      media.image,
      /is 299x300 px; width and height must each be 300-6000 px$/,
    ],
    [
      'an edge of 6001',
      { ...image, widthPx: 6000, heightPx: 6001 },
      media.image,
      /6000x6001 px; width and height/,
    ],
    [
      'too narrow',
      { ...image, widthPx: 399, heightPx: 1000 },
      media.image,
      /aspect ratio of 0\.399; width divided by height must be 0\.4-2\.5$/,
    ],
    ['too wide', { ...image, widthPx: 2501, heightPx: 1000 }, media.image, /aspect ratio of 2\.501;/],
    ['30 MB', { ...image, bytes: 30 * MB }, media.image, /has 30 MB; it must be under 30 MB$/],
    [
      '200 MB and a byte',
      { ...video, bytes: 200 * MB + 1 },
      media.video,
      /has 200 MB \(209715201 bytes\); it must be at most 200 MB$/,
    ],
    [
      'avif',
      { ...image, format: 'avif' },
      media.image,
      /is AVIF \(an image\); the formats taken are jpeg, png/,
    ],
    [
      'webm',
      { ...video, format: 'webm' },
      media.video,
      /is WEBM \(a video\); the formats taken are mp4, mov$/,
    ],
    ['1.9 s', { ...video, durationS: 1.9 }, media.video, /is 1\.9 s long; it must be 2-30 s$/],
    ['30.1 s', { ...video, durationS: 30.1 }, media.video, /is 30\.1 s long; it must be 2-30 s$/],
    [
      '23.976 frames',
      { ...video, framesPerS: 24_000 / 1001 },
      media.video,
      /has 23\.976 frames a second; it must be 24-60$/,
    ],
    ['61 frames', { ...video, framesPerS: 61 }, media.video, /has 61 frames a second/],
    ['15 MB of audio', { ...audio, bytes: 15 * MB }, media.audio, /has 15 MB; it must be under 15 MB$/],
    [
      'an unreadable image',
      { ...image, widthPx: undefined },
      media.image,
      /its width and height cannot be read: the PNG may be damaged$/,
    ],
    ['an unreadable length', { ...audio, durationS: undefined }, media.audio, /its length cannot be read/],
  ])('refuses %s', (_name, facts, limits, message) => {
    expect(breaches(facts, limits)).toEqual([expect.stringMatching(message)]);
    expect(breaches(facts, limits)[0]).toMatch(/^--image a: /);
  });

  it('says everything that is wrong', () => {
    expect(breaches({ ...image, format: 'avif', bytes: 40 * MB, widthPx: 100 }, media.image)).toHaveLength(4);
  });
});

describe('checkMedia with other bounds', () => {
  const exclusive: Range = { min: 300, max: 6000, exclusive: true };
  it.each([
    [300, 1],
    [301, 0],
    [5999, 0],
    [6000, 1],
  ])('an exclusive edge of %i px gives %i breaches', (widthPx, count) => {
    const found = breaches({ ...image, widthPx, heightPx: 2000 }, { edgePx: exclusive });
    expect(found).toHaveLength(count);
    if (count > 0) expect(found[0]).toMatch(/must each be above 300 and below 6000 px/);
  });

  it.each([
    [0.4, 1000, 400, 1],
    [0.4, 1000, 401, 0],
    [2.5, 400, 1000, 1],
    [2.5, 400, 999, 0],
  ])(
    'an aspect ratio beside the exclusive %d is told apart (%i high, %i wide)',
    (_bound, heightPx, widthPx, count) => {
      const aspect: Range = { min: 0.4, max: 2.5, exclusive: true };
      expect(breaches({ ...image, widthPx, heightPx }, { aspect })).toHaveLength(count);
    },
  );

  it('counts pixels', () => {
    const pixels = { min: 407_696, max: 8_295_044 };
    expect(breaches({ ...video, widthPx: 407_696, heightPx: 1 }, { pixels })).toEqual([]);
    expect(breaches({ ...video, widthPx: 407_695, heightPx: 1 }, { pixels })[0]).toMatch(
      /407695 pixels; width times height must be 407696-8295044/,
    );
  });

  it('asks nothing where nothing is documented', () => {
    expect(breaches({ ...image, format: 'psd', bytes: 1000 * MB, widthPx: undefined }, {})).toEqual([]);
  });
});

describe('checkModality', () => {
  it('says what the bytes are', () => {
    const html: MediaFacts = { modality: 'text', format: 'html', mime: 'text/html', bytes: 10 };
    expect(checkModality(html, 'image', '--image a.png')).toEqual(['--image a.png: is HTML, not an image']);
    expect(checkModality(image, 'video', '--video a.mp4')).toEqual([
      '--video a.mp4: is PNG (an image), not a video',
    ]);
    expect(checkModality(image, 'image', 'x')).toEqual([]);
  });
});

describe('checkTotals', () => {
  const of = (flag: string, facts: MediaFacts, ...lengths: number[]) =>
    lengths.map((durationS) => ({ flag, facts: { ...facts, durationS } }));

  it('adds up videos and audio apart', () => {
    expect(checkTotals([...of('--video', video, 15, 15), ...of('--audio', audio, 30)], 30)).toEqual([]);
    expect(checkTotals([...of('--video', video, 15, 15.5), ...of('--audio', audio, 20, 20)], 30)).toEqual([
      '--video: the 2 video files together are 30.5 s long; at most 30 s together are allowed',
      '--audio: the 2 audio files together are 40 s long; at most 30 s together are allowed',
    ]);
    expect(checkTotals(of('--audio', audio, 15.1), 15)).toEqual([
      '--audio: the audio file is 15.1 s long; at most 15 s together are allowed',
    ]);
  });

  it('leaves out what has no known length', () => {
    expect(checkTotals([{ flag: '--video' }, ...of('--video', video, 30)], 30)).toEqual([]);
  });
});
