import { readFileSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import * as path from 'node:path';
import { describe, expect } from 'vitest';
import { makePng } from '../../src/sandbox/media-check.ts';
import { cmd } from '../helpers/cmd.ts';
import { fakeGateway } from '../helpers/fake-gateway.ts';
import { clipsDir, test, World } from '../helpers/gw.ts';
import { listening } from '../helpers/listening.ts';

const create = ['video', 'beta', 'create'];

/** The path and body that the command would send, without the external ID that gw generates. */
async function shown(world: World, argv: readonly string[]) {
  const run = await world.ok([...create, ...argv, '--dry-run', '--json']);
  const { method, url, body } = JSON.parse(run.out);
  const { external_task_id: id, ...options } = body.options ?? {};
  if (id?.startsWith('gw-')) body.options = options;
  if (Object.keys(body.options ?? { none: true }).length === 0) delete body.options;
  return { method, path: new URL(url).pathname, body };
}

const png = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==',
  'base64',
);

describe('argv becomes the body', () => {
  test.for<[string, string[], string, unknown]>([
    ['a prompt alone', ['a', 'fox'], '/text-to-video/beta-3.0', { prompt: 'a fox' }],
    [
      'every flag of text',
      // biome-ignore format: a command line
      ['a fox', '--no-multi-shot', '--audio', 'native', '--resolution', '4k', '--ratio', '1:1', '--duration', '15', '--watermark', '--callback-url', 'https://example.com/hook', '--external-id', 'mine'],
      '/text-to-video/beta-3.0',
      {
        prompt: 'a fox',
        settings: { multi_shot: false, audio: 'native', resolution: '4k', aspect_ratio: '1:1', duration: 15 },
        options: {
          callback_url: 'https://example.com/hook',
          external_task_id: 'mine',
          watermark_info: { enabled: true },
        },
      },
    ],
    [
      'shots make the prompt and the duration',
      ['--turbo', '--shot', '3:a fox wakes, slowly', '--shot', '4: it runs'],
      '/text-to-video/beta-3.0-turbo',
      { prompt: 'shot 1, 3, a fox wakes, slowly; shot 2, 4, it runs;', settings: { duration: 7 } },
    ],
    [
      'shots that make the default duration say it all the same',
      ['--turbo', '--shot', '5:a fox'],
      '/text-to-video/beta-3.0-turbo',
      { prompt: 'shot 1, 5, a fox;', settings: { duration: 5 } },
    ],
    [
      'shots on the plain endpoint',
      ['--shot', '2:a fox wakes', '--shot', '4:it runs'],
      '/text-to-video/beta-3.0',
      { prompt: 'shot 1, 2, a fox wakes; shot 2, 4, it runs;', settings: { duration: 6 } },
    ],
    [
      'one shot by --no-multi-shot: the words are no shots',
      ['--no-multi-shot', 'shot 1, 2, a; shot 2, 4, b;'],
      '/text-to-video/beta-3.0',
      { prompt: 'shot 1, 2, a; shot 2, 4, b;', settings: { multi_shot: false } },
    ],
    [
      'a prompt of shots makes the duration too',
      ['--turbo', 'shot 1, 2, a; shot 2, 1, b;'],
      '/text-to-video/beta-3.0-turbo',
      { prompt: 'shot 1, 2, a; shot 2, 1, b;', settings: { duration: 3 } },
    ],
    [
      'what O1 refers to, in order',
      // biome-ignore format: a command line
      ['--mode', 'o1', '@fox and @element2', '--element', 'el-1', '--element', 'el-2', '--image', 'fox=https://example.com/a.png?x=1', '--image', 'https://example.com/b.jpg?y=2', '--ratio', '9:16'],
      '/omni-video/beta-o1',
      {
        contents: [
          { type: 'prompt', text: '@fox and @element2' },
          { type: 'refer_image', url: 'https://example.com/a.png?x=1', id: 'fox' },
          { type: 'refer_image', url: 'https://example.com/b.jpg?y=2' },
          { type: 'element', id: 'element1', element_id: 'el-1' },
          { type: 'element', id: 'element2', element_id: 'el-2' },
        ],
        settings: { aspect_ratio: '9:16' },
      },
    ],
    [
      'frames of O1',
      // biome-ignore format: a command line
      ['--mode', 'o1', '--last-frame', 'https://example.com/z.png', '--first-frame', 'start=https://example.com/a.png'],
      '/omni-video/beta-o1',
      {
        contents: [
          { type: 'first_frame', url: 'https://example.com/a.png', id: 'start' },
          { type: 'last_frame', url: 'https://example.com/z.png' },
        ],
      },
    ],
    [
      'a base video of O1 and its sound',
      ['--mode', 'o1', 'snow', '--base-video', 'clip=https://example.com/v.mp4', '--audio', 'original'],
      '/omni-video/beta-o1',
      {
        contents: [
          { type: 'prompt', text: 'snow' },
          { type: 'base_video', url: 'https://example.com/v.mp4', id: 'clip' },
        ],
        settings: { audio: 'original' },
      },
    ],
    [
      'a feature video of O1',
      ['--mode', 'o1', 'snow', '--feature-video', 'https://example.com/v.mov'],
      '/omni-video/beta-o1',
      {
        contents: [
          { type: 'prompt', text: 'snow' },
          { type: 'feature_video', url: 'https://example.com/v.mov' },
        ],
      },
    ],
    [
      'a mode that is not documented is sent as given',
      // biome-ignore format: a command line
      ['--mode', 'image', '--turbo', 'a fox', '--audio', 'original', '--duration', '99', '--set', 'image.url=https://example.com/a.png'],
      '/image-to-video/beta-3.0-turbo',
      {
        prompt: 'a fox',
        settings: { audio: 'original', duration: 99 },
        image: { url: 'https://example.com/a.png' },
      },
    ],
    [
      'shots in a mode that is not documented are words',
      ['--mode', 'image', '--turbo', 'shot 1, 9, a;'],
      '/image-to-video/beta-3.0-turbo',
      { prompt: 'shot 1, 9, a;' },
    ],
    ['omni', ['--mode', 'omni', 'a fox'], '/omni-video/beta-3.0-omni', { prompt: 'a fox' }],
    ['motion', ['--mode', 'motion', '--set', 'x=1'], '/motion-control/beta-3.0', { x: 1 }],
    ['image', ['--mode', 'image', 'a fox'], '/image-to-video/beta-3.0', { prompt: 'a fox' }],
  ])('%s', async ([_, argv, at, body], { world }) => {
    expect(await shown(world, argv)).toEqual({ method: 'POST', path: at, body });
    expect(world.requests()).toEqual([]);
  });

  test('a file of O1 goes as Base64, and the ID before it is not part of its name', async ({ world }) => {
    writeFileSync(path.join(world.cwd, 'fox.png'), png);
    const { body } = await shown(world, cmd`--mode o1 @fox --image fox=fox.png --ratio 1:1 --no-validate`);
    expect(body.contents[1]).toEqual({
      type: 'refer_image',
      url: `data:image/png;base64,${png.toString('base64')}`,
      id: 'fox',
    });
  });

  test('flags are laid over --body: a typed setting, the prompt item, and items of a type', async () => {
    const world = await World.open();
    const body = {
      contents: [
        { type: 'prompt', text: 'old' },
        { type: 'refer_image', url: 'https://example.com/old.png' },
        { type: 'element', id: 'owl', element_id: 'el-1' },
      ],
      settings: { aspect_ratio: '1:1', duration: 4 },
      options: { watermark_info: { enabled: true } },
    };
    writeFileSync(path.join(world.cwd, 'body.json'), JSON.stringify(body));
    const run = await shown(
      world,
      cmd`
      --mode o1 --body body.json -p new --image https://example.com/new.png --duration 8 --no-watermark
    `,
    );
    expect(run.body).toEqual({
      contents: [
        { type: 'prompt', text: 'new' },
        { type: 'element', id: 'owl', element_id: 'el-1' },
        { type: 'refer_image', url: 'https://example.com/new.png' },
      ],
      settings: { aspect_ratio: '1:1', duration: 8 },
      options: { watermark_info: { enabled: false } },
    });
  });

  test('shots leave stdin alone', async ({ world }) => {
    const run = await world.gw([...create, '--turbo', '--shot', '5:a fox', '--dry-run', '--json'], {
      stdin: 'the next line of a loop',
    });
    expect(JSON.parse(run.out).body.prompt).toBe('shot 1, 5, a fox;');
  });
});

