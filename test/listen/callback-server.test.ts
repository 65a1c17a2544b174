import { readdirSync, statSync, writeFileSync } from 'node:fs';
import { request as httpRequest } from 'node:http';
import { connect } from 'node:net';
import * as path from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { hostOf } from '../../src/disk/lock-file.ts';
import { type CallbackServerOptions, startCallbackServer } from '../../src/listen/callback-server.ts';
import { announce, runningUrl } from '../../src/listen/running.ts';
import { freePort } from '../helpers/free-port.ts';
import { newDir } from '../helpers/new-dir.ts';
import { statusOf } from '../helpers/status-of.ts';
import { ask } from '../sandbox/fixture.ts';

async function listener(options: Partial<CallbackServerOptions> = {}) {
  const heard: { ids: readonly string[]; body: string; type: string }[] = [];
  const server = await startCallbackServer({
    port: 0,
    host: '127.0.0.1',
    onCallback: ({ body, ...rest }) => heard.push({ ...rest, body: body.toString() }),
    ...options,
  });
  onTestFinished(() => server.close());
  return { url: server.url, heard };
}

const post = (url: string, body: string, headers: Record<string, string> = {}) =>
  ask(url, { method: 'POST', body, headers: { 'content-type': 'application/json', ...headers } });

test('its path is a token that is new each time', async () => {
  const [one, two] = [await listener(), await listener()];
  for (const { url } of [one, two]) expect(url).toMatch(/^http:\/\/127\.0\.0\.1:\d+\/[0-9a-f]{32}$/);
  expect(new URL(one.url).pathname).not.toBe(new URL(two.url).pathname);
});

test('a challenge is echoed, by POST and by GET, and is no callback', async () => {
  const { url, heard } = await listener();
  const byPost = await post(url, '{"challenge":"a b\\u2028c"}');
  expect([byPost.status, byPost.headers['content-type'], JSON.parse(byPost.text)]).toEqual([
    200,
    'application/json',
    { challenge: 'a b\u2028c' },
  ]);
  for (const number of ['17', '12345678901234567890', '1.50'])
    expect((await post(url, `{"challenge": ${number}}`)).text).toBe(`{"challenge":${number}}`);
  const byGet = await ask(`${url}?challenge=a%20b`);
  expect([byGet.status, JSON.parse(byGet.text)]).toEqual([200, { challenge: 'a b' }]);
  expect(heard).toEqual([]);
});

test.each<[string, unknown, string[]]>([
  ['family C: its task', { task_id: 't-1', task: { id: 't-1', status: 'running' } }, ['t-1']],
  ['family B: its record', { id: 't-2', external_task_id: 'gw-2', status: 'succeeded' }, ['t-2', 'gw-2']],
  ['a byte order mark', '\ufeff{"task_id":"t-5"}', ['t-5']],
  ['an envelope of one', { code: 0, data: { id: 't-3' } }, ['t-3']],
  ['an envelope of several', { data: [{ id: 't-4' }, { id: 't-5' }, null] }, ['t-4', 't-5']],
])('%s is named and answered with 200', async (_, said, ids) => {
  const { url, heard } = await listener();
  const body = typeof said === 'string' ? said : JSON.stringify(said);
  expect((await post(url, body)).status).toBe(200);
  expect(heard).toEqual([{ ids, body, type: 'application/json' }]);
});

test.each([
  '{}',
  'null',
  '[]',
  '"t-1"',
  '{"id":17}',
  '{"id":""}',
  `{"id":"${'x'.repeat(201)}"}`,
  '{"challenge":{}}',
])('%j is of no use: 204', async (body) => {
  const { url, heard } = await listener();
  expect((await post(url, body)).status).toBe(204);
  expect(heard.map(({ ids }) => ids)).toEqual([[]]);
});

test.each(['', '{', 'challenge=1', '['.repeat(100_000)])('%j is no JSON: 400', async (body) => {
  const { url, heard } = await listener();
  expect((await post(url, body)).status).toBe(400);
  expect(heard).toEqual([]);
});

