import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import * as path from 'node:path';
import { describe, expect } from 'vitest';
import { cmd } from '../helpers/cmd.ts';
import { KEY, test, World } from '../helpers/gw.ts';
import { tinyPng } from '../jobs/save/tiny-media.ts';

// Where outputs are saved and what is saved beside them, from the command line to the disk.

const pattern = '{prompt}/{duration}-{resolution}-{seed}-{key}-{row}.{ext}';

describe('a pattern of --out', () => {
  test('names a video by what was asked for, and by its record where that was left open', async () => {
    const world = await World.open();
    const run = await world.ok([
      ...['video', 'alpha', 'create', 'A fox, in the Snow!', '--wait', '-o', pattern, '--json'],
      ...['--duration', '4'],
    ]);
    const { record, files } = JSON.parse(run.out);
    expect(record.seed).toEqual(expect.any(Number));
    const name = `a-fox-in-the-snow/4-${record.resolution}-${record.seed}-none-none.mp4`;
    expect(files).toEqual([expect.objectContaining({ path: path.join(world.cwd, name) })]);
  });

  test('names it the same where a later run brings it home', async ({ world }) => {
    const made = await world.ok(['video', 'alpha', 'create', 'A fox', '-o', '{prompt}-{resolution}.{ext}']);
    await world.ok(['jobs', 'wait', made.out.trim()]);
    expect(Object.keys(world.files())).toEqual(['a-fox-720p.mp4']);
  });

  test('names images', async ({ world }) => {
    await world.ok(['image', 'create', 'A red boat', '-o', '{prompt}-{seed}.{ext}']);
    expect(Object.keys(world.files())).toEqual(['a-red-boat-none.png']);
  });

  test.each([
    ['video', 'alpha', 'create'],
    ['video', 'beta', 'create'],
    ['video', 'gamma', 'create'],
    ['image', 'create'],
  ])('is looked at before anything is sent, also under --dry-run: %s %s %s', async (...words) => {
    const world = await World.open();
    const command = words.filter((word) => word !== undefined);
    for (const dry of [[], ['--dry-run']]) {
      const run = await world.gw([...command, 'a fox', '-o', '{promt}.mp4', ...dry]);
      expect(run.code).toBe(2);
      expect(run.err).toContain('error: --out: {promt} is not a placeholder\n');
      expect(run.err).toContain('{prompt} {seed} {duration} {resolution} {key} {row}');
    }
    expect(world.sandbox.tasks()).toEqual([]);
  });
});

