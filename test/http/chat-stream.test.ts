import { setTimeout as delay } from 'node:timers/promises';
import { gzipSync } from 'node:zlib';
import { describe, expect, test } from 'vitest';
import * as z from 'zod/mini';
import type { Endpoint } from '../../src/gateway/endpoint.ts';
import type { TakeChunk } from '../../src/http/client.ts';
import {
  close,
  cut,
  type FaultServer,
  json,
  raw,
  reply,
  replyBytes,
  reset,
  type Step,
  startFaultServer,
} from '../helpers/fault-server.ts';
import { errorOf, testClient } from './test-client.ts';

// Event streams over the real transport: which requests are sent again, and a reader that is slower than the server.

const endpoint: Endpoint = {
  name: 'test.chat',
  method: 'POST',
  path: '/v1/chat/completions',
  resend: 'chat',
  reply: z.looseObject({ choices: z.array(z.unknown()) }),
};
const input = { body: { model: 'm' } };
const eventStream = { 'content-type': 'text/event-stream', 'x-request-id': 'r-1' };
const stream = replyBytes(200, 'data: {"a":1}\n\ndata: [DONE]\n\n', eventStream);

const into = (takeChunk: TakeChunk) => ({ onHead: () => {}, takeChunk });

async function serve(...steps: Step[]): Promise<FaultServer> {
  return startFaultServer({ steps });
}
async function streamText(server: FaultServer, settings: Parameters<typeof testClient>[1] = {}) {
  const chunks: Uint8Array[] = [];
  const { client } = testClient(server.url, settings);
  const whole = await client.stream(
    endpoint,
    input,
    into((chunk) => void chunks.push(Buffer.from(chunk))),
  );
  return { whole, text: Buffer.concat(chunks).toString() };
}

describe('what is sent again', () => {
  const retried: [string, Step][] = [
    ['429', json(429, { error: { message: 'slow down' } })],
    ['a complete 500', json(500, { error: { message: 'oops' } })],
    ['a complete 503', reply(503, '<html>busy</html>')],
  ];
  test.each(retried)('%s, before the answer', async (_, step) => {
    const server = await serve(step, step, raw(stream));
    const { whole, text } = await streamText(server);
    expect(whole).toBeUndefined();
    expect(text).toBe('data: {"a":1}\n\ndata: [DONE]\n\n');
    expect(server.requests).toHaveLength(3);
    expect(new Set(server.requests.map(({ connection }) => connection)).size).toBe(3);
  });

  const given: [string, Step, string][] = [
    ['a reset before the answer', reset, 'unavailable'],
    ['a close before the answer', close, 'unavailable'],
    ['a head alone', cut(stream, stream.indexOf('data:'), 'reset'), 'unavailable'],
    ['a cut answer', cut(stream, stream.length - 5, 'reset'), 'unavailable'],
    ['a refusal', json(400, { error: { message: 'no' } }), 'rejected'],
    ['a 404', json(404, { error: { message: 'no' } }), 'not_found'],
    [
      'a page',
      reply(200, '<!doctype html><title>login</title>', { 'content-type': 'text/html' }),
      'unavailable',
    ],
    ['other JSON, said to be a stream', reply(200, '[]', eventStream), 'unavailable'],
    ['nothing', reply(200, '', eventStream), 'unavailable'],
    ['a redirect', reply(307, '', { location: '/elsewhere' }), 'unavailable'],
  ];
  test.each(given)('never %s', async (_, step, kind) => {
    const server = await serve(step, raw(stream));
    expect(await errorOf(streamText(server))).toMatchObject({ kind });
    expect(server.requests).toHaveLength(1);
  });

  test('a refused connection', async () => {
    const server = await serve(raw(stream));
    await server.close();
    const { client, clock } = testClient(server.url, { retries: 2 });
    const error = await errorOf(
      client.stream(
        endpoint,
        input,
        into(() => {}),
      ),
    );
    expect(error).toMatchObject({ kind: 'unavailable', message: expect.stringMatching(/tried 3 times/) });
    expect(clock.sleeps).toHaveLength(2);
  });
});

