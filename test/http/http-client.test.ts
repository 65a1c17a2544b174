import { describe, expect, test } from 'vitest';
import * as z from 'zod/mini';
import type { GwError } from '../../src/errors.ts';
import type { Endpoint } from '../../src/gateway/endpoint.ts';
import { ExchangeError } from '../../src/http/exchange.ts';
import { failedExchange } from '../../src/http/failures.ts';
import { json, reply, startFaultServer } from '../helpers/fault-server.ts';
import { create, errorOf, KEY, paidEndpoint, read, readEndpoint, testClient } from './test-client.ts';

async function gateway(...steps: Parameters<typeof startFaultServer>[0]['steps'][number][]) {
  return startFaultServer({ steps });
}

const clientOf = (url: string, settings: Parameters<typeof testClient>[1] = {}) =>
  testClient(url, settings).client;

const thrown = (act: () => unknown): GwError => {
  try {
    act();
  } catch (error) {
    return error as GwError;
  }
  throw new Error('expected a failure');
};

test('a paid create on the wire, literally', async () => {
  const server = await gateway(json(200, { id: 't-1' }));
  await clientOf(`${server.url}/base/`).send(paidEndpoint, { body: { prompt: 'ein Füchschen', n: null } });
  const [request] = server.requests;
  expect([request?.method, request?.target, request?.body.toString()]).toEqual([
    'POST',
    '/base/v1/tasks',
    '{"prompt":"ein Füchschen","n":null}',
  ]);
  expect(request?.headers).toEqual({
    host: `127.0.0.1:${server.port}`,
    connection: 'close',
    authorization: `Bearer ${KEY}`,
    accept: 'application/json',
    'accept-encoding': 'identity',
    'user-agent': 'gw/test',
    'content-type': 'application/json',
    'content-length': '36',
  });
});

test('a read has no body and no content type', async () => {
  const server = await gateway(json(200, { id: 't-1' }));
  await clientOf(server.url).send(readEndpoint, { ...read, query: { a: 'b c', 'd&': '=' } });
  const [request] = server.requests;
  expect([request?.target, request?.body.length]).toEqual(['/v1/tasks/task-1?a=b+c&d%26=%3D', 0]);
  expect(request?.headers).not.toHaveProperty('content-type');
  expect(request?.headers).not.toHaveProperty('content-length');
});

test('a reply carries the value, the JSON and the text as they came, the request ID and the server’s date', async () => {
  const text = '{ "id": "t-1",\n "more": [1.0] }';
  const server = await gateway(
    reply(200, text, { 'X-Request-Id': 'r-1', date: 'Fri, 20 Nov 2026 10:00:00 GMT' }),
  );
  const got = await clientOf(server.url).send(readEndpoint, read);
  expect(got).toMatchObject({
    status: 200,
    value: { id: 't-1', more: [1] },
    json: { id: 't-1', more: [1] },
    text,
    requestId: 'r-1',
    serverDateMs: Date.parse('2026-11-20T10:00:00Z'),
  });
});

test.each([
  ['https://gw.example', 'https://gw.example/v1/tasks'],
  ['https://gw.example/', 'https://gw.example/v1/tasks'],
  ['https://gw.example/a/b', 'https://gw.example/a/b/v1/tasks'],
  ['https://gw.example/a/b///', 'https://gw.example/a/b/v1/tasks'],
  ['http://[::1]:80/x/', 'http://[::1]/x/v1/tasks'],
])('base %s joins once to %s', (base, url) => {
  expect(clientOf(base).prepare(paidEndpoint, create).url.href).toBe(url);
});

test.each(['gw.example', ''])('base %j is a usage error', (base) => {
  expect(thrown(() => clientOf(base).prepare(paidEndpoint, create)).kind).toBe('usage');
});

test('a fixed query of the row and the query of the call are both sent', () => {
  const action: Endpoint = { ...paidEndpoint, path: '/?Action=GetAsset&Version=2024-01-01' };
  const { url } = clientOf('https://gw.example/x').prepare(action, { ...create, query: { more: '1' } });
  expect(url.href).toBe('https://gw.example/x/?Action=GetAsset&Version=2024-01-01&more=1');
});

test.each([
  ['a/../../v1/models', '/v1/tasks/a%2F..%2F..%2Fv1%2Fmodels'],
  ['a?b#c', '/v1/tasks/a%3Fb%23c'],
  ['%2e%2e', '/v1/tasks/%252e%252e'],
  ['...', '/v1/tasks/...'],
  ['a b\n', '/v1/tasks/a%20b%0A'],
  ['\\..\\', '/v1/tasks/%5C..%5C'],
  ['$&', '/v1/tasks/%24%26'],
])('the parameter %j stays one segment', (id, path) => {
  const { url } = clientOf('https://gw.example').prepare(readEndpoint, { params: { task_id: id } });
  expect([url.origin, url.pathname, url.search]).toEqual(['https://gw.example', path, '']);
});

