import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import * as fs from 'node:fs';
import * as path from 'node:path';
import { describe, expect, it } from 'vitest';
import { ALPHA_MAX_BODY_BYTES, alphaModels } from '../../src/gateway/alpha/models.ts';
import { MB } from '../../src/gateway/limits.ts';
import { dataUriBytes } from '../../src/media/reference.ts';
import { type MediaInput, type ResolveOptions, resolveMedia } from '../../src/media/resolve.ts';
import { assetsDir } from '../helpers/assets-dir.ts';
import { endlessClip, make, picture, pngHead, sparse, temporaryDirectory, tone } from './fixtures.ts';

const limits = alphaModels['alpha-video-2-5-260628']?.media ?? {};
const image = (raw: string, rest: Partial<MediaInput> = {}): MediaInput => ({
  ...{ raw, flag: '--image', modality: 'image', limits: limits.image },
  takes: { url: true, base64: true, schemes: ['asset'] },
  ...rest,
});
const video = (raw: string): MediaInput => ({
  ...{ raw, flag: '--video', modality: 'video', limits: limits.video },
  takes: { url: true, base64: false, schemes: ['asset'] },
});
const audio = (raw: string): MediaInput =>
  image(raw, { flag: '--audio', modality: 'audio', limits: limits.audio });

const resolve = (inputs: MediaInput[], cwd = '/', options: ResolveOptions = {}) =>
  resolveMedia(inputs, options, { cwd, assetsDir });
const refusal = (inputs: MediaInput[], cwd?: string, options?: ResolveOptions) =>
  resolve(inputs, cwd, options).then(
    () => expect.unreachable('it was taken'),
    (error) => error,
  );
const pngUri = `data:image/png;base64,${pngHead(640, 480).toString('base64')}`;

describe('addresses', () => {
  it.each([
    ['https://host/a.png?sig=secret', 'https://host/a.png', 'url'],
    ['https://user:pass@host:8443/a.png#x', 'https://host:8443/a.png', 'url'],
    ['asset://asset-1', 'asset://asset-1', 'asset'],
  ])('sends %s as it stands', async (raw, describe, kind) => {
    const { items, breaches } = await resolve([image(raw)]);
    expect(items).toEqual([{ kind, url: raw, describe, bytes: raw.length }]);
    expect(breaches).toEqual([]);
  });

  it('says which forms are taken instead of another one', async () => {
    const { items, breaches } = await resolve([image('gammafile://1')]);
    expect(items[0]?.url).toBe('gammafile://1');
    expect(breaches).toEqual([
      '--image gammafile://1: this form cannot be used here; give a file, a data: URI, an https:// URL or asset://ID',
    ]);
  });

  it('takes file_id: only where the body has a place for it', async () => {
    expect((await refusal([image('file_id:f-1')])).message).toMatch(/file_id: cannot be used here/);
    const takes = { url: true, base64: true, schemes: ['file_id'] as const };
    expect((await resolve([image('file_id:f-1', { takes })])).items[0]).toMatchObject({
      kind: 'file_id',
      url: 'file_id:f-1',
    });
  });
});

