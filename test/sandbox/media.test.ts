import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it, onTestFinished, vi } from 'vitest';
import { alphaFixedRatios, alphaResolutions } from '../../src/gateway/alpha/models.ts';
import { makeMovie } from '../../src/sandbox/film.ts';
import { type Film, nearestRatio, pictureSize } from '../../src/sandbox/movie.ts';
import { cmd } from '../helpers/cmd.ts';
import { ask, bodyOf, clipsDir, decode, finished, probe, readAll, run, sandbox } from './fixture.ts';

let folder = '';
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'gw-media-'));
});
afterAll(() => rm(folder, { recursive: true, force: true }));

const filmOf = (over: Partial<Film> = {}): Film => ({
  durationS: 5,
  ratio: '16:9',
  resolution: '480p',
  format: 'mp4',
  audio: false,
  ...over,
});
const of = { task: { id: 'vt-1', createdAtMs: Date.UTC(2026, 10, 20) }, clipsDir };

async function saved(name: string, bytes: Uint8Array): Promise<string> {
  const path = join(folder, name);
  await writeFile(path, bytes);
  return path;
}

const sizes = [...alphaResolutions, '768p', '2k'].flatMap((resolution) =>
  alphaFixedRatios.map((ratio) => [resolution, ratio] as const),
);

