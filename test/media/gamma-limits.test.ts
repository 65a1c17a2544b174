import * as path from 'node:path';
import { afterEach, beforeAll, describe, expect, it, vi } from 'vitest';
import { gammaMedia } from '../../src/gateway/gamma/models.ts';
import { MB } from '../../src/gateway/limits.ts';
import { checkMedia } from '../../src/media/check.ts';
import { type MediaFacts, UNKNOWN_CODEC } from '../../src/media/probe.ts';
import { cmd } from '../helpers/cmd.ts';
import { h264, makeAll, moving, probeFile, temporaryDirectory, tone } from './fixtures.ts';

// The media limits of family C: one accepted and one refused file for each rule. All numbers are copied from the document.

const image: MediaFacts = {
  modality: 'image',
  format: 'png',
  mime: 'image/png',
  bytes: 1,
  widthPx: 1000,
  heightPx: 1000,
};
const video: MediaFacts = {
  ...{ modality: 'video', format: 'mp4', mime: 'video/mp4', bytes: 1, widthPx: 10, heightPx: 9000 },
  ...{ durationS: 5, framesPerS: 24, videoCodec: 'avc', audioCodec: 'aac' },
};
const audio: MediaFacts = { modality: 'audio', format: 'wav', mime: 'audio/wav', bytes: 1, durationS: 5 };

const breaches = (facts: MediaFacts) =>
  facts.modality === 'image' || facts.modality === 'video' || facts.modality === 'audio'
    ? checkMedia(facts, gammaMedia[facts.modality], '--file a')
    : ['no medium'];

describe('the media limits of gamma', () => {
  it.each<[string, MediaFacts]>([
    ...['jpeg', 'png', 'webp', 'heic', 'heif'].map((format): [string, MediaFacts] => [
      format,
      { ...image, format },
    ]),
    ['an image of 30 MB', { ...image, bytes: 31_457_280 }],
    ['the smallest edges', { ...image, widthPx: 256, heightPx: 256 }],
    ['the largest edges', { ...image, widthPx: 5760, heightPx: 5760 }],
    ['the narrowest image', { ...image, widthPx: 400, heightPx: 1000 }],
    ['the widest image', { ...image, widthPx: 1000, heightPx: 400 }],
    ['MP4', video],
    ['MOV', { ...video, format: 'mov' }],
    ['a video of 50 MB', { ...video, bytes: 52_428_800 }],
    ['a video of 2 s', { ...video, durationS: 2 }],
    ['a video of 15 s', { ...video, durationS: 15 }],
    ['23.976 frames a second', { ...video, framesPerS: 24_000 / 1001 }],
    ['60 frames a second', { ...video, framesPerS: 60 }],
    ['H.265', { ...video, videoCodec: 'hevc' }],
    ['MP3 for sound', { ...video, audioCodec: 'mp3' }],
    ['no sound', { ...video, audioCodec: undefined }],
    ['WAV', audio],
    ['MP3', { ...audio, format: 'mp3' }],
    ['audio of 15 MB', { ...audio, bytes: 15_728_640 }],
    ['audio of 2 s', { ...audio, durationS: 2 }],
    ['audio of 15 s', { ...audio, durationS: 15 }],
  ])('takes %s', (_, facts) => {
    expect(breaches(facts)).toEqual([]);
  });

  it.each<[string, MediaFacts, RegExp]>([
    ['GIF', { ...image, format: 'gif' }, /is GIF.*; the formats taken are jpeg, png, webp, heic, heif$/],
    ['BMP', { ...image, format: 'bmp' }, /the formats taken are/],
    ['TIFF', { ...image, format: 'tiff' }, /the formats taken are/],
    ['an image over 30 MB', { ...image, bytes: 31_457_281 }, /at most 30 MB$/],
    ['an edge of 255', { ...image, widthPx: 255, heightPx: 300 }, /must each be 256-5760 px$/],
    ['an edge of 5761', { ...image, widthPx: 5760, heightPx: 5761 }, /must each be 256-5760 px$/],
    ['too narrow an image', { ...image, widthPx: 399, heightPx: 1000 }, /must be 0.4-2.5$/],
    ['too wide an image', { ...image, widthPx: 1000, heightPx: 399 }, /must be 0.4-2.5$/],
    ['WebM', { ...video, format: 'webm' }, /the formats taken are mp4, mov$/],
    ['a video over 50 MB', { ...video, bytes: 52_428_801 }, /at most 50 MB$/],
    ['a video of 1.9 s', { ...video, durationS: 1.9 }, /is 1.9 s long; it must be 2-15 s$/],
    ['a video of 15.1 s', { ...video, durationS: 15.1 }, /it must be 2-15 s$/],
    ['a video of no length', { ...video, durationS: undefined }, /its length cannot be read/],
    ['23 frames a second', { ...video, framesPerS: 23 }, /it must be 23.976-60$/],
    ['61 frames a second', { ...video, framesPerS: 61 }, /it must be 23.976-60$/],
    ['VP9', { ...video, videoCodec: 'vp9' }, /its picture is VP9; the codecs taken are H.264, H.265$/],
    [
      'a codec without a name',
      { ...video, videoCodec: UNKNOWN_CODEC },
      /its picture is of an unknown codec; the codecs taken are H.264, H.265$/,
    ],
    [
      'no picture',
      { ...video, videoCodec: undefined },
      /its picture cannot be read: the MP4 may be damaged$/,
    ],
    ['Opus', { ...video, audioCodec: 'opus' }, /its sound is OPUS; the codecs taken are AAC, MP3$/],
    [
      'sound without a name',
      { ...video, audioCodec: UNKNOWN_CODEC },
      /its sound is of an unknown codec; the codecs taken are AAC, MP3$/,
    ],
    ['FLAC', { ...audio, format: 'flac' }, /the formats taken are wav, mp3$/],
    ['audio over 15 MB', { ...audio, bytes: 15_728_641 }, /at most 15 MB$/],
    ['audio of 1.9 s', { ...audio, durationS: 1.9 }, /it must be 2-15 s$/],
    ['audio of 15.1 s', { ...audio, durationS: 15.1 }, /it must be 2-15 s$/],
  ])('refuses %s', (_, facts, sentence) => {
    const found = breaches(facts);
    expect(found).toHaveLength(1);
    expect(found[0]).toMatch(sentence);
  });

  it('reads a limit of MB as 1,048,576 bytes', () => {
    expect([gammaMedia.image.bytes.max, gammaMedia.video.bytes.max, gammaMedia.audio.bytes.max]).toEqual([
      30 * MB,
      50 * MB,
      15 * MB,
    ]);
  });
});

