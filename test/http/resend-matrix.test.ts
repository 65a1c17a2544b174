import { expect, test } from 'vitest';
import type { GwError } from '../../src/errors.ts';
import { UnknownOutcome } from '../../src/errors.ts';
import { allEndpoints } from '../../src/gateway/all-endpoints.ts';
import {
  close,
  cut,
  type FaultServerOptions,
  json,
  raw,
  reply,
  replyBytes,
  reset,
  type Step,
  silence,
  startFaultServer,
} from '../helpers/fault-server.ts';
import { freePort } from '../helpers/free-port.ts';
import { create, errorOf, paidEndpoint, read, readEndpoint, testClient } from './test-client.ts';

// Every fault with a read and with a paid create. The server must never accept a paid create twice.

async function serve(steps: readonly Step[], more: Partial<FaultServerOptions> = {}) {
  return startFaultServer({ steps, ...more });
}

const fine = json(200, { id: 't-1' });
const failure = (promise: Promise<unknown>) => errorOf<GwError>(promise);

/** Each fault, and the part of the reply's text that the error of a paid create keeps. */
const faults: [name: string, step: Step, partialText?: string][] = [
  ['reset after the request', reset],
  ['close after the request', close],
  ['silence', silence],
  ['silence in the reply', raw('HTTP/1.1 200 OK\r\ncontent-length: 20\r\n\r\n{"id":"t-1"'), '{"id":"t-1"'],
  [
    'length too long',
    (socket) => void socket.end(replyBytes(200, '{"id":"t-1"}', { 'content-length': '99' })),
    '{"id":"t-1"}',
  ],
  ['length too short', reply(200, '{"id":"t-1"}', { 'content-length': '11' }), '{"id":"t-1"'],
  ['HTTP 408', json(408, {})],
  ['HTTP 500', json(500, { error: { message: 'upstream', type: 'x', code: 'y' } })],
  ['HTTP 502', reply(502, '<html>bad gateway</html>')],
  ['HTTP 503', reply(503)],
  ['HTTP 503 with Retry-After', reply(503, '', { 'retry-after': '1' })],
  ['HTTP 504', reply(504, 'timeout')],
  ['HTML with 200', reply(200, '<!doctype html><p>hello'), '<!doctype html><p>hello'],
  ['an empty 200', reply(200), ''],
  ['204', raw('HTTP/1.1 204 No Content\r\n\r\n'), ''],
  ['null', reply(200, 'null'), 'null'],
  ['a list', reply(200, '[]'), '[]'],
  ['cut JSON with 200', reply(200, '{"id":"t-1","sta'), '{"id":"t-1","sta'],
  ['mistyped JSON', json(200, { id: 7 }), '{"id":7}'],
  ['no HTTP at all', raw('SSH-2.0\r\n\r\n')],
  ['six encodings', reply(200, 'x', { 'content-encoding': 'gzip,gzip,gzip,gzip,gzip,gzip' })],
];

/** Short only for long faults: a loaded machine answers late, and a good reply must not count as silence. */
const silenceOf = (name: string) => (name.startsWith('silence') ? { silenceMs: 400 } : {});

test.each(faults)('%s: a read is sent again and goes well', async (name, step) => {
  const server = await serve([step, fine]);
  const { client, clock } = testClient(server.url, silenceOf(name));
  expect(await client.send(readEndpoint, read)).toMatchObject({ value: { id: 't-1' } });
  expect([server.requests.length, clock.sleeps.length]).toEqual([2, 1]);
});

test.each(faults)('%s: a read gives up after its retries', async (name, step) => {
  const server = await serve([step]);
  const { client } = testClient(server.url, { ...silenceOf(name), retries: 2 });
  const error = await failure(client.send(readEndpoint, read));
  expect([error.kind, server.requests.length]).toEqual(['unavailable', 3]);
  expect(error.message).toContain('tried 3 times');
});

test.each(faults)(
  '%s: a paid create is taken once, and its outcome told as it is',
  async (name, step, partialText) => {
    const server = await serve([step, fine]);
    const { client } = testClient(server.url, silenceOf(name));
    const error = await failure(client.send(paidEndpoint, create));
    expect([error.kind, server.requests.length]).toEqual(['unknown_outcome', 1]);
    expect(error).toBeInstanceOf(UnknownOutcome);
    expect((error as UnknownOutcome).partialText ?? '').toContain(partialText ?? '');
    expect(`${error.message} ${error.hint}`).not.toMatch(/try again|retry/i);
  },
);