test.each(['', '.', '..', '\ud800'])('the parameter %j is a usage error', (id) => {
  expect(
    thrown(() => clientOf('https://gw.example').prepare(readEndpoint, { params: { task_id: id } })).kind,
  ).toBe('usage');
});

test('each group of endpoints has its credential', () => {
  const headers = (credential: Endpoint['credential'], providerVersion = '2026-01-31') =>
    clientOf('https://gw.example', { providerVersion }).prepare({ ...paidEndpoint, credential }, create)
      .headers;
  expect(headers('bearer')).toMatchObject({ authorization: `Bearer ${KEY}` });
  expect(headers('messages')).toMatchObject({ 'x-api-key': KEY, 'provider-version': '2026-01-31' });
  expect(headers('geo')).toMatchObject({ 'x-geo-api-key': KEY });
  for (const credential of ['bearer', 'messages', 'geo'] as const) {
    expect(Object.values(headers(credential)).filter((value) => value.includes(KEY))).toHaveLength(1);
  }
});

test('native messages without a version say how to set it', () => {
  const error = thrown(() =>
    clientOf('https://gw.example').prepare({ ...paidEndpoint, credential: 'messages' }, create),
  );
  expect([error.kind, error.facts.hint]).toEqual(['usage', expect.stringContaining('provider_version')]);
});

test('no key: prepared for showing, refused for sending, with the ways to give one', async () => {
  const server = await gateway(json(200, { id: 'x' }));
  const client = clientOf(server.url, { key: undefined });
  expect(client.prepare(paidEndpoint, create).headers.authorization).toBe('Bearer ***');
  const error = await errorOf<GwError>(client.send(paidEndpoint, create));
  expect([error.kind, server.connections()]).toEqual(['auth', 0]);
  expect(error.facts.hint).toMatch(/GW_API_KEY.*--api-key-file.*gw login/);
});

test.each(['sk-canary\n', 'sk canary', '', 'sk-canäry', 'sk-\u0000canary', '\tsk-canary'])(
  'the key %j is an auth error that tells its length only',
  async (key) => {
    const server = await gateway(json(200, { id: 'x' }));
    const error = await errorOf<GwError>(clientOf(server.url, { key }).send(readEndpoint, read));
    expect([error.kind, server.connections()]).toEqual(['auth', 0]);
    expect(error.message).toContain(`(length ${key.length})`);
    expect(`${error.message}${error.facts.hint}`).not.toContain('canary');
  },
);

test.each([
  ['PROXY_REFUSED', /^check HTTPS_PROXY and HTTP_PROXY, or exempt the host with NO_PROXY$/],
  ['CERT_HAS_EXPIRED', /--cacert FILE$/],
  ['SILENCE', /--timeout$/],
  ['ENOTFOUND', /^check the base URL/],
  ['ECONNRESET', /^check the network and the base URL/],
])('what to do about %s is said', (code, hint) => {
  const request = { method: 'GET', url: new URL('https://gw.example/v1/models') } as const;
  const failed = failedExchange(new ExchangeError('failed', 'no', code), {
    request,
    resend: 'read',
    nowMs: 0,
  });
  expect(failed.stopped.facts.hint).toMatch(hint);
});

test('a body beyond the endpoint’s limit is a usage error with both sizes; one on it is not', async () => {
  const server = await gateway(json(200, { id: 'x' }));
  const client = clientOf(server.url);
  const sized = (bytes: number) => ({ body: { p: 'ü'.repeat((bytes - 8) / 2) } });
  expect(client.prepare(paidEndpoint, sized(1000)).body?.byteLength).toBe(1000);
  const error = await errorOf<GwError>(client.send(paidEndpoint, sized(1002)));
  expect([error.kind, server.connections()]).toEqual(['usage', 0]);
  expect(error.message).toMatch(/1002 bytes.*1000/);
});

test('a body nested 100,000 deep is a usage error, not a crash', () => {
  let deep: unknown = 1;
  for (let depth = 0; depth < 100_000; depth += 1) deep = [deep];
  expect(thrown(() => clientOf('https://gw.example').prepare(paidEndpoint, { body: deep })).kind).toBe(
    'usage',
  );
});