describe('--sidecar', () => {
  const sha256 = (bytes: Uint8Array) => createHash('sha256').update(bytes).digest('hex');
  const readJson = (world: World, name: string) =>
    JSON.parse(readFileSync(path.join(world.cwd, name), 'utf8')) as Record<string, unknown>;

  test('writes what was asked for and what came of it beside a video, and no link, key or data', async () => {
    const world = await World.open();
    const run = await world.ok([
      ...['video', 'alpha', 'create', 'a fox', '--wait', '-o', 'fox.mp4', '--sidecar', '--json'],
      ...['--duration', '4', '--image', 'https://example.com/in/fox.png?secret=1'],
    ]);
    const { id, record, files } = JSON.parse(run.out);
    expect(Object.keys(world.files()).sort()).toEqual(['fox.mp4', 'fox.mp4.json']);
    const sidecar = readJson(world, 'fox.mp4.json');
    expect(sidecar).toEqual({
      ...{ family: 'alpha', id, model: 'alpha-video-2-5-260628', prompt: 'a fox' },
      settings: { model: 'alpha-video-2-5-260628', duration: 4 },
      references: [{ name: 'fox.png' }],
      seed: record.seed,
      usage: { output_s: 4, tokens: record.usage.total_tokens, charges: null },
      created_at: expect.stringMatching(/^2026-11-20T12:/),
      request: {
        ...{ command: 'video alpha', prompted: true, files: {}, lacks: ['image'] },
        flags: { duration: 4, model: 'alpha-video-2-5-260628' },
      },
      sha256: files[0].sha256,
      gw: '0.0.0-test',
    });
    const text = JSON.stringify(sidecar);
    for (const hidden of ['http', KEY, 'secret', 'base64']) expect(text).not.toContain(hidden);
  });

  test('of images is written for each, with the digest of a file that was sent, by setting too', async () => {
    const world = await World.open();
    writeFileSync(path.join(world.cwd, 'in.png'), tinyPng);
    await world.ok(['config', 'set', 'sidecar', 'on']);
    for (const form of ['--multipart', '--no-multipart']) {
      const run = await world.ok(['image', 'edit', 'a boat', '--image', 'in.png', form, '--json']);
      const { files } = JSON.parse(run.out);
      const sidecar = readJson(world, `${path.basename(files[0].path)}.json`);
      expect(sidecar).toMatchObject({
        family: 'image',
        prompt: 'a boat',
        sha256: files[0].sha256,
        seed: null,
      });
      expect(sidecar.references).toEqual([{ name: 'in.png', sha256: sha256(tinyPng) }]);
    }
    await world.ok(['image', 'create', 'a boat', '-o', 'plain.png', '--no-sidecar']);
    expect(Object.keys(world.files())).not.toContain('plain.png.json');
  });

  test('takes the next free name together with its output, and never another file', async ({ world }) => {
    const mine = path.join(world.cwd, 'fox.png.json');
    writeFileSync(mine, '{"mine": true}');
    const create = ['image', 'create', 'a fox', '-o', 'fox.png', '--sidecar'];
    for (const expected of ['fox-1.png', 'fox-2.png']) {
      const run = await world.gw(create);
      expect(run.out).toBe(`${path.join(world.cwd, expected)}\n`);
      expect(readJson(world, `${expected}.json`).prompt).toBe('a fox');
    }
    const forced = await world.gw([...create, '--force', '--json']);
    const [file] = JSON.parse(forced.out).files;
    expect(file.path).toBe(path.join(world.cwd, 'fox-1.png'));
    expect(readJson(world, 'fox-1.png.json').sha256).toBe(file.sha256);
    expect(readFileSync(mine, 'utf8')).toBe('{"mine": true}');
    expect(Object.keys(world.files()).sort()).toEqual([
      ...['fox-1.png', 'fox-1.png.json', 'fox-2.png', 'fox-2.png.json', 'fox.png.json'],
    ]);
  });

  test('goes with the output that --force replaces, unless it tells of the same bytes', async ({ world }) => {
    const alpha = ['video', 'alpha', 'create', '--wait', '-o', 'fox.mp4'];
    const image = ['image', 'create', '-o', 'fox.png'];
    for (const create of [alpha, image]) {
      await world.ok([...create, 'a fox', '--sidecar']);
      await world.ok(['jobs', 'download', 'last', '--force', '--no-sidecar']);
      expect(Object.keys(world.files())).toContain(`${create.at(-1)}.json`);
      await world.ok([...create, 'a hare', '--force']);
      expect(Object.keys(world.files())).not.toContain(`${create.at(-1)}.json`);
    }
    const mine = path.join(world.cwd, 'fox.mp4.json');
    writeFileSync(mine, '{"mine": true}');
    await world.ok([...alpha, 'a car', '--force']);
    expect(readFileSync(mine, 'utf8')).toBe('{"mine": true}');
  });

  test('stays where --force finds its output moved away, for that is the only record of it', async ({
    world,
  }) => {
    const create = ['image', 'create', '-o', 'fox.png'];
    await world.ok([...create, 'a fox', '--sidecar']);
    const kept = path.join(world.cwd, 'keep.png');
    renameSync(path.join(world.cwd, 'fox.png'), kept);
    await world.ok([...create, 'a wolf', '--force']);
    expect(readJson(world, 'fox.png.json').sha256).toBe(sha256(readFileSync(kept)));
  });

  test('is written by the run that brings the job home, with the words of its create', async ({ world }) => {
    const made = await world.ok(['video', 'beta', 'create', 'a fox', '-o', 'fox.mp4', '--sidecar']);
    await world.ok(['jobs', 'wait', made.out.trim()]);
    expect(readJson(world, 'fox.mp4.json')).toMatchObject({ id: made.out.trim(), prompt: 'a fox' });
  });

  test.each([
    ['jobs', 'wait', 'last'],
    ['jobs', 'download', 'last'],
    ['jobs', 'wait', 'last', '-o', 'fox.png'],
    ['jobs', 'download', 'last', '-o', 'copy.png'],
    ['image', 'create', 'a fox', '--once', 'fox'],
    ['video', 'beta', 'wait', 'last'],
    ['video', 'beta', 'download', 'last', '-o', 'fox.mp4'],
    ['video', 'beta', 'create', 'a fox', '--once', 'fox', '--wait'],
  ])('is written where it is asked for once the output is saved: %s %s %s %s %s', async (...typed) => {
    const world = await World.open();
    const words = typed.filter((word) => word !== undefined);
    const isVideo = words.includes('beta');
    const create = isVideo ? ['video', 'beta', 'create', '--wait'] : ['image', 'create'];
    await world.ok([...create, 'a fox', '--once', 'fox', '-o', isVideo ? 'fox.mp4' : 'fox.png']);
    const run = await world.ok([...words, '--sidecar']);
    const sidecar = readJson(world, `${path.basename(run.out.trim())}.json`);
    expect(sidecar).toMatchObject({ prompt: 'a fox', sha256: sha256(readFileSync(run.out.trim())) });
  });

  test('is not written over another file beside an output that is saved, which is said', async ({
    world,
  }) => {
    await world.ok(['image', 'create', 'a fox', '-o', 'fox.png']);
    const mine = path.join(world.cwd, 'fox.png.json');
    writeFileSync(mine, 'mine');
    const run = await world.ok(['jobs', 'wait', 'last', '--sidecar']);
    expect(run.err).toContain(`warning: ${mine} is another file and stays: `);
    expect(readFileSync(mine, 'utf8')).toBe('mine');
  });

  test('has room beside the next name, which is cut for both', async ({ world }) => {
    const name = 'x'.repeat(255 - '.png.json'.length);
    const create = ['image', 'create', 'a fox', '-o', `${name}.png`, '--sidecar'];
    const next = `${name.slice(2)}-1.png`;
    for (const each of [`${name}.png`, next]) {
      const { out, err } = await world.ok(create);
      expect(err).not.toContain('could not be written');
      expect(out).toBe(`${world.cwd}/${each}\n`);
    }
    const listed = [next, `${next}.json`, `${name}.png`, `${name}.png.json`];
    expect(Object.keys(world.files()).sort()).toEqual(listed);
    const long = `${name}xxxxx`;
    await world.ok(['image', 'create', 'a fox', '-o', `${long}.png`]);
    const { out } = await world.ok(['image', 'create', 'a fox', '-o', `${long}.png`]);
    expect(out).toBe(`${world.cwd}/${long.slice(2)}-1.png\n`);
  });
});

