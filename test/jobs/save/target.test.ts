import { execFileSync, spawnSync } from 'node:child_process';
import * as fs from 'node:fs';
import * as path from 'node:path';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { GwError } from '../../../src/errors.ts';
import { checkTarget } from '../../../src/jobs/save/check-target.ts';
import { trialNames } from '../../../src/jobs/save/disk-ways.ts';
import {
  cleanNameValue,
  type Naming,
  outputPath,
  planTarget,
  slugOf,
} from '../../../src/jobs/save/output-path.ts';
import { serveFile } from '../../helpers/output-server.ts';
import { bundle } from '../../ledger/bundle.ts';
import { age } from '../../ledger/fixtures.ts';
import { listing, outputServer, run, tempDir, video } from './harness.ts';
import { tinyMp4, tinyPng } from './tiny-media.ts';

const names: Naming = {
  id: 'cgt-1',
  family: 'alpha',
  model: 'alpha-video-2-5-260628',
  atMs: Date.parse('2026-11-20T09:05:03'),
};
const lastFrame = { role: 'last-frame', type: 'image', url: '' } as const;

/** The path for an output in an empty directory. */
function pathOf(out: string | undefined, output = video(''), ext = 'mp4', index = 1, naming = names): string {
  const place = outputPath({ target: planTarget(out, '/home/me/{x}') }, naming, output, index);
  return path.join(place.dir, place.name(ext, 0));
}

function usageOf(act: () => unknown): GwError {
  try {
    act();
  } catch (error) {
    if (error instanceof GwError && error.kind === 'usage') return error;
    throw error;
  }
  throw new Error('nothing was refused');
}

