import { execFileSync } from 'node:child_process';
import * as fs from 'node:fs';
import * as path from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { clipsDir, KEY, World } from '../helpers/gw.ts';

// Only the user's own input is trusted (promises, section 5): each source of a request is combined with each trick. A record
// from somebody else reads and writes nothing outside its folder, sends no key and sets no callback address.

let world: World;
let outside = '';
const outputs = { outside: '', inside: '' };
const SECRET = 'a-secret-of-the-machine';
const PIPED = 'what was piped for another';
const GB = 1_000_000_000;

beforeAll(async () => {
  world = await World.open();
  outside = path.join(world.dir, 'outside');
  fs.mkdirSync(outside);
  // An image job whose output lies outside the folder, and one whose output lies inside.
  for (const [place, file] of [
    ['outside', `${outside}/picture.png`],
    ['inside', 'inside.png'],
  ] as const) {
    const made = await world.ok(['image', 'create', 'a boat', '-o', file, '--json']);
    outputs[place] = `job:${JSON.parse(made.out).id}`;
  }
  fs.writeFileSync(path.join(outside, 'secret'), SECRET);
  fs.writeFileSync(path.join(outside, 'mine.mp4'), 'mine');
  const at = (name: string) => path.join(world.cwd, name);
  fs.writeFileSync(at('secret'), SECRET);
  fs.symlinkSync('../outside/picture.png', at('link.png'));
  fs.symlinkSync('../outside', at('away'));
  fs.linkSync(path.join(outside, 'picture.png'), at('hard.png'));
  fs.symlinkSync('/dev/zero', at('zero.png'));
  execFileSync('mkfifo', [at('fifo.png')]);
  fs.closeSync(fs.openSync(at('huge.png'), 'w'));
  fs.truncateSync(at('huge.png'), GB);
});
afterAll(() => world.close());
beforeEach(() => {
  for (const dir of [path.join(world.cwd, '.gw'), path.join(world.dir, '.config/gw/presets')])
    fs.rmSync(dir, { recursive: true, force: true });
});

type Fields = Record<string, unknown>;
/** How a source holds a request, and how it is run. */
interface Source {
  readonly isOwn: boolean;
  /** The place that a refusal names. */
  readonly place: RegExp;
  run(fields: Fields, name: string): Promise<{ code: number; out: string; err: string }>;
}

const words = ['video', 'gamma', 'create'];
const argvOf = (fields: Fields): string[] =>
  Object.entries(fields).flatMap(([name, value]) =>
    name === '__proto__'
      ? ['--set', '__proto__.x=1']
      : value === true
        ? [`--${name}`]
        : [`--${name}`, String(value)],
  );
/** The fields that every request has. */
const plain = { resolution: '768P', duration: 4, ratio: '16:9' };
const jsonOf = (fields: Fields): string =>
  `{${Object.entries(fields)
    .filter(([, value]) => value !== undefined)
    .map(([name, value]) => `${JSON.stringify(name)}:${JSON.stringify(value)}`)}}`;
const write = (file: string, text: string): string => {
  fs.mkdirSync(path.dirname(file), { recursive: true });
  fs.writeFileSync(file, text);
  return file;
};
const preset = (dir: () => string): Source['run'] => {
  return (fields) => {
    write(path.join(dir(), 'p.json'), jsonOf(fields));
    return world.gw([...words, '--preset', 'p'], { stdin: PIPED });
  };
};
const manifest =
  (ending: string, textOf: (fields: Fields) => string): Source['run'] =>
  (fields, name) => {
    write(path.join(world.cwd, `${name}${ending}`), textOf(fields));
    return world.gw(['batch', 'run', `${name}${ending}`, '--command', 'video gamma'], { stdin: PIPED });
  };
const csvCell = (value: unknown) => `"${String(value).replaceAll('"', '""')}"`;