test('a paid output has a name that the disk takes, however long what gw puts into it or behind it', async ({
  world,
}) => {
  const long = (rest: string) => 'x'.repeat(250 - rest.length) + rest;
  const partials = ['--partial-images', '1', '--keep-partials'];
  const runs = [
    await world.ok(['image', 'create', 'a fox', '-o', `${long('')}{id}.{ext}`]),
    await world.ok(['video', 'alpha', 'create', 'a fox', '--wait', '-o', `${long('-')}{index}.{ext}`]),
    await world.ok(['image', 'create', 'a fox', ...partials, '-o', `${long('')}.png`]),
  ];
  for (const { err } of runs) expect(err).not.toContain('warning');
  const names = Object.keys(world.files());
  expect(names.map((name) => path.extname(name)).sort()).toEqual(['.mp4', '.png', '.png', '.png']);
  expect(names.some((name) => name.endsWith('.partial-1.png'))).toBe(true);
});

test.for(['jobs wait', 'jobs download', 'video alpha wait', 'video alpha download'])(
  '%s refuses a link and a device for -o, as its create does, and nothing is written beside them',
  async (words, { world }) => {
    const id = (await world.gw(['video', 'alpha', 'create', 'a fox'])).out.trim();
    symlinkSync('nowhere', path.join(world.cwd, 'link.mp4'));
    const before = world.requests().length;
    for (const [out, kind] of [
      ['link.mp4', 'a symbolic link'],
      ['/dev/null', 'a device'],
    ] as const)
      for (const more of [[], ['--force']]) {
        const run = await world.gw([...words.split(' '), id, '-o', out, ...more]);
        expect(run, run.err).toMatchObject({
          code: 2,
          err: expect.stringContaining(`${out}: it is ${kind}`),
        });
      }
    expect(world.requests()).toHaveLength(before);
    expect(await world.gw(['jobs', 'list', '-q'])).toMatchObject({ out: `${id}\n` });
  },
);

test.for(['/dev/null', 'link.mp4'])(
  'a task made elsewhere is not taken in where GW_OUT or the setting out is %s, which is no file of ours',
  async (out, { world }) => {
    const elsewhere = { GW_STATE_DIR: path.join(world.dir, 'elsewhere') };
    const create = ['video', 'gamma', 'create', 'a fox', '--resolution', '768P', '--duration', '4'];
    const made = await world.ok([...create, '--ratio', '16:9'], { env: elsewhere });
    symlinkSync('nowhere', path.join(world.cwd, 'link.mp4'));
    const wait = ['video', 'gamma', 'wait', made.out.trim()];
    const run = await world.gw(wait, { env: { GW_OUT: out } });
    expect(run).toMatchObject({ code: 2, out: '', err: expect.stringContaining('error: GW_OUT ') });
    await world.ok(['config', 'set', 'out', out]);
    const other = await world.gw(wait);
    expect(other).toMatchObject({
      code: 2,
      out: '',
      err: expect.stringContaining('error: the setting out '),
    });
    expect(await world.ok([...wait, '-o', 'clip.mp4'])).toMatchObject({
      out: `${path.join(world.cwd, 'clip.mp4')}\n`,
    });
  },
);

