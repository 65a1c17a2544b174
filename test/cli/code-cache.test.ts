import * as fs from 'node:fs';
import * as path from 'node:path';
import { beforeAll, describe, expect, test } from 'vitest';
import { openServer, sendJson } from './fake-gateway.ts';
import { KEY, Place } from './place.ts';

// @module-tag node
// gw loads only code that it cached itself: it neither reads nor writes a cache that others could have written.

const place = (): Place => {
  const made = new Place();
  return made;
};

let writer: Place;
beforeAll(async () => {
  writer = place();
  const written = await writer.run(['--help'], { env: { XDG_CACHE_HOME: undefined } });
  expect(written).toMatchObject({ code: 0, err: '' });
});

/** A place with the code cache that gw has written; also returns its directories, outermost first, and its files. */
async function withCache() {
  const here = place();
  const base = path.join(here.home, '.cache', 'gw');
  const env = { XDG_CACHE_HOME: undefined };
  const help = () => here.run(['--help'], { env });
  fs.cpSync(path.join(writer.home, '.cache'), path.join(here.home, '.cache'), { recursive: true });
  const code = path.join(base, 'code');
  const inner = path.join(code, fs.readdirSync(code)[0] ?? '');
  const files = fs.readdirSync(inner).map((name) => path.join(inner, name));
  expect(files.length).toBeGreaterThan(0);
  return { here, dirs: [base, code, inner] as const, files, help };
}

/** Bytes that no cache contains: a run that does not trust the file leaves them unchanged. */
const MARK = 'not of gw';
const marked = (files: readonly string[]) => {
  for (const file of files) fs.writeFileSync(file, MARK);
};
const untouched = (files: readonly string[]) => files.every((file) => fs.readFileSync(file, 'utf8') === MARK);

test('a cache of this user is replaced where it is damaged, and used', async () => {
  const { files, help } = await withCache();
  marked(files);
  expect(await help()).toMatchObject({ code: 0, err: '' });
  expect(untouched(files)).toBe(false);
});

test('bytes of a cache that have changed are not run: V8 would end the process', async () => {
  const { files, help } = await withCache();
  const [file = ''] = files;
  const whole = fs.readFileSync(file);
  for (const from of [0, 4, 8, Math.floor(whole.length / 2)]) {
    const changed = Buffer.from(whole);
    for (let at = from; at < changed.length; at += 500) changed[at] = (changed[at] ?? 0) ^ 0xff;
    fs.writeFileSync(file, changed);
    expect(await help()).toMatchObject({ code: 0, err: '' });
    expect(fs.readFileSync(file).equals(changed)).toBe(false);
  }
});

test('what one command leaves in the cache, another leaves there', async () => {
  const { here, files, help } = await withCache();
  const path = () => here.run(['config', 'path'], { env: { XDG_CACHE_HOME: undefined } });
  // A rejected cache would be written to a new file.
  const written = files.map((file) => fs.statSync(file).ino);
  await path();
  await help();
  await path();
  expect(files.map((file) => fs.statSync(file).ino)).toEqual(written);
});

test('each command has a cache of its own, and a second run of it compiles nothing', async () => {
  const { here, dirs } = await withCache();
  const files = () =>
    fs.readdirSync(dirs[2]).map((name) => `${name} ${fs.statSync(path.join(dirs[2], name)).ino}`);
  const list = () => here.run(['jobs', 'list', '--json'], { env: { XDG_CACHE_HOME: undefined } });
  await list();
  const written = files();
  expect(written).toEqual([
    expect.stringMatching(/^parts-\w+\.js\.gw\.bin /),
    expect.stringMatching(/^parts-\w+\.js\.jobs-list\.bin /),
  ]);
  expect(await list()).toMatchObject({ code: 0 });
  expect(files()).toEqual(written);
});

test('a cache that a run with a long reply leaves is taken by the next run', async () => {
  let content = 'x'.repeat(4 * 1024 * 1024);
  const server = await openServer((_, response) => {
    const choices = [{ message: { role: 'assistant', content }, finish_reason: 'stop' }];
    sendJson(response, 200, { choices });
  });
  const here = new Place(server);
  const chat = () => here.run(['chat', 'hi', '--no-stream'], { env: { XDG_CACHE_HOME: undefined } });
  expect(await chat()).toMatchObject({ code: 0 });
  const code = path.join(here.home, '.cache', 'gw', 'code');
  const files = () =>
    fs
      .readdirSync(code, { recursive: true })
      .map((name) => path.join(code, `${name}`))
      .filter((name) => fs.statSync(name).isFile())
      .map((name) => `${name} ${fs.statSync(name).ino}`);
  const written = files();
  expect(written).toEqual([expect.stringContaining('.chat.bin ')]);
  // A rejected cache would be compiled again and written to a new file.
  content = 'x';
  expect(await chat()).toMatchObject({ code: 0 });
  expect(files()).toEqual(written);
});

test('caches of other versions go when they are a month old', async () => {
  const { here, dirs } = await withCache();
  const old = path.join(dirs[2], 'parts-old.js.gw.bin');
  const recent = path.join(dirs[2], 'parts-recent.js.gw.bin');
  for (const [file, days] of [
    [old, 31],
    [recent, 29],
  ] as const) {
    fs.writeFileSync(file, '');
    const then = Date.now() / 1000 - days * 24 * 60 * 60;
    fs.utimesSync(file, then, then);
  }
  await here.run(['jobs', 'list'], { env: { XDG_CACHE_HOME: undefined } });
  expect([fs.existsSync(old), fs.existsSync(recent)]).toEqual([false, true]);
});