describe('refused before anything is sent', () => {
  test.for<[string, string[], RegExp]>([
    ['no prompt', [], /no prompt/],
    ['a prompt of 3,073 characters', ['🦊'.repeat(3073)], /has 3073 characters, and may have at most 3072/],
    ['a mode that is none', cmd`a --mode audio`, /--mode audio: one of text, image, omni, motion, o1/],
    ['turbo where there is none', cmd`a --mode omni --turbo`, /--turbo: the mode omni .*text, image/s],
    ['a duration of another mode', cmd`a --duration 16`, /--duration 16: beta text takes 3-15 seconds/],
    ['a duration that is a word', cmd`a --duration abc`, /--duration abc: not a whole .*3-15/s],
    [
      '4k on turbo',
      cmd`a --turbo --resolution 4k`,
      /--resolution 4k: beta text --turbo takes 720p, 1080p; 4k is for text\n/,
    ],
    ['sound on turbo', cmd`a --turbo --audio native`, /--audio native: not a setting of beta text --turbo/],
    [
      'original sound of text',
      cmd`a --audio original`,
      /--audio original: beta text takes native, off; original is for o1/,
    ],
    [
      '--multi-shot on turbo',
      cmd`a --turbo --multi-shot`,
      /--multi-shot: not a setting of beta text --turbo/,
    ],
    ['--shot as one shot', cmd`--no-multi-shot --shot 5:a`, /--shot: not with --no-multi-shot/],
    ['--shot with a prompt', cmd`a --turbo --shot 5:a`, /prompt was given twice/],
    ['--shot on o1', cmd`--mode o1 --shot 5:a`, /--shot: not for the mode o1/],
    ['--shot on image', cmd`--mode image --turbo --shot 5:a`, /--shot: shots are for the mode text/],
    ['a shot without words', cmd`--turbo --shot 5:`, /--shot 5:: not of the form SECONDS:WORDS/],
    ['a shot of 1.5 s', cmd`--turbo --shot 1.5:a`, /the shots are 1.5 s together/],
    ['shots shorter than any video', cmd`--turbo --shot 1:fox`, /the shots are 1 s together/],
    ['a shot of half a second', cmd`--shot .5:a`, /--shot .5:a: not of the form/],
    ['a shot with a ;', cmd`--turbo --shot "5:a; b"`, /a ";" ends a shot/],
    ['a shot of no length', cmd`--turbo --shot 0:a --shot 5:b`, /shot 1 has the length "0"/],
    // biome-ignore format: a command line
    ['seven shots', cmd`--turbo --shot 1:a --shot 1:b --shot 1:c --shot 1:d --shot 1:e --shot 1:f --shot 1:g`, /at most 6 shots/],
    // biome-ignore format: a command line
    ['a sum that differs', cmd`--turbo --shot 2:a --shot 2:b --duration 5`, /--duration 5: the shots are 4 s together and the video 5 s/],
    [
      'shots longer than any video',
      cmd`--turbo --shot 16:a`,
      /--duration: the shots are 16 s together: together they must be 3-15 s/,
    ],
    ['an image for text', cmd`a --image https://example.com/a.png`, /--image: the mode text .*--mode o1/s],
    ['an image for image', cmd`a --mode image --image x.png`, /--image: how .*not documented.*--body/s],
    // biome-ignore format: a command line
    ['a first frame alone for 7 s', cmd`a --mode o1 --first-frame https://example.com/a.png --duration 7`, /--duration 7: .*5 or 10/],
    // biome-ignore format: a command line
    ['IDs within one another', cmd`a --mode o1 --ratio 1:1 --image a=https://example.com/a.png --image ab=https://example.com/b.png`, /--image ab: holds the ID a/],
    // biome-ignore format: a command line
    ['a last frame alone', cmd`a --mode o1 --ratio 1:1 --last-frame https://example.com/a.png`, /--last-frame: a last frame needs a first frame/],
    ['no ratio', cmd`a --mode o1`, /--ratio: is required without a first frame/],
    ['a video file', cmd`a --mode o1 --base-video clip.mp4`, /--base-video clip.mp4: .*address only/],
    ['an asset', cmd`a --mode o1 --ratio 1:1 --image asset://a1`, /this form cannot be used here/],
    ['a small picture', cmd`a --mode o1 --ratio 1:1 --image dot.png`, /1x1 px.*at least 300 px/],
    ['a callback that is no URL', cmd`a --callback-url hook`, /--callback-url hook: not a URL/],
    [
      'an external ID that --set leaves out',
      ['a', '--external-id', 'x', '--set', 'options={"watermark_info":{"enabled":true}}'],
      /--external-id x: --set options overwrites it/,
    ],
    ['an external ID with a comma', cmd`a --external-id a,b`, /--external-id a,b: .*no comma/],
    ['a model', cmd`a -m beta-3.0`, /unknown option '-m'/],
  ])('%s', async ([_, argv, message], { world }) => {
    writeFileSync(path.join(world.cwd, 'dot.png'), png);
    writeFileSync(path.join(world.cwd, 'clip.mp4'), readFileSync(path.join(clipsDir, '480p-16x9.mp4')));
    const run = await world.gw([...create, ...argv]);
    expect(run.code, run.err).toBe(2);
    expect(run.err).toMatch(message);
    expect(run.out).toBe('');
    expect(world.requests()).toEqual([]);
  });

  test('a prompt above the recommended length is warned of', async ({ world }) => {
    const run = await world.ok([...create, 'a'.repeat(2501)]);
    expect(run.err).toMatch(/warning: --prompt: has 2501 characters; at most 2500 are recommended/);
    expect((await world.gw([...create, 'a'.repeat(2500)])).err).not.toMatch(/recommended/);
  });

  test('a name that the prompt says and no item has is warned of', async ({ world }) => {
    const run = await world.gw([...create, '--mode', 'o1', '@fox runs', '--ratio', '1:1', '--dry-run']);
    expect(run.err).toMatch(/the prompt says @fox, and no item has that ID/);
  });
});