test('other paths are 404, other methods 405, a body over 1 MiB is 413', async () => {
  const { url, heard } = await listener();
  const { origin } = new URL(url);
  for (const other of [`${origin}/`, `${url}/`, `${url}0`, url.slice(0, -1), `${origin}/?challenge=1`])
    expect((await post(other, '{"challenge":"x"}')).status, other).toBe(404);
  for (const path of ['//', '//:x', 'http://[']) expect(await statusOf(url, path), path).toBe(404);
  for (const method of ['GET', 'PUT', 'DELETE', 'OPTIONS']) {
    const { status, headers } = await ask(url, { method });
    expect([status, headers.allow], method).toEqual([405, 'GET, POST']);
  }
  const largest = JSON.stringify({ id: 't', pad: '' });
  expect(
    (await post(url, JSON.stringify({ id: 't', pad: 'x'.repeat(1024 * 1024 - largest.length) }))).status,
  ).toBe(200);
  expect(await statusOfLarge(url, true)).toBe(413);
  expect(await statusOfLarge(url, false)).toBe(413);
  expect(heard).toHaveLength(1);
});

/** Sends one byte too many, with an announced length or without one. */
function statusOfLarge(url: string, isAnnounced: boolean): Promise<number | undefined> {
  const body = Buffer.alloc(1024 * 1024 + 1, ' ');
  return new Promise((resolve, reject) => {
    const headers = isAnnounced ? { 'content-length': body.length } : { 'transfer-encoding': 'chunked' };
    const sent = httpRequest(url, { method: 'POST', headers }, (reply) => {
      resolve(reply.statusCode);
      reply.resume();
    });
    // The server does not read the rest of the body.
    sent.on('error', (error) => setTimeout(() => reject(error), 500));
    sent.end(body);
  });
}

test('strangers get nothing: a name that points here, a page of another origin', async () => {
  const { url, heard } = await listener();
  const { port } = new URL(url);
  const challenge = '{"challenge":"x"}';
  expect((await post(url, challenge, { host: `rebound.example.com:${port}` })).status).toBe(403);
  expect((await post(url, challenge, { origin: 'https://evil.example.com' })).status).toBe(403);
  expect((await post(url, challenge, { host: `localhost:${port}` })).status).toBe(200);
  expect(heard).toEqual([]);
});

test('behind a proxy it answers to the public name, with or without the public path', async () => {
  const port = await freePort();
  const { url } = await listener({ port, publicUrl: new URL('https://gw.example.com/hooks/') });
  expect(url).toMatch(/^https:\/\/gw\.example\.com\/hooks\/[0-9a-f]{32}$/);
  const { pathname } = new URL(url);
  const local = `http://127.0.0.1:${port}`;
  for (const host of ['gw.example.com', 'gw.example.com:443', `127.0.0.1:${port}`]) {
    for (const at of [pathname, pathname.replace('/hooks', '')])
      expect((await post(`${local}${at}`, '{"challenge":1}', { host })).status, `${host}${at}`).toBe(200);
  }
  for (const host of ['example.com', 'gw.example.com:8443', `gw.example.com:${port}`])
    expect((await post(`${local}${pathname}`, '{"challenge":1}', { host })).status, host).toBe(403);
});

test('the listener that was started last and still runs is found, by this user only', async () => {
  const dir = newDir();
  expect(runningUrl(dir)).toBeUndefined();
  const takeBack = announce(dir, 'http://127.0.0.1:1/one', 1);
  const takeBackLast = announce(dir, 'http://127.0.0.1:2/two', 2);
  const listeners = path.join(dir, 'listeners');
  for (const name of readdirSync(listeners))
    expect(statSync(path.join(listeners, name)).mode & 0o777).toBe(0o600);
  expect(runningUrl(dir)).toBe('http://127.0.0.1:2/two');
  // A listener that died without removing its file, and a file that is not gw's.
  const dead = { pid: 2 ** 22 - 1, started: '', url: 'http://127.0.0.1:3/dead', sinceMs: 3 };
  writeFileSync(path.join(listeners, 'dead.json'), JSON.stringify({ ...dead, host: hostOf() }));
  writeFileSync(path.join(listeners, 'half.json'), '{"url"');
  expect(runningUrl(dir)).toBe('http://127.0.0.1:2/two');
  expect(readdirSync(listeners)).not.toContain('dead.json');
  takeBackLast();
  expect(runningUrl(dir)).toBe('http://127.0.0.1:1/one');
  takeBack();
  expect(runningUrl(dir)).toBeUndefined();
});

test('a sender that takes longer than ten seconds is cut off', async () => {
  const { url } = await listener();
  const { hostname, port, pathname } = new URL(url);
  const socket = connect(Number(port), hostname);
  socket.write(`POST ${pathname} HTTP/1.1\r\nhost: ${hostname}:${port}\r\ncontent-length: 9\r\n\r\n{`);
  const startMs = performance.now();
  await new Promise((resolve) => socket.on('close', resolve).resume());
  expect(performance.now() - startMs).toBeLessThan(20_000);
});