describe('files', () => {
  it('sends a file as Base64 of what it is, and describes it by its name', async () => {
    const cwd = temporaryDirectory();
    fs.writeFileSync(path.join(cwd, 'photo.jpg'), pngHead(640, 480));
    const { items, breaches } = await resolve([image('photo.jpg')], cwd);
    expect(items[0]).toMatchObject({
      kind: 'file',
      url: pngUri,
      describe: 'photo.jpg',
      bytes: pngUri.length,
    });
    expect(items[0]?.facts).toMatchObject({ format: 'png', widthPx: 640 });
    expect(breaches).toEqual([]);
  });

  it('keeps the order of the references', async () => {
    const cwd = temporaryDirectory();
    fs.writeFileSync(path.join(cwd, 'a.png'), pngHead(640, 480));
    const { items } = await resolve([image('https://h/1'), image('a.png'), image('asset://2')], cwd);
    expect(items.map((item) => item.kind)).toEqual(['url', 'file', 'asset']);
  });

  it('says what a file is where it is no image', async () => {
    const cwd = temporaryDirectory();
    fs.writeFileSync(path.join(cwd, 'a.png'), '<!DOCTYPE html><title>Not found</title>');
    fs.writeFileSync(path.join(cwd, 'b.mp3'), pngHead(640, 480));
    expect((await resolve([image('a.png'), audio('b.mp3')], cwd)).breaches).toEqual([
      '--image a.png: is HTML, not an image',
      '--audio b.mp3: is PNG (an image), not audio',
    ]);
  });

  it('returns each limit that is broken', async () => {
    const cwd = temporaryDirectory();
    fs.writeFileSync(path.join(cwd, 'a.png'), pngHead(100, 300));
    expect((await resolve([image('a.png')], cwd)).breaches).toEqual([
      expect.stringMatching(/^--image a.png: is 100x300 px; width and height must each be 300-6000 px$/),
      expect.stringMatching(/aspect ratio of 0.333/),
    ]);
  });

  it('holds an image of exactly 30 MB against "under 30 MB", and one byte less not', async () => {
    const cwd = temporaryDirectory();
    sparse(path.join(cwd, 'at.png'), pngHead(640, 480), 30 * MB);
    sparse(path.join(cwd, 'below.png'), pngHead(640, 480), 30 * MB - 1);
    expect((await resolve([image('at.png')], cwd)).breaches).toEqual([
      '--image at.png: has 30 MB; it must be under 30 MB',
    ]);
    expect((await resolve([image('below.png')], cwd)).breaches).toEqual([]);
  });

  it('refuses what is missing, with the form of an asset where it looks like one', async () => {
    const cwd = temporaryDirectory();
    expect(await refusal([image('no.png')], cwd)).toMatchObject({
      kind: 'usage',
      message: '--image no.png: no such file',
    });
    expect(await refusal([image('asset-2026-abc')], cwd)).toMatchObject({
      ...{ kind: 'usage', message: '--image asset-2026-abc: no such file' },
      facts: { hint: 'an asset of the library is written asset://asset-2026-abc' },
    });
    expect((await refusal([image('@a.png')], cwd)).facts.hint).toMatch(/without the @: a\.png/);
    fs.writeFileSync(path.join(cwd, 'plain'), 'x');
    expect((await refusal([image('plain/a.png')], cwd)).message).toMatch(/a part of its path is a file/);
  });

  it('refuses what is no file, without opening it', async () => {
    const cwd = temporaryDirectory();
    fs.writeFileSync(path.join(cwd, 'empty.png'), '');
    fs.mkdirSync(path.join(cwd, 'dir.png'));
    expect(spawnSync('mkfifo', [path.join(cwd, 'fifo.png')]).status).toBe(0);
    fs.symlinkSync('loop.png', path.join(cwd, 'loop.png'));
    expect((await refusal([image('empty.png')], cwd)).message).toBe('--image empty.png: the file is empty');
    expect((await refusal([image('dir.png')], cwd)).message).toBe(
      '--image dir.png: is a directory, not a media file',
    );
    expect((await refusal([image('fifo.png')], cwd)).message).toBe(
      '--image fifo.png: is a pipe, not a media file',
    );
    expect((await refusal([image('loop.png')], cwd)).message).toMatch(/go in circles/);
    expect((await refusal([image('/dev/zero')], cwd)).message).toBe(
      '--image /dev/zero: is a device, not a media file',
    );
  });

  it('refuses a video file where videos go by address, and names the asset library', async () => {
    const cwd = temporaryDirectory();
    fs.writeFileSync(path.join(cwd, 'clip.mp4'), 'anything');
    const error = await refusal([video('clip.mp4')], cwd);
    expect(error.message).toBe(
      '--video clip.mp4: is a file, and a video is sent here by address only (an https:// URL or asset://ID)',
    );
    expect(error.facts.hint).toMatch(
      /asset library \(gw asset create --group ID --name NAME --type Video --url …\) and give asset:\/\/ID/,
    );
    expect((await refusal([video('none.mp4')], cwd)).message).toBe('--video none.mp4: no such file');
  });
});

