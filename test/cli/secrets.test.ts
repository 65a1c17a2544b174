import * as fs from 'node:fs';
import * as path from 'node:path';
import { describe, expect, test } from 'vitest';
import { openServer, sendJson } from './fake-gateway.ts';
import { NearPlace, openNearPlace } from './near-place.ts';
import { create, type Ended, fetches, KEY, openPlace, type Place } from './place.ts';

// Promises 15 and 16: the key goes only to its gateway and appears in no byte that a run leaves.

/** The forms in which a key may appear in text. */
const forms = [
  KEY,
  Buffer.from(KEY).toString('base64').replace(/=+$/, ''),
  encodeURIComponent(KEY),
  KEY.slice(0, 20),
];

function expectNoKey(place: Place, runs: readonly Ended[], allowed: readonly string[] = []): void {
  for (const { out, err } of runs) {
    for (const form of forms) expect(out + err).not.toContain(form);
  }
  let read = 0;
  const search = (dir: string): void => {
    for (const entry of fs.readdirSync(dir, { withFileTypes: true })) {
      const file = path.join(dir, entry.name);
      for (const form of forms) expect(file).not.toContain(form);
      if (entry.isDirectory()) search(file);
      if (!entry.isFile()) continue;
      read += 1;
      if (allowed.includes(file)) continue;
      const bytes = fs.readFileSync(file);
      for (const form of forms) expect(bytes.includes(form), `${file} holds the key`).toBe(false);
    }
  };
  search(place.dir);
  expect(read).toBeGreaterThan(0);
}

test('the search finds a key where there is one', () => {
  const place = new NearPlace();
  fs.writeFileSync(path.join(place.home, 'leak'), `x${KEY}x`);
  expect(() => expectNoKey(place, [])).toThrow(/holds the key/);
  fs.writeFileSync(path.join(place.home, 'leak'), '');
  expect(() => expectNoKey(place, [{ code: 0, signal: null, out: '', err: KEY }])).toThrow();
});

test('a create and its code cache', async () => {
  const place = await openPlace();
  const env = { XDG_CACHE_HOME: path.join(place.home, 'cache') };
  const runs = [
    await place.run([...create, 'a fox', '--verbose'], { env }),
    await place.run(['jobs', 'list', '--json'], { env }),
    await place.run(['config', 'list'], { env }),
  ];
  for (const { code, err } of runs) expect(code, err).toBe(0);
  expectNoKey(place, runs);
});

test('the store of the outputs never sees the key, nor does where it redirects to', async () => {
  const place = await openNearPlace({ fault: 'output:redirect:x1' });
  const run = await place.run([...create, 'a fox', '--verbose']);
  expect(run.code, run.err).toBe(0);
  const asked = fetches(place.sandbox);
  expect(asked.length).toBeGreaterThan(1);
  for (const { headers, path: target } of asked) {
    expect(JSON.stringify(headers) + target).not.toContain(KEY);
    expect(Object.keys(headers)).not.toEqual(expect.arrayContaining(['authorization']));
    expect(Object.keys(headers)).not.toEqual(expect.arrayContaining(['cookie']));
  }
  expectNoKey(place, [run]);
});

test.each([401, 429, 500])(
  'a gateway that echoes the key in a %i does not bring it to the screen',
  async (status) => {
    const echo = await openServer((request, response) => {
      const key = String(request.headers.authorization);
      const error = { message: `key ${KEY} (${key}) is bad`, type: KEY, code: `c-${KEY}` };
      sendJson(response, status, { error }, { 'x-request-id': KEY, 'x-echo': KEY });
    });
    const place = new NearPlace(echo);
    const argvs = [
      [...create, 'a fox', '--no-queue'],
      ['video', 'alpha', 'get', 'vt-1'],
      ['video', 'alpha', 'wait', 'vt-1', '--interval', '50ms', '--wait-timeout', '200ms'],
    ];
    const runs: Ended[] = [];
    for (const argv of argvs) {
      for (const more of [['--verbose'], ['--json']]) {
        runs.push(await place.run([...argv, '--retries', '0', ...more]));
      }
    }
    for (const run of runs) expect(run.code).not.toBe(0);
    expect(runs[0]?.err).toContain('***');
    expectNoKey(place, runs);
  },
);

