import { execFile } from 'node:child_process';
import * as fs from 'node:fs';
import * as path from 'node:path';
import { Readable } from 'node:stream';
import { promisify } from 'node:util';
import { describe, expect, test } from 'vitest';
import { openLibrary } from '../../src/agents/gw.ts';
import type { JobResult } from '../../src/agents/gw-cli.d.ts';
import { builtGw } from '../cli/built.ts';
import { creates, openPlace, type Place } from '../cli/place.ts';
import { assetsDir } from '../helpers/assets-dir.ts';
import { cmd } from '../helpers/cmd.ts';
import { reply, startFaultServer } from '../helpers/fault-server.ts';
import { tinyPng } from '../jobs/save/tiny-media.ts';

// The package's function, `import { gw } from 'gw-cli'`, in this process and installed from the tarball.

const root = path.join(import.meta.dirname, '../..');
const gw = openLibrary({ version: '0.0.0-test', distDir: assetsDir });
const at = (place: Place) => ({ env: place.env(), cwd: place.cwd });

describe('a run in this process', () => {
  test('gives the objects of --json, and tells of events beside them', async () => {
    const place = await openPlace();
    const events: string[] = [];
    const onEvent = ({ event }: { event: string }) => events.push(event);
    const made = await gw(['video', 'alpha', 'create', 'a boat', '--wait'], { ...at(place), onEvent });
    expect(made).toMatchObject({ exitCode: 0, results: [{ family: 'alpha', status: 'succeeded' }] });
    expect(made).not.toHaveProperty('error');
    expect(events).toEqual(expect.arrayContaining(['intent', 'accepted', 'saved', 'result']));
    const [{ files }] = made.results as [{ files: { path: string }[] }];
    expect(fs.existsSync(files[0]?.path ?? '')).toBe(true);
    const cwd = path.relative('', place.cwd);
    const image = await gw(['image', 'create', 'a fox'], { ...at(place), cwd });
    expect(image, image.error?.message).toMatchObject({ exitCode: 0 });
    const listed = await gw(['jobs', 'list', '--family', 'alpha'], at(place));
    expect(listed.results).toEqual([[expect.objectContaining({ prompt: 'a boat' })]]);
    expect((await gw(['jobs', 'list', '--family', 'alpha', '--json'], at(place))).results).toEqual(
      listed.results,
    );
    expect((await gw(['help', 'exit-codes'], at(place))).results).toEqual([
      expect.stringContaining('unknown_outcome'),
    ]);
  });

  test('tells the last event the record that it gives back, also one with a long number', async () => {
    const place = await openPlace();
    const data = [{ b64_json: tinyPng.toString('base64') }];
    const body = JSON.stringify({ seed: 0, data }).replace('0', '9007199254740993');
    const server = await startFaultServer({ steps: [reply(200, body)] });
    const events: { event: string; record?: unknown }[] = [];
    const env = { ...place.env(), GW_BASE_URL: server.url };
    const onEvent = (event: { event: string; record?: unknown }) => events.push(event);
    const { results } = await gw(['image', 'create', 'a fox'], { env, cwd: place.cwd, onEvent });
    expect(results).toMatchObject([{ record: { data: [{ b64_json: '' }] } }]);
    expect(events.at(-1)).toMatchObject({ event: 'result', record: (results[0] as JobResult).record });
  });

  test.each([
    ['a text', 'a fox'],
    ['bytes', Buffer.from('a fox')],
    ['a stream', () => Readable.from(['a ', 'fox'])],
  ])('takes %s as what is piped in, and nothing else', async (_, stdin) => {
    const place = await openPlace();
    const given = typeof stdin === 'function' ? stdin() : stdin;
    expect((await gw(['image', 'create'], { ...at(place), stdin: given })).exitCode).toBe(0);
    expect(JSON.stringify(creates(place.sandbox)[0]?.body)).toContain('a fox');
    expect((await gw(['image', 'create'], at(place))).error).toMatchObject({ kind: 'usage', exit_code: 2 });
  });

  test('takes a number of a JavaScript caller for the word that it is', async () => {
    const words = ['image', 'create', 'a fox', '--n', 2, '--dry-run'] as unknown as string[];
    expect((await gw(words, at(await openPlace()))).results).toMatchObject([{ body: { n: 2 } }]);
    const none = ['image', 'create', undefined, '--dry-run'] as unknown as string[];
    expect((await gw(none, at(await openPlace()))).results).toEqual([]);
  });

  test.each([[undefined], [null], ['chat'], [[null]], [['chat', {}]], [{ 0: 'chat' }]])(
    '%j is no list of words',
    async (words) => {
      const run = await gw(words as unknown as string[], at(await openPlace()));
      expect(run).toMatchObject({ exitCode: 2, results: [], error: { kind: 'usage', exit_code: 2 } });
      expect(run.error?.message).toContain('a list of words');
    },
  );

  test.each([
    ['options takes an object', null],
    ['options takes an object', []],
    ['options takes an object', 5],
    ['env takes an object of texts', { env: [] }],
    ['env takes an object of texts', { env: { GW_RETRIES: 5 } }],
    ['cwd takes the path of a directory', { cwd: 5 }],
    ['cwd takes the path of a directory', { cwd: '/nowhere/at/all' }],
    ['stdin takes a text, bytes or a stream', { stdin: 5 }],
    ['stdin takes a text, bytes or a stream', { stdin: {} }],
    ['signal takes an AbortSignal', { signal: 5 }],
    ['signal takes an AbortSignal', { signal: new AbortController() }],
    ['onEvent takes a function', { onEvent: 'heard' }],
  ])('refuses options of another type: %s, not %j', async (told, options) => {
    const run = await gw(['models'], options as unknown as Parameters<typeof gw>[1]);
    const error = { kind: 'usage', message: `gw(words, options): ${told}`, exit_code: 2 };
    expect(run).toEqual({ exitCode: 2, results: [], error });
  });

  test('takes an option that is null for one that is left out', async () => {
    const none = { stdin: null, signal: null, onEvent: null } as unknown as Parameters<typeof gw>[1];
    expect(await gw(['help', 'exit-codes'], { ...at(await openPlace()), ...none })).toMatchObject({
      exitCode: 0,
    });
  });

  test('takes no word for another, and sends nothing for a flag that lacks its value', async () => {
    const place = await openPlace();
    for (const words of [
      ['image', 'create', '--prompt'],
      ['imag', 'create', 'x'],
      ['image', 'create', 'x', '--ratoi', '1'],
    ])
      expect(await gw(words, at(place))).toMatchObject({
        exitCode: 2,
        results: [],
        error: { kind: 'usage' },
      });
    expect(creates(place.sandbox)).toEqual([]);
  });

  test('changes nothing of the process, and ends at an aborted signal with the job in the ledger', async () => {
    const place = await openPlace({ speed: 1 });
    const names = ['SIGINT', 'SIGTERM', 'exit', 'beforeExit', 'uncaughtException'];
    const seen = () => [
      names.map((name) => process.listenerCount(name)),
      process.exitCode,
      { ...process.env },
      Object.keys(globalThis),
    ];
    await gw(['balance'], at(place));
    const before = seen();
    const abort = new AbortController();
    const onEvent = ({ event }: { event: string }) => event === 'accepted' && abort.abort();
    const run = await gw(['video', 'alpha', 'create', 'a boat', '--wait'], {
      ...at(place),
      onEvent,
      signal: abort.signal,
    });
    expect(run).toMatchObject({ exitCode: 130, error: { kind: 'interrupted' } });
    expect(seen()).toEqual(before);
    expect(await place.jobs()).toEqual([expect.objectContaining({ state: 'running' })]);
    const gone = await gw(['image', 'create', 'x'], { ...at(place), signal: AbortSignal.abort() });
    expect(gone.exitCode).toBe(130);
    expect(creates(place.sandbox)).toHaveLength(1);
  });

  test.each([
    [
      'at once',
      () => {
        throw new Error('my own');
      },
    ],
    ['later', () => Promise.reject(new Error('my own'))],
  ])('goes on where onEvent throws %s, and tells of it', async (_, onEvent) => {
    const place = await openPlace();
    const run = await gw(['video', 'alpha', 'create', 'a boat', '--wait'], { ...at(place), onEvent });
    const error = { kind: 'internal', message: 'onEvent threw: my own', exit_code: 1 };
    expect(run).toMatchObject({ exitCode: 1, results: [{ status: 'succeeded' }], error });
  });

  test('makes one job for one key, however many ask at once', async () => {
    const place = await openPlace();
    const words = ['image', 'create', 'a fox', '--once', 'fox'];
    const all = await Promise.all(Array.from({ length: 10 }, () => gw(words, at(place))));
    expect(new Set(all.map(({ results: [job] }) => (job as { id: string }).id)).size).toBe(1);
    expect(creates(place.sandbox)).toHaveLength(1);
  });
});

