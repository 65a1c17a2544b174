import { mkdirSync, readdirSync, readFileSync, truncateSync, writeFileSync } from 'node:fs';
import * as path from 'node:path';
import { imageSize } from 'image-size';
import { describe, expect, test } from 'vitest';
import { cmd } from '../helpers/cmd.ts';
import { reply, startFaultServer } from '../helpers/fault-server.ts';
import { World } from '../helpers/gw.ts';

const png = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==',
  'base64',
);
const dataUrl = `data:image/png;base64,${png.toString('base64')}`;
const id = 'gw-[A-Za-z0-9]+';

async function open(options: Parameters<typeof World.open>[0] = {}): Promise<World> {
  const world = await World.open({ speed: 1e9, ...options });
  writeFileSync(path.join(world.cwd, 'fox.png'), png);
  return world;
}

const bodies = (world: World) => world.sandbox.requests.map((request) => request.body);
const creates = (world: World) => world.requests().filter((request) => request.startsWith('POST'));
const small = ['--size', '64x48'];

describe('gw image create', () => {
  test.each([true, false])('saves the image and prints its path (terminal: %s)', async (terminal) => {
    const world = await open();
    const run = await world.ok(['image', 'create', 'a', 'fox', ...small], { terminal });
    const file = run.out.trimEnd();
    expect(path.dirname(file)).toBe(world.cwd);
    expect(path.basename(file)).toMatch(new RegExp(`^${id}\\.png$`));
    expect(imageSize(readFileSync(file))).toMatchObject({ type: 'png', width: 64, height: 48 });
    expect(bodies(world)).toEqual([{ model: 'img-2', prompt: 'a fox', size: '64x48' }]);
  });

  test('--json prints one object, its record without Base64', async () => {
    const world = await open();
    const run = await world.ok(['image', 'create', 'a fox', ...small, '--json']);
    const result = JSON.parse(run.out);
    expect(Object.keys(result)).toEqual(['family', 'id', 'status', 'record', 'files']);
    expect(result).toMatchObject({
      family: 'image',
      id: expect.stringMatching(new RegExp(`^${id}$`)),
      status: 'succeeded',
      record: { data: [{ b64_json: '' }], size: '64x48', output_format: 'png' },
      files: [{ path: expect.any(String), bytes: expect.any(Number), type: 'image/png' }],
    });
    expect(readFileSync(result.files[0].path)).toHaveLength(result.files[0].bytes);
    const job = JSON.parse((await world.gw(['jobs', 'show', result.id, '--json'])).out);
    expect(job).toMatchObject({
      family: 'image',
      model: 'img-2',
      prompt: 'a fox',
      settings: { size: '64x48' },
    });
  });

  const seed = '9007199254740993';
  const text = `{"created": 1, "seed": ${seed}, "data": [{"b64_json": "${png.toString('base64')}"}]}`;
  test.each([
    ['a whole reply', reply(200, text)],
    [
      'an event',
      reply(200, `data: ${text.replace('{', '{"type":"image_generation.completed",')}\n\n`, {
        'content-type': 'text/event-stream',
      }),
    ],
  ])('the record of %s holds its numbers as they came, now and later', async (_, step) => {
    const world = await open();
    const server = await startFaultServer({ steps: [step] });
    const env = { GW_BASE_URL: server.url };
    const words = ['image', 'create', 'a fox', '--once', 'k', '--json'];
    for (const each of [words, words, ['jobs', 'show', 'k', '--json'], ['jobs', 'wait', 'k', '--json']])
      expect((await world.ok(each, { env })).out).toContain(`"seed":${seed},"data":[{"b64_json":""}]}`);
    expect(server.requests).toHaveLength(1);
  });

  test('a revised prompt is told on stderr and kept in the sidecar', async () => {
    const world = await open();
    const small = ['-m', 'legacy-image-3', '--size', '1024x1024', '--sidecar'];
    const run = await world.ok(['image', 'create', 'a fox', ...small]);
    const sidecar = JSON.parse(readFileSync(`${run.out.trimEnd()}.json`, 'utf8'));
    expect(sidecar).toMatchObject({ prompt: 'a fox', revised_prompt: expect.stringContaining('a fox, in') });
    expect(run.err).toContain(`revised prompt: ${sidecar.revised_prompt}`);
    const other = await world.gw(['image', 'create', 'a fox', '--size', '64x48', '--sidecar']);
    expect(other.err).not.toContain('revised');
    expect(readFileSync(`${other.out.trimEnd()}.json`, 'utf8')).not.toContain('revised');
  });

  test('every flag stands in the body under its field', async () => {
    const world = await open();
    await world.ok([
      ...cmd`image create "a fox" -m img-2.5-flare --size 64x64 --quality xhigh --n 2`,
      ...['--background', 'opaque', '--moderation', 'low', '--format', 'webp', '--compression', '70'],
      ...cmd`--partial-images 1 --input-fidelity low --user me --image fox.png -o foxes/`,
    ]);
    expect(bodies(world)).toEqual([
      {
        model: 'img-2.5-flare',
        prompt: 'a fox',
        size: '64x64',
        quality: 'xhigh',
        n: 2,
        background: 'opaque',
        moderation: 'low',
        output_format: 'webp',
        output_compression: 70,
        partial_images: 1,
        // Partial images arrive only in a stream.
        stream: true,
        input_fidelity: 'low',
        user: 'me',
        image: [dataUrl],
      },
    ]);
  });

  test('legacy flags stand in the body, and an image that comes as a URL is saved', async () => {
    const world = await open();
    const run = await world.ok([
      ...['image', 'create', 'a fox', '-m', 'legacy-image-3', '--style', 'vivid', '--quality', 'hd'],
      ...['--response-format', 'url', '-o', 'fox.{ext}'],
    ]);
    expect(bodies(world)[0]).toEqual({
      model: 'legacy-image-3',
      prompt: 'a fox',
      style: 'vivid',
      quality: 'hd',
      response_format: 'url',
    });
    expect(path.basename(run.out.trimEnd())).toMatch(/^fox(-1)?\.png$/);
  });

  test('several images are numbered', async () => {
    const world = await open();
    const run = await world.ok(['image', 'create', 'a fox', ...small, '--n', '2']);
    expect(run.out).toMatch(new RegExp(`/(${id})-1\\.png\n.*/\\1-2\\.png\n$`));
    const inDir = await world.gw(['image', 'create', 'a fox', ...small, '--n', '2', '-o', 'foxes/']);
    expect(inDir.out).toMatch(new RegExp(`/foxes/(${id})-1\\.png\n.*/foxes/\\1-2\\.png\n$`));
    const named = await world.gw(['image', 'create', 'a fox', ...small, '--n', '2', '-o', 'f{index}.png']);
    expect(named.out).toMatch(/\/f1\.png\n.*\/f2\.png\n$/);
  });

  test('--out - writes the image to stdout and nothing else', async () => {
    const world = await open();
    const run = await world.ok(['image', 'create', 'a fox', ...small, '-o', '-']);
    expect(run.out).toMatch(/^\uFFFDPNG\r\n/);
    expect(run.out).toMatch(/IEND/);
    expect(run.out.includes('gw-')).toBe(false);
    expect(Object.keys(world.files())).toEqual(['fox.png']);
  });

  test('--out - writes one image, and the path of a further one stands on stderr alone', async () => {
    const world = await open();
    const parts = [{ inlineData: { mimeType: 'image/png', data: png.toString('base64') } }];
    const text = JSON.stringify({ candidates: [{ content: { parts } }, { content: { parts } }] });
    const server = await startFaultServer({ steps: [reply(200, text)] });
    const run = await world.ok(['image', 'native', 'a fox', '-o', '-', '--base-url', server.url]);
    expect(run.out).toBe(png.toString());
    expect(run.err).toMatch(/a further one is saved as .*gw-\w+-image-2\.png/);
  });

  test.each([
    [['--json'], /--out -: stdout holds the image, and --json prints there too/],
    [['--n', '2'], /--out -: stdout takes one image, and 2 are asked for/],
    [['--partial-images', '1', '--keep-partials'], /--out -: --keep-partials needs the image on disk/],
    [['--preview'], /--out -: --preview needs the image on disk/],
    [['--exec', 'true'], /--out -: --exec needs the image on disk/],
  ])('--out - with %j is refused', async (more, message) => {
    const world = await open();
    const run = await world.gw(['image', 'create', 'a fox', '-o', '-', ...more]);
    expect(run.code).toBe(2);
    expect(run.err).toMatch(more[0] === '--json' ? /stdout holds the image/ : message);
    expect(world.requests()).toEqual([]);
  });

  test.each([
    ['-o', '-'],
    ['--n', '2', '--partial-images', '1'],
  ])('defaults of the profile that only some images have a use for yield to %s %s', async (...more) => {
    const world = await open();
    const defaults = ['preview', 'sidecar', 'keep-partials'].map((name) => [name, 'true']);
    for (const [name, value] of [...defaults, ['exec', 'true']])
      await world.ok(['config', 'set', `defaults.image.create.${name}`, `${value}`]);
    const run = await world.ok(['image', 'create', 'a fox', ...small, ...more]);
    expect(Object.keys(world.files())).toHaveLength(more[1] === '-' ? 1 : 7);
    if (more[1] !== '-') expect(run.err).toMatch(/partial 2 of 2/);
    expect((await world.gw(['image', 'create', 'a fox', ...small])).code).toBe(0);
  });

  test('--out - to a terminal is refused before anything is sent', async () => {
    const world = await open();
    const run = await world.gw(['image', 'create', 'a fox', '-o', '-'], { terminal: true });
    expect(run.code).toBe(2);
    expect(run.err).toContain('gw writes no image to a terminal');
    expect(world.requests()).toEqual([]);
  });

  test('partial images are told of, and kept only where that is asked for', async () => {
    const world = await open();
    const told = await world.ok(['image', 'create', 'a fox', ...small, '--partial-images', '2']);
    expect(told.err).toMatch(/partial 1 of 2/);
    expect(Object.keys(world.files())).toHaveLength(2);
    const kept = await world.ok([
      ...['image', 'create', 'a fox', ...small, '--partial-images', '2', '--keep-partials', '-o', 'kept.png'],
    ]);
    expect(kept.out).toBe(`${path.join(world.cwd, 'kept.png')}\n`);
    expect(kept.err).toMatch(/partial image kept: .*kept\.partial-1\.png/);
    expect(Object.keys(world.files())).toContain('kept.partial-2.png');
  });

  test('a delta model takes one reference as a text and several as a list', async () => {
    const world = await open();
    const shown = async (...refs: string[]) => {
      const images = refs.flatMap((ref) => ['--image', ref]);
      const run = await world.ok([
        ...['image', 'create', 'a fox', '-m', 'delta-image-4-0-250828', ...images, '--dry-run', '--json'],
      ]);
      return JSON.parse(run.out).body;
    };
    expect(await shown('fox.png')).toMatchObject({ image: dataUrl });
    expect(await shown('fox.png', 'https://example.com/a.png')).toMatchObject({
      image: [dataUrl, 'https://example.com/a.png'],
    });
    expect(world.requests()).toEqual([]);
  });

  test('a transparent image has a format that can be transparent, also where none was typed', async () => {
    const world = await open();
    const formatOf = async (command: 'create' | 'edit', ...more: string[]) => {
      const words = [command, 'a fox', '--background', 'transparent', '--dry-run', '--json', ...more];
      return JSON.parse((await world.ok(['image', ...words])).out).body.output_format;
    };
    const image = ['--image', 'https://example.com/a.png'];
    expect(await formatOf('create')).toBe('png');
    expect(await formatOf('edit', ...image)).toBe('png');
    expect(await formatOf('create', '--format', 'webp')).toBe('webp');
  });

  test('the ledger keeps the settings and names the images, without data and without what signs a URL', async () => {
    const world = await open();
    const refs = ['--image', 'https://example.com/a.png?signature=canary', '-m', 'delta-image-4-0-250828'];
    await world.ok(['image', 'create', 'a fox', ...refs, '--size', '1K', '--json']);
    await world.ok(['image', 'edit', 'x', ...small, '--image', 'fox.png', '--json']);
    const state = path.join(world.dir, '.local/state/gw/ledger');
    const lines = (readdirSync(state, { recursive: true }) as string[])
      .filter((name) => name.endsWith('.jsonl'))
      .flatMap((name) => readFileSync(path.join(state, name), 'utf8').trim().split('\n'));
    const intents = lines
      .filter((line) => line !== '')
      .map((line) => JSON.parse(line))
      .filter(({ event }) => event === 'intent');
    expect(intents).toMatchObject([
      {
        endpoint: 'image.generate',
        prompt: 'a fox',
        settings: { model: 'delta-image-4-0-250828', size: '1K' },
        media: ['https://example.com/a.png'],
      },
      { endpoint: 'image.edit', settings: { model: 'img-2', size: '64x48' }, media: ['fox.png'] },
    ]);
    for (const { settings } of intents) expect(Object.keys(settings).sort()).toEqual(['model', 'size']);
    expect(lines.join()).not.toContain('canary');
    expect(lines.join()).not.toContain(png.toString('base64').slice(0, 40));
  });

  test('--preview draws on a terminal, and nowhere else', async () => {
    const world = await open();
    const argv = ['image', 'create', 'a fox', ...small, '--preview'];
    const drawn = await world.ok(argv, { terminal: true, env: { TERM: 'xterm-256color', TMUX: 'x' } });
    expect(drawn.err).toContain('▀');
    expect(drawn.out).toMatch(/^\/.*\.png\n$/);
    const plain = await world.gw([...argv, '--no-color'], { terminal: true, env: { TMUX: 'x' } });
    expect(plain.err.replaceAll('\n', ' ')).toMatch(
      /warning: no preview of .*: the terminal shows no colours/,
    );
    for (const more of [{ terminal: false }, { terminal: true, env: { TMUX: 'x' } }]) {
      const run = await world.ok(more.terminal ? [...argv, '-q'] : argv, more);
      expect(run.err).not.toContain('▀');
    }
  });

  test.each([
    [cmd`--size 1000x1000`, /--size 1000x1000: img-2 takes auto or WIDTHxHEIGHT .* the nearest is 1008x1008/],
    [cmd`-m delta-image-4-0-250828 --size 2k`, /--size 2k: .*the nearest is 2K/],
    [cmd`-m delta-image-4-5-251128 --size 1K`, /--size 1K: .*1K is for delta-image-4-0-250828/],
    [cmd`--n 11`, /--n 11: a whole number from 1 to 10/],
    [cmd`--n two`, /--n two: not a whole number/],
    [cmd`--n -1`, /--n -1: a whole number from 1 to 10/],
    [cmd`--background transparent --format jpeg`, /--background transparent: .*png or webp/],
    [cmd`--compression 50 --format png`, /--compression 50: .*webp and jpeg/],
    [cmd`--compression 50.5 --format webp`, /--compression 50.5: not a whole number/],
    [cmd`--response-format url`, /--response-format url: img models always return Base64/],
    [
      cmd`--quality xhigh`,
      /--quality xhigh: img-2 takes low, medium, high, auto; xhigh is for img-2.5-sunburst/,
    ],
    [cmd`--quality hig`, /--quality hig: one of .*; did you mean high\?/],
    [cmd`--style vivid`, /--style vivid: only legacy-image-3/],
    [cmd`--partial-images 4`, /--partial-images 4: a whole number from 0 to 3/],
    [['--keep-partials'], /--keep-partials: no partial images are asked for/],
    [cmd`--image nothing.png`, /--image nothing.png: no such file/],
    [cmd`--image asset://a-1`, /--image asset:\/\/a-1: this form cannot be used here/],
    [cmd`--image file_id:file-1`, /--image file_id:file-1: file_id: cannot be used here/],
    [cmd`--image words.png`, /--image words.png: is .*not an image/],
    [cmd`--mask fox.png`, /unknown option '--mask'/],
    [cmd`-o fox.png/`, /--out/],
  ])('refused with nothing sent: %j', async (more, message) => {
    const world = await open();
    writeFileSync(path.join(world.cwd, 'words.png'), '<!doctype html><p>not an image');
    const run = await world.gw(['image', 'create', 'a fox', ...more]);
    expect(run.err).toMatch(message);
    expect({ code: run.code, out: run.out }).toEqual({ code: 2, out: '' });
    expect(world.requests()).toEqual([]);
  });

  test('an empty prompt, and none on a terminal, are refused', async () => {
    const world = await open();
    expect((await world.gw(['image', 'create', '  '])).err).toMatch(/the prompt is empty/);
    for (const command of ['create', 'native'])
      expect((await world.gw(cmd`image ${command} fox -m ""`)).err).toMatch(/^error: --model: is empty\n/);
    expect((await world.gw(['image', 'create'], { terminal: true })).err).toMatch(/no prompt/);
    expect(world.requests()).toEqual([]);
  });

  test('--no-validate sends what breaks a rule, with a warning', async () => {
    const world = await open();
    const run = await world.gw(['image', 'create', 'a fox', '--size', '1000x1000', '--no-validate']);
    expect(run.err).toMatch(/warning: --size 1000x1000: .*the nearest is 1008x1008/);
    // The sandbox enforces the same rules and refuses the request.
    expect(run.code).toBe(5);
    expect(creates(world)).toEqual(['POST /v1/images/generations']);
  });

  test('what is allowed but likely not meant is a warning', async () => {
    const world = await open();
    const warned = async (...more: string[]) =>
      (await world.gw(['image', 'create', 'a fox', '--dry-run', ...more])).err;
    expect(await warned('--background', 'transparent')).toMatch(/warning: --background: .*preview on img-2/);
    expect(await warned('--size', '3840x2160')).toMatch(/warning: --size: above 2560x1440 is experimental/);
    expect(await warned('--size', '2560x1440')).toBe('');
    const delta = ['-m', 'delta-image-5-0-lite-260128', '--image', 'https://example.com/a.png'];
    expect(await warned(...delta)).toBe('');
    expect(await warned(...delta, '--input-fidelity', 'high')).toMatch(
      /warning: --input-fidelity: the document lists model, prompt, size and image for delta models/,
    );
    expect(await warned('--input-fidelity', 'high')).toMatch(
      /warning: --input-fidelity: there is no input image \(--image\) to keep to/,
    );
    const edit = ['image', 'edit', 'a fox', '--image', 'fox.png', '-m', 'legacy-image-2', '--dry-run'];
    expect((await world.gw([...edit, '--response-format', 'url'])).err).toMatch(
      /warning: --response-format: the document lists it for generation, not for edits/,
    );
    expect(await warned('-m', 'img-2.5-flair')).toMatch(
      /warning: --model img-2.5-flair: not an image model that the document lists.*did you mean img-2.5-flare\?/,
    );
  });

  test('the prompt comes from stdin where there is none, and --set and --body are laid under the flags', async () => {
    const world = await open();
    writeFileSync(
      path.join(world.cwd, 'body.json'),
      JSON.stringify({ prompt: 'old', quality: 'low', later: 1 }),
    );
    const run = await world.ok([
      ...cmd`image create --body body.json --prompt new --set user=u --dry-run --json`,
    ]);
    expect(JSON.parse(run.out).body).toEqual({
      prompt: 'new',
      quality: 'low',
      later: 1,
      model: 'img-2',
      user: 'u',
    });
    writeFileSync(path.join(world.cwd, 'body.json'), JSON.stringify({ model: 4 }));
    const odd = await world.gw(cmd`image create fox --body body.json --dry-run`);
    expect(odd).toMatchObject({ code: 2, err: expect.stringMatching(/^error: model 4: must be a text\n/) });
    const piped = await world.gw(['image', 'create', '--dry-run', '--json'], { stdin: 'from a pipe' });
    expect(JSON.parse(piped.out).body).toEqual({ model: 'img-2', prompt: 'from a pipe' });
  });

  test('one name for several images is refused, in a dry run too', async () => {
    const world = await open();
    for (const more of [[], ['--dry-run']]) {
      const run = await world.gw(['image', 'create', 'a fox', '--n', '2', '-o', 'fixed.png', ...more]);
      expect(run).toMatchObject({ code: 2, err: expect.stringContaining('fixed-{index}.png') });
    }
    expect(world.requests()).toEqual([]);
  });

  test('--set partial_images asks for a stream too', async () => {
    const world = await open();
    const run = await world.gw(cmd`image create "a fox" --set partial_images=1 --dry-run --json`);
    expect(JSON.parse(run.out)).toMatchObject({
      headers: { accept: 'text/event-stream' },
      body: { partial_images: 1, stream: true },
    });
  });

  test.each([
    ['create:401', 3, 'auth', 1],
    ['create:402', 6, 'balance', 1],
    ['create:400', 5, 'rejected', 1],
    ['create:503', 14, 'unknown_outcome', 1],
    ['create:reset-after', 14, 'unknown_outcome', 1],
    ['create:cut', 14, 'unknown_outcome', 1],
  ])('%s exits %i as %s, and is sent once', async (fault, code, kind, sent) => {
    const world = await open({ fault });
    const run = await world.gw(['image', 'create', 'a fox', ...small, '--json']);
    expect({ code: run.code, sent: creates(world).length }, run.err).toEqual({ code, sent });
    const { error } = JSON.parse(run.err.trim().split('\n').at(-1) ?? '');
    expect(error).toMatchObject({ kind });
    // No image was made, so there is no result.
    if (kind !== 'unknown_outcome') return expect(run.out).toBe('');
    // The hint says where to look for the image and how to close the job: an image has no task ID.
    const { task_id: key, hint } = error;
    expect(hint).toContain(`look for it on the gateway's console or bill (gw jobs show ${key} tells`);
    expect(hint).toMatch(new RegExp(`nothing was made, close it with: gw jobs resolve ${key} --as none$`));
    await world.ok(['jobs', 'resolve', key, '--as', 'none']);
  });

  test('the default model is a setting', async () => {
    const world = await open();
    await world.gw(['config', 'set', 'models.image', 'img-2.5-flare']);
    const run = await world.gw(['image', 'create', 'a fox', '--dry-run', '--json']);
    expect(JSON.parse(run.out).body.model).toBe('img-2.5-flare');
  });
});

