import { expect, it } from 'vitest';
import { ownHosts, strangerIn } from '../../src/loopback.ts';
import { ask, auth, createdId, json, query, sandbox, tasksPath } from './fixture.ts';

// A page in a browser can reach every port of this machine, but it must neither read from a sandbox nor change it.

const port = (url: string) => new URL(url).port;
const page = 'https://app.example.com';

it.each([
  ['its own address', '127.0.0.1:4010', undefined, undefined],
  ['loopback by name', 'localhost:4010', undefined, undefined],
  ['loopback by name in capitals', 'LOCALHOST:4010', undefined, undefined],
  ['loopback in IPv6', '[::1]:4010', undefined, undefined],
  ['the host that it was given', 'build.test:4010', undefined, undefined],
  ['its own origin', '127.0.0.1:4010', 'http://localhost:4010', undefined],
  ['an origin that was allowed', '127.0.0.1:4010', page, undefined],
  ['a name that points here', 'rebound.example.com:4010', undefined, 'host'],
  ['another port', '127.0.0.1:4011', undefined, 'host'],
  ['no port', '127.0.0.1', undefined, 'host'],
  ['no host', undefined, undefined, 'host'],
  ['its address as the beginning of a name', '127.0.0.1.example.com:4010', undefined, 'host'],
  ['its name with a dot', 'localhost.:4010', undefined, 'host'],
  ['another origin', '127.0.0.1:4010', 'https://evil.example.com', 'origin'],
  ['another port of this machine', '127.0.0.1:4010', 'http://localhost:3000', 'origin'],
  ['its own name by https', '127.0.0.1:4010', 'https://127.0.0.1:4010', 'origin'],
  ['a sandboxed frame', '127.0.0.1:4010', 'null', 'origin'],
  ['an allowed origin as the beginning of another', '127.0.0.1:4010', `${page}.evil.com`, 'origin'],
  ['an allowed page behind a rebound name', 'rebound.example.com:4010', page, 'host'],
])('%s: host %s, origin %s -> %s', (_, host, origin, stranger) => {
  const hosts = ownHosts(4010, 'Build.test');
  const headers = { ...(host !== undefined && { host }), ...(origin !== undefined && { origin }) };
  expect(strangerIn(headers, { hosts, origins: [page] })).toBe(stranger);
});

it('port 80 goes without saying', () => {
  const own = { hosts: ownHosts(80, '::1'), origins: [] };
  expect(strangerIn({ host: '[::1]' }, own)).toBeUndefined();
  expect(strangerIn({ host: 'localhost:80' }, own)).toBeUndefined();
});

it('a rebound name gets no answer and makes no task, with the right key too', async () => {
  const at = await sandbox();
  const host = `rebound.example.com:${port(at.baseUrl)}`;
  const headers = { ...auth, host, 'content-type': 'application/json' };
  const answer = await ask(`${at.baseUrl}${tasksPath}`, { method: 'POST', headers, body: '{}' });
  expect([answer.status, json(answer).error.code]).toEqual([403, 'HostNotAllowed']);
  expect(at.tasks()).toEqual([]);
  expect(at.requests.at(-1)).toMatchObject({ method: 'POST', path: tasksPath, status: 403 });
});

it('a page of another origin is refused on both servers, and its preflight too', async () => {
  const at = await sandbox({ speed: Number.POSITIVE_INFINITY });
  const link = json(await query(at, await createdId(at))).content.video_url;
  const origin = 'https://evil.example.com';
  const refused = await ask(`${at.baseUrl}/v1/models`, { headers: { ...auth, origin } });
  expect([refused.status, json(refused).error.code]).toEqual([403, 'OriginNotAllowed']);
  const output = await ask(link, { headers: { origin } });
  expect([output.status, output.text]).toEqual([
    403,
    expect.stringContaining('<Code>OriginNotAllowed</Code>'),
  ]);
  const preflight = await ask(`${at.baseUrl}/v1/models`, {
    method: 'OPTIONS',
    headers: { origin, 'access-control-request-method': 'GET' },
  });
  expect(preflight.status).toBe(403);
  for (const { headers } of [refused, output, preflight])
    expect(headers).not.toHaveProperty('access-control-allow-origin');
});

it('a page of an allowed origin may preflight, call and fetch outputs', async () => {
  const at = await sandbox({ speed: Number.POSITIVE_INFINITY, cors: [page] });
  const link = json(await query(at, await createdId(at))).content.video_url;
  const preflight = await ask(`${at.baseUrl}${tasksPath}`, {
    method: 'OPTIONS',
    headers: {
      origin: page,
      'access-control-request-method': 'POST',
      'access-control-request-headers': 'authorization,content-type',
      'access-control-request-private-network': 'true',
    },
  });
  expect(preflight.status).toBe(204);
  expect(preflight.headers).toMatchObject({
    'access-control-allow-origin': page,
    'access-control-allow-methods': 'POST',
    'access-control-allow-headers': 'authorization,content-type',
    'access-control-allow-private-network': 'true',
    vary: 'origin',
  });
  for (const url of [`${at.baseUrl}/v1/models`, link]) {
    const { status, headers } = await ask(url, { headers: { ...auth, origin: page } });
    expect([status, headers['access-control-allow-origin']]).toEqual([200, page]);
    expect(headers['access-control-expose-headers']).toContain('x-request-id');
  }
  // A refused request gets this header too. A request without an origin does not.
  const bad = await ask(`${at.baseUrl}/v1/models`, { headers: { origin: page } });
  expect([bad.status, bad.headers['access-control-allow-origin']]).toEqual([401, page]);
  const own = await ask(`${at.baseUrl}/v1/models`, { headers: auth });
  expect(own.headers).not.toHaveProperty('access-control-allow-origin');
});

it('OPTIONS that is no preflight is a method like any other', async () => {
  const at = await sandbox();
  const answer = await ask(`${at.baseUrl}/v1/models`, { method: 'OPTIONS', headers: auth });
  expect([answer.status, answer.headers.allow]).toEqual([404, 'GET']);
});

it('listens where it is told, and its links say so', async () => {
  const at = await sandbox({ host: '::1', speed: Number.POSITIVE_INFINITY });
  expect(at.baseUrl).toMatch(/^http:\/\/\[::1\]:\d+$/);
  const link: string = json(await query(at, await createdId(at))).content.video_url;
  expect(link.startsWith(`${at.outputUrl}/`)).toBe(true);
  expect((await ask(link)).status).toBe(200);
});
