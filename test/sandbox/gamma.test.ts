import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { gammaFixedRatios, gammaModels } from '../../src/gateway/gamma/models.ts';
import { parseFaults } from '../../src/sandbox/faults.ts';
import { makeMovie } from '../../src/sandbox/film.ts';
import type { Sandbox } from '../../src/sandbox/server.ts';
import { newDir } from '../helpers/new-dir.ts';
import {
  ask,
  audio,
  clipsDir,
  decode,
  get,
  handClock,
  image,
  json,
  pngUri,
  post,
  probe,
  sandbox,
  text,
  video,
  wavUri,
} from './fixture.ts';

const fast = { speed: Number.POSITIVE_INFINITY };
const DAY_MS = 86_400_000;
const createPath = '/v2/video_generation';
const queryPath = (id: string) => `/v2/query/video_generation/${id}`;

const gammaBody = (over: Record<string, unknown> = {}) => ({
  model: 'gamma-H3',
  content: [text('a fox in the snow')],
  resolution: '768P',
  duration: 4,
  ratio: '16:9',
  ...over,
});
const withContent = (...content: unknown[]) =>
  gammaBody({ content: [text('a fox'), ...content], ratio: 'adaptive' });

async function createdId(at: Sandbox, body: unknown = gammaBody()): Promise<string> {
  const answer = await post(at, createPath, body);
  if (answer.status !== 200) throw new Error(`not created: ${answer.status} ${answer.text}`);
  return json(answer).task_id;
}
const taskOf = async (at: Sandbox, id: string) => json(await get(at, queryPath(id))).task;
const finished = async (at: Sandbox, body?: unknown) => taskOf(at, await createdId(at, body));

async function movieUri(
  durationS: number,
  over: { resolution?: string; audio?: boolean; format?: 'mp4' | 'mov' } = {},
) {
  const film = {
    durationS,
    ratio: '16:9',
    resolution: '480p',
    format: 'mp4' as const,
    audio: false,
    ...over,
  };
  const bytes = await makeMovie(film, { task: { id: 'x', createdAtMs: 0 }, clipsDir });
  return `data:video/${film.format === 'mov' ? 'quicktime' : 'mp4'};base64,${Buffer.from(bytes).toString('base64')}`;
}

describe('a task of family C', () => {
  it('is created with its ID alone, and goes from queued by running to succeeded', async () => {
    const clock = handClock();
    const at = await sandbox({ now: clock.now });
    const answer = await post(at, createPath, gammaBody());
    expect([answer.status, json(answer)]).toEqual([200, { task_id: expect.stringMatching(/^vc-\d{14}-/) }]);
    const id = json(answer).task_id;
    const queued = await taskOf(at, id);
    expect(queued).toEqual({
      id,
      model: 'gamma-H3',
      status: 'queued',
      created_at: clock.nowMs / 1000,
      updated_at: clock.nowMs / 1000,
      resolution: '768P',
      duration: 4,
      task_type: 'generation',
      modality: 'video',
    });
    clock.pass(20_000);
    expect(await taskOf(at, id)).toMatchObject({ status: 'running' });
    clock.pass(100_000);
    const done = await taskOf(at, id);
    expect(done).toEqual({
      ...queued,
      status: 'succeeded',
      updated_at: expect.any(Number),
      ratio: '16:9',
      content: { url: expect.stringMatching(`^${at.outputUrl}/outputs/${id}/video.mp4\\?expires=`) },
      usage: {
        total_seconds: 4,
        input_seconds: 0,
        output_seconds: 4,
        input_image_count: 0,
        total_tokens: expect.any(Number),
        prompt_tokens: 5,
        completion_tokens: expect.any(Number),
      },
    });
    expect(done.usage.total_tokens).toBe(done.usage.prompt_tokens + done.usage.completion_tokens);
  });

  it('counts what went in', async () => {
    const at = await sandbox(fast);
    const references = withContent(
      image('reference_image'),
      image('reference_image', await pngUri(300, 600)),
      video(await movieUri(3)),
      audio(wavUri(2)),
    );
    const { usage, ratio } = await finished(at, references);
    expect(usage).toMatchObject({
      total_seconds: 7,
      input_seconds: 3,
      output_seconds: 4,
      input_image_count: 2,
      input_audio_seconds: 2,
    });
    expect(ratio).toBe('16:9'); // the first image was not fetched
  });

  it.each<[string, () => Promise<Record<string, unknown>>, string]>([
    ['a first frame', async () => withContent(image('first_frame', await pngUri(600, 800))), '3:4'],
    [
      'a first frame whatever was asked for',
      async () => ({ ...withContent(image('first_frame', await pngUri(600, 800))), ratio: '21:9' }),
      '3:4',
    ],
    ['a reference', async () => withContent(image('reference_image', await pngUri(500, 500))), '1:1'],
    [
      'a ratio asked for beside a reference',
      async () => ({ ...withContent(image('reference_image', await pngUri(500, 500))), ratio: '9:16' }),
      '9:16',
    ],
  ])('follows %s', async (_, body, ratio) => {
    expect((await finished(await sandbox(fast), await body())).ratio).toBe(ratio);
  });

  it('is unknown with 400 when it never was, is another family’s, or is older than 7 days', async () => {
    const clock = handClock();
    const at = await sandbox({ now: clock.now, ...fast });
    const id = await createdId(at);
    clock.pass(7 * DAY_MS - 1);
    expect((await get(at, queryPath(id))).status).toBe(200);
    clock.pass(1);
    const alpha = json(
      await post(at, '/api/v3/contents/generations/tasks', {
        model: 'alpha-video-2-0-260128',
        content: [text('x')],
      }),
    ).id;
    for (const unknown of [id, alpha, 'nope', '..%2F..']) {
      const answer = await get(at, queryPath(unknown));
      expect([unknown, answer.status, json(answer).error.code]).toEqual([unknown, 400, 'InvalidParameter']);
    }
  });

  it.each([
    ['task:fail=Broken', 'failed', 'Broken'],
    ['task:cancel', 'cancelled', 'TaskCancelled'],
  ])('ends by %s as %s, with an error', async (fault, status, code) => {
    const at = await sandbox({ ...fast, faults: parseFaults(fault) });
    const record = await finished(at);
    expect(record).toMatchObject({ status, error: { code, message: expect.any(String) } });
    expect(record).not.toHaveProperty('content');
    expect(record).not.toHaveProperty('usage');
  });

  it('task:cancel leaves families alone that know no such end', async () => {
    const at = await sandbox({ ...fast, faults: parseFaults('task:cancel') });
    const body = { model: 'alpha-video-2-0-260128', content: [text('x')] };
    const { id } = json(await post(at, '/api/v3/contents/generations/tasks', body));
    expect(json(await get(at, `/api/v3/contents/generations/tasks/${id}`)).status).toBe('succeeded');
  });

  it('meets the content review by words in the prompt, and an empty account by a fault', async () => {
    const at = await sandbox({ ...fast, faults: parseFaults('create:402:x1') });
    expect((await post(at, createPath, gammaBody())).status).toBe(402);
    const refused = await post(at, createPath, gammaBody({ content: [text('a sensitive-prompt')] }));
    expect([refused.status, json(refused).error.code]).toEqual([422, 'SensitiveContentDetected']);
    const late = await finished(at, gammaBody({ content: [text('a sensitive-output')] }));
    expect(late).toMatchObject({ status: 'failed', error: { code: 'OutputVideoSensitiveContentDetected' } });
    expect(at.tasks()).toHaveLength(1);
  });
});