describe('the made video, as ffprobe sees it', { tags: ['ffmpeg'] }, () => {
  it('of every resolution and ratio', async () => {
    const films = sizes.map(([resolution, ratio], nth) =>
      filmOf({ resolution, ratio, durationS: 4 + (nth % 5) }),
    );
    const paths: string[] = [];
    for (const [nth, film] of films.entries())
      paths.push(await saved(`size-${nth}.mp4`, await makeMovie(film, of)));
    const { told, packets } = await readAll(paths);
    expect(told).toHaveLength(films.length);
    for (const [nth, { resolution, ratio, durationS }] of films.entries()) {
      const { widthPx, heightPx } = pictureSize(resolution, ratio);
      const at = `${resolution} ${ratio}`;
      expect(told[nth]?.match(/^ *Stream #/gm), at).toHaveLength(1);
      expect(told[nth], at).toContain(`Duration: 00:00:0${durationS}.00,`);
      expect(told[nth], at).toMatch(/Video: h264 .*, yuv420p\b.* 24 fps,/);
      expect(packets, at).toContain(`#dimensions ${nth}: ${widthPx}x${heightPx}\n`);
      const [, ticks] = new RegExp(`^#tb ${nth}: 1/(\\d+)$`, 'm').exec(packets) ?? [];
      const lasts = [...packets.matchAll(new RegExp(`^${nth}, +-?\\d+, +-?\\d+, +(\\d+),`, 'gm'))];
      expect(lasts, at).toHaveLength(24 * durationS);
      expect(new Set(lasts.map(([, each]) => Number(each))), at).toEqual(new Set([Number(ticks) / 24]));
    }
  });

  it.each([
    ['mp4', true, 30],
    ['mov', false, 5],
    ['mov', true, 7],
  ] as const)('%s with audio %s and %d s plays to its end', async (container, audio, durationS) => {
    const bytes = await makeMovie(filmOf({ format: container, audio, durationS }), of);
    const path = await saved(`play.${container}`, bytes);
    const { streams, format } = await probe(path);
    expect(Buffer.from(bytes).subarray(8, 10).toString()).toBe(container === 'mov' ? 'qt' : 'is');
    expect(streams.map((stream) => stream.codec_name)).toEqual(audio ? ['h264', 'aac'] : ['h264']);
    expect(streams[0]).toMatchObject({ avg_frame_rate: '24/1', nb_frames: String(24 * durationS) });
    expect(Number(format.duration)).toBeCloseTo(durationS, 1);
    if (audio) expect(Math.abs(Number(streams[1]?.duration) - durationS)).toBeLessThan(0.05);
    expect(await decode(path)).toBe('');
  });

  it('moves, and loops into the second round', async () => {
    const path = await saved('moves.mp4', await makeMovie(filmOf(), of));
    const { stdout } = await run('ffmpeg', ['-v', 'error', '-i', path, '-f', 'framemd5', '-']);
    const frames = [...stdout.matchAll(/, ([0-9a-f]{32})$/gm)].map(([, hash]) => hash);
    expect(frames).toHaveLength(120);
    expect(new Set(frames.slice(0, 48)).size).toBe(48);
    expect(frames.slice(48, 96)).toEqual(frames.slice(0, 48));
  });

  it('agrees with its record, picture of the last frame included', async () => {
    const at = await sandbox({ speed: Number.POSITIVE_INFINITY });
    const record = await finished(
      at,
      bodyOf({
        ratio: '3:4',
        resolution: '720p',
        duration: 6,
        return_last_frame: true,
        generate_audio: true,
      }),
    );
    const [movie, frame] = await Promise.all([
      ask(record.content.video_url),
      ask(record.content.last_frame_url),
    ]);
    const { streams } = await probe(await saved('record.mp4', movie.bytes));
    expect(streams[0]).toMatchObject({
      width: 720,
      height: 960,
      avg_frame_rate: `${record.framespersecond}/1`,
    });
    expect(Number(streams[0]?.duration)).toBe(record.duration);
    expect(streams[1]?.codec_name).toBe('aac');

    expect(frame.headers['content-type']).toBe('image/png');
    const png = await saved('last.png', frame.bytes);
    expect((await probe(png)).streams[0]).toMatchObject({ codec_name: 'png', width: 720, height: 960 });
    // The drawn frame must equal the video's own last frame, apart from compression losses.
    const film = join(folder, 'record.mp4');
    const filter = '[0:v]select=eq(n\\,143),format=gbrp[a];[1:v]format=gbrp[b];[a][b]psnr=stats_file=-';
    const words = cmd`-v error -i ${film} -i ${png} -lavfi ${filter} -frames:v 1 -f null -`;
    const { stdout } = await run('ffmpeg', words);
    expect(Number(/psnr_avg:([\d.]+)/.exec(stdout)?.[1])).toBeGreaterThan(28);
  });
});

describe('the made video as bytes', () => {
  it('is the same for the same task at any time, and another for another task or variant', async () => {
    const make = (id: string, variant = 0, mark = '') =>
      makeMovie(filmOf(), { ...of, task: { ...of.task, id }, variant, mark });
    const first = await make('vt-1');
    vi.useFakeTimers({ toFake: ['Date'], now: Date.UTC(2030, 0, 1) });
    onTestFinished(() => void vi.useRealTimers());
    expect(Buffer.compare(first, await make('vt-1'))).toBe(0);
    expect(Buffer.compare(first, await make('vt-2'))).not.toBe(0);
    expect(Buffer.compare(first, await make('vt-1', 0, 'watermarked'))).not.toBe(0);
    const variant = await make('vt-1', 1);
    expect(variant.length).toBe(first.length);
    expect(Buffer.compare(first.subarray(0, 1000), variant.subarray(0, 1000))).not.toBe(0);
    expect(Buffer.compare(first.subarray(-20), variant.subarray(-20))).not.toBe(0);
  });

  it('is made of top-level boxes that add up to the file', async () => {
    const bytes = Buffer.from(await makeMovie(filmOf({ audio: true }), of));
    const types: string[] = [];
    let at = 0;
    while (at < bytes.length) {
      types.push(bytes.toString('latin1', at + 4, at + 8));
      const size = bytes.readUInt32BE(at);
      at += size === 1 ? Number(bytes.readBigUInt64BE(at + 8)) : size;
    }
    expect(at).toBe(bytes.length);
    expect(types).toEqual(['ftyp', 'moov', 'mdat', 'free']);
  });
});

it.each([
  ['480p', '16:9', 854, 480],
  ['720p', '9:16', 720, 1280],
  ['1080p', '21:9', 2520, 1080],
  ['1080p', '1:1', 1080, 1080],
  ['768p', '4:3', 1024, 768],
  ['2k', '16:9', 2560, 1440],
  ['4k', '16:9', 3840, 2160],
  ['4k', '4:3', 2880, 2160],
])('%s %s is %dx%d', (resolution, ratio, widthPx, heightPx) => {
  expect(pictureSize(resolution, ratio)).toEqual({ widthPx, heightPx });
});

it.each([
  [1920, 1080, '16:9'],
  [1000, 400, '21:9'],
  [640, 480, '4:3'],
  [1024, 1000, '1:1'],
  [600, 800, '3:4'],
  [500, 1200, '9:16'],
])('%dx%d comes closest to %s', (widthPx, heightPx, ratio) => {
  expect(nearestRatio(widthPx, heightPx)).toBe(ratio);
});