/** Installs the tarball as a project's dependency. */
async function installed(place: Place): Promise<void> {
  const run = promisify(execFile);
  const packed = path.dirname(path.dirname(builtGw().script));
  await run('npm', ['pack', '--ignore-scripts', '--pack-destination', place.temp], { cwd: packed });
  const [tarball = ''] = fs.readdirSync(place.temp).filter((name) => name.endsWith('.tgz'));
  const dir = path.join(place.cwd, 'node_modules/gw-cli');
  fs.mkdirSync(dir, { recursive: true });
  await run('tar', ['xzf', path.join(place.temp, tarball), '-C', dir, '--strip-components=1']);
}

test('the package compiles strictly and runs, by import and by require', async () => {
  const place = await openPlace();
  await installed(place);
  const readme = fs.readFileSync(path.join(root, 'README.md'), 'utf8');
  const example = /```ts\n([\s\S]*?import \{ gw \}[\s\S]*?)```/.exec(readme)?.[1] ?? '';
  const write = (name: string, text: string) => fs.writeFileSync(path.join(place.cwd, name), text);
  write('package.json', '{ "type": "module" }');
  write(
    'example.ts',
    `declare const console: { log(text: string): void; error(...words: unknown[]): void };\n${example}`,
  );
  write(
    'types.cts',
    `import gwCli = require('gw-cli');
const run: Promise<gwCli.GwRun<gwCli.JobResult>> = gwCli.gw(['video', 'alpha', 'create', 'x']);
const other: Promise<gwCli.GwRun<{ id: string }>> = gwCli.gw<{ id: string }>(['jobs', 'list'], { stdin: 'x', env: { A: undefined } });
// @ts-expect-error -- words are texts
gwCli.gw([1]);
// @ts-expect-error -- there is no such option
gwCli.gw(['balance'], { output: true });
// @ts-expect-error -- what a look-up gives is not known
other.then(({ results }) => results[0].files);
void run;`,
  );
  const strict = {
    strict: true,
    exactOptionalPropertyTypes: true,
    module: 'node20',
    target: 'es2022',
    types: [],
    lib: ['es2022'],
  };
  write('tsconfig.json', JSON.stringify({ compilerOptions: strict, files: ['example.ts', 'types.cts'] }));
  const tsc = await place.command(process.execPath, [
    path.join(root, 'node_modules/typescript/bin/tsc'),
    '-p',
    '.',
  ]);
  expect(tsc.out).toBe('');
  const ran = await place.command(process.execPath, ['example.js']);
  expect(ran).toMatchObject({ code: 0, out: expect.stringMatching(/\.png\n$/) });
  write(
    'plain.cjs',
    `require('gw-cli').gw(['config', 'set', 'interval', '5s']).then(({ exitCode }) =>
      process.stdout.write([exitCode, ...process.eventNames().filter((name) => /^SIG/.test(name))].join()));`,
  );
  expect(await place.command(process.execPath, ['plain.cjs'])).toMatchObject({ code: 0, out: '0', err: '' });
});