describe('names', () => {
  it.each([
    [undefined, '/home/me/{x}/cgt-1.mp4'],
    ['fox.mp4', '/home/me/{x}/fox.mp4'],
    ['fox', '/home/me/{x}/fox'],
    ['.fox', '/home/me/{x}/.fox'],
    ['/out/', '/out/cgt-1.mp4'],
    ['/', '/cgt-1.mp4'],
    ['/out/{family}/{model}/', '/out/alpha/alpha-video-2-5-260628/cgt-1.mp4'],
    ['/out/{date}/{time}-{index}.{ext}', '/out/2026-11-20/090503-1.mp4'],
    ['{id}', '/home/me/{x}/cgt-1'],
    ['{{id}}-{id}.{ext}', '/home/me/{x}/{id}-cgt-1.mp4'],
    ['a}b.{ext}', '/home/me/{x}/a}b.mp4'],
    ['..//up.mp4', '/home/me/up.mp4'],
    ['naïve — 狐.mp4', '/home/me/{x}/naïve — 狐.mp4'],
    ['-dash.mp4', '/home/me/{x}/-dash.mp4'],
  ])('--out %j gives %s', (out, expected) => expect(pathOf(out)).toBe(expected));

  it.each([
    [undefined, '/home/me/{x}/cgt-1-last-frame.png'],
    ['fox.mp4', '/home/me/{x}/fox-last-frame.png'],
    ['fox', '/home/me/{x}/fox-last-frame'],
    ['/out/', '/out/cgt-1-last-frame.png'],
    ['{id}-{index}.{ext}', '/home/me/{x}/cgt-1-2.png'],
    ['clip-{index}.mp4', '/home/me/{x}/clip-2.png'],
  ])('a last frame with --out %j gives %s', (out, expected) => {
    expect(pathOf(out, lastFrame, 'png', 2)).toBe(expected);
  });

  it.each([
    ['{nope}.mp4', '{nope} is not a placeholder'],
    ['{ID}.mp4', '{ID} is not a placeholder'],
    ['{}.mp4', '{} is not a placeholder'],
    ['{__proto__}', '{__proto__} is not a placeholder'],
    ['{id.mp4', 'is not closed'],
    ['clip{', 'is not closed'],
    ['{ext}/{id}.mp4', 'cannot stand in a directory'],
    ['', 'is empty'],
    ['a\0b', 'NUL'],
    ['-', 'only gw image writes to stdout'],
    ['{id}'.repeat(20_000), 'has 80000 characters, and no path has more than 4096'],
  ])('--out %j is a usage error', (out, said) => {
    const error = usageOf(() => planTarget(out, '/home/me'));
    expect(error.message).toContain(said);
    expect(error.facts.hint).not.toBe('');
    if (said.includes('placeholder')) {
      expect(error.facts.hint).toContain(
        '{id} {family} {model} {index} {date} {time} {ext} {prompt} {seed} {duration} {resolution} {key} {row}',
      );
    }
  });

  it('that Windows forbids are refused there before anything is sent, and nothing else is', () => {
    const plain = fc.constantFrom(
      'fox',
      '{id}',
      'out/',
      'C:\\shots\\',
      '{prompt}-{index}',
      'day 1/',
      'aux-{id}',
      '{{x}}',
    );
    const odd = fc.oneof(
      fc.constantFrom(...'<>:"|?*\x01').map((each) => `a${each}b`),
      fc.constantFrom('con', 'NUL.mp4', 'com1.x', 'Lpt9', 'prn.x', 'aux ', 'COM²').map((each) => `./${each}`),
      fc.constantFrom('fox.', 'fox ', '{id} ', 'dir./fox', 'dir /fox'),
    );
    expect(() => planTarget('a:b.mp4', '/home/me', 1, 'win32')).toThrow('Windows forbids ":" in "a:b.mp4"');
    fc.assert(
      fc.property(plain, odd, fc.constantFrom('', '/x.mp4'), (before, fault, behind) => {
        const out = `${before}${fault}${behind}`;
        const error = usageOf(() => planTarget(out, '/home/me', 1, 'win32'));
        expect([error.message, error.facts.hint]).toEqual([
          expect.stringMatching(/^--out: Windows forbids /),
          'choose another name; nothing was sent',
        ]);
        planTarget(`${before}x.mp4`, '/home/me', 1, 'win32');
        planTarget(out, '/home/me', 1, 'linux');
      }),
      { numRuns: 500 },
    );
  });

  it.each<[Partial<Naming>, string]>([
    [{}, 'none_none_none_none_none_none'],
    [{ model: undefined }, 'none_none_none_none_none_none'],
    [
      {
        ...{ prompt: 'A fox, in the Snow!', settings: { seed: 7, duration: 5, resolution: '720p' } },
        ...{ once: { key: 'nightly/fox 1' } },
      },
      'a-fox-in-the-snow_7_5_720p_nightly-fox_1_none',
    ],
    // The record fills in what the request left open; values that the request set stay.
    [
      {
        settings: { duration: -1, resolution: '480p' },
        made: { seed: 9, duration: 12.5, resolution: '1080p' },
      },
      'none_9_12.5_480p_none_none',
    ],
    [{ settings: { duration: 'auto' }, made: { duration: null, seed: {} } }, 'none_none_none_none_none_none'],
    [{ prompt: 'nul', once: { key: '../..' } }, '_nul_none_none_none_unnamed_none'],
    [{ once: { key: 'Ночь/一只 fu\u0308r ثعلب?' } }, 'none_none_none_none_Ночь-一只_für_ثعلب__none'],
    [{ once: { key: '狐'.repeat(99) } }, `none_none_none_none_${'狐'.repeat(29)}_none`],
  ])('of %j have what the request and the record say', (facts, stem) => {
    const out = '/out/{prompt}_{seed}_{duration}_{resolution}_{key}_{row}.{ext}';
    expect(pathOf(out, video(''), 'mp4', 1, { ...names, ...facts })).toBe(`/out/${stem}.mp4`);
    expect(pathOf('/{model}', video(''), 'mp4', 1, { ...names, model: undefined })).toBe('/none');
  });

  it.each([
    ['', ''],
    ['a paper boat on a calm sea', 'a-paper-boat-on-a-calm-sea'],
    ['  --Rm -rf /; $(x)\n\x1b[31m..', 'rm-rf-x-31m'],
    ['Fu\u0308chse über Ätna, déjà vu', 'füchse-über-ätna-déjà-vu'],
    ['狐狸', '狐狸'],
    ['狐狸在雪地里奔跑然后停下来看着月亮升起', '狐狸在雪地里奔跑然后停下来看着月'],
    ['Лиса бежит, по снегу!', 'лиса-бежит-по-снегу'],
    ['ثعلب في الثلج', 'ثعلب-في-الثلج'],
    ['हिन्दी में', 'हिन्दी-में'],
    ['… ✨ 🦊', ''],
    ['con', '_con'],
    [`${'x'.repeat(100)} y`, 'x'.repeat(48)],
    [
      'one two three four five six seven eight nine ten eleven',
      'one-two-three-four-five-six-seven-eight-nine-ten',
    ],
    ['aaaaaaaaaa '.repeat(10), 'aaaaaaaaaa-aaaaaaaaaa-aaaaaaaaaa-aaaaaaaaaa'],
  ])('the slug of %j is %j', (prompt, slug) => expect(slugOf(prompt)).toBe(slug));

  it('an existing directory is one, with a separator or without, also through a link', () => {
    const dir = tempDir();
    fs.mkdirSync(path.join(dir, 'clips'));
    fs.symlinkSync('clips', path.join(dir, 'linked'));
    fs.mkdirSync(path.join(dir, 'with{brace'));
    for (const name of ['clips', 'clips/', 'linked']) {
      expect(planTarget(name, dir)).toBe(`${path.join(dir, name.replace('/', ''))}/`);
    }
    expect(planTarget('with{{brace', dir)).toBe(`${path.join(dir, 'with{{brace')}/`);
    expect(planTarget('.', dir)).toBe(`${dir}/`);
  });

  it.each([
    ['../../etc/passwd', '_.._etc_passwd'],
    ['-rf', 'rf'],
    ['.hidden', 'hidden'],
    ['', 'unnamed'],
    ['...', 'unnamed'],
    ['CON', '_CON'],
    ['nul.txt', '_nul.txt'],
    ['Com7', '_Com7'],
    ['console', 'console'],
    ['a b\n\x1b[31mc', 'a_b_31mc'],
    ['a:b', 'a_b'],
    ['tail.', 'tail'],
    ['狐', '_'],
  ])('the value %j becomes %s', (value, expected) => expect(cleanNameValue(value)).toBe(expected));

  it('a copy gets its number before the extension', () => {
    const place = outputPath({ target: '/out/fox.tar.mp4' }, names, video(''), 1);
    expect([place.name('mp4', 0), place.name('mp4', 1), place.name('mp4', 12)]).toEqual([
      'fox.tar.mp4',
      'fox.tar-1.mp4',
      'fox.tar-12.mp4',
    ]);
  });

  it('from hostile values stay one plain, short name inside the directory', () => {
    const hostile = fc.oneof(
      fc.string({ unit: 'binary', maxLength: 300 }),
      fc.constantFrom(
        '..',
        '../',
        '/etc/passwd',
        'CON',
        'aux.mp4',
        '\0',
        '-o',
        '.',
        'C:\\x',
        '‮gpj',
        `${'x'.repeat(400)}`,
      ),
      fc.string({ unit: fc.constantFrom('.', '-', '/', '\\', 'c', 'o', 'n', ' '), maxLength: 200 }),
    );
    const patterns = fc.constantFrom(
      undefined,
      '{id}',
      '{model}.{ext}',
      '{family}{id}-{model}-{id}.{ext}',
      '{index}{id}.mp4',
      '{prompt}',
      '{prompt}{seed}{duration}-{resolution}{key}{row}{key}.{ext}',
    );
    fc.assert(
      fc.property(
        hostile,
        hostile,
        patterns,
        fc.boolean(),
        fc.nat(9_999),
        (id, model, out, isFrame, copy) => {
          const settings = { seed: model, duration: id, resolution: model };
          const naming = { ...names, id, model, family: id, prompt: id, settings, once: { key: model } };
          const place = outputPath(
            { target: planTarget(out, '/home/me') },
            naming,
            isFrame ? lastFrame : video(''),
            1,
          );
          const name = place.name('mp4', copy);
          expect(path.resolve(place.dir)).toBe('/home/me');
          expect(name).toMatch(/^[\p{L}\p{N}_][\p{L}\p{N}\p{M}._-]*$/u);
          expect(name).not.toMatch(/^(con|prn|aux|nul|com\d|lpt\d)(\.|$)/i);
          expect(Buffer.byteLength(name.replace(/\.mp4$/, ''))).toBeLessThanOrEqual(120);
        },
      ),
      { numRuns: 500 },
    );
  });

  it('of a directory from hostile values stay below it', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary', maxLength: 200 }), (id) => {
        const { dir } = outputPath(
          { target: '/out/{id}/{model}/' },
          { ...names, id, model: id },
          video(''),
          1,
        );
        expect(dir).toMatch(/^\/out\/[A-Za-z0-9_][A-Za-z0-9._-]*\/[A-Za-z0-9_][A-Za-z0-9._-]*\/$/);
        expect(path.resolve(dir)).toBe(dir.slice(0, -1));
      }),
    );
  });
});