const sources: Record<string, Source> = {
  typed: {
    isOwn: true,
    place: /--|text: holds/,
    run: (fields) => world.gw([...words, ...argvOf(fields)], { stdin: PIPED }),
  },
  'own preset': {
    isOwn: true,
    place: /--|text: holds|p\.json: /,
    run: preset(() => path.join(world.dir, '.config/gw/presets')),
  },
  'preset of the working directory': {
    isOwn: false,
    place: /\.gw\/presets\/p\.json/,
    run: preset(() => path.join(world.cwd, '.gw/presets')),
  },
  CSV: {
    isOwn: false,
    place: /\.csv(:2)?: /,
    run: manifest('.csv', (fields) =>
      [Object.keys(fields), Object.values(fields)].map((line) => `${line.map(csvCell).join(',')}\n`).join(''),
    ),
  },
  JSONL: {
    isOwn: false,
    place: /\.jsonl(:1)?: /,
    run: manifest('.jsonl', (fields) => `${jsonOf(fields)}\n`),
  },
  YAML: {
    isOwn: false,
    place: /\.yaml(:1)?: /,
    run: manifest(
      '.yaml',
      (fields) =>
        `- ${Object.entries(fields)
          .map(([name, value]) => `${name}: ${JSON.stringify(value)}\n`)
          .join('  ')}`,
    ),
  },
  sidecar: {
    isOwn: false,
    place: /the request of .*\.mp4\.json: /,
    run(fields, name) {
      const { prompt, ...flags } = fields;
      const output = path.join(world.cwd, `${name}.mp4`);
      fs.copyFileSync(
        path.join(clipsDir, fs.readdirSync(clipsDir).find((clip) => clip.endsWith('.mp4')) ?? ''),
        output,
      );
      const request = { command: 'video gamma', prompted: true, files: {} };
      write(
        `${output}.json`,
        jsonOf({
          ...{
            family: 'gamma',
            id: `never-${name}`,
            model: 'gamma-H3',
            prompt,
            settings: {},
            references: [],
          },
          request: { ...request, flags: JSON.parse(jsonOf(flags)) },
        }),
      );
      return world.gw(['again', output], { stdin: PIPED });
    },
  },
};

type Verdict = 'sent' | 'refused';
/** The fields of each trick beside a prompt, and the expected result from somebody else's source and from the user's. */
const tricks: Record<string, readonly [fields: () => Fields, stranger: Verdict, own: Verdict]> = {
  '@file': [() => ({ prompt: '@secret' }), 'sent', 'sent'],
  '/proc/self/environ': [() => ({ image: '/proc/self/environ' }), 'refused', 'refused'],
  '/dev/zero': [() => ({ image: 'zero.png' }), 'refused', 'refused'],
  FIFO: [() => ({ image: 'fifo.png' }), 'refused', 'refused'],
  'a link out of the folder': [() => ({ image: 'link.png' }), 'refused', 'sent'],
  // A hard link lies inside the folder: whoever made it could have copied the file.
  'a hard link': [() => ({ image: 'hard.png' }), 'sent', 'sent'],
  '..': [() => ({ image: '../outside/picture.png' }), 'refused', 'sent'],
  'an absolute out': [() => ({ out: path.join(outside, 'mine.mp4') }), 'refused', 'sent'],
  'an out through a link': [() => ({ out: 'away/new-{id}.mp4' }), 'refused', 'sent'],
  'an out whose folder a link may be': [
    () => ({ prompt: 'away', out: '{prompt}/new-{id}.mp4' }),
    'refused',
    'sent',
  ],
  'an output outside': [() => ({ image: outputs.outside }), 'refused', 'sent'],
  'an output inside': [() => ({ image: outputs.inside }), 'sent', 'sent'],
  'a prompt that is -': [() => ({ prompt: '-' }), 'refused', 'sent'],
  force: [() => ({ force: true }), 'refused', 'sent'],
  'a callback address': [() => ({ 'callback-url': 'https://heard.example.com/' }), 'refused', 'sent'],
  'a file of 1 GB': [() => ({ image: 'huge.png' }), 'refused', 'refused'],
  // In a CSV file, a column whose name begins with _ is a comment, so the row is sent without it.
  ['__proto__']: [() => ({ ['__proto__']: 'x' }), 'refused', 'refused'],
  'the API key': [() => ({ prompt: `a fox ${KEY}` }), 'refused', 'refused'],
};

/** The files outside the working directory, with their bytes. */
const lying = (): string =>
  fs
    .readdirSync(outside)
    .map((name) => `${name} ${fs.readFileSync(path.join(outside, name)).toString('base64')}`)
    .join('\n');

const cells = Object.entries(sources).flatMap(([source, { isOwn, place, run }]) =>
  Object.entries(tricks).map(([trick, [fields, stranger, own]]) => ({
    source,
    place,
    trick,
    run,
    fields: () => ({ prompt: 'a fox', ...fields() }),
    isOwn,
    verdict: isOwn ? own : source === 'CSV' && trick === '__proto__' ? 'sent' : stranger,
  })),
);
let slowestMs = 0;