test('--once that goes on with a job refuses a link for -o, where the job is not saved yet', async () => {
  const world = await World.open();
  const create = ['video', 'alpha', 'create', 'a fox', '--once', 'k'];
  const id = (await world.ok(create)).out.trim();
  symlinkSync('nowhere', path.join(world.cwd, 'link.mp4'));
  const run = await world.gw([...create, '--wait', '-o', 'link.mp4']);
  expect(run).toMatchObject({ code: 2, err: expect.stringContaining('link.mp4: it is a symbolic link') });
  const saved = { out: `${path.join(world.cwd, `${id}.mp4`)}\n` };
  expect(await world.ok([...create, '--wait'])).toMatchObject(saved);
  expect(await world.ok([...create, '--wait', '-o', 'link.mp4'])).toMatchObject(saved);
});

test.for<[what: string, code: number, make: (dir: string) => void]>([
  ['a file', 12, (dir) => writeFileSync(dir, 'mine')],
  ['a link to nowhere', 12, (dir) => symlinkSync('nowhere', dir)],
  [
    'a link to another folder',
    0,
    (dir) => {
      mkdirSync(`${dir}-2`);
      symlinkSync('clips-2', dir);
    },
  ],
])(
  'a folder that becomes %s while the task runs costs the place, never the output',
  async ([_, code, make], { world }) => {
    const [dir, file] = ['clips', 'clips/fox.mp4'].map((name) => path.join(world.cwd, name)) as [
      string,
      string,
    ];
    const id = (await world.gw(['video', 'alpha', 'create', 'a fox', '-o', file])).out.trim();
    rmSync(dir, { recursive: true });
    make(dir);
    const waited = await world.gw(['jobs', 'wait', id]);
    const rescued = path.join(world.dir, '.local/state/gw/rescued/fox.mp4');
    expect([waited.code, waited.out]).toEqual([code, `${code === 0 ? file : rescued}\n`]);
    const bytes = readFileSync(waited.out.trim());
    if (code === 0) return;
    expect(await world.gw(['open', id])).toMatchObject({ code: 0, out: `${rescued}\n` });
    expect(await world.gw(cmd`gallery --json`)).toMatchObject({
      out: expect.stringContaining('"outputs":1'),
    });
    rmSync(dir);
    expect(await world.gw(['jobs', 'sync'])).toMatchObject({ code: 0, out: `${file}\n` });
    expect(readFileSync(file)).toEqual(bytes);
  },
);

const downloads = (world: World) => world.sandbox.requests.filter(({ server }) => server === 'output').length;

test.for<[what: string, mend: (file: string, bytes: Buffer) => void]>([
  ['moved there', () => {}],
  [
    'left out where the file is back',
    (file, bytes) => {
      mkdirSync(path.dirname(file));
      writeFileSync(file, bytes);
    },
  ],
])(
  'a file that is gone with its folder is kept elsewhere, fetched once more, and %s once that is mended',
  async ([_, mend], { world }) => {
    const [dir, file] = ['clips', 'clips/fox.mp4'].map((name) => path.join(world.cwd, name)) as [
      string,
      string,
    ];
    await world.ok(['video', 'alpha', 'create', 'a fox', '--wait', '-o', file]);
    const bytes = readFileSync(file);
    rmSync(dir, { recursive: true });
    writeFileSync(dir, 'mine');
    const rescued = path.join(world.dir, '.local/state/gw/rescued/fox.mp4');
    for (const out of [`${rescued}\n`, '', '']) {
      expect(await world.gw(['jobs', 'sync'])).toMatchObject({ code: 12, out });
      expect(downloads(world)).toBe(2);
    }
    rmSync(dir);
    mend(file, bytes);
    expect(await world.gw(['jobs', 'sync'])).toMatchObject({ code: 0, out: `${file}\n` });
    expect(await world.gw(['jobs', 'sync'])).toMatchObject({ code: 0, out: '' });
    expect(readFileSync(file)).toEqual(bytes);
    expect(existsSync(rescued)).toBe(false);
    expect(downloads(world)).toBe(2);
  },
);