describe('O1 looks at the files it is given', () => {
  const black = () => {};
  test.for<[string, () => Promise<Uint8Array>, RegExp | undefined]>([
    ['300x300 px', () => makePng(300, 300, black), undefined],
    [
      '299 px',
      () => makePng(299, 400, black),
      /is 299x400 px; width and height must each be at least 300 px/,
    ],
    ['2.5:1', () => makePng(750, 300, black), undefined],
    ['more than 2.5:1', () => makePng(751, 300, black), /aspect ratio of 2.503; .* must be 0.4-2.5/],
    ['1:2.5', () => makePng(300, 750, black), undefined],
    ['less than 1:2.5', () => makePng(300, 751, black), /aspect ratio of 0.399/],
    ['a GIF', async () => Buffer.from('GIF89a\x2c\x01\x2c\x01\0\0\0;', 'latin1'), /gif.*jpeg, png/i],
    [
      'more than 50 MB',
      async () => Buffer.concat([await makePng(300, 300, black), Buffer.alloc(50 * 1_048_576)]),
      /it must be at most 50 MB/,
    ],
  ])('%s', async ([_, make, refused], { world }) => {
    writeFileSync(path.join(world.cwd, 'fox.png'), await make());
    const argv = ['--mode', 'o1', 'a fox', '--ratio', '1:1', '--image', 'fox.png'];
    const run = await world.gw([...create, ...argv]);
    if (refused) {
      expect(run).toMatchObject({ code: 2, out: '', err: expect.stringMatching(refused) });
      expect(world.requests()).toEqual([]);
    } else {
      expect(run.code, run.err).toBe(0);
    }
  });
});

