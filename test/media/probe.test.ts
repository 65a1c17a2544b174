import * as fs from 'node:fs';
import * as path from 'node:path';
import * as fc from 'fast-check';
import { beforeAll, describe, expect, it } from 'vitest';
import { MB } from '../../src/gateway/limits.ts';
import { inWorker } from '../../src/media/in-worker.ts';
import { probeBytes as probeAs } from '../../src/media/probe.ts';
import { assetsDir } from '../helpers/assets-dir.ts';
import {
  endlessClip,
  h264,
  heif,
  jpegWithAppData,
  makeAll,
  moving,
  pngHead,
  probeBytes,
  probeFile,
  sparse,
  temporaryDirectory,
  tone,
} from './fixtures.ts';

describe('probeBytes', () => {
  it('reads the size of a PNG head', async () => {
    expect(await probeBytes(pngHead(640, 480))).toEqual({
      ...{ modality: 'image', format: 'png', mime: 'image/png', bytes: 33, widthPx: 640, heightPx: 480 },
    });
  });

  it.each([
    ['heic', heif('heic', 'mif1heic', 1200, 800)],
    ['heif', heif('mif1', 'mif1', 1200, 800)],
  ])('reads the size of %s', async (format, bytes) => {
    expect(await probeBytes(bytes)).toMatchObject({ format, widthPx: 1200, heightPx: 800 });
  });

  it.each([100, 200_000, 2 * MB])(
    'finds the size of a JPEG behind %i bytes of other data',
    async (appBytes) => {
      const bytes = jpegWithAppData(1600, 900, appBytes);
      expect(await probeBytes(bytes)).toMatchObject({ format: 'jpeg', widthPx: 1600, heightPx: 900 });
    },
  );

  it('says what text is and knows nothing of noise', async () => {
    expect(await probeBytes(Buffer.from('<!doctype html>'))).toMatchObject({
      modality: 'text',
      format: 'html',
    });
    expect(await probeBytes(Buffer.alloc(500))).toEqual({
      ...{ modality: 'other', format: 'unknown', mime: 'application/octet-stream', bytes: 500 },
    });
  });

  it('leaves out what a damaged file does not say', async () => {
    const facts = await probeBytes(pngHead(10, 10).subarray(0, 14));
    expect(facts).toMatchObject({ format: 'png' });
    expect(facts.widthPx).toBeUndefined();
  });

  // Small buffers share one block of memory, and image-size reads from the whole block.
  it('reads nothing that lies beside its bytes in memory', async () => {
    const cut = await probeBytes(pngHead(10, 10).subarray(0, 18));
    expect([cut.format, cut.widthPx]).toEqual(['png', undefined]);
    const left = heif('heic', 'mif1heic', 1200, 800);
    const both = Buffer.concat([left, heif('heic', 'mif1heic', 40, 30)]);
    expect(await probeBytes(both.subarray(left.length))).toMatchObject({ widthPx: 40, heightPx: 30 });
  });

  it('never throws on damaged media', async () => {
    const heads = [
      '\xff\xd8\xff',
      'II*\0',
      'RIFF\0\0\0\0WEBP',
      'RIFF\0\0\0\0WAVE',
      '\0\0\0\x14ftypisom',
      '\0\0\0\x14ftypheic',
      'ID3\x03\0',
    ];
    const damaged = fc
      .tuple(fc.constantFrom(...heads), fc.uint8Array({ maxLength: 300 }))
      .map(([head, noise]) => Buffer.concat([Buffer.from(head, 'latin1'), noise]));
    await fc.assert(
      fc.asyncProperty(damaged, async (bytes) => {
        expect((await probeBytes(bytes)).bytes).toBe(bytes.length);
      }),
      // Each run starts a thread; test/fuzz/readers.test.ts reads many more files in one.
      { numRuns: 25 },
    );
  });
});