describe('data URIs', () => {
  it('are sent and described by their digest', async () => {
    const { items, breaches } = await resolve([image(pngUri)]);
    const digest = createHash('sha256').update(pngHead(640, 480)).digest('hex');
    expect(items[0]).toMatchObject({ kind: 'data', url: pngUri, describe: `sha256:${digest}` });
    expect(breaches).toEqual([]);
  });

  it('are written in the one form that the gateway documents', async () => {
    const uri = `DATA:image/JPG;name=a;base64,${pngUri.split(',')[1]?.replace(/=+$/, '')}`;
    expect((await resolve([image(uri)])).items[0]?.url).toBe(pngUri);
  });

  it('are probed like files', async () => {
    const html = `data:image/png;base64,${Buffer.from('<html>').toString('base64')}`;
    expect((await resolve([image(html)])).breaches).toEqual([
      expect.stringMatching(/: is HTML, not an image$/),
    ]);
  });

  it('of videos break the rule where videos go by address', async () => {
    const { breaches } = await resolve([video('data:video/mp4;base64,AAAAGGZ0eXBpc29tAAACAGlzb21tcDQx')]);
    expect(breaches[0]).toMatch(/is Base64 data, and a video is sent here by address only .*asset library/);
  });

  it.each([
    ['data:image/png,AAAA', /not a Base64 data URI/],
    ['data:image/png;base64', /not a Base64 data URI/],
    ['data:image/png;base64,', /is empty/],
    ['data:image/png;base64,AA*A', /character 3 of its data is "\*"/],
    ['data:image/png;base64,AA=A', /character 3 of its data is "="/],
    ['data:image/png;base64,AAAAA', /5 characters are no whole number of bytes/],
    ['data:image/png;base64,AAA==', /no whole number/],
    ['data:image/png;base64,AA A', /character 3/],
    ['data:image/png;base64,A_-A', /character 2 of its data is "_"/],
  ])('%s is refused', async (raw, message) => {
    expect(await refusal([image(raw)])).toMatchObject({
      kind: 'usage',
      message: expect.stringMatching(message),
    });
  });

  it('are checked in full size', async () => {
    const content = Buffer.concat([pngHead(640, 480), Buffer.alloc(25 * MB)]);
    const { items } = await resolve([image(`data:image/png;base64,${content.toString('base64')}`)]);
    expect(items[0]?.facts?.bytes).toBe(content.length);
  });
});