test('forty jobs in one process: all distinct, nothing left open', async () => {
  const place = await openPlace();
  const script = path.join(place.temp, 'forty.cjs');
  fs.writeFileSync(
    script,
    `const { gw } = require(${JSON.stringify(path.join(path.dirname(builtGw().script), 'gw-cli.js'))});
(async () => {
  const all = await Promise.all(Array.from({ length: 40 }, (_, at) =>
    gw(['image', 'create', 'fox ' + at, '--size', '256x256'])));
  const ids = new Set(all.map(({ results: [job] }) => job.id)).size;
  const stillOpen = () => process.getActiveResourcesInfo().filter((name) => !/^(Pipe|TTY|File)/.test(name));
  // What the file system was asked for last gets its answer a little later.
  for (let tries = 0; tries < 200 && stillOpen().length > 0; tries += 1)
    await new Promise((resolve) => setTimeout(resolve, 100));
  const open = stillOpen();
  process.stdout.write(JSON.stringify({ ids, open }));
})();`,
  );
  const { code, out, err } = await place.command(process.execPath, [script]);
  expect([code, err]).toEqual([0, '']);
  expect(JSON.parse(out)).toEqual({ ids: 40, open: [] });
  expect(creates(place.sandbox)).toHaveLength(40);
  expect(fs.readdirSync(place.cwd)).toHaveLength(40);
});

test('killed at any moment, the same key is never paid for twice', async () => {
  const place = await openPlace({ speed: 50 });
  const library = JSON.stringify(path.join(path.dirname(builtGw().script), 'gw-cli.js'));
  const words = (at: number) => cmd`
    video beta create ${`boat ${at}`} --once boat/${at} --wait --interval 50ms
  `;
  const script = (at: number) =>
    `require(${library}).gw(${JSON.stringify(words(at))}).then((run) => { process.stdout.write(JSON.stringify(run)); process.exitCode = run.exitCode; })`;
  const rounds = Number(process.env.GW_KILL_ROUNDS ?? 4);
  for (let at = 0; at < rounds; at += 1) {
    const running = place.start([], { wrap: [process.execPath, '-e', script(at), '--'] });
    setTimeout(() => running.child.kill('SIGKILL'), 150 + ((at * 397) % 1_500));
    await running.ended;
    const ended = await place.command(process.execPath, ['-e', script(at)]);
    expect(JSON.parse(ended.out), ended.out + ended.err).toMatchObject({
      exitCode: 0,
      results: [{ status: 'succeeded' }],
    });
  }
  expect(creates(place.sandbox)).toHaveLength(rounds);
  expect((await place.jobs()).filter(({ files }) => files.length === 1)).toHaveLength(rounds);
});