test('a gateway that echoes the key in a good reply brings it neither to the screen nor into the ledger', async () => {
  const echo = await openServer((request, response) => {
    const id = 'vt-1';
    if (request.method === 'POST')
      return sendJson(response, 200, { id, task_id: id, status: 'queued', echo: KEY });
    const error = { code: KEY, message: `your key ${KEY}` };
    sendJson(response, 200, { id, status: 'failed', error, [KEY]: KEY, long: `${'x'.repeat(490)}${KEY}` });
  });
  const place = new NearPlace(echo);
  const runs = [
    await place.run([...create, 'a fox', '--verbose']),
    await place.run([...create, 'a fox', '--json']),
    await place.run(['video', 'alpha', 'get', 'vt-1', '--json']),
    await place.run(['video', 'alpha', 'get', 'vt-1']),
    await place.run(['jobs', 'show', 'vt-1', '--json']),
  ];
  expect(runs.map((run) => run.code)).toEqual([9, 9, 0, 0, 0]);
  expectNoKey(place, runs);
});

describe('the key is in no process list', { tags: ['strace'] }, () => {
  /** Runs gw and returns every process that it started, with arguments and environment, and every name that a process took. */
  async function started(place: Place, argv: readonly string[], env: Record<string, string | undefined>) {
    const file = path.join(place.temp, 'started');
    const wrap = ['strace', '-f', '-v', '-s', '65536', '-e', 'trace=execve,prctl', '-o', file];
    const run = await place.run(argv, { env, wrap });
    const lines = fs.readFileSync(file, 'utf8').split('\n');
    fs.rmSync(file);
    const [own = '', ...others] = lines.filter((line) => /execve\(|PR_SET_NAME/.test(line));
    return {
      run,
      own,
      others: others.join('\n'),
      children: others.filter((line) => line.includes('execve(')),
    };
  }

  /** This wait lasts long enough for gw to start the child process that listens for interrupts. */
  const wait = [...create, 'a fox'];
  const kinds: [string[], RegExp | undefined][] = [
    [['chat', 'hi', '-v'], undefined],
    [['image', 'create', 'a fox', '--preview'], undefined],
    [wait, /\/bin\/sh/],
    [['open', 'last'], /xdg-open/],
    [['jobs', 'sync'], undefined],
    [['doctor'], undefined],
    [['models', 'list', '--notify'], undefined],
  ];

  test.each(['GW_API_KEY', '--api-key-file', 'a stored key', 'a key command'])(
    '%s',
    async (from) => {
      const place = await openPlace({ speed: 20 });
      const bin = path.join(place.dir, 'bin');
      fs.mkdirSync(bin);
      fs.writeFileSync(path.join(bin, 'xdg-open'), '#!/bin/sh\nexit 0\n', { mode: 0o755 });
      const keyFile = path.join(place.home, 'key');
      fs.writeFileSync(keyFile, `${KEY}\n`, { mode: 0o600 });
      const env = {
        PATH: `${bin}:${process.env.PATH}`,
        DISPLAY: ':0',
        ...(from !== 'GW_API_KEY' && { GW_API_KEY: undefined }),
      };
      if (from === 'a stored key') await place.run(['login', '--with-key'], { env, stdin: `${KEY}\n` });
      if (from === 'a key command') {
        const login = await place.run(['login', '--key-command', `cat ${keyFile}`], { env });
        expect(login.code, login.err).toBe(0);
      }
      const more = from === '--api-key-file' ? ['--api-key-file', keyFile] : [];
      for (const [argv, child] of from === 'GW_API_KEY' ? kinds : kinds.filter(([, child]) => child)) {
        const { run, own, others, children } = await started(place, [...argv, ...more], env);
        expect(run.code, `${argv.join(' ')}\n${run.err}`).toBe(0);
        // The user gave gw this key in its environment; finding it there proves that the search works.
        expect(own.includes(KEY)).toBe(from === 'GW_API_KEY');
        for (const form of forms) {
          expect(others, argv.join(' ')).not.toContain(form);
        }
        if (child) expect(children.join('\n'), argv.join(' ')).toMatch(child);
      }
    },
    240_000,
  );
});