describe('real clips against the limits of gamma', { tags: ['ffmpeg'] }, () => {
  const warned = vi.spyOn(console, 'warn');
  // Text from inside a file must not reach the terminal past gw's own output.
  afterEach(() => expect(warned).not.toHaveBeenCalled());
  const inputs = [...moving('96x64', 3), ...tone(3)];
  const silent = ['-map', '0:v', ...h264];
  const both = ['-map', '1:a', ...silent];
  const clips: readonly (readonly [string, string, string[], RegExp | undefined])[] = [
    ['H.264 with AAC', 'aac.mp4', cmd`${both} -c:a aac -shortest`, undefined],
    ['H.264 with MP3', 'mp3.mp4', cmd`${both} -c:a libmp3lame -shortest`, undefined],
    ['H.264 without sound, MOV', 'silent.mov', silent, undefined],
    [
      'H.265',
      'h265.mp4',
      cmd`-map 0:v -c:v libx265 -preset ultrafast -x265-params log-level=none`,
      undefined,
    ],
    ['VP9', 'vp9.mp4', cmd`-map 0:v -c:v libvpx-vp9 -cpu-used 8`, /its picture is VP9/],
    ['MPEG-4 part 2', 'part-2.mp4', cmd`-map 0:v -c:v mpeg4`, /its picture is of an unknown codec/],
    ['FLAC sound', 'flac.mp4', cmd`${both} -c:a flac -strict -2`, /its sound is FLAC/],
    ['AC-3 sound', 'ac3.mp4', cmd`${both} -c:a ac3`, /its sound is AC3/],
    ['PCM sound', 'pcm.mov', cmd`${both} -c:a pcm_s16le`, /its sound is PCM-S16/],
    ['ALAC sound', 'alac.mov', cmd`${both} -c:a alac`, /its sound is of an unknown codec/],
    ['sound alone', 'sound.mp4', cmd`-map 1:a -c:a aac`, /its picture cannot be read/],
    ['1 s', 'short.mp4', cmd`${silent} -t 1`, /is 1 s long; it must be 2-15 s/],
    ['15 frames a second', 'slow.mp4', cmd`${silent} -r 15`, /has 15 frames a second; it must be 23.976-60/],
  ];
  const directory = temporaryDirectory();
  beforeAll(() =>
    makeAll(
      directory,
      inputs,
      clips.map(([, name, options]) => [name, options]),
    ),
  );
  it.each(clips)('%s', async (_, name, _options, sentence) => {
    const facts = await probeFile(path.join(directory, name), name);
    const found = breaches(facts);
    if (sentence) expect(found.join('\n')).toMatch(sentence);
    else expect(found).toEqual([]);
  });
});
