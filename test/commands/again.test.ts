import { readdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import * as path from 'node:path';
import { describe, expect, test } from 'vitest';
import { createCommands } from '../../src/commands/batch/row-command.ts';
import { makePng } from '../../src/sandbox/media-check.ts';
import { cmd } from '../helpers/cmd.ts';
import { KEY, World } from '../helpers/gw.ts';
import { savedJob } from './jobs-seed.ts';

// `gw again` repeats the command line of a job and lays the newly typed flags over it.

const fox = await makePng(512, 512, (row) => row.fill(90));
const hare = await makePng(512, 512, (row) => row.fill(200));

const open = async (options: Parameters<typeof World.open>[0] = {}) => {
  const world = await World.open(options);
  writeFileSync(path.join(world.cwd, 'fox.png'), fox);
  return world;
};

/** Runs a command that must succeed and returns its one JSON object. */
async function json(world: World, argv: readonly string[], env: Record<string, string> = {}) {
  const run = await world.ok([...argv, '--json'], { env });
  return JSON.parse(run.out) as Record<string, unknown> & { id: string; body: Record<string, unknown> };
}
const make = async (world: World, argv: readonly string[], env: Record<string, string> = {}) =>
  (await json(world, argv, env)).id;
/** The body that a command would send, without the external task ID. */
async function shown(world: World, argv: readonly string[]): Promise<Record<string, unknown>> {
  const { body } = await json(world, [...argv, '--dry-run']);
  const { external_task_id: _, ...options } = (body.options ?? {}) as Record<string, unknown>;
  return { ...body, ...(body.options !== undefined && { options }) };
}
async function refused(world: World, argv: readonly string[], env: Record<string, string> = {}) {
  const before = world.requests().length;
  const run = await world.gw(argv, { env });
  expect([run.code, world.requests().length - before], run.err).toEqual([2, 0]);
  return run.err;
}
const journal = (world: World) => {
  const dir = path.join(world.dir, '.local/state/gw/ledger');
  return readdirSync(dir)
    .filter((name) => name.endsWith('.jsonl'))
    .map((name) => readFileSync(path.join(dir, name), 'utf8'))
    .join('');
};

test('two flags that would both read stdin are named', async () => {
  const world = await open();
  await make(world, ['video', 'alpha', 'create', 'a fox']);
  expect(await refused(world, ['again', 'last', '--body', '-', '--prompt', '-'])).toContain(
    '--body and --prompt both read stdin',
  );
});

test('a flag is a switch in every create or in none, so that its words can be read before the job is known', () => {
  const forms = new Map<string, boolean>();
  for (const { flags } of Object.values(createCommands)) {
    for (const [key, { value }] of Object.entries(flags)) {
      expect(forms.get(key) ?? value === undefined, key).toBe(value === undefined);
      forms.set(key, value === undefined);
    }
  }
});

const creates = [
  'video alpha create FOX -m 2.0-fast --duration 4 --resolution 480p --no-watermark',
  'video alpha create FOX --image fox.png --image https://example.com/a.png --duration auto',
  'video alpha create FOX -m 2.0 --web-search --return-last-frame',
  'video beta create FOX --set seed=7 --no-validate --callback-url https://example.com/told',
  'video beta create --turbo --shot 2:FOX --shot 3:HARE --ratio 1:1',
  'video beta create FOX --mode o1 --image fox=fox.png --element e=42 --ratio 1:1',
  'video beta create FOX --external-id mine-1 --watermark --no-multi-shot',
  'video beta create FOX --set options={"external_task_id":"mine-2","watermark_info":{"enabled":true}}',
  'video gamma create FOX --resolution 768P --duration 6 --ratio 16:9',
  'video gamma create FOX --first-frame fox.png --resolution 2K --duration 5',
  'video alpha create FOX --set content.1={"type":"text","text":"HARE"}',
  'video gamma create FOX --resolution 768P --duration 6 --ratio 16:9 --set content.1={"type":"text","text":"HARE"}',
];
const images = [
  'image create FOX -m img-2 --size 1024x1024 --n 2 --format webp',
  'image create FOX --image fox.png -m delta-image-5-0-pro-260628 --size 1.5K',
  'image edit FOX --image fox.png --no-multipart',
  'image native FOX --image fox.png --set generationConfig.candidateCount=1',
];
const text = (prompt: string | undefined) => ({ type: 'text', text: prompt });
const words = (line: string) =>
  line.split(' ').map((word) => word.replace('FOX', '@fox runs, "fast"').replace('HARE', 'a hare'));

describe('makes the same request', () => {
  test.each(creates)('gw %s', async (line) => {
    const world = await open();
    const argv = words(line);
    const id = await make(world, argv);
    const before = await shown(world, argv);
    expect(await shown(world, ['again', id])).toEqual(before);
    const anew = await json(world, ['again', id, '--no-queue']);
    expect(anew.id).not.toBe(id);
    expect(anew.status).not.toBe('unknown');
    // A job that `gw again` made can itself be repeated.
    expect(await shown(world, ['again', 'last'])).toEqual(before);
  });

  test.each(images)('gw %s', async (line) => {
    const world = await open();
    const argv = words(line);
    const id = await make(world, [...argv, '-o', 'out/']);
    expect(await shown(world, ['again', id])).toEqual(await shown(world, argv));
    const anew = await world.ok(['again', id]);
    // The path is printed as an image command prints it, and the file is saved where `gw image` without -o saves it.
    expect(path.dirname(anew.out.split('\n')[0] ?? '')).toBe(world.cwd);
  });

  test('with the prompt that stdin tells, where it is asked for', async () => {
    const world = await open();
    const id = await make(world, words(creates[0] ?? ''));
    const run = await world.ok(['again', id, '--prompt', '-', '--dry-run', '--json'], { stdin: 'an owl' });
    expect(run.out).toContain('"an owl"');
    expect(run.out).not.toContain('@fox');
    writeFileSync(path.join(world.cwd, 'b.json'), '{"duration":7}');
    await make(world, cmd`video alpha create "a fox" --body b.json`);
    const laid = await world.ok(['again', 'last', '--prompt', '-', '--dry-run', '--json'], {
      stdin: 'an owl',
    });
    expect(JSON.parse(laid.out).body).toMatchObject({ duration: 7, content: [text('an owl')] });
  });

  test('as a form, where it was sent as one', async () => {
    const world = await open();
    const id = await make(world, ['image', 'edit', 'a hat', '--image', 'fox.png']);
    const run = await world.gw(['again', id, '--dry-run']);
    expect(run.out).toContain('multipart/form-data');
    expect(run.out).toContain('fox.png');
  });

  test('from another directory, with the model of that day, of --body, and of a row of a batch', async () => {
    const world = await open();
    writeFileSync(path.join(world.cwd, 'b.json'), JSON.stringify({ duration: 7, resolution: '480p' }));
    const id = await make(world, cmd`video alpha create "a fox" --image fox.png --body b.json`);
    const before = await shown(world, ['again', id]);
    expect(before).toMatchObject({ duration: 7, resolution: '480p', model: 'alpha-video-2-5-260628' });
    await world.ok(['config', 'set', 'models.alpha', 'alpha-video-2-0-fast-260128']);
    const elsewhere = { ...world, cwd: world.dir };
    expect(await shown(Object.setPrototypeOf(elsewhere, World.prototype), ['again', id])).toEqual(before);

    writeFileSync(
      path.join(world.cwd, 'm.csv'),
      'command,prompt,image,model\nvideo alpha,a row,fox.png,2.0\n',
    );
    await world.ok(['batch', 'run', 'm.csv', '-o', 'rows/']);
    const row = (await shown(world, ['again', 'last'])) as { content: { text?: string }[] };
    expect(row.content[0]).toEqual({ type: 'text', text: 'a row' });
    expect(journal(world).split('"once":').length).toBe(2);
    expect((await json(world, ['again', 'last'])).status).not.toBe('');
    expect(journal(world).split('"once":').length).toBe(2);
  });

  test('under a new external ID, and without what said how it is made and saved', async () => {
    const world = await open();
    const first = await make(world, [
      ...cmd`
        video beta create "a fox" --once k --wait -o x.mp4
        --set ${'options.callback_url="https://example.com/a"'}
      `,
    ]);
    await world.ok(['again', first]);
    expect(Object.keys(world.files()).sort()).toEqual(['fox.png', 'x.mp4']);
    const ids = [...journal(world).matchAll(/"externalId":"([^"]+)"/g)].map(([, id]) => id);
    expect(new Set(ids).size).toBe(2);
  });
});

describe('lays what is typed over it', () => {
  test('flags, the prompt, media of a kind, --set, --wait and -o', async () => {
    const world = await open();
    writeFileSync(path.join(world.cwd, 'hare.png'), hare);
    const id = await make(world, [
      ...cmd`video alpha create "a fox" --image fox.png --duration 4 --set seed=7 --set ratio=1:1`,
    ]);
    const body = (await shown(world, [
      ...cmd`again ${id} -p "a hare" --image hare.png --duration 6 --ratio 16:9 --set seed=8`,
    ])) as { content: readonly unknown[] };
    expect(body).toMatchObject({ duration: 6, ratio: '16:9', seed: 8 });
    expect(body.content).toHaveLength(2);
    expect(JSON.stringify(body.content)).toContain(Buffer.from(hare).toString('base64'));
    const waited = await world.ok(['again', id, '--resolution', '480p', '--wait', '-o', 'anew.mp4']);
    expect(waited.out).toBe(`${path.join(world.cwd, 'anew.mp4')}\n`);
    const many = await world.gw(['again', id, '--count', '2']);
    expect(many.out.trim().split('\n')).toHaveLength(2);
  });

  test.each([
    ['video alpha create FOX --set output_format=mov', '--format mp4', 'output_format', 'mp4'],
    ['video alpha create FOX --set duration=7', '--duration 5', 'duration', 5],
    [
      'video beta create FOX --set settings.aspect_ratio=9:16',
      '--ratio 1:1',
      'settings',
      { aspect_ratio: '1:1' },
    ],
    [
      'video gamma create FOX --resolution 768P --duration 5 --ratio 1:1 --set aigc_watermark=true',
      '--no-watermark',
      'aigc_watermark',
      false,
    ],
    ['image create FOX --set output_format=webp', '--format png', 'output_format', 'png'],
    ['image create FOX --set prompt=HARE', '-p FOX', 'prompt', '@fox runs, "fast"'],
    ['image create FOX --set prompt=HARE', '--force', 'prompt', 'a hare'],
    [
      'video beta create FOX --set settings.audio=none --set settings={"duration":5,"resolution":"1080p"}',
      '--duration 10',
      'settings',
      { duration: 10, resolution: '1080p' },
    ],
    [
      'video beta create FOX --set settings={"duration":5} --set settings.resolution=1080p',
      '--body b.json --ratio 1:1',
      'settings',
      { duration: 5, resolution: '1080p', aspect_ratio: '1:1' },
    ],
    [
      'video alpha create FOX --set content.0.text=HARE --set content.1={"type":"text","text":"HARE"}',
      '-p FOX',
      'content',
      [text(words('FOX')[0]), text('a hare')],
    ],
    [
      'video gamma create --resolution 768P --duration 5 --ratio 1:1 --set content.0={"type":"text","text":"HARE"}',
      '--prompt-file fox.txt',
      'content',
      [text('a fox of a file')],
    ],
    [
      'video alpha create --set content=[{"type":"text","text":"HARE"},{"type":"image_url","image_url":{"url":"https://example.com/a.png"}}] --set content.1.role=first_frame',
      '-p FOX',
      'content',
      [
        text(words('FOX')[0]),
        { type: 'image_url', image_url: { url: 'https://example.com/a.png' }, role: 'first_frame' },
      ],
    ],
    [
      'video alpha create --set content=[{"type":"text","text":"HARE"},{"type":"image_url","image_url":{"url":"https://example.com/a.png"},"role":"reference_image"}]',
      '--image https://example.com/b.png',
      'content',
      [
        text('a hare'),
        { type: 'image_url', image_url: { url: 'https://example.com/b.png' }, role: 'reference_image' },
      ],
    ],
    [
      'video beta create --mode o1 --ratio 1:1 --set contents=[{"type":"prompt","text":"HARE"}]',
      '-p FOX',
      'contents',
      [{ type: 'prompt', text: words('FOX')[0] }],
    ],
    [
      'image native --set contents=[{"role":"user","parts":[{"text":"HARE"},{"fileData":{"fileUri":"https://example.com/a.png"}}]}]',
      '-p FOX',
      'contents',
      [
        {
          role: 'user',
          parts: [{ text: words('FOX')[0] }, { fileData: { fileUri: 'https://example.com/a.png' } }],
        },
      ],
    ],
    [
      'image native FOX --set contents.0.parts.0.text=HARE',
      '-p FOX',
      'contents',
      [{ role: 'user', parts: [{ text: words('FOX')[0] }] }],
    ],
    [
      'video alpha create FOX --duration 5 --image https://example.com/a.png --set seed=1',
      '--body whole.json',
      'content',
      [{ type: 'text', text: 'a hare' }],
    ],
    ['video alpha create FOX --duration 5 --set seed=1', '--body whole.json', 'duration', 7],
    ['video alpha create FOX --ratio 1:1 --set seed=1', '--body whole.json', 'seed', 2],
    ['video alpha create FOX --ratio 1:1 --set seed=1', '--body whole.json', 'ratio', '1:1'],
    ['image create FOX --size 1024x1024', '--body prompt.json', 'prompt', 'a hare'],
  ])(
    'what is typed over the kept flags and --sets: gw %s, again with %s',
    async (line, typed, field, value) => {
      const world = await open();
      writeFileSync(path.join(world.cwd, 'fox.txt'), 'a fox of a file');
      writeFileSync(path.join(world.cwd, 'b.json'), '{"settings":{"audio":"native"}}');
      writeFileSync(path.join(world.cwd, 'prompt.json'), '{"prompt":"a hare"}');
      const content = [{ type: 'text', text: 'a hare' }];
      writeFileSync(path.join(world.cwd, 'whole.json'), JSON.stringify({ duration: 7, seed: 2, content }));
      await make(world, words(line));
      expect((await shown(world, ['again', 'last', ...words(typed)]))[field]).toEqual(value);
    },
  );

  test('a prompt over shots, and shots over a prompt', async () => {
    const world = await open();
    const shots = await make(world, words('video beta create --shot 2:FOX --shot 3:HARE'));
    expect((await shown(world, ['again', shots, '-p', 'a boat'])).prompt).toBe('a boat');
    const plain = await make(world, ['video', 'beta', 'create', 'a boat']);
    expect((await shown(world, ['again', plain, '--shot', '3:a fox'])).prompt).toContain('a fox');
  });

  test.each([
    [
      '--mode',
      'o1',
      'error: --mode: not a flag of gw video alpha create, which made this job\nhint: see gw video alpha create --help\n',
    ],
    ['--ratio', '5:4', 'error: --ratio 5:4:'],
    ['--duration', 'long', 'error: --duration long: not a whole number of seconds\n'],
  ])('and refuses what its create refuses: %s %s', async (flag, value, said) => {
    const world = await open();
    const id = await make(world, ['video', 'alpha', 'create', 'a fox']);
    expect(await refused(world, ['again', id, flag, value])).toContain(said);
    expect(await refused(world, ['again', id, '--duration', '4', '--duration', '5'])).toBe(
      'error: --duration was given twice with different values: 4 and 5\nhint: give it once\n',
    );
  });
});

describe('by a sidecar on another machine, which keeps neither links nor paths', () => {
  const carried = [...creates.filter((line) => !line.includes('https:')), creates[3] ?? '', ...images];
  test.each(carried)('gw %s', async (line) => {
    const world = await open();
    const argv = words(line.replace(/ --(callback-url|external-id) \S+/, ''));
    const wait = line.startsWith('video') ? ['--wait'] : [];
    const made = await world.ok([...argv, ...wait, '--sidecar', '-o', 'out/', '--json']);
    const { files } = JSON.parse(made.out) as { files: { path: string }[] };
    const output = path.join('moved', path.basename(files[0]?.path ?? ''));
    renameSync(path.join(world.cwd, 'out'), path.join(world.cwd, 'moved'));
    const before = (await world.gw([...argv, '--dry-run'])).out;
    const sidecar = readFileSync(path.join(world.cwd, `${output}.json`), 'utf8');
    expect(sidecar).not.toContain(world.dir);
    const env = { GW_STATE_DIR: path.join(world.dir, 'other') };
    const again = ['again', output, '--dry-run'];
    const plain = (text: string) =>
      text
        .replaceAll(world.cwd, '')
        .replace(/gw-[0-9a-z]{26,}|mine-2/g, 'ID')
        .replace('/moved', '');
    if (line.includes('fox.png')) {
      expect(await refused(world, again, env)).toMatch(
        /fox\.png: no such file beside moved[\s\S]*hint: put it there, or name it/,
      );
      writeFileSync(path.join(world.cwd, 'moved/fox.png'), hare);
      expect(await refused(world, again, env)).toContain('the file has changed');
      writeFileSync(path.join(world.cwd, 'moved/fox.png'), fox);
    }
    const run = await world.gw(again, { env });
    expect([run.code, plain(run.out)], run.err).toEqual([0, plain(before)]);
  });

  test('a link is asked for anew', async () => {
    const world = await open();
    await make(world, [...words(creates[1] ?? ''), '--wait', '--sidecar', '-o', 'fox.mp4']);
    const env = { GW_STATE_DIR: path.join(world.dir, 'other') };
    expect(await refused(world, ['again', 'fox.mp4'], env)).toMatch(
      /^error: --image of job \S+ is not in its sidecar, which keeps no data, no link, .*\nhint: give it anew: gw again fox\.mp4 --image …\n$/,
    );
  });
});

describe('is told the job', () => {
  test('by an output: with a sidecar, by its path, or by what it holds', async () => {
    const world = await open();
    const create = ['video', 'alpha', 'create', 'a fox', '--duration', '4', '--wait'];
    await make(world, [...create, '-o', 'fox.mp4', '--sidecar']);
    const before = await shown(world, create.slice(0, -1));
    expect(await shown(world, ['again', 'fox.mp4'])).toEqual(before);
    renameSync(path.join(world.cwd, 'fox.mp4.json'), path.join(world.cwd, 'away'));
    expect(await shown(world, ['again', './fox.mp4'])).toEqual(before);
    renameSync(path.join(world.cwd, 'fox.mp4'), path.join(world.cwd, 'moved.mp4'));
    expect(await shown(world, ['again', 'moved.mp4'])).toEqual(before);
    renameSync(path.join(world.cwd, 'away'), path.join(world.cwd, 'moved.mp4.json'));
    const elsewhere = { GW_STATE_DIR: path.join(world.dir, 'other') };
    const alone = await json(world, ['again', 'moved.mp4', '--dry-run'], elsewhere);
    expect(alone.body).toEqual(before);
  });

  test('and says so where there is none', async () => {
    const world = await open();
    const none = await world.gw(['again', 'fox.png']);
    expect([none.code, none.err]).toEqual([
      4,
      'error: fox.png: gw did not save this file, or its ledger no longer knows it\nhint: gw jobs list shows the jobs this user created\n',
    ]);
    expect(await refused(world, ['again', 'clips/none.mp4'])).toBe(
      'error: clips/none.mp4: no such file\nhint: name an output that gw has saved, or a job\n',
    );
    expect((await world.gw(['again', 'cgt-none'])).code).toBe(4);
    expect((await world.gw(['again', 'last'])).code).toBe(4);
  });
});

describe('refuses, and sends nothing', () => {
  test('a local file that has changed or is gone, unless another is named', async () => {
    const world = await open();
    const id = await make(world, cmd`video beta create a --mode o1 --image x=fox.png --ratio 1:1`);
    const file = path.join(world.cwd, 'fox.png');
    writeFileSync(file, hare);
    expect(await refused(world, ['again', id])).toBe(
      `error: --image ${file}: the file has changed since job ${id} was made\nhint: name the one that is meant: gw again ${id} --image FILE\n`,
    );
    renameSync(file, path.join(world.cwd, 'hare.png'));
    expect(await refused(world, ['again', id])).toContain(
      `error: --image ${file}: the file can no longer be read since job ${id} was made\n`,
    );
    expect(JSON.stringify(await shown(world, ['again', id, '--image', 'hare.png']))).toContain(
      Buffer.from(hare).toString('base64'),
    );
    // Only some creates accept this flag twice.
    const sung = await make(world, cmd`video alpha create a --image https://a.example/fox.png`);
    const songs = cmd`again ${sung} --audio https://a.example/1.mp3 --audio https://a.example/2.mp3`;
    expect((await shown(world, songs)).content).toHaveLength(4);
  });

  test('prompts that GW_LEDGER_PROMPTS=off kept out, wherever they stood', async () => {
    const world = await open();
    const off = { GW_LEDGER_PROMPTS: 'off' };
    const id = await make(
      world,
      cmd`video alpha create ${'a secret fox'} --set ${'extra.note="a secret"'} --set ${'content.1={"type":"text","text":"a secret"}'} --no-validate`,
      off,
    );
    const shots = await make(world, ['video', 'beta', 'create', '--shot', '3:a secret'], off);
    const image = ['image', 'create', 'a secret fox', '-m', 'legacy-image-3', '-o', '{prompt}.{ext}'];
    await world.ok(image, { env: off });
    expect(journal(world)).not.toContain('secret');
    expect(await refused(world, ['again', id])).toBe(
      `error: the prompt of job ${id} is not in the ledger: GW_LEDGER_PROMPTS=off keeps prompts out\nhint: give it: gw again ${id} --prompt TEXT\n`,
    );
    expect(await refused(world, ['again', id, '-p', 'a fox'])).toContain(
      `error: --set of job ${id} is not in the ledger`,
    );
    expect(await refused(world, ['again', shots])).toBe(
      `error: --shot of job ${shots} is not in the ledger, which keeps no data, no link with a query, and under ` +
        `GW_LEDGER_PROMPTS=off no prompt\nhint: give it anew: gw again ${shots} --shot …\n`,
    );
    expect((await shown(world, ['again', shots, '-p', 'a fox'])).prompt).toBe('a fox');
    expect(await shown(world, ['again', id, '-p', 'a fox', '--set', 'seed=1'])).toMatchObject({ seed: 1 });
  });

  test('Base64 is not in the ledger, bare or wrapped, in whatever field of an undocumented mode', async () => {
    const world = await open();
    const bare = Buffer.from(fox).toString('base64').repeat(20);
    const wrapped = bare.replace(/.{76}/g, '$&\n');
    const words = 'a fox that walks through the snow and looks back at us, '.repeat(20);
    const body = {
      look: { source: bare, pages: [{ scan: wrapped }], words },
      prompt: 'a fox',
      cover: wrapped,
    };
    writeFileSync(path.join(world.cwd, 'body.json'), JSON.stringify(body));
    await world.ok('video beta create --mode motion --no-validate --body body.json'.split(' '));
    expect(journal(world)).not.toContain(bare.slice(0, 60));
    expect(journal(world)).toContain('base64;sha256=');
  });

  test('links with a query, and data: neither is in the ledger', async () => {
    const world = await open();
    const data = `data:image/png;base64,${Buffer.from(fox).toString('base64')}`;
    const signed = 'https://example.com/fox.png?signature=hidden';
    const body = path.join(world.cwd, 'b.json');
    writeFileSync(
      body,
      JSON.stringify({
        contents: [
          {
            role: 'user',
            parts: [{ text: 'a' }, { inlineData: { mimeType: 'image/png', data: data.slice(22) } }],
          },
        ],
      }),
    );
    for (const [flag, argv] of [
      ['--image', cmd`video alpha create a --image ${data}`],
      ['--image', cmd`video alpha create a --image ${signed}`],
      ['--image', cmd`video beta create a --mode o1 --ratio 1:1 --image x=${signed}`],
      ['--set', ['video', 'alpha', 'create', 'a', '--set', `callback_url="${signed}"`]],
      ['--body', cmd`image native --body ${body}`],
    ] as const) {
      const id = await make(world, argv);
      expect(await refused(world, ['again', id])).toContain(
        `error: ${flag} of job ${id} is not in the ledger`,
      );
    }
    const kept = journal(world).replace(/^.*"event":"final".*$/gm, '');
    for (const hidden of ['hidden', data.slice(30, 80), KEY]) expect(kept).not.toContain(hidden);
  });

  test('a job of which too little is kept', async () => {
    const world = await open();
    savedJob(world, 'cgt-old', 1000);
    savedJob(world, 'cgt-older', 1000, { references: [{ name: 'fox.png' }], media: ['fox.png'] });
    savedJob(world, 'gw-old-beta', 1000, { family: 'beta', endpoint: 'beta.o1' });
    // An older gw stored only the model, the prompt and the settings, which is enough for this job.
    expect(await shown(world, ['again', 'cgt-old'])).toMatchObject({ duration: 5, resolution: '720p' });
    for (const id of ['cgt-older', 'gw-old-beta']) {
      expect(await refused(world, ['again', id])).toBe(
        `error: what is kept of job ${id} is not enough to make its request again: an older gw made it\n` +
          'hint: make it with its create command\n',
      );
    }
  });
});

describe('goes to the gateway that the job was made at', () => {
  test('the sandbox, without being told', async () => {
    const world = await open();
    const id = await make(world, ['video', 'alpha', 'create', 'a fox', '--sandbox']);
    const before = world.requests().length;
    await world.ok(['again', id]);
    expect(world.requests().length).toBe(before);
    // A --base-url on the command line overrides the job's own gateway.
    await world.ok(['again', id, '--base-url', world.sandbox.baseUrl]);
    expect(world.requests().slice(before)).toHaveLength(1);
  });

  test('and is refused where that is not in reach', async () => {
    const world = await open();
    savedJob(world, 'cgt-far', 1000, { gateway: 'https://far.example.com' });
    expect(await refused(world, ['again', 'cgt-far'])).toBe(
      `error: job cgt-far was made at https://far.example.com, and the gateway in force is ${world.sandbox.baseUrl}\n` +
        'hint: name the one to make it at with --profile or --base-url\n',
    );
  });
});