describe('what would be read for ever is given up', () => {
  it('at the deadline, with the facts that were found before', async () => {
    const facts = await probeAs(endlessClip(), { modality: 'video', assetsDir, deadlineMs: 1_500 });
    expect(facts).toMatchObject({ format: 'mp4', isStuck: true, videoCodec: 'avc' });
    expect(facts.durationS).toBeUndefined();
  });

  it('and the time in which a busy machine loads what reads it is not counted', async () => {
    const dir = temporaryDirectory();
    const slow = `const { parentPort } = require('node:worker_threads');
      setTimeout(() => ['loaded', 'read'].forEach((word) => parentPort.postMessage(word)), 300);`;
    fs.writeFileSync(path.join(dir, 'worker.js'), slow);
    const read = await inWorker({ do: 'tracks', content: 0 }, { assetsDir: dir, deadlineMs: 100 });
    expect(read).toEqual({ last: 'read', isDone: true });
  });

  it('at an interrupt', async () => {
    const ending = new AbortController();
    const probing = probeAs(endlessClip(), { modality: 'video', assetsDir, signal: ending.signal });
    setTimeout(() => ending.abort(new Error('interrupted')), 100);
    await expect(probing).rejects.toThrow('interrupted');
  });

  it.each([
    ['flac', 'audio', 'fLaC'],
    ['aac', 'audio', '\xff\xf1'],
    ['mkv', 'video', '\x1aE\xdf\xa3'],
    ['mp4', 'audio', '\0\0\0\x14ftypisom'],
  ] as const)(
    '%s that is not taken as %s is told by its first bytes and not read',
    async (format, modality, head) => {
      const bytes = Buffer.concat([Buffer.from(head, 'latin1'), Buffer.alloc(500)]);
      const facts = await probeAs(bytes, { modality, assetsDir: '/nowhere' });
      expect(facts).toMatchObject({ format, bytes: bytes.length });
      expect(facts.isStuck).toBeUndefined();
    },
  );
});

describe('probeFile', () => {
  it('reads only the head of a large image', async () => {
    const directory = temporaryDirectory();
    const file = sparse(path.join(directory, 'big.png'), pngHead(3000, 2000), 31 * MB);
    expect(await probeFile(file, '--image big.png')).toMatchObject({
      bytes: 31 * MB,
      widthPx: 3000,
      heightPx: 2000,
    });
  });

  it('gives up in bounded time on a large JPEG without a size', async () => {
    const directory = temporaryDirectory();
    const file = sparse(path.join(directory, 'hole.jpg'), Buffer.from([0xff, 0xd8, 0xff, 0xe0]), 40 * MB);
    const facts = await probeFile(file, '--image hole.jpg');
    expect(facts).toMatchObject({ format: 'jpeg', bytes: 40 * MB });
    expect(facts.widthPx).toBeUndefined();
  });

  it('names a file that is not there', async () => {
    await expect(probeFile('/nowhere/x.png', '--image x.png')).rejects.toThrow('--image x.png: no such file');
  });
});