describe('each source, times each trick', () => {
  test.each(cells)(
    '$trick in $source is $verdict',
    async ({ source, place, trick, run, fields, isOwn, verdict }) => {
      const before = lying();
      const sentBefore = world.sandbox.requests.length;
      const startedMs = performance.now();
      const { code, err } = await run(
        Object.assign(fields(), plain),
        `${source}-${trick}`.replace(/\W+/g, '-'),
      );
      if (code !== 0) slowestMs = Math.max(slowestMs, performance.now() - startedMs);
      const sent = world.sandbox.requests.slice(sentBefore);
      const creates = sent.filter(
        ({ method, path: at }) => method === 'POST' && at.includes('video_generation'),
      );
      const bodies = JSON.stringify(creates.map(({ body }) => body));
      expect([verdict, creates.length], err).toEqual([code === 0 ? 'sent' : 'refused', code === 0 ? 1 : 0]);
      if (code !== 0)
        expect([code, err.match(/^error: /gm)?.length, err]).toEqual([2, 1, expect.stringMatching(place)]);
      expect(bodies).not.toContain(SECRET);
      expect(bodies).not.toContain(KEY);
      if (isOwn) return;
      expect(bodies).not.toContain('heard.example.com');
      expect(bodies).not.toContain(PIPED);
      expect(lying()).toBe(before);
      // A refusal names its place and says what to do.
      if (code !== 0) expect(err).toMatch(/hint: |; /);
    },
  );

  test('tells how many there were', () => {
    console.log(`${cells.length} cells; the slowest refusal took ${Math.round(slowestMs)} ms`);
    expect(cells).toHaveLength(7 * 18);
  });
});

test.each([
  ['a pipe', (file: string) => execFileSync('mkfifo', [file])],
  ['a link to /dev/zero', (file: string) => fs.symlinkSync('/dev/zero', file)],
  [
    'of a family that is a word of the language',
    (file: string) => {
      const settings = { resolution: '768P' };
      const said = { family: 'constructor', id: 'x', model: null, prompt: 'a fox', settings, references: [] };
      fs.writeFileSync(file, JSON.stringify(said));
    },
  ],
])('a sidecar that is %s is told at once', async (name, make) => {
  const output = path.join(world.cwd, `${name.replaceAll(/\W/g, '-')}.mp4`);
  fs.writeFileSync(output, name);
  make(`${output}.json`);
  const { code, err } = await world.gw(['again', output]);
  expect([2, 4]).toContain(code);
  expect(err).not.toContain('native code');
});

test('a preset of the working directory that others may write to is refused with the chmod to run', async () => {
  const file = write(path.join(world.cwd, '.gw/presets/p.json'), '{"ratio":"16:9"}');
  for (const [changed, mode] of [
    [file, 0o666],
    [path.dirname(file), 0o777],
  ] as const) {
    const before = fs.statSync(changed).mode;
    fs.chmodSync(changed, mode);
    const { code, err } = await world.gw([...words, 'a fox', '--preset', 'p', '--dry-run']);
    fs.chmodSync(changed, before & 0o777);
    expect([code, err]).toEqual([2, expect.stringContaining(`hint: run: chmod go-w ${changed}`)]);
  }
});

test('a journal that others may write to is refused with the chmod to run', async () => {
  const dir = path.join(world.dir, '.local/state/gw/ledger');
  const [journal = ''] = fs
    .readdirSync(dir)
    .map((name) => path.join(dir, name))
    .filter((file) => fs.statSync(file).isFile());
  fs.chmodSync(journal, 0o666);
  const { code, err } = await world.gw(['jobs', 'list']);
  fs.chmodSync(journal, 0o600);
  expect([code, err]).toEqual([2, expect.stringContaining(`hint: run: chmod go-w ${journal}`)]);
});

describe('files of a batch that lie outside its folder', () => {
  const rows = (name: string, file: string) => {
    const text = jsonOf({ prompt: 'a fox', image: file, ...plain });
    return write(path.join(world.cwd, name), `${text}\n${text.replace('a fox', 'an owl')}\n`);
  };
  const check = (name: string, ...more: string[]) =>
    world.gw(['batch', 'check', name, '--command', 'video gamma', ...more]);

  test('are listed once, whatever rows name them, and --root, --allow-outside or a typed flag open them', async () => {
    const file = path.join(outside, 'picture.png');
    rows('far.jsonl', '../outside/picture.png');
    const refused = await check('far.jsonl');
    expect([refused.code, refused.out]).toEqual([2, '']);
    expect(refused.err).toBe(
      `error: far.jsonl: one file lies outside the manifest's folder: ${fs.realpathSync(file)}\n` +
        'hint: move it there, or give --root DIR or --allow-outside\n',
    );
    for (const more of [['--root', outside], ['--allow-outside'], ['--image', file]])
      expect((await check('far.jsonl', ...more)).code, more[0]).toBe(0);
    rows('odd.jsonl', 'fifo.png');
    const odd = await check('odd.jsonl', '--allow-outside');
    expect([odd.code, odd.out]).toEqual([
      2,
      expect.stringContaining('odd.jsonl:1: image: fifo.png: is a pipe'),
    ]);
    rows('proc.jsonl', '/proc/self/environ');
    expect((await check('proc.jsonl')).out).toContain(
      'proc.jsonl:1: image: /proc/self/environ: is no file that gw reads; name a regular file\n',
    );
  });
});