describe('the size of the body', () => {
  const encoded = (bytes: number) => dataUriBytes(bytes);

  it('is looked at before anything is read', async () => {
    const cwd = temporaryDirectory();
    sparse(path.join(cwd, 'a.png'), pngHead(640, 480), 10 * MB);
    // This file is a hole that is too large to be read in time.
    sparse(path.join(cwd, 'huge.png'), pngHead(640, 480), 4_000_000 * MB);
    const error = await refusal([image('a.png'), image('huge.png')], cwd, {
      maxBodyBytes: ALPHA_MAX_BODY_BYTES,
    });
    expect(error).toMatchObject({ kind: 'usage' });
    expect(error.message).toMatch(
      /^--image huge.png: the media come to .* MB .* over 64 MB; it is the largest/,
    );
  });

  it('counts Base64 and addresses: at the limit it passes, one byte over it does not', async () => {
    const cwd = temporaryDirectory();
    sparse(path.join(cwd, 'a.png'), pngHead(640, 480), 3000);
    const inputs = [image('a.png'), image('a.png'), image('https://h/a')];
    const total = 2 * encoded(3000) + 'https://h/a'.length;
    expect((await resolve(inputs, cwd, { maxBodyBytes: total })).breaches).toEqual([]);
    expect((await refusal(inputs, cwd, { maxBodyBytes: total - 1 })).message).toMatch(/the media come to/);
  });

  it('never counts less than what is sent', async () => {
    const cwd = temporaryDirectory();
    for (const bytes of [33, 34, 35, 1000]) {
      sparse(path.join(cwd, 'a.png'), pngHead(640, 480), bytes);
      const { items } = await resolve([image('a.png')], cwd);
      expect(encoded(bytes)).toBeGreaterThanOrEqual(items[0]?.bytes ?? Infinity);
    }
  });

  it('is a breach like others where nothing is validated, up to what can be sent at all', async () => {
    const cwd = temporaryDirectory();
    sparse(path.join(cwd, 'a.png'), pngHead(640, 480), 3000);
    const options = { maxBodyBytes: 1000, validate: false };
    const { items, breaches } = await resolve([image('a.png')], cwd, options);
    expect(items).toHaveLength(1);
    expect(breaches).toEqual([expect.stringMatching(/the media come to .* over/)]);
    sparse(path.join(cwd, 'huge.png'), pngHead(640, 480), 300 * MB);
    expect((await refusal([image('huge.png')], cwd, { validate: false })).message).toMatch(/over 256 MB/);
  });
});

describe('clips', { tags: ['ffmpeg'] }, () => {
  it('are held against the limits, apart and together', async () => {
    const cwd = temporaryDirectory();
    make(cwd, 'short.wav', ...tone(1));
    make(cwd, 'long.wav', ...tone(20));
    const { items, breaches } = await resolve(
      [audio('short.wav'), audio('long.wav'), audio('long.wav')],
      cwd,
      { totalS: 30 },
    );
    expect(items[0]?.url).toMatch(/^data:audio\/wav;base64,/);
    expect(breaches).toEqual([
      '--audio short.wav: is 1 s long; it must be 2-30 s',
      '--audio: the 3 audio files together are 41 s long; at most 30 s together are allowed',
    ]);
  });

  it('are sent as Base64 where the place takes it', async () => {
    const cwd = temporaryDirectory();
    make(cwd, 'a.mov', ...picture('320x240', 2));
    const takes = { url: true, base64: true, schemes: ['gammafile'] as const };
    const { items, breaches } = await resolve([{ ...video('a.mov'), takes }], cwd);
    expect(items[0]?.url).toMatch(/^data:video\/quicktime;base64,/);
    expect(breaches).toEqual([]);
  });
});

describe('damaged files', () => {
  it('cost one deadline together: those after the first are taken by their kind', async () => {
    const directory = temporaryDirectory();
    const clips = ['a.mp4', 'b.mp4', 'c.mp4'].map((name) => {
      const file = path.join(directory, name);
      fs.writeFileSync(file, endlessClip());
      return file;
    });
    const html = path.join(directory, 'd.mp4');
    fs.writeFileSync(html, '<!doctype html><title>no</title>');
    const input = (raw: string): MediaInput =>
      image(raw, {
        flag: '--video',
        modality: 'video',
        limits: { formats: ['mp4'], durationS: { min: 2, max: 5 }, edgePx: { min: 300, max: 6000 } },
      });
    const deps = { cwd: '/', assetsDir, deadlineMs: 1_500 };
    const { items, breaches } = await resolveMedia([...clips, html].map(input), {}, deps);
    expect(breaches).toEqual([
      `--video ${clips[0]}: could not be read as MP4 within 5 s: the file looks damaged`,
      expect.stringMatching(/d\.mp4: .*HTML/),
    ]);
    expect(items.map(({ facts }) => facts?.isStuck)).toEqual([true, undefined, undefined, undefined]);
    expect(items[1]?.url).toMatch(/^data:video\/mp4;base64,/);
  });
});