const event = 'data: {"a":1}\n\n';
const chunked = { ...eventStream, 'transfer-encoding': 'chunked' };
const chunk = `${event.length.toString(16)}\r\n${event}\r\n`;
// undici reports some of these as broken HTTP, but each time the connection only ended too early.
test.each<[string, Buffer, 'close' | 'reset']>([
  ['of announced length, reset', stream, 'reset'],
  ['of announced length, closed', stream, 'close'],
  [
    'of announced length on a connection that is not kept',
    replyBytes(200, event, { ...eventStream, 'content-length': '500', connection: 'close' }),
    'close',
  ],
  ['in chunks', replyBytes(200, chunk, chunked), 'close'],
  [
    'in chunks on a connection that is not kept',
    replyBytes(200, chunk, { ...chunked, connection: 'close' }),
    'close',
  ],
  [
    'in chunks on a connection that is not kept, reset',
    replyBytes(200, chunk, { ...chunked, connection: 'close' }),
    'reset',
  ],
])('a cut answer %s hands over what came first', async (_, bytes, how) => {
  const at = bytes.indexOf('[DONE]');
  const server = await serve(cut(bytes, at < 0 ? bytes.length : at, how));
  const { client } = testClient(server.url);
  let text = '';
  const error = await errorOf(
    client.stream(
      endpoint,
      input,
      into((chunk) => {
        text += Buffer.from(chunk).toString();
      }),
    ),
  );
  expect(text).toBe(at < 0 ? event : `${event}data: `);
  expect(error).toMatchObject({
    message: expect.stringMatching(
      /broke off in the middle of its reply: the connection was (?:closed|reset)$/,
    ),
    facts: { hint: 'nothing was sent again', requestId: 'r-1' },
  });
});

const whole: [string, Record<string, string>][] = [
  ['as JSON', { 'content-type': 'application/json' }],
  ['as a stream', eventStream],
  ['without a type', {}],
];
test.each(whole)('a JSON reply in place of a stream comes whole, said to be %s', async (_, headers) => {
  const server = await serve(reply(200, ' {"choices":[]}', headers));
  const { whole, text } = await streamText(server);
  expect(whole).toMatchObject({ text: ' {"choices":[]}', json: { choices: [] } });
  expect(text).toBe('');
});

test('a JSON reply behind a byte order mark is no stream, and null is named as what it is', async () => {
  const server = await serve(
    reply(200, '\ufeff{"choices":[]}'),
    reply(200, '\ufeffdata: {}\n\n'),
    reply(200, 'null'),
  );
  expect((await streamText(server)).whole).toMatchObject({ json: { choices: [] } });
  expect((await streamText(server)).whole).toBeUndefined();
  const error = await errorOf<Error>(streamText(server));
  expect(error.message).toContain('HTTP 200 with the JSON value null');
});

test('an event stream of another content type is one all the same', async () => {
  const server = await serve(reply(200, 'data: {}\n\n', { 'content-type': 'text/plain' }));
  expect(await streamText(server)).toMatchObject({ whole: undefined, text: 'data: {}\n\n' });
});

test('the request asks for an event stream, on a connection of its own', async () => {
  const server = await serve(raw(stream));
  await streamText(server);
  expect(server.requests[0]?.headers).toMatchObject({ accept: 'text/event-stream', connection: 'close' });
});

/** Writes as fast as the connection accepts bytes, and counts the accepted bytes. */
function flood(
  bytes: number,
  { ends, encoded = false }: { ends: 'close' | 'reset' | 'chunked'; encoded?: boolean },
) {
  const seen = { written: 0, drained: 0 };
  const line = `data: ${'x'.repeat(1000)}\n\n`;
  const plain = Buffer.from(line.repeat(Math.ceil(bytes / line.length)));
  const body = encoded ? gzipSync(plain, { level: 0 }) : plain;
  const coding = encoded ? 'content-encoding: gzip\r\n' : '';
  const step: Step = (socket) => {
    const isChunked = ends === 'chunked';
    const framing = isChunked ? 'transfer-encoding: chunked' : 'connection: close';
    socket.write(`HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n${coding}${framing}\r\n\r\n`);
    let at = 0;
    const more = () => {
      while (at < body.length) {
        const piece = body.subarray(at, at + 65_536);
        at += piece.length;
        seen.written = at;
        const framed = isChunked
          ? Buffer.concat([Buffer.from(`${piece.length.toString(16)}\r\n`), piece, Buffer.from('\r\n')])
          : piece;
        if (!socket.write(framed)) {
          socket.once('drain', more);
          return;
        }
      }
      if (isChunked) socket.write('0\r\n\r\n');
      else if (ends === 'close') socket.end();
      else socket.resetAndDestroy();
    };
    more();
  };
  return { seen, step, bytes: plain.length };
}