describe('create', () => {
  test('--wait saves the video; the external ID is sent and stands in the ledger', async ({ world }) => {
    const run = await world.ok([...create, 'a fox', '--duration', '3', '--wait']);
    const [task] = world.sandbox.tasks();
    expect(run.out).toBe(`${world.cwd}/${task?.id}.mp4\n`);
    expect(world.sandbox.requests[0]?.body).toEqual({
      prompt: 'a fox',
      settings: { duration: 3 },
      options: { external_task_id: expect.stringMatching(/^gw-/) },
    });
    const list = JSON.parse((await world.gw(['jobs', 'list', '--json'])).out);
    expect([list].flat()[0]).toMatchObject({ family: 'beta', model: 'beta-3.0', prompt: 'a fox' });
  });

  test.each([
    ['output-image', ['.png']],
    ['output-audio', ['.mp3', '.wav']],
    ['output-voice', ['-voice.mp3']],
    ['output-video output-image', ['.mp4', '-image-1.png']],
  ])('%s is saved', async (words, endings) => {
    const world = await World.open();
    const run = await world.ok([...create, words, '--wait', '-o', 'out/']);
    const [task] = world.sandbox.tasks();
    expect(run.out.trim().split('\n')).toEqual(
      endings.map((ending) => `${world.cwd}/out/${task?.id}${ending}`),
    );
    expect(Object.values(world.files()).every((bytes) => bytes > 0)).toBe(true);
  });

  test('what the document does not list is saved under the type of its bytes; one name for several is told of', async () => {
    const world = await World.open();
    const clip = readFileSync(path.join(clipsDir, '480p-16x9.mp4'));
    const { url } = await listening(createServer((_, response) => response.end(clip)));
    const outputs = [
      { type: 'video', url },
      { type: 'video', url },
      { type: 'hologram', url },
    ];
    const gateway = await fakeGateway(() => ({
      body: { code: 0, data: [{ id: 't-1', status: 'succeeded', outputs }] },
    }));
    const env = { GW_BASE_URL: gateway.url };
    const run = await world.ok(['video', 'beta', 'wait', 't-1', '-o', 'fox.mp4'], { env });
    const names = ['fox.mp4', 'fox-video-2.mp4', 'fox-hologram.mp4'];
    expect(run.out).toBe(names.map((name) => `${world.cwd}/${name}\n`).join(''));
    expect(run.err).toContain(`saved as ${names.join(', ')}; put {index} into --out`);
    // The request that confirms the unknown task also counts as the first look of the wait.
    expect(gateway.requests).toHaveLength(1);
    const numbered = await world.gw(['video', 'beta', 'download', 't-1', '-o', 'n-{index}.{ext}'], { env });
    expect(numbered.out).toBe([1, 2, 3].map((at) => `${world.cwd}/n-${at}.mp4\n`).join(''));
    expect(numbered.err).not.toContain('one name');
  });

  test('code 5 with HTTP 200 is a refusal, said once and not sent again', async ({ world }) => {
    const gateway = await fakeGateway(() => ({
      body: { code: 5, message: 'no such style', request_id: 'r-1' },
    }));
    const run = await world.gw([...create, 'a fox', '--json'], { env: { GW_BASE_URL: gateway.url } });
    expect(run.code, run.err).toBe(5);
    expect(JSON.parse(run.err.trim().split('\n').at(-1) ?? '')).toMatchObject({
      error: {
        kind: 'rejected',
        code: '5',
        message: expect.stringContaining('no such style'),
        request_id: 'r-1',
      },
    });
    expect(gateway.requests).toEqual(['POST /text-to-video/beta-3.0']);
  });

  test.for<[string, object, RegExp]>([
    ['"0"', { code: '0' }, /warning: .*code "0", a text; it is taken for 0/],
    ['none', {}, /warning: .*without a code/],
  ])('the code %s is accepted with a warning', async ([_, code, warning], { world }) => {
    const gateway = await fakeGateway(() => ({
      body: { ...code, data: { id: 't-1', status: 'submitted' } },
    }));
    const run = await world.gw([...create, 'a fox'], { env: { GW_BASE_URL: gateway.url } });
    expect(run).toMatchObject({ code: 0, out: 't-1\n', err: expect.stringMatching(warning) });
  });

  test.each([
    ['no ID', {}],
    ['an ID that is a number', { id: 17 }],
    ['an ID of 10 KB', { id: 'a'.repeat(10_240) }],
    ['an ID that is a path', { id: '../x' }],
  ])('a 200 with %s is looked up by the external ID', async (_, data) => {
    const world = await World.open();
    const gateway = await fakeGateway((method, url) => ({
      body: {
        code: 0,
        data:
          method === 'POST' ? data : [{ id: 't-9', status: 'processing', external_id: externalIdIn(url) }],
      },
    }));
    const run = await world.gw([...create, 'a fox'], { env: { GW_BASE_URL: gateway.url } });
    expect(run, run.err).toMatchObject({ code: 0, out: 't-9\n' });
    expect(run.err).toContain('no answer named the task; looking for it by its external ID gw-');
    expect(gateway.requests.map((line) => line.replace(/gw-.*/, 'ID'))).toEqual([
      'POST /text-to-video/beta-3.0',
      'GET /tasks?external_task_ids=ID',
    ]);
  });

  const externalIdIn = (url: string) => new URL(url, 'http://host').searchParams.get('external_task_ids');
});

test('help names every mode, what each takes, and that some bodies are not documented', async ({ world }) => {
  const { out } = await world.ok([...create, '--help']);
  const text = out.replace(/\s+/g, ' ');
  expect(text).toContain(
    '--mode MODE what to make the video from (default text) (text, image, omni, motion, o1)',
  );
  expect(text).toContain('length in seconds: 3-15 (text, text --turbo); 3-10 (o1)');
  expect(text).toContain('sound (the service: off): native, off (text); original, off (o1)');
  expect(text).toContain('720p, 1080p, 4k (text); 720p, 1080p (text --turbo, o1)');
  expect(text).toContain('The bodies of the modes image, omni and motion are not documented');
  expect(text).toContain('--shot SECONDS:WORDS...');
});