describe('what a server says', () => {
  it('never names a file', async () => {
    const file = tinyMp4(500);
    const dir = tempDir();
    for (const id of ['../../../tmp/x', 'a/b', '.bashrc', 'CON', 'a\nb', '狐狐', `${'long'.repeat(60)}`]) {
      const server = await outputServer((request, response) => {
        response.setHeader('content-disposition', 'attachment; filename="../../evil.sh"');
        serveFile(request.url === '/..%2f..%2fevil.sh' ? file : tinyPng, request, response, {
          type: 'image/x-evil',
        });
      });
      const outputs = [
        video(`${server.url}/..%2f..%2fevil.sh`),
        { role: 'last-frame', type: 'image', url: `${server.url}/x.php` },
      ] as const;
      const { files } = await run({ dir, outputs, names: { ...names, id } });
      expect(files).toHaveLength(2);
    }
    for (const name of listing(dir)) expect(name).toMatch(/^[A-Za-z0-9_][A-Za-z0-9._-]{0,119}\.(mp4|png)$/);
    expect(listing(dir)).toHaveLength(14);
  });
});

describe('the check before anything is paid', () => {
  const plan = (target: string) => ({ target, force: false, download: true });
  const before = { family: 'alpha', model: 'm', atMs: names.atMs, outputsExpected: 1 };
  const check = (target: string, changes = {}) => checkTarget(plan(target), { ...before, ...changes });

  it('makes the directory and leaves nothing in it', () => {
    const dir = tempDir();
    check(path.join(dir, 'a', 'b', 'fox.mp4'));
    check(path.join(dir, 'c/'));
    check(path.join(dir, '{family}-{date}', '{id}', '{id}.{ext}'));
    check(path.join(dir, '{prompt}', '{resolution}', '{seed}/'), {
      prompt: 'd e',
      settings: { resolution: '720p' },
    });
    expect(listing(dir)).toEqual(['a', 'alpha-2026-11-20', 'c', 'd-e']);
    expect(listing(path.join(dir, 'd-e', '720p'))).toEqual([]);
    for (const name of ['a/b', 'c', 'alpha-2026-11-20']) expect(listing(path.join(dir, name))).toEqual([]);
  });

  it('clears the trial that a killed gw left there, and no file of a living one or of the user', () => {
    const dir = tempDir();
    const [left = '', alive = '', mine = ''] = trialNames;
    for (const name of [left, alive]) fs.writeFileSync(path.join(dir, name), 'x');
    fs.writeFileSync(path.join(dir, mine), 'of the user');
    for (const name of [left, mine]) age(path.join(dir, name), 11);
    age(path.join(dir, alive), 1);
    check(path.join(dir, 'fox.mp4'));
    expect(listing(dir).sort()).toEqual([alive, mine].sort());
  });

  it('leaves nothing, whenever it is killed, that the next run does not clear', { tags: ['strace'] }, () => {
    const script = bundle(path.join(import.meta.dirname, 'check-script.ts'));
    for (const when of [1, 2, 3, 4, 5, 6]) {
      const dir = tempDir();
      const inject = ['-P', path.join(dir, '.gw-0.try'), '-e', `inject=all:signal=KILL:when=${when}`];
      spawnSync('strace', ['-f', '-qq', '-o', '/dev/null', ...inject, process.execPath, script, dir]);
      for (const name of listing(dir)) age(path.join(dir, name), 60);
      check(path.join(dir, 'fox.mp4'));
      expect(listing(dir)).toEqual([]);
    }
  });

  it('refuses a pattern whose name no disk takes, and no other', () => {
    const dir = tempDir();
    const error = usageOf(() =>
      check(path.join(dir, `${'{prompt}-{time}'.repeat(25)}.mp4`), { prompt: 'a fox in the snow' }),
    );
    expect(error.message).toMatch(/: the name has at least \d{3} bytes, and no disk takes more than 255$/);
    check(path.join(dir, `${'{id}{prompt}{model}'.repeat(9)}.mp4`), { prompt: 'a fox in the snow' });
  });

  it('refuses a name to which no disk could add what its sidecar is called by', () => {
    const target = path.join(tempDir(), `${'f'.repeat(247)}.mp4`);
    check(target);
    const error = usageOf(() => checkTarget({ ...plan(target), sidecar: '1.0.0' }, before));
    expect(error.message).toMatch(/: the name of its sidecar has at least 256 bytes, and no disk takes more/);
  });

  it('does nothing where nothing is to be saved', () => {
    const dir = tempDir();
    checkTarget({ ...plan(path.join(dir, 'new', 'x.mp4')), download: false }, before);
    expect(listing(dir)).toEqual([]);
  });

  it('passes an existing file, which is kept', () => {
    const dir = tempDir();
    fs.writeFileSync(path.join(dir, 'fox.mp4'), 'mine');
    check(path.join(dir, 'fox.mp4'));
    expect(fs.readFileSync(path.join(dir, 'fox.mp4'), 'utf8')).toBe('mine');
  });

  it.each([
    ['/dev/null', 'a device'],
    // Nobody, not even root, can write in the directory above.
    ['/proc/self/cwd', 'a symbolic link'],
    ['/dev/null/x.mp4', 'not a directory|a file stands'],
    ['/proc/nowhere/x.mp4', 'is missing|permission|not permitted'],
  ])('refuses %s', (target, said) => expect(usageOf(() => check(target)).message).toMatch(new RegExp(said)));

  it('refuses a symbolic link, a directory, a fifo, and a path through a file', () => {
    const dir = tempDir();
    const at = (name: string) => path.join(dir, name);
    fs.symlinkSync('nowhere', at('link.mp4'));
    fs.mkdirSync(at('dir.mp4'));
    execFileSync('mkfifo', [at('fifo.mp4')]);
    fs.writeFileSync(at('file'), '');
    for (const [name, said] of [
      ['link.mp4', 'a symbolic link'],
      ['dir.mp4', 'a directory'],
      ['fifo.mp4', 'a pipe'],
      ['file/x.mp4', 'directory'],
      [`${'n'.repeat(300)}.mp4`, 'too long'],
    ] as const) {
      const error = usageOf(() => check(at(name)));
      expect(error.message).toContain(said);
      expect(error.message).toContain(dir);
      expect(error.facts.hint).toContain('nothing was sent');
    }
    expect(listing(dir)).toEqual(['dir.mp4', 'fifo.mp4', 'file', 'link.mp4']);
  });

  it('suggests {index} for one name and several outputs', () => {
    const dir = tempDir();
    const error = usageOf(() => check(path.join(dir, 'fox.mp4'), { outputsExpected: 3 }));
    expect(error.facts.hint).toContain('fox-{index}.mp4');
    check(path.join(dir, 'fox-{index}.mp4'), { outputsExpected: 3 });
    check(`${dir}/`, { outputsExpected: 3 });
  });
});