test('a reply nested 100,000 deep is unreadable, and one with __proto__ does no harm', async () => {
  const deep = `{"id":"x","deep":${'['.repeat(100_000)}${']'.repeat(100_000)}}`;
  const bodies = [deep, '{"id":"x","__proto__":{"polluted":true}}'];
  const server = await gateway(...bodies.map((body) => reply(200, body)));
  const client = clientOf(server.url);
  const refusal = await client.send(readEndpoint, read, { retries: 0 }).catch((error: unknown) => error);
  expect(refusal).toMatchObject({ kind: 'unavailable' });
  await client.send(readEndpoint, read);
  expect(({} as { polluted?: boolean }).polluted).toBeUndefined();
});

test('invalid UTF-8 in a reply becomes U+FFFD', async () => {
  const server = await gateway(reply(200, Buffer.from('7b226964223a22ff227d', 'hex')));
  expect((await clientOf(server.url).send(readEndpoint, read)).value).toEqual({ id: '\ufffd' });
});

test('verbose lines show requests, replies and retries, and never the key or an unknown header', async () => {
  const lines: string[] = [];
  const server = await gateway(
    json(500, {}, { 'x-secret-thing': 'hush' }),
    json(200, { id: 'x' }, { 'set-cookie': 'session=hush', 'x-request-id': 'r-9' }),
  );
  await clientOf(server.url, { trace: (line) => lines.push(line) }).send(readEndpoint, {
    ...read,
    query: { limit: '5', signature: 'hush' },
  });
  const all = lines.join('\n');
  expect(all).toContain(`> GET ${server.url}/v1/tasks/task-1?limit=5&signature=***`);
  expect(all).toMatch(/< HTTP 500 in \d+ ms \(2 bytes\)/);
  expect(all).toContain('> authorization: ***');
  expect(all).toContain('< x-request-id: r-9');
  expect(all).toContain('* sent again in 0.3 s: server error');
  expect(all).not.toMatch(/hush|canary/);
});

test('nothing that an error says holds the key', async () => {
  const server = await gateway(json(401, { error: { message: 'invalid key' } }));
  const error = await errorOf<GwError>(clientOf(server.url).send(readEndpoint, read));
  expect(JSON.stringify([error.message, error.facts, error.stack, error.cause])).not.toContain(KEY);
});

test('a schema that transforms gives its value beside the JSON as it came', async () => {
  const server = await gateway(json(200, { id: 'x', extra: 1 }));
  const endpoint = { ...readEndpoint, reply: z.object({ id: z.string() }) };
  const got = await clientOf(server.url).send(endpoint, read);
  expect([got.value, got.json]).toEqual([{ id: 'x' }, { id: 'x', extra: 1 }]);
});

test.each([
  ['20', 20],
  ['1.5', 1.5],
  ['0.1', 1],
  ['Infinity', 1],
  ['-3', 1],
  ['', 1],
])('a sandbox on this machine that says the speed %j is taken to have %s', async (said, speed) => {
  const server = await gateway(json(200, { id: 't-1' }, { 'x-sandbox-speed': said }));
  const client = clientOf(server.url);
  expect(client.speed()).toBe(1);
  await client.send(readEndpoint, read);
  expect(client.speed()).toBe(speed);
});

describe('says what is awaited', () => {
  /** Records all reported waits, and those that are still open. */
  function listener() {
    const said: string[] = [];
    const open = new Set<string>();
    const awaiting = (what: string) => {
      said.push(what);
      open.add(what);
      return () => void open.delete(what);
    };
    return { said, open, awaiting };
  }

  test('of a gateway that is not there: each try, and each wait before the next one', async () => {
    const { said, open, awaiting } = listener();
    const world = testClient('http://127.0.0.1:9', { awaiting, retries: 1 });
    await expect(world.client.send(readEndpoint, read)).rejects.toThrow('cannot connect');
    expect(said).toEqual([
      'waiting for the gateway',
      'no connection (127.0.0.1:9): trying again, 1 of 1',
      'waiting for the gateway',
    ]);
    expect([...open]).toEqual([]);
  });

  test('of a large body, with its size', async () => {
    const { said, awaiting } = listener();
    const world = testClient('http://127.0.0.1:9', { awaiting, retries: 0 });
    const large = { ...paidEndpoint, maxBodyBytes: 1 << 25 };
    const sending = world.client.send(large, { body: { image: 'x'.repeat(12_000_000) } });
    await expect(sending).rejects.toThrow('cannot connect');
    expect(said).toEqual(['sending 12.0 MB to the gateway, and waiting for its answer']);
  });
});