describe('probeFile on real files', { tags: ['ffmpeg'] }, () => {
  const directory = temporaryDirectory();
  const inputs = [
    ...moving('320x240', 2),
    ...moving('160x120', 3, 30),
    ...moving('160x120', 2, '24000/1001'),
    ...tone(3),
  ];
  const still = ['-map', '0:v', '-frames:v', '1', '-update', '1'];
  const fast = ['-map', '1:v', ...h264];
  const mp3 = ['-map', '3:a', '-c:a', 'libmp3lame'];
  beforeAll(() =>
    makeAll(directory, inputs, [
      ...['a.jpg', 'a.png', 'a.gif', 'a.tiff', 'a.bmp'].map((name) => [name, still] as const),
      ['a.webp', [...still, '-c:v', 'libwebp']],
      ['sound.mp4', ['-map', '0:v', '-map', '3:a', ...h264, '-c:a', 'aac', '-shortest']],
      ['fragmented.mp4', [...fast, '-movflags', 'frag_keyframe+empty_moov']],
      ['in-front.mp4', [...fast, '-movflags', '+faststart']],
      ['a.mov', fast],
      ['film.mp4', ['-map', '2:v', ...h264]],
      ['a.wav', ['-map', '3:a']],
      ['a.mp3', mp3],
      ['no-tag.mp3', [...mp3, '-id3v2_version', '0', '-write_xing', '0']],
    ]),
  );
  const probeMade = (name: string) => probeFile(path.join(directory, name), name);

  it.each(['jpeg', 'png', 'webp', 'gif', 'tiff', 'bmp'])('%s', async (format) => {
    const name = format === 'jpeg' ? 'a.jpg' : `a.${format}`;
    const { size } = fs.statSync(path.join(directory, name));
    expect(await probeMade(name)).toMatchObject({
      ...{ modality: 'image', format, widthPx: 320, heightPx: 240, bytes: size },
    });
  });

  it('mp4 with sound', async () => {
    const facts = await probeMade('sound.mp4');
    expect(facts).toMatchObject({
      modality: 'video',
      format: 'mp4',
      mime: 'video/mp4',
      widthPx: 320,
      heightPx: 240,
    });
    expect(facts).toMatchObject({ videoCodec: 'avc', audioCodec: 'aac' });
    expect(facts.durationS).toBeCloseTo(2, 1);
    expect(facts.framesPerS).toBeCloseTo(24, 2);
  });

  it.each([
    ['fragmented mp4', 'fragmented.mp4', 'mp4'],
    ['mp4 with its index in front', 'in-front.mp4', 'mp4'],
    ['mov', 'a.mov', 'mov'],
  ])('%s at 30 frames a second', async (_name, name, format) => {
    const facts = await probeMade(name);
    expect(facts).toMatchObject({ modality: 'video', format, widthPx: 160, heightPx: 120 });
    expect(facts.durationS).toBeCloseTo(3, 1);
    expect(facts.framesPerS).toBeCloseTo(30, 2);
  });

  it('tells 23.976 frames a second from 24', async () => {
    expect((await probeMade('film.mp4')).framesPerS).toBeCloseTo(23.976, 3);
  });

  it('gives the size as shown where a clip is turned', async () => {
    const bytes = fs.readFileSync(path.join(directory, 'sound.mp4'));
    const matrix = [0, 0x10000, 0, -0x10000, 0, 0, 0, 0, 0x40000000];
    const start = bytes.indexOf('tkhd') + 44;
    for (const [index, value] of matrix.entries()) bytes.writeInt32BE(value, start + 4 * index);
    fs.writeFileSync(path.join(directory, 'turned.mp4'), bytes);
    expect(await probeMade('turned.mp4')).toMatchObject({ widthPx: 240, heightPx: 320 });
  });

  it.each([
    ['wav', 'a.wav', 'audio/wav'],
    ['mp3', 'a.mp3', 'audio/mpeg'],
    ['mp3', 'no-tag.mp3', 'audio/mpeg'],
  ])('%s (%s)', async (format, name, mime) => {
    const facts = await probeMade(name);
    expect(facts).toMatchObject({ modality: 'audio', format, mime });
    expect(facts.durationS).toBeGreaterThan(2.95);
    expect(facts.durationS).toBeLessThan(3.1);
  });

  it('goes by the bytes, not by the name', async () => {
    fs.copyFileSync(path.join(directory, 'a.jpg'), path.join(directory, 'clip.mp4'));
    expect(await probeMade('clip.mp4')).toMatchObject({ modality: 'image', format: 'jpeg' });
  });

  it('keeps the type of a clip that is cut', async () => {
    const bytes = fs.readFileSync(path.join(directory, 'film.mp4'));
    fs.writeFileSync(path.join(directory, 'cut.mp4'), bytes.subarray(0, Math.floor(bytes.length / 2)));
    const facts = await probeMade('cut.mp4');
    expect(facts).toMatchObject({ modality: 'video', format: 'mp4' });
    expect(facts.durationS).toBeUndefined();
  });
});