describe('media of family C that came as Base64', () => {
  it.each<[string, () => Promise<unknown>, RegExp]>([
    [
      'an image too small',
      async () => image('first_frame', await pngUri(200, 300)),
      /content\[1\].*256-5760/,
    ],
    ['an image too wide', async () => image('first_frame', await pngUri(900, 300)), /0\.4-2\.5/],
    ['no image', async () => image('first_frame', 'data:image/png;base64,aGVsbG8='), /not an image/],
    ['audio too short', async () => audio(wavUri(1)), /1\.0 s long, 2-15 s/],
    ['audio too long', async () => audio(wavUri(16)), /2-15 s/],
    ['no audio', async () => audio('data:audio/wav;base64,aGVsbG8='), /not audio/],
    ['a video too short', async () => video(await movieUri(1)), /1\.0 s long, 2-15 s/],
    ['no video', async () => video('data:video/mp4;base64,aGVsbG8='), /not video/],
  ])('%s is refused', async (_, item, why) => {
    const at = await sandbox(fast);
    const answer = await post(at, createPath, withContent(await item()));
    expect(answer.status).toBe(400);
    expect(json(answer).error.message).toMatch(why);
    expect(at.tasks()).toEqual([]);
  });

  it('keeps to 15 s in all, of video and of audio', async () => {
    const at = await sandbox(fast);
    const eight = await movieUri(8);
    const videos = await post(at, createPath, withContent(video(eight), video(eight)));
    expect(json(videos).error.message).toMatch(/content\[2\].*16\.0 s of video in all, at most 15 s/);
    const sounds = await post(at, createPath, withContent(audio(wavUri(8)), audio(wavUri(8))));
    expect(json(sounds).error.message).toMatch(/16\.0 s of audio in all/);
    const seven = await movieUri(7, { audio: true, format: 'mov' });
    const both = withContent(video(seven), video(eight), audio(wavUri(15)));
    expect((await post(at, createPath, both)).status).toBe(200);
  });

  it('takes addresses and files of the gateway unseen', async () => {
    const at = await sandbox(fast);
    const items = [image('reference_image', 'gammafile://file-1'), video('gammafile://v2')];
    expect((await post(at, createPath, withContent(...items))).status).toBe(200);
  });
});

describe('videos of family C, as ffprobe sees them', { tags: ['ffmpeg'] }, () => {
  const sizes = [
    ['gamma-H3-Max', '480P', '16:9', 854, 480],
    ['gamma-H3', '768P', '4:3', 1024, 768],
    ['gamma-H3', '2K', '9:16', 1440, 2560],
  ] as const;
  it.each(sizes)('%s %s %s is %dx%d', async (model, resolution, ratio, width, height) => {
    expect(gammaModels[model]?.resolutions).toContain(resolution);
    expect(gammaFixedRatios).toContain(ratio);
    const folder = newDir();
    const at = await sandbox(fast);
    const record = await finished(at, gammaBody({ model, resolution, ratio, duration: 5 }));
    const path = join(folder, 'video.mp4');
    await writeFile(path, (await ask(record.content.url)).bytes);
    const { streams, format } = await probe(path);
    expect(streams).toMatchObject([{ codec_name: 'h264', width, height, nb_frames: '120' }]);
    expect(Number(format.duration)).toBe(5);
    expect(await decode(path)).toBe('');
  });
});