describe('a reader that is slower than the server', () => {
  test.each([
    ['closes at the end', { ends: 'close' }],
    ['ends its chunks', { ends: 'chunked' }],
    ['compresses', { ends: 'chunked', encoded: true }],
  ] as const)('holds a server back that %s, and gets every byte', async (_, options) => {
    const server = flood(50_000_000, options);
    const { url } = await serve(server.step);
    const { client } = testClient(url);
    let taken = 0;
    let most = 0;
    let turns = 0;
    await client.stream(
      endpoint,
      input,
      into((chunk) => {
        taken += chunk.byteLength;
        most = Math.max(most, server.seen.written - taken);
        turns += 1;
        return turns % 50 === 1 ? delay(2) : Promise.resolve();
      }),
    );
    expect(taken).toBe(server.bytes);
    // The kernel buffers on both sides hold this much, and nothing grows with the stream.
    expect(most).toBeLessThan(16_000_000);
  });

  test('outlives the silence limit while it is busy', async () => {
    const server = flood(3_000_000, { ends: 'close' });
    const { url } = await serve(server.step);
    const { client } = testClient(url, { silenceMs: 400 });
    let taken = 0;
    await client.stream(
      endpoint,
      input,
      into((chunk) => {
        taken += chunk.byteLength;
        return taken === chunk.byteLength ? delay(1_200) : Promise.resolve();
      }),
    );
    expect(taken).toBe(server.bytes);
  });

  test.each(['close', 'reset'] as const)(
    'survives a server that leaves while it is busy (%s), 20 times',
    async (ends) => {
      for (let round = 0; round < 20; round += 1) {
        const { step } = flood(200_000, { ends });
        const { url } = await serve(step);
        const { client } = testClient(url);
        let taken = 0;
        const ended = client
          .stream(
            endpoint,
            input,
            into((chunk) => {
              taken += chunk.byteLength;
              return delay(taken === chunk.byteLength ? 25 : 0);
            }),
          )
          .then(
            () => 'whole',
            (error: { kind?: string }) => error.kind,
          );
        // A reset may overtake bytes that are still on their way, but an orderly close may not.
        if (ends === 'close') expect([await ended, taken >= 200_000]).toEqual(['whole', true]);
        else expect(['whole', 'unavailable']).toContain(await ended);
      }
    },
  );

  test('can be interrupted while it is busy', async () => {
    const { step } = flood(5_000_000, { ends: 'close' });
    const { url } = await serve(step);
    const { client } = testClient(url);
    const abort = new AbortController();
    const stopped = new Error('stopped');
    const ended = client.stream(
      endpoint,
      input,
      into(() => {
        abort.abort(stopped);
        return new Promise<void>(() => {});
      }),
      { signal: abort.signal },
    );
    await expect(ended).rejects.toBe(stopped);
  });

  test('whose work fails ends the call with that failure', async () => {
    const { step } = flood(5_000_000, { ends: 'close' });
    const { url } = await serve(step);
    const { client } = testClient(url);
    const failure = new Error('stdout is gone');
    const ended = client.stream(
      endpoint,
      input,
      into(async () => {
        await delay(1);
        throw failure;
      }),
    );
    await expect(ended).rejects.toBe(failure);
  });

  test('whose work fails with the last of the reply, after its end, fails the call', async () => {
    const { url } = await serve(reply(200, 'data: 1\n\n', { 'content-type': 'text/event-stream' }));
    const { client } = testClient(url);
    const failure = new Error('stdout is full');
    const ended = client.stream(
      endpoint,
      input,
      into(async () => {
        await delay(30);
        throw failure;
      }),
    );
    await expect(ended).rejects.toBe(failure);
  });
});