describe('gw image edit', () => {
  const edit = ['image', 'edit', 'put a hat on it', ...small];

  test('help names only the models that it takes', async () => {
    const world = await open();
    const { out } = await world.gw(['image', 'edit', '--help']);
    expect(out).toContain('legacy-image-2');
    expect(out).not.toMatch(/legacy-image-3"|delta-image/);
  });

  test('null makes it JSON, because a form has no null', async () => {
    const world = await open();
    const words = [...edit, '--image', 'fox.png', '--set', 'quality=null', '--dry-run', '--json'];
    const run = await world.gw([...words, '--no-validate']);
    expect(JSON.parse(run.out).body, run.err).toMatchObject({
      quality: null,
      images: [{ image_url: dataUrl }],
    });
    const form = await world.gw([...words, '--no-validate', '--multipart']);
    expect(form).toMatchObject({
      code: 2,
      err: expect.stringMatching(/--multipart: a form cannot hold null.*quality/),
    });
  });

  test('files that are too large for JSON are pointed to the form', async () => {
    const world = await open();
    const large = path.join(world.cwd, 'large.png');
    writeFileSync(large, png);
    truncateSync(large, 100 * 1024 * 1024);
    const sources = ['--image', large, '--image', large];
    const run = await world.gw([...edit, ...sources, '--no-multipart']);
    expect(run).toMatchObject({
      code: 2,
      err: expect.stringMatching(/over 256 MB.*\nhint: with --multipart/),
    });
    expect(world.requests()).toEqual([]);
  });

  test('local files go out as a form', async () => {
    const world = await open();
    writeFileSync(path.join(world.cwd, 'mask.png'), png);
    const run = await world.ok([...edit, '--image', 'fox.png', '--mask', 'mask.png', '--n', '2']);
    const [request] = world.sandbox.requests;
    expect(request?.path).toBe('/v1/images/edits');
    expect(String(request?.headers['content-type'])).toMatch(/^multipart\/form-data; boundary=/);
    expect(request?.body).toMatchObject({
      fields: { model: ['img-2'], prompt: ['put a hat on it'], size: ['64x48'], n: ['2'] },
      files: [
        { field: 'image[]', name: 'fox.png', type: 'image/png' },
        { field: 'mask', name: 'mask.png', type: 'image/png' },
      ],
    });
    expect(run.out).toMatch(/-1\.png\n.*-2\.png\n$/);
    const shown = await world.gw([...edit, '--image', 'fox.png', '--mask', 'mask.png', '--dry-run']);
    expect(shown.out).toContain('prompt: put a hat on it\n');
    expect(shown.out).toContain(
      `image[]: fox.png (image/png, ${png.length} bytes) from ${world.cwd}/fox.png\n`,
    );
    expect(shown.out).toContain(
      `mask: mask.png (image/png, ${png.length} bytes) from ${world.cwd}/mask.png\n`,
    );
    const curl = await world.gw([...edit, '--image', 'fox.png', '--curl']);
    expect(curl.out).toContain(`image[]=@"${world.cwd}/fox.png";type=image/png;filename="fox.png"`);
    expect(curl.out).toContain('--form-string');
  });

  test.each<[string[], unknown]>([
    [cmd`--image fox.png --no-multipart`, { images: [{ image_url: dataUrl }] }],
    [cmd`--image https://example.com/fox.png`, { images: [{ image_url: 'https://example.com/fox.png' }] }],
    [
      cmd`--image fox.png --image file_id:file-1`,
      { images: [{ image_url: dataUrl }, { file_id: 'file-1' }] },
    ],
    [
      cmd`--image fox.png --mask file_id:file-hat`,
      { images: [{ image_url: dataUrl }], mask: { file_id: 'file-hat' } },
    ],
    [cmd`--image ${dataUrl}`, { images: [{ image_url: dataUrl }] }],
    [cmd`--image fox.png --set mask.file_id=file-hat`, { mask: { file_id: 'file-hat' } }],
  ])('%j goes out as JSON', async (more, body) => {
    const world = await open();
    await world.ok([...edit, ...more]);
    expect(bodies(world)).toEqual([
      expect.objectContaining({ model: 'img-2', prompt: 'put a hat on it', ...(body as object) }),
    ]);
  });

  test.each([
    [
      cmd`--image https://example.com/a.png --multipart`,
      /--image https:\/\/example.com\/a.png: a form takes local files only/,
    ],
    [cmd`--image fox.png --mask file_id:f --multipart`, /--mask file_id:f: a form takes local files only/],
    [cmd`--image fox.png --set mask.file_id=f --multipart`, /--multipart: a form takes images from --image/],
    [cmd`--image fox.png --multipart --no-multipart`, /contradict each other\nhint: give one of them/],
    [[], /--image: is required/],
    [
      Array.from({ length: 17 }, (_, index) => ['--image', `missing-${index}.png`]).flat(),
      /--image: up to 16 input images, 17 given/,
    ],
    [cmd`--image missing.png`, /--image missing.png: no such file/],
    [
      cmd`--image @fox.png`,
      /--image @fox.png: no such file\nhint: a media file is named without the @: fox.png/,
    ],
    [cmd`--image words.png`, /--image words.png: is .*not an image/],
    [cmd`--image fox.png -m legacy-image-3`, /--model legacy-image-3: the edits endpoint takes/],
    [cmd`--image fox.png -m delta-image-4-0-250828`, /gw image create --image/],
    [cmd`--image fox.png --quality hd`, /--quality hd: one of low/],
  ])('refused with nothing sent: %j', async (more, message) => {
    const world = await open();
    writeFileSync(path.join(world.cwd, 'words.png'), '{"not": "an image"}');
    mkdirSync(path.join(world.cwd, 'dir'));
    const run = await world.gw(['image', 'edit', 'put a hat on it', ...more]);
    expect(run.err).toMatch(message);
    expect({ code: run.code, out: run.out }).toEqual({ code: 2, out: '' });
    expect(world.requests()).toEqual([]);
  });

  test('--json prints the object of every image command', async () => {
    const world = await open();
    const run = await world.ok([...edit, '--image', 'fox.png', '--partial-images', '1', '--json']);
    expect(JSON.parse(run.out)).toMatchObject({
      family: 'image',
      status: 'succeeded',
      files: [{ type: 'image/png' }],
    });
  });
});

describe('gw image native', () => {
  test('sends the public shape and saves the Base64 parts of the reply', async () => {
    const world = await open();
    const run = await world.ok(['image', 'native', 'a fox', '--image', 'fox.png', '-o', 'n.png']);
    expect(run.out).toBe(`${path.join(world.cwd, 'n.png')}\n`);
    expect(world.requests()).toEqual(['POST /v1/models/img-2:generateContent']);
    expect(bodies(world)).toEqual([
      {
        contents: [
          {
            role: 'user',
            parts: [
              { text: 'a fox' },
              { inlineData: { mimeType: 'image/png', data: png.toString('base64') } },
            ],
          },
        ],
      },
    ]);
  });

  test('an image URL in the reply is downloaded', async () => {
    const world = await open();
    const run = await world.ok(['image', 'native', 'a fox', '-m', 'sandbox-image-url-1', '--json']);
    const [file] = JSON.parse(run.out).files;
    expect(imageSize(readFileSync(file.path)).width).toBeGreaterThan(0);
  });

  test('a URL is a file part, and --set reaches every other field', async () => {
    const world = await open();
    const run = await world.gw([
      ...['image', 'native', 'a fox', '--image', 'https://example.com/a.png', '--dry-run', '--json'],
      ...['--set', 'generationConfig.responseModalities=["IMAGE"]'],
    ]);
    expect(JSON.parse(run.out)).toMatchObject({
      body: {
        contents: [{ parts: [{ text: 'a fox' }, { fileData: { fileUri: 'https://example.com/a.png' } }] }],
        generationConfig: { responseModalities: ['IMAGE'] },
      },
    });
  });

  test.each([
    { contents: [{ parts: [{ text: 'a fox' }, { later: true }] }], later: 1 },
    { instances: [{ prompt: 'a fox' }] },
  ])('a body of another shape passes: %j', async (body) => {
    const world = await open();
    writeFileSync(path.join(world.cwd, 'body.json'), JSON.stringify(body));
    const run = await world.gw(['image', 'native', '--body', 'body.json', '--dry-run', '--json']);
    expect(JSON.parse(run.out).body).toEqual(body);
  });

  const picture = (name: string) => ({ fileData: { fileUri: `https://example.com/${name}.png` } });
  const said = (...parts: object[]) => ({ role: 'user', parts });
  const drawn = { role: 'model', parts: [picture('drawn')] };
  test.each([
    [['a hare'], [said({ text: 'a fox' }, picture('a'))], [said({ text: 'a hare' }, picture('a'))]],
    [
      ['a hare'],
      [said({ text: 'a fox' }), drawn],
      [said({ text: 'a fox' }), drawn, said({ text: 'a hare' })],
    ],
    [
      ['--image', 'https://example.com/b.png'],
      [drawn, said({ text: 'a fox' }, picture('a'))],
      [drawn, said({ text: 'a fox' }, picture('b'))],
    ],
    [['a hare'], 'a fox', [said({ text: 'a hare' })]],
  ])('flags are laid into the contents of --body: %j over %j', async (typed, contents, sent) => {
    const world = await open();
    writeFileSync(path.join(world.cwd, 'body.json'), JSON.stringify({ contents }));
    const words = ['image', 'native', '--body', 'body.json', ...typed, '--dry-run', '--json'];
    expect(JSON.parse((await world.gw(words)).out).body.contents).toEqual(sent);
  });

  test('a body of another shape is drawn by the sandbox from its prompt, with one warning', async () => {
    const world = await open();
    writeFileSync(path.join(world.cwd, 'body.json'), JSON.stringify({ instances: [{ prompt: 'a fox' }] }));
    const run = await world.ok(['image', 'native', '--body', 'body.json', '-o', 'n.png']);
    expect(run.err.match(/warning: .*/g)).toEqual([
      expect.stringMatching(/body of this endpoint is not documented/),
    ]);
  });

  test('a field that a model does not take is the only one that is told, and none that it would imply', async () => {
    const world = await open();
    for (const words of [
      ['--background', 'transparent'],
      ['--partial-images', '1'],
    ]) {
      const run = await world.gw(['image', 'create', 'a fox', '-m', 'legacy-image-2', ...words]);
      expect(run).toMatchObject({ code: 2, err: expect.not.stringContaining('also:') });
    }
  });

  test('a refused command says its refusal and no warning', async () => {
    const world = await open();
    for (const more of [
      ['native', '--image', 'none.png'],
      ['create', '--size', '3840x2160', '--no-validate', '--image', 'none.png'],
      ['create', '-m', 'img-none', '--set', 'other=1'],
    ]) {
      const run = await world.gw(['image', ...more, 'a fox']);
      expect(run, more.join()).toMatchObject({ code: 2, err: expect.stringMatching(/^error: /) });
    }
  });

  test.each([
    [['a fox', '-m', '..'], /not a usable model/],
    [['a fox', '--size', '2K'], /unknown option '--size'/],
  ])('refused with nothing sent: %j', async (more, message) => {
    const world = await open();
    const run = await world.gw(['image', 'native', ...more]);
    expect(run.err).toMatch(message);
    expect(run.code).toBe(2);
    expect(world.requests()).toEqual([]);
  });

  test('an answer that cannot be read names the path that was asked for', async () => {
    const world = await open();
    const server = await startFaultServer({ steps: [reply(200, 'no JSON')] });
    const run = await world.gw(['image', 'native', 'a fox'], { env: { GW_BASE_URL: server.url } });
    expect([run.code, run.err]).toEqual([
      14,
      expect.stringContaining('(POST /v1/models/img-2:generateContent)'),
    ]);
  });

  test.each([
    ['create:401', 3],
    ['create:503', 14],
  ])('%s exits %i', async (fault, code) => {
    const world = await open({ fault });
    expect((await world.gw(['image', 'native', 'a fox'])).code).toBe(code);
    expect(creates(world)).toHaveLength(1);
  });
});

test('what is the same request goes by the pictures that are sent, and by the model that stands in the address', async () => {
  const world = await open();
  const file = path.join(world.cwd, 'fox.png');
  const isAlike = async (words: string) =>
    /the same was asked for/.test((await world.ok(words.split(' '))).err);
  for (const command of ['edit', 'create']) {
    writeFileSync(file, png);
    expect(await isAlike(`image ${command} hat --image fox.png`)).toBe(false);
    writeFileSync(path.join(world.cwd, 'other-name.png'), png);
    expect(await isAlike(`image ${command} hat --image other-name.png`)).toBe(true);
    writeFileSync(file, Buffer.concat([png.subarray(0, -1), Buffer.of(0)]));
    expect(await isAlike(`image ${command} hat --image fox.png`)).toBe(false);
  }
  expect(await isAlike('image native hat -m img-2')).toBe(false);
  expect(await isAlike('image native hat -m img-2.5-flare')).toBe(false);
  expect(await isAlike('image native hat -m img-2')).toBe(true);
});

test.each(['create', 'edit', 'native'])('the help of %s is complete', async (name) => {
  const world = await open();
  const { out } = await world.ok(['image', name, '--help']);
  for (const flag of cmd`--prompt --model --image --out --preview --force`) expect(out).toContain(flag);
  const settings = cmd`--size --quality "--n " --background --moderation --format --compression`;
  const more = cmd`--style --response-format --stream --partial-images --keep-partials --input-fidelity`;
  if (name !== 'native') for (const flag of [...settings, ...more, '--user']) expect(out).toContain(flag);
  if (name === 'edit') expect(out).toMatch(/--mask[\s\S]*--\[no-\]multipart/);
  const sizes = (await world.gw(['help', 'image-sizes'])).out.replace(/\s+/g, ' ');
  if (name === 'create') expect(sizes).toMatch(/delta-image-5-0-pro-260628: 1K, 1\.5K, 2K or WIDTHxHEIGHT/);
  if (name === 'native') expect(out).toMatch(/does\s+not\s+document\s+the\s+body/);
});