test('a reply cut at every byte: a paid create is taken once each time, and unknown until it is whole', async () => {
  const whole = replyBytes(200, '{"id":"t-1"}', { 'x-request-id': 'r-1' });
  const head = whole.indexOf('\r\n\r\n') + 4;
  let at = 0;
  let how: 'close' | 'reset' = 'close';
  const server = await serve([(socket, request) => cut(whole, at, how)(socket, request)]);
  const { client } = testClient(server.url);
  let sends = 0;
  for (how of ['close', 'reset'] as const) {
    for (at = 0; at < whole.length; at += 1) {
      const error = await failure(client.send(paidEndpoint, create));
      sends += 1;
      expect([at, error.kind, server.requests.length]).toEqual([at, 'unknown_outcome', sends]);
      const requestId = at < head ? undefined : 'r-1';
      if (how === 'close') expect([at, error.facts.requestId]).toEqual([at, requestId]);
    }
    expect(await client.send(paidEndpoint, create)).toMatchObject({ requestId: 'r-1' });
    sends += 1;
  }
});

test.each([
  [readEndpoint, read],
  [paidEndpoint, create],
] as const)('connection refused: sent again, then unavailable (%#)', async (endpoint, input) => {
  const { client, clock } = testClient(`http://127.0.0.1:${await freePort()}`);
  const error = await failure(client.send(endpoint, input));
  expect(error.kind).toBe('unavailable');
  expect(error.message).toMatch(/connection refused.*tried 5 times/);
  expect(clock.sleeps).toEqual([250, 500, 1000, 2000]);
});

test.each(['3600', '1000000000', 'Fri, 20 Nov 2026 13:00:00 GMT'])(
  '429 with Retry-After %s passes the deadline: stops at once and says when',
  async (value) => {
    const server = await serve([json(429, { error: { message: 'slow down' } }, { 'retry-after': value })]);
    const { client, clock } = testClient(server.url);
    const error = await failure(client.send(paidEndpoint, create));
    expect([error.kind, clock.sleeps, server.requests.length]).toEqual(['rate_limited', [], 1]);
    expect(error.hint).toMatch(/may be asked again in (3600 s, at 2026-11-20T13:00:00Z|more than a year)/);
    expect(error.facts.retryAtMs).toBeGreaterThan(clock.now() + 3_599_000);
  },
);

test('the server’s own clock measures its dates: ours may be years off', async () => {
  const dates = { date: 'Mon, 01 Jan 2018 00:00:00 GMT', 'retry-after': 'Mon, 01 Jan 2018 00:00:07 GMT' };
  const server = await serve([json(429, {}, dates), fine]);
  const { client, clock } = testClient(server.url);
  await client.send(readEndpoint, read);
  expect(clock.sleeps).toEqual([7_000]);
});

test('a cut reply that asks for no wait names the moment of now', async () => {
  const cut: Step = (socket) =>
    void socket.end('HTTP/1.1 503 Busy\r\nretry-after: 0\r\ncontent-length: 9\r\n\r\n{');
  const { client, clock } = testClient((await serve([cut])).url);
  const error = await failure(client.send(readEndpoint, read, { retries: 0 }));
  expect(error.facts.retryAtMs).toBe(clock.now());
});

const asksToWait = { 'retry-after': '30' };
test.each([
  [
    'cut',
    (socket: Parameters<Step>[0]) =>
      void socket.end('HTTP/1.1 503 Busy\r\nretry-after: 30\r\ncontent-length: 9\r\n\r\n{'),
  ],
  ['no JSON', reply(200, '<html>', asksToWait)],
])('Retry-After of a reply that is %s is obeyed, and told where nothing is sent again', async (_, step) => {
  const server = await serve([step, fine]);
  const { client, clock } = testClient(server.url);
  await client.send(readEndpoint, read);
  expect(clock.sleptMs()).toBe(30_000);
  const once = testClient((await serve([step])).url);
  const error = await failure(once.client.send(readEndpoint, read, { retries: 0 }));
  expect(error.facts.retryAtMs).toBe(once.clock.now() + 30_000);
});

test('a deadline of the caller’s bounds every wait', async () => {
  const server = await serve([json(429, {}, { 'retry-after': '30' })]);
  const { client, clock } = testClient(server.url);
  const error = await failure(client.send(paidEndpoint, create, { deadlineMs: clock.steady() + 70_000 }));
  expect([error.kind, clock.sleptMs(), server.requests.length]).toEqual(['rate_limited', 60_000, 3]);
});

