import { existsSync, mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import * as path from 'node:path';
import { describe, expect } from 'vitest';
import { cmd } from '../helpers/cmd.ts';
import { test, World } from '../helpers/gw.ts';
import { make, picture, pngHead, sparse, tone } from '../media/fixtures.ts';

const create = ['video', 'gamma', 'create'];
const sized = ['--resolution', '768P', '--duration', '5'];
const text = ['a fox', ...sized, '--ratio', '16:9'];
const hasLedger = (world: World) => {
  const dir = path.join(world.dir, '.local/state/gw/ledger');
  return existsSync(dir) && readdirSync(dir).length > 0;
};
/** The body that the command would send. */
const bodyOf = async (world: World, words: readonly string[]) => {
  const run = await world.ok([...create, ...words, '--dry-run', '--json']);
  return JSON.parse(run.out).body;
};

describe('create', () => {
  test('without --wait prints the ID alone; get, wait and download take it', async ({ world }) => {
    const run = await world.gw([...create, ...text]);
    const [task] = world.sandbox.tasks();
    expect(run).toMatchObject({ code: 0, out: `${task?.id}\n`, err: '' });
    const id = String(task?.id);
    expect((await world.gw(['video', 'gamma', 'get', id])).out).toMatch(/^status +(queued|running)$/m);
    await world.ok(['video', 'gamma', 'wait', id, '--no-download']);
    expect(await world.gw(['video', 'gamma', 'download', id])).toMatchObject({
      code: 0,
      out: `${world.cwd}/${id}.mp4\n`,
    });
  });
});

describe('the request', () => {
  test('every flag reaches its field', async ({ world }) => {
    const run = await world.gw([
      ...create,
      ...['--prompt', 'the fox runs', '-m', 'gamma-H3', '--image', 'https://example.com/fox.png'],
      ...cmd`--image gammafile://12 --video gammafile://34 --audio https://example.com/wind.mp3`,
      ...['--resolution', '2K', '--duration', '15', '--ratio', '9:16', '--no-watermark'],
      ...['--callback-url', 'https://example.com/hook', '--dry-run', '--json'],
    ]);
    expect(JSON.parse(run.out)).toEqual({
      method: 'POST',
      url: `${world.sandbox.baseUrl}/v2/video_generation`,
      headers: expect.objectContaining({ authorization: 'Bearer ***', 'content-type': 'application/json' }),
      body: {
        model: 'gamma-H3',
        content: [
          { type: 'text', text: 'the fox runs' },
          { type: 'image_url', image_url: { url: 'https://example.com/fox.png' }, role: 'reference_image' },
          { type: 'image_url', image_url: { url: 'gammafile://12' }, role: 'reference_image' },
          { type: 'video_url', video_url: { url: 'gammafile://34' }, role: 'reference_video' },
          { type: 'audio_url', audio_url: { url: 'https://example.com/wind.mp3' }, role: 'reference_audio' },
        ],
        resolution: '2K',
        duration: 15,
        ratio: '9:16',
        callback_url: 'https://example.com/hook',
        aigc_watermark: false,
      },
    });
  });

  test('nothing is sent that was not said: frames and references leave the ratio out', async ({ world }) => {
    const frames = cmd`--first-frame https://example.com/a.png --last-frame https://example.com/b.png`;
    expect(await bodyOf(world, ['a fox', ...sized, ...frames])).toEqual({
      model: 'gamma-H3',
      content: [
        { type: 'text', text: 'a fox' },
        { type: 'image_url', image_url: { url: 'https://example.com/a.png' }, role: 'first_frame' },
        { type: 'image_url', image_url: { url: 'https://example.com/b.png' }, role: 'last_frame' },
      ],
      resolution: '768P',
      duration: 5,
    });
    expect(
      await bodyOf(world, ['a fox', ...sized, '--image', 'https://example.com/a.png']),
    ).not.toHaveProperty('ratio');
  });

  test('the model is that of the flag, else of --body, else of the settings', async ({ world }) => {
    writeFileSync(path.join(world.cwd, 'body.json'), '{"model":"gamma-H3","duration":7}');
    expect(await bodyOf(world, text)).toMatchObject({ model: 'gamma-H3' });
    await world.gw(['config', 'set', 'models.gamma', 'gamma-H3-Max']);
    expect(await bodyOf(world, text)).toMatchObject({ model: 'gamma-H3-Max' });
    const over = ['a fox', '--resolution', '768P', '--ratio', '1:1', '--body', 'body.json'];
    expect(await bodyOf(world, over)).toMatchObject({ model: 'gamma-H3', duration: 7 });
    expect(await bodyOf(world, [...over, '-m', 'gamma-H3-Max'])).toMatchObject({ model: 'gamma-H3-Max' });
  });

  test('flags and --set are laid over --body: a prompt over its texts, media over those of their role', async () => {
    const world = await World.open();
    writeFileSync(
      path.join(world.cwd, 'body.json'),
      JSON.stringify({
        content: [
          { type: 'text', text: 'old' },
          { type: 'image_url', image_url: { url: 'gammafile://old' }, role: 'first_frame' },
          { type: 'image_url', image_url: { url: 'gammafile://kept' }, role: 'last_frame' },
        ],
        resolution: '2K',
        duration: 4,
      }),
    );
    const words = ['new', '--first-frame', 'gammafile://new', '--duration', '6', '--body', 'body.json'];
    expect(await bodyOf(world, [...words, '--set', 'aigc_watermark=true', '--set', 'seed=7'])).toEqual({
      model: 'gamma-H3',
      content: [
        { type: 'text', text: 'new' },
        { type: 'image_url', image_url: { url: 'gammafile://kept' }, role: 'last_frame' },
        { type: 'image_url', image_url: { url: 'gammafile://new' }, role: 'first_frame' },
      ],
      resolution: '2K',
      duration: 6,
      aigc_watermark: true,
      seed: 7,
    });
  });

  test('--no-validate sends a request that breaks a rule, with a warning', async ({ world }) => {
    const sent = await world.gw(cmd`${create} "a fox" --resolution 768P --duration 16 --no-validate`);
    expect(sent.err).toContain('warning: --duration 16: gamma-H3 takes 4-15 seconds');
    expect(sent.err).toContain('warning: --ratio: is required for text-to-video');
    expect(sent.code).toBe(5);
    expect(world.requests()).toHaveLength(1);
  });

  test('a ratio beside a frame is a warning: the video follows the image', async ({ world }) => {
    const frame = ['a fox', ...sized, '--first-frame', 'https://example.com/a.png', '--dry-run'];
    const run = await world.gw([...create, ...frame, '--ratio', '16:9']);
    expect(run).toMatchObject({
      code: 0,
      err: expect.stringContaining('warning: --ratio: the video follows'),
    });
    expect(await world.gw([...create, ...frame, '--ratio', 'adaptive'])).toMatchObject({ code: 0, err: '' });
  });
});

describe('bad input: one clear sentence, exit 2, nothing sent, nothing in the ledger', () => {
  const image = ['--image', 'https://example.com/a.png'];
  const first = ['--first-frame', 'https://example.com/a.png'];
  test.for<[string, string[], RegExp]>([
    [
      'no resolution',
      cmd`x --duration 5 --ratio 1:1`,
      /^error: --resolution: is required: gamma-H3 takes 768P, 2K\n/,
    ],
    [
      'text without a ratio',
      cmd`x ${sized}`,
      /^error: --ratio: is required for text-to-video: one of 21:9, 16:9/,
    ],
    [
      'nothing but a prompt',
      ['x'],
      /^error: --resolution \(768P, 2K\), --duration \(4-15 seconds\) and --ratio \(21:9, 16:9, .*\) are required\n/,
    ],
    ['adaptive for text', cmd`x ${sized} --ratio adaptive`, /--ratio adaptive: text-to-video cannot use it/],
    ['no prompt', cmd`${image} ${sized}`, /a prompt is required in every scenario/],
    ['an empty prompt', cmd`--prompt "" ${sized} --ratio 1:1`, /prompt.*empty/],
    [
      '2K on Max',
      cmd`x -m gamma-H3-Max --resolution 2K --duration 5 --ratio 1:1`,
      /--resolution 2K: gamma-H3-Max takes 480P, 768P; 2K is for gamma-H3\n/,
    ],
    [
      '768p',
      cmd`x --resolution 768p --duration 5 --ratio 1:1`,
      /--resolution 768p: one of 480P, 768P, 2K; did you mean 768P\?/,
    ],
    ['-1 s', cmd`x --resolution 2K --duration -1 --ratio 1:1`, /--duration -1: gamma-H3 takes 4-15 seconds/],
    [
      'auto',
      cmd`x --resolution 2K --duration auto --ratio 1:1`,
      /--duration auto: not a whole number of seconds\nhint: .*4-15 \(gamma-H3\)/,
    ],
    [
      'an unknown model',
      cmd`x -m gamma-h4 ${sized}`,
      /--model gamma-h4: not a model of family gamma.*did you mean gamma-H3/,
    ],
    [
      'an image on Max',
      cmd`x -m gamma-H3-Max ${sized} ${image}`,
      /--image: gamma-H3-Max takes no reference images: use gamma-H3\n/,
    ],
    ['a frame and an image', cmd`x ${sized} ${first} ${image}`, /--first-frame: cannot go with references/],
    [
      'an asset of family A',
      cmd`x ${sized} --image asset://a`,
      /--image asset:\/\/a: this form cannot be used here; give a file, a data: URI, an https:\/\/ URL or gammafile:\/\/ID/,
    ],
    ['a bare file ID', cmd`x ${sized} --image 12345`, /gammafile:\/\/12345/],
    [
      'a callback that is no URL',
      cmd`x ${sized} --ratio 1:1 --callback-url example.com`,
      /--callback-url example.com: not a URL/,
    ],
    ['a flag of family A', cmd`x ${sized} --generate-audio`, /unknown option '--generate-audio'/],
    ['an HTML page for an image', cmd`x ${sized} --image page.png`, /--image page.png: is HTML/],
    [
      'a GIF for an image',
      cmd`x ${sized} --image a.gif`,
      /--image a.gif: is GIF.*jpeg, png, webp, heic, heif/,
    ],
    [
      'a small image',
      cmd`x ${sized} --first-frame small.png`,
      /--first-frame small.png: is 255x300 px; width and height must each be 256-5760 px/,
    ],
    [
      'an image over 30 MB',
      cmd`x ${sized} --image huge.png`,
      /--image huge.png: has 30 MB \(31457281 bytes\); it must be at most 30 MB/,
    ],
    [
      'a body over 64 MB',
      cmd`x ${sized} --video long.mp4`,
      /--video long.mp4: the media come to 66\.\d MB .* over 64 MB/,
    ],
    ['a missing file', cmd`x ${sized} --video none.mp4`, /--video none.mp4/],
  ])('%s', async ([_, words, sentence], { world }) => {
    const at = (name: string) => path.join(world.cwd, name);
    writeFileSync(at('page.png'), '<!doctype html><title>no</title>');
    writeFileSync(at('a.gif'), Buffer.from('R0lGODlhAAQAAwAAACwAAAAAAAQAAwAAAgEAOw==', 'base64'));
    writeFileSync(at('small.png'), pngHead(255, 300));
    sparse(at('huge.png'), pngHead(1000, 1000), 31_457_281);
    sparse(at('long.mp4'), Buffer.from('\0\0\0\x10ftypisom\0\0\0\0', 'latin1'), 50 * 1_048_576);
    const run = await world.gw([...create, ...words]);
    expect(run.err).toMatch(sentence);
    expect(run).toMatchObject({ code: 2, out: '' });
    expect(world.requests()).toEqual([]);
    expect(hasLedger(world)).toBe(false);
  });

  test('a prompt of 7,001 characters, counted as code points', async ({ world }) => {
    writeFileSync(path.join(world.cwd, 'long.txt'), '🦊'.repeat(7001));
    writeFileSync(path.join(world.cwd, 'longest.txt'), '🦊'.repeat(7000));
    const at = (name: string) => ['--prompt-file', name, ...sized, '--ratio', '1:1', '--dry-run'];
    expect(await world.gw([...create, ...at('long.txt')])).toMatchObject({
      code: 2,
      err: expect.stringMatching(/--prompt-file: has 7001 characters; a text item has at most 7000/),
    });
    expect(await world.gw([...create, ...at('longest.txt')])).toMatchObject({ code: 0, err: '' });
  });
});

describe('local clips', { tags: ['ffmpeg'] }, () => {
  const clips = (world: World) => {
    mkdirSync(path.join(world.cwd, 'clips'), { recursive: true });
    return (name: string, ...options: string[]) => {
      make(path.join(world.cwd, 'clips'), name, ...options);
      return `clips/${name}`;
    };
  };

  test('a video, audio and an image go as Base64', async ({ world }) => {
    const clip = clips(world);
    const video = clip('a.mp4', ...picture('160x120', 3));
    const audio = clip('a.mp3', ...tone(3), '-c:a', 'libmp3lame');
    const image = clip('a.png', '-f', 'lavfi', '-i', 'testsrc=size=320x256', '-frames:v', '1');
    const { content } = await bodyOf(world, [
      ...['a fox', ...sized, '--video', video, '--audio', audio, '--image', image],
    ]);
    expect(content).toMatchObject([
      { type: 'text' },
      { image_url: { url: expect.stringMatching(/^data:image\/png;base64,/) } },
      { video_url: { url: expect.stringMatching(/^data:video\/mp4;base64,/) } },
      { audio_url: { url: expect.stringMatching(/^data:audio\/mpeg;base64,/) } },
    ]);
  });

  test('clips that each fit are refused where they are over 15 s together, kind by kind', async () => {
    const world = await World.open();
    const clip = clips(world);
    const long = clip('long.wav', ...tone(10));
    const short = clip('short.wav', ...tone(5));
    const longer = clip('longer.wav', ...tone(6));
    const video = clip('v.mp4', ...picture('160x120', 10));
    const words = ['a fox', ...sized, '--audio', long, '--dry-run'];
    expect(await world.gw([...create, ...words, '--audio', longer])).toMatchObject({
      code: 2,
      err: expect.stringContaining(
        '--audio: the 2 audio files together are 16 s long; at most 15 s together are allowed',
      ),
    });
    await world.ok([...create, ...words, '--audio', short, '--video', video]);
  });

  test('a codec that is not taken is named with its flag', async ({ world }) => {
    const file = clips(world)('a.mp4', ...tone(3), ...picture('160x120', 3), '-c:a', 'ac3');
    const run = await world.gw([...create, 'a fox', ...sized, '--video', file]);
    expect(run).toMatchObject({
      code: 2,
      err: `error: --video ${file}: its sound is AC3; the codecs taken are AAC, MP3\n`,
    });
  });
});

test('help shows what each model takes, and examples', async ({ world }) => {
  const { out } = await world.ok([...create, '--help']);
  expect(out.replace(/\s+/g, ' ')).toContain('768P, 2K (gamma-H3); 480P, 768P (gamma-H3-Max)');
  expect(out.replace(/\s+/g, ' ')).toContain('4-15 (gamma-H3); 5-15 (gamma-H3-Max)');
  expect(out).toContain('gw video gamma create --sandbox');
});