test.each([
  ['the cache directory', 0],
  ['its code directory', 1],
  ['the directory of this Node', 2],
] as const)('%s that others may write to is not used', async (_, level) => {
  const { dirs, files, help } = await withCache();
  marked(files);
  for (const mode of [0o770, 0o702]) {
    fs.chmodSync(dirs[level], mode);
    expect(await help()).toMatchObject({ code: 0, err: '' });
    expect(untouched(files)).toBe(true);
  }
});

test.each([0, 1, 2] as const)('a symbolic link in place of directory %s is not used', async (level) => {
  const { dirs, files, help } = await withCache();
  marked(files);
  fs.renameSync(dirs[level], `${dirs[level]}-moved`);
  fs.symlinkSync(`${dirs[level]}-moved`, dirs[level]);
  expect(await help()).toMatchObject({ code: 0, err: '' });
  expect(untouched(files)).toBe(true);
});

test('a cache file that others may write to, or that is a link, is not read', async () => {
  const { here, files, help } = await withCache();
  // The content stays a valid cache, so gw can reject the file only for its mode or because it is a link.
  const [file = ''] = files;
  const before = fs.readFileSync(file);
  fs.chmodSync(file, 0o666);
  expect(await help()).toMatchObject({ code: 0 });
  // gw has replaced it with a file that only this user can read.
  expect(fs.statSync(file).mode & 0o777).toBe(0o600);
  const elsewhere = path.join(here.dir, 'elsewhere');
  fs.writeFileSync(elsewhere, before, { mode: 0o600 });
  fs.rmSync(file);
  fs.symlinkSync(elsewhere, file);
  expect(await help()).toMatchObject({ code: 0 });
  expect(fs.lstatSync(file).isFile()).toBe(true);
});

test('a directory of another user is not used, nor written', { tags: ['root'] }, async () => {
  const { dirs, files, help } = await withCache();
  marked(files);
  fs.chownSync(dirs[1], 12_345, 12_345);
  expect(await help()).toMatchObject({ code: 0, err: '' });
  expect(untouched(files)).toBe(true);
  fs.chownSync(dirs[1], 0, 0);
  for (const file of files) fs.chownSync(file, 12_345, 12_345);
  expect(await help()).toMatchObject({ code: 0, err: '' });
  // gw did not read them and replaced them with files of this user.
  expect(files.map((file) => fs.statSync(file).uid)).toEqual(files.map(() => 0));
});

test.each(['/proc/gw', '/proc/self/gw/deeper', '/dev/null/gw'])(
  'a cache under %s costs the cache and never a hang',
  async (dir) => {
    const run = await place().run(['--help'], { env: { GW_CACHE_DIR: dir } });
    expect(run).toMatchObject({ code: 0, err: '' });
  },
);

test.each(['/proc/gw', '/dev/null/gw'])('a state directory %s is a usage error', async (dir) => {
  const run = await place().run(['video', 'alpha', 'create', 'x', '--sandbox'], {
    env: { GW_STATE_DIR: dir },
  });
  expect(run).toMatchObject({ code: 2, out: '' });
  expect(run.err).toContain(dir);
  expect(run.err).toContain('GW_STATE_DIR');
});

// One of Node's modules adds up to 3 ms to a start of 40 ms, the schemas 5 ms, the HTTP client 6 ms.
describe('what a run does not use, it does not load', () => {
  const never = ['code from text', 'worker_threads', 'fs/promises', 'perf_hooks'];
  const unused = {
    '--help': [...never, 'assert', 'http', 'crypto', 'dns', 'os', 'tty', 'schemas', 'undici'],
    'jobs list': [...never, 'assert', 'http', 'crypto', 'dns', 'tty', 'schemas', 'undici'],
    'video alpha create fox --dry-run --base-url http://127.0.0.1:1': [
      ...never,
      'assert',
      'http',
      'crypto',
      'dns',
      'tty',
      'undici',
    ],
    // Nothing listens on this port, but gw loads the modules for a request before it connects.
    'video alpha get cgt-1 --json --base-url http://127.0.0.1:1 --retries 0': [...never, 'crypto', 'schemas'],
  };
  /** Records the loaded Node modules, and two bundled libraries by a word that only their source contains. */
  const recording = `
    const vm = require('node:vm');
    const words = { schemas: 'ZodDiscriminatedUnion', undici: 'UND_ERR_CLOSED' };
    const loaded = new Set();
    // On a busy machine the watch over a run that takes long begins, and loads what it needs.
    const { setTimeout } = globalThis;
    globalThis.setTimeout = (work, ms, ...more) => setTimeout(work, ms * 100, ...more);
    globalThis.Function = class extends Function {
      constructor(...texts) {
        super(...texts);
        loaded.add('code from text');
      }
    };
    vm.Script = class extends vm.Script {
      constructor(text, options) {
        super(text, options);
        for (const name in words) if (text.includes(words[name])) loaded.add(name);
      }
    };
    process.on('exit', () => {
      const names = process.moduleLoadList.map((each) => each.replace('NativeModule ', ''));
      require('node:fs').writeFileSync(process.env.LOADED, [...names, ...loaded].join('\\n'));
    });`;

  test.each(Object.entries(unused))('gw %s', async (line, names) => {
    const here = place();
    const recorder = path.join(here.dir, 'recorder.cjs');
    fs.writeFileSync(recorder, recording);
    const LOADED = path.join(here.dir, 'loaded');
    const env = { NODE_OPTIONS: `--require ${recorder}`, LOADED, GW_API_KEY: KEY };
    await here.run(line.split(' '), { env });
    const loaded = fs.readFileSync(LOADED, 'utf8').split('\n');
    expect(loaded).toContain('stream');
    if (line.includes(' create ')) expect(loaded).toContain('schemas');
    if (line.includes(' get ')) expect(loaded).toContain('undici');
    expect(names.filter((name) => loaded.includes(name))).toEqual([]);
  });
});