test('redirects are never followed, and the other origin sees nothing', async () => {
  const other = await serve([fine]);
  for (const status of [301, 302, 303, 307, 308]) {
    const server = await serve([reply(status, '', { location: `${other.url}/x?sig=secret` })]);
    const { client } = testClient(server.url);
    for (const [kind, sent] of [
      ['unavailable', client.send(readEndpoint, read)],
      ['unknown_outcome', client.send(paidEndpoint, create)],
    ] as const) {
      const error = await failure(sent);
      expect(error.kind).toBe(kind);
      expect(error.message).toContain(`to ${other.url}/x`);
      expect(error.message).not.toContain('secret');
    }
    expect(server.requests).toHaveLength(2);
  }
  expect(other.connections()).toBe(0);
});

test('a paid create takes a connection of its own', async () => {
  const server = await serve([fine]);
  const { client } = testClient(server.url);
  await client.send(readEndpoint, read);
  await client.send(paidEndpoint, create);
  expect(server.requests.map(({ connection }) => connection)).toEqual([1, 2]);
});

test('onSend comes before each attempt; where it fails nothing is sent', async () => {
  const server = await serve([reset, fine]);
  const { client } = testClient(server.url);
  const seen: number[] = [];
  await client.send(readEndpoint, read, { onSend: () => seen.push(server.requests.length) });
  expect(seen).toEqual([0, 1]);
  const broken = new Error('disk full');
  const onSend = () => {
    throw broken;
  };
  expect(await failure(client.send(paidEndpoint, create, { onSend }))).toBe(broken);
  expect(server.requests).toHaveLength(2);
});

test('an abort ends a read at once; a paid create under way is waited for', async () => {
  const reason = new Error('interrupted');
  const aborting = new AbortController();
  const server = await serve([
    (socket, request) => {
      aborting.abort(reason);
      if (request.method === 'POST') setTimeout(() => fine(socket, request), 10);
    },
  ]);
  const { client } = testClient(server.url);
  expect((await client.send(paidEndpoint, create, { signal: aborting.signal })).value).toEqual({ id: 't-1' });
  expect(await failure(client.send(paidEndpoint, create, { signal: aborting.signal }))).toBe(reason);
  const other = new AbortController();
  const second = await serve([() => other.abort(reason)]);
  const reading = testClient(second.url).client.send(readEndpoint, read, { signal: other.signal });
  expect(await failure(reading)).toBe(reason);
  expect([server.requests.length, second.requests.length]).toEqual([1, 1]);
});

test('an interrupt during a paid create that is then lost leaves the outcome unknown, not interrupted', async () => {
  const aborting = new AbortController();
  const server = await serve([
    (socket, request) => {
      aborting.abort(new Error('interrupted'));
      reset(socket, request);
    },
  ]);
  const error = await failure(
    testClient(server.url).client.send(paidEndpoint, create, { signal: aborting.signal }),
  );
  expect(error.kind).toBe('unknown_outcome');
});

test('one budget bounds the retries of a thousand calls', async () => {
  const server = await serve([reply(500)]);
  const { client } = testClient(server.url, { random: () => 0 });
  for (let calls = 0; calls < 100; calls += 1) await failure(client.send(readEndpoint, read));
  expect(server.requests).toHaveLength(160);
});

test('each call of the document has its row of the resend table', () => {
  const calls = new Map<string, string[]>();
  for (const { name, resend } of allEndpoints) calls.set(resend, [...(calls.get(resend) ?? []), name]);
  expect(Object.fromEntries(calls)).toEqual({
    chat: ['chat.completions', 'chat.messages', 'chat.geo', 'chat.geo.stream'],
    paid: [
      ...['image.generate', 'image.edit', 'image.native', 'alpha.create', 'beta.create.text'],
      ...['beta.create.text-turbo', 'beta.create.image', 'beta.create.image-turbo', 'beta.create.omni'],
      ...['beta.create.motion', 'beta.create.o1', 'gamma.create'],
    ],
    read: [
      ...['alpha.query', 'beta.tasks', 'beta.list', 'gamma.query', 'assets.ListAssetGroups'],
      ...['assets.GetAssetGroup', 'assets.ListAssets', 'assets.GetAsset', 'assets.get', 'assets.list'],
      ...['models.list', 'billing'],
    ],
    // gw looks for the asset or group before it sends such a request again.
    upload: ['assets.CreateAssetGroup', 'assets.CreateAsset', 'assets.upload'],
    change: [
      ...['assets.UpdateAssetGroup', 'assets.DeleteAssetGroup', 'assets.UpdateAsset', 'assets.DeleteAsset'],
    ],
  });
});
