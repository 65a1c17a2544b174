import { once } from 'node:events';
import { Socket } from 'node:net';
import { Worker } from 'node:worker_threads';
import * as zlib from 'node:zlib';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import type { ExchangeError, WireHead, WireRequest } from '../../src/http/exchange.ts';
import { HttpTransport, type TransportOptions } from '../../src/http/transport.ts';
import { closing } from '../helpers/closing.ts';
import {
  close,
  cut,
  dribble,
  type FaultServerOptions,
  json,
  raw,
  reply,
  replyBytes,
  reset,
  silence,
  startFaultServer,
} from '../helpers/fault-server.ts';
import { freePort } from '../helpers/free-port.ts';
import { makeSelfSigned } from '../helpers/self-signed.ts';
import { errorOf } from './test-client.ts';

async function serve(options: FaultServerOptions) {
  return startFaultServer(options);
}

const open = (options: Partial<TransportOptions> = {}) =>
  closing(new HttpTransport({ proxies: undefined, ...options }));

const get = (url: string, more: Partial<WireRequest> = {}): WireRequest => ({
  method: 'GET',
  url: new URL(url),
  headers: { accept: 'application/json' },
  silenceMs: 3_000,
  connectMs: 3_000,
  ...more,
});

const failure = (promise: Promise<unknown>) => errorOf<ExchangeError>(promise);
const text = (bytes: Uint8Array) => Buffer.from(bytes).toString();

test('a reply comes whole, with lower-case headers, repeated ones joined', async () => {
  const server = await serve({
    steps: [raw('HTTP/1.1 200 OK\r\nX-A: 1\r\nx-a: 2\r\nContent-Length: 2\r\n\r\nhi')],
  });
  const got = await open().exchange(get(`${server.url}/a?b=c`));
  expect([got.status, got.headers['x-a'], text(got.bytes)]).toEqual([200, '1, 2', 'hi']);
  expect(server.requests[0]).toMatchObject({ method: 'GET', target: '/a?b=c' });
  expect(server.requests[0]?.headers.host).toBe(`127.0.0.1:${server.port}`);
});

test('who is asked last before a request leaves is asked in the turn in which it is written, or keeps it from leaving', async () => {
  const server = await serve({ steps: [reply(200, 'x')] });
  const seen: string[] = [];
  const write = Socket.prototype.write;
  vi.spyOn(Socket.prototype, 'write').mockImplementation(function (this: Socket, ...args: unknown[]) {
    if (this.remotePort === server.port) seen.push('written');
    return Reflect.apply(write, this, args) as boolean;
  });
  onTestFinished(() => void vi.restoreAllMocks());
  const onConnected = () => {
    seen.push('asked');
    queueMicrotask(() => seen.push('later'));
  };
  const transport = open();
  await transport.exchange(get(server.url, { onConnected }));
  expect(seen.slice(0, 2)).toEqual(['asked', 'written']);
  seen.length = 0;
  const barred = {
    onConnected() {
      throw new Error('too late');
    },
    onUnsent: () => seen.push('unsent'),
  };
  await expect(transport.exchange(get(server.url, barred))).rejects.toThrow('too late');
  expect(seen).toEqual(['unsent']);
  expect(server.requests).toHaveLength(1);
});

test('an absent header is absent, whatever its name', async () => {
  const server = await serve({ steps: [reply(200, 'x')] });
  const { headers } = await open().exchange(get(server.url));
  expect([headers.constructor, headers.toString]).toEqual([undefined, undefined]);
});

const interim = (status: number, ...headers: string[]) =>
  `HTTP/1.1 ${status} Soon\r\n${headers.map((each) => `${each}\r\n`).join('')}\r\n`;
const final = 'HTTP/1.1 201 OK\r\ncontent-length: 3\r\n\r\nyes';

describe('heads with 1xx before a reply, on every way that reads one', () => {
  const cases: [name: string, pieces: readonly string[]][] = [
    ['a 100 that nobody asked for', [interim(100), final]],
    ['a 102', [interim(102), final]],
    ['a 103 with headers', [interim(103, 'link: x', 'link: y'), final]],
    ['a 199', [interim(199, 'a: b'), final]],
    ['several in a row', [interim(100), interim(103, 'link: x'), interim(102), final]],
    ['three hundred, as for a slow image', [interim(102).repeat(300), final]],
    ['one glued to the head that counts', [interim(100) + final]],
    ['one in pieces', [...interim(100, 'a: b').split(/(?<=[\r\n 1P])/), final]],
    ['byte by byte, with all that follows', [...(interim(100) + interim(103, 'x: y') + final)]],
    ['one with bare line feeds', ['HTTP/1.1 100 Continue\n\n', final]],
    ['none, and a head in pieces', ['HT', 'TP/1.1', ' ', final.slice(9)]],
  ];
  const own = makeSelfSigned();
  test.each(cases)('%s', { tags: ['openssl'] }, async (_, pieces) => {
    for (const tlsKeys of [undefined, own]) {
      const server = await serve({
        steps: [
          async (socket) => {
            for (const piece of pieces) {
              socket.write(piece);
              await new Promise((resolve) => setImmediate(resolve));
            }
          },
        ],
        ...(tlsKeys && { tls: tlsKeys }),
      });
      const transport = open(tlsKeys ? { ca: [tlsKeys.cert] } : {});
      const whole = await transport.exchange(get(server.url));
      // The second request uses the connection that was kept.
      const again = await transport.exchange(get(server.url));
      let streamed = '';
      const head = await transport.stream(get(server.url, { freshConnection: true }), {
        onHead() {},
        onData(chunk) {
          streamed += text(chunk);
        },
      });
      expect([whole.status, text(whole.bytes), text(again.bytes)]).toEqual([201, 'yes', 'yes']);
      expect([head.status, streamed, server.connections()]).toEqual([201, 'yes', 2]);
    }
  });

  test('1xx in the body are bytes like any other', async () => {
    const body = interim(100);
    const server = await serve({ steps: [raw(Buffer.concat([replyBytes(200, body), Buffer.from('')]))] });
    expect(text((await open().exchange(get(server.url))).bytes)).toBe(body);
  });

  test.each([
    ['101', 'HTTP/1.1 101 Switching Protocols\r\nupgrade: x\r\n\r\n', 'switches to another protocol'],
    ['too many', interim(102).repeat(1001) + final, '1xx come without end'],
    [
      'one that never ends',
      `HTTP/1.1 100 X\r\n${'a: b\r\n'.repeat(50_000)}\r\n${final}`,
      '1xx come without end',
    ],
  ])('%s is no reply', async (_, bytes, words) => {
    const server = await serve({ steps: [raw(bytes)] });
    const error = await failure(open().exchange(get(server.url)));
    expect([error.sent, error.code]).toEqual(['maybe', 'UNREADABLE']);
    expect(error.message).toContain(words);
  });

  test('a server that sends them for ever is left', async () => {
    let isOpen = true;
    const server = await serve({
      steps: [
        (socket) => {
          socket.on('close', () => {
            isOpen = false;
          });
          const pour = () => {
            for (let count = 0; isOpen && count < 100_000; count += 1)
              if (!socket.write(interim(102))) return void socket.once('drain', pour);
          };
          pour();
        },
      ],
    });
    expect((await failure(open().exchange(get(server.url)))).code).toBe('UNREADABLE');
    await vi.waitFor(() => expect(isOpen).toBe(false));
  });

  test('one and then nothing is silence, and one and then the end a lost reply', async () => {
    const silent = await serve({ steps: [raw(interim(100))] });
    expect((await failure(open().exchange(get(silent.url, { silenceMs: 60 })))).code).toBe('SILENCE');
    const closing = await serve({ steps: [(socket) => void socket.end(interim(100))] });
    expect((await failure(open().exchange(get(closing.url)))).sent).toBe('maybe');
  });
});

test('idle connections are kept; a fresh one is its own and is closed after', async () => {
  const server = await serve({ steps: [reply(200, 'x')] });
  const transport = open();
  await transport.exchange(get(server.url));
  await transport.exchange(get(server.url));
  expect(server.connections()).toBe(1);
  await transport.exchange(get(server.url, { freshConnection: true }));
  await transport.exchange(get(server.url));
  expect(server.requests.map(({ connection }) => connection)).toEqual([1, 1, 2, 1]);
  expect(server.requests[2]?.headers.connection).toBe('close');
});

test('requests at the same time take connections of their own', async () => {
  const server = await serve({ steps: [dribble(replyBytes(200, 'x'), 2), reply(200, 'y')] });
  const transport = open();
  const all = await Promise.all([transport.exchange(get(server.url)), transport.exchange(get(server.url))]);
  expect(all.map(({ bytes }) => text(bytes)).sort()).toEqual(['x', 'y']);
  expect(server.connections()).toBe(2);
});

test('a connection that the server closed while idle is not used again', async () => {
  let closed: Promise<unknown> = Promise.resolve();
  const server = await serve({
    steps: [
      (socket) => {
        closed = once(socket, 'close');
        socket.end(replyBytes(200, 'x'));
      },
      reply(200, 'y'),
    ],
  });
  const transport = open();
  await transport.exchange(get(server.url));
  // The server's socket is closed once the client has ended its own.
  await closed;
  await new Promise((resolve) => setImmediate(resolve));
  expect(text((await transport.exchange(get(server.url))).bytes)).toBe('y');
});

test('refused: certainly not sent', async () => {
  const error = await failure(open().exchange(get(`http://127.0.0.1:${await freePort()}`)));
  expect([error.name, error.sent, error.code]).toEqual(['ExchangeError', 'no', 'ECONNREFUSED']);
  expect(error.message).toContain('connection refused');
});

test('a name that does not exist: certainly not sent', async () => {
  const error = await failure(open().exchange(get('http://gateway.invalid/')));
  expect(error.sent).toBe('no');
  expect(['ENOTFOUND', 'EAI_AGAIN']).toContain(error.code);
});

test('reset before a byte of the reply, and after the request: may have been sent', async () => {
  const server = await serve({ steps: [reset, close] });
  const transport = open();
  for (const _ of [1, 2]) {
    const error = await failure(transport.exchange(get(server.url)));
    expect([error.sent, error.partial]).toEqual(['maybe', undefined]);
  }
  // undici sends some requests again by itself, and must not do so here.
  expect(server.requests).toHaveLength(2);
});

test('a reply cut at any byte is never taken for whole, and keeps what came', async () => {
  const whole = replyBytes(200, '{"id":"t-1"}', { 'content-type': 'application/json' });
  const bodyAt = whole.indexOf('\r\n\r\n') + 4;
  let at = 0;
  let how: 'close' | 'reset' = 'close';
  const server = await serve({ steps: [(socket, request) => cut(whole, at, how)(socket, request)] });
  const transport = open();
  let calls = 0;
  for (how of ['close', 'reset'] as const) {
    for (at = 0; at < whole.length; at += 1) {
      const error = await failure(transport.exchange(get(server.url, { method: 'POST' })));
      calls += 1;
      expect([at, error.sent]).toEqual([at, 'maybe']);
      const kept = error.partial && text(error.partial.bytes);
      expect([at, kept]).toEqual([at, at < bodyAt ? undefined : whole.subarray(bodyAt, at).toString()]);
    }
  }
  expect(server.requests).toHaveLength(calls);
});

test('chunked replies that end early or break the coding fail', async () => {
  const head = 'HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n';
  for (const body of ['5\r\nhel', '5\r\nhello\r\n', 'zz\r\n', '-1\r\n']) {
    const server = await serve({ steps: [(socket) => void socket.end(head + body)] });
    expect((await failure(open().exchange(get(server.url)))).sent).toBe('maybe');
  }
});

test('a body longer or shorter than announced', async () => {
  const longer = await serve({ steps: [reply(200, 'hello', { 'content-length': '3' })] });
  expect(text((await open().exchange(get(longer.url))).bytes)).toBe('hel');
  const shorter = await serve({
    steps: [(socket) => void socket.end(replyBytes(200, 'hello', { 'content-length': '9' }))],
  });
  const error = await failure(open().exchange(get(shorter.url)));
  expect([error.sent, error.partial && text(error.partial.bytes)]).toEqual(['maybe', 'hello']);
});

test('huge headers and nonsense are unreadable', async () => {
  for (const bytes of [
    replyBytes(200, 'x', { 'x-big': 'a'.repeat(100_000) }),
    Buffer.from('SSH-2.0-OpenSSH\r\n\r\n'),
  ]) {
    const server = await serve({ steps: [raw(bytes)] });
    const error = await failure(open().exchange(get(server.url)));
    expect([error.sent, error.code]).toEqual(['maybe', 'UNREADABLE']);
  }
});

test('a reply beyond the limit is unreadable, with a short piece kept', async () => {
  const server = await serve({ steps: [reply(200, 'a'.repeat(3_000_000))] });
  const error = await failure(open().exchange(get(server.url, { replyLimitBytes: 2_000_000 })));
  expect([error.code, error.partial?.bytes.byteLength]).toEqual(['UNREADABLE', 1024 * 1024]);
});

test('silence ends a request, before and within the reply', async () => {
  const server = await serve({ steps: [silence, raw('HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\nhe')] });
  const transport = open();
  const first = await failure(transport.exchange(get(server.url, { silenceMs: 400 })));
  expect([first.sent, first.code, first.partial]).toEqual(['maybe', 'SILENCE', undefined]);
  const second = await failure(transport.exchange(get(server.url, { silenceMs: 400 })));
  expect([second.code, second.partial && text(second.partial.bytes)]).toEqual(['SILENCE', 'he']);
});

describe('gw that is stopped for longer than the silence', () => {
  /** A gateway in a thread of its own, which runs on while this thread is stopped. */
  async function serveBeside(answerAfterMs: number): Promise<string> {
    const answer = `setTimeout(() => response.end('{"id":1}'), ${answerAfterMs})`;
    const lines = [
      "const { parentPort } = require('node:worker_threads');",
      `const server = require('node:http').createServer((_, response) => ${answer});`,
      "server.listen(0, '127.0.0.1', () => parentPort.postMessage(server.address().port));",
    ];
    const worker = new Worker(lines.join('\n'), { eval: true });
    onTestFinished(async () => void (await worker.terminate()));
    const [port] = await once(worker, 'message');
    return `http://127.0.0.1:${port}/`;
  }
  const stopMs = (ms: number) => Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms);

  test.each([
    ['takes the reply that came meanwhile', 900],
    ['goes on to wait for one that comes later', 2_300],
  ])('%s', async (_, answerAfterMs) => {
    const url = await serveBeside(answerAfterMs);
    const reply = open().exchange(get(url, { silenceMs: 1_000 }));
    await new Promise((resolve) => setTimeout(resolve, 400));
    // After this, timers run before sockets, as in a stopped process that resumes.
    await new Promise<void>((resolve) => setImmediate(() => resolve(void stopMs(1_500))));
    expect(text((await reply).bytes)).toBe('{"id":1}');
  });
});

test('bytes that dribble in, also within the head, are not silence', async () => {
  const bytes = replyBytes(200, '{"id":1}');
  const server = await serve({ steps: [dribble(bytes, 20)] });
  const got = await open().exchange(get(server.url, { silenceMs: 400 }));
  // The whole reply took several times the limit.
  expect(bytes.length * 20).toBeGreaterThan(2 * 400);
  expect(text(got.bytes)).toBe('{"id":1}');
});

test('a large body that a slow server takes is not silence, and arrives exactly', async () => {
  const body = Buffer.alloc(12 * 1024 * 1024, 'gw-upload-');
  const server = await serve({ steps: [json(200, { id: 'x' })], readDelayMs: 8 });
  const began = performance.now();
  await open().exchange(get(server.url, { method: 'POST', body, silenceMs: 1_000 }));
  const tookMs = performance.now() - began;
  // The test shows something only if the upload takes longer than the limit.
  expect(tookMs).toBeGreaterThan(1_000);
  expect(server.requests[0]?.headers['content-length']).toBe(String(body.length));
  expect(server.requests[0]?.headers['transfer-encoding']).toBeUndefined();
  expect(server.requests[0]?.body.equals(body)).toBe(true);
});

test('an upload that the server stops taking is silence', async () => {
  const server = await serve({ steps: [silence], onConnection: (socket) => Boolean(socket.pause()) });
  const body = new Uint8Array(32 * 1024 * 1024);
  const error = await failure(open().exchange(get(server.url, { method: 'POST', body, silenceMs: 150 })));
  expect([error.code, error.sent]).toEqual(['SILENCE', 'maybe']);
});

test('an answer given before the upload ends is taken', async () => {
  const server = await serve({
    steps: [silence],
    onConnection: (socket) => {
      socket.once('data', () => socket.write(replyBytes(413, 'too large')));
      return true;
    },
  });
  const body = new Uint8Array(8 * 1024 * 1024);
  expect(await open().exchange(get(server.url, { method: 'POST', body }))).toMatchObject({ status: 413 });
});

test('an abort rejects with its reason and ends the connection, before, while and after connecting', async () => {
  let ended = 0;
  const server = await serve({
    steps: [silence],
    onConnection: (socket) => {
      socket.on('close', () => {
        ended += 1;
      });
      return false;
    },
  });
  const transport = open();
  const reason = new Error('enough');
  // The server never answers the TLS handshake, so with https the client is still connecting.
  const shaking = server.url.replace('http:', 'https:');
  for (const [url, delayMs] of [[server.url], [server.url, 0], [server.url, 30], [shaking, 30]] as const) {
    const aborting = new AbortController();
    if (delayMs === undefined) aborting.abort(reason);
    else setTimeout(() => aborting.abort(reason), delayMs);
    expect(await failure(transport.exchange(get(url, { signal: aborting.signal })))).toBe(reason);
  }
  await transport.close();
  // The server may see a connection only after its client has ended the connection.
  await expect.poll(() => [server.connections() > 0, server.connections() - ended]).toEqual([true, 0]);
});

test('seeThrough waits for a reply that is under way', async () => {
  const aborting = new AbortController();
  const server = await serve({
    steps: [
      (socket) => {
        aborting.abort(new Error('enough'));
        setTimeout(() => socket.write(replyBytes(200, 'paid')), 10);
      },
    ],
  });
  const got = await open().exchange(get(server.url, { signal: aborting.signal, seeThrough: true }));
  expect(text(got.bytes)).toBe('paid');
});

test('close ends what is under way, and refuses what comes after', async () => {
  const server = await serve({ steps: [silence] });
  const transport = open();
  const hanging = failure(transport.exchange(get(server.url)));
  while (server.requests.length === 0) await new Promise((resolve) => setTimeout(resolve, 2));
  await transport.close();
  expect((await hanging).sent).toBe('maybe');
  expect(await failure(transport.exchange(get(server.url)))).toMatchObject({
    sent: 'no',
    code: 'TRANSPORT_CLOSED',
  });
});

const secret = '{"id":"t-1","text":"hello hello hello"}';
const encoded: Readonly<Record<string, Buffer>> = {
  gzip: zlib.gzipSync(secret),
  'x-gzip': zlib.gzipSync(secret),
  GZIP: zlib.gzipSync(secret),
  'identity, br': zlib.brotliCompressSync(secret),
  deflate: zlib.deflateSync(secret),
};

test.each([...Object.entries(encoded), ['deflate', zlib.deflateRawSync(secret)] as const])(
  'one layer of %s is undone, whole and streamed',
  async (coding, body) => {
    const server = await serve({ steps: [reply(200, body, { 'content-encoding': coding })] });
    const transport = open();
    const got = await transport.exchange(get(server.url));
    expect(text(got.bytes)).toBe(secret);
    expect(got.headers).not.toHaveProperty('content-encoding');
    let streamed = '';
    const head = await transport.stream(get(server.url), {
      onHead: () => {},
      onData: (chunk) => {
        streamed += text(chunk);
      },
    });
    expect([streamed, head.headers['content-length']]).toEqual([secret, undefined]);
  },
);

test('several layers, unknown codings and broken bodies are unreadable', async () => {
  const six = Array.from({ length: 6 }, () => 'gzip').join(', ');
  const cases: [string, Buffer][] = [
    [six, encoded.gzip as Buffer],
    ['gzip, br', encoded.gzip as Buffer],
    ['zstd', encoded.gzip as Buffer],
    ['gzip', Buffer.from('not gzip at all')],
    ['gzip', (encoded.gzip as Buffer).subarray(0, 20)],
  ];
  for (const [coding, body] of cases) {
    const server = await serve({ steps: [reply(200, body, { 'content-encoding': coding })] });
    const transport = open();
    expect([coding, (await failure(transport.exchange(get(server.url)))).code]).toEqual([
      coding,
      'UNREADABLE',
    ]);
    const streamed = transport.stream(get(server.url), { onHead: () => {}, onData: () => {} });
    expect([coding, (await failure(streamed)).code]).toEqual([coding, 'UNREADABLE']);
  }
});

test('a gzip bomb is unreadable, whole and streamed', async () => {
  const bomb = zlib.gzipSync(Buffer.alloc(100_000_000));
  const server = await serve({ steps: [reply(200, bomb, { 'content-encoding': 'gzip' })] });
  const transport = open();
  expect((await failure(transport.exchange(get(server.url)))).code).toBe('UNREADABLE');
  let taken = 0;
  const streamed = transport.stream(get(server.url), {
    onHead: () => {},
    onData: (chunk) => {
      taken += chunk.byteLength;
    },
  });
  expect((await failure(streamed)).code).toBe('UNREADABLE');
  expect(taken).toBeLessThan(100_000_000);
});

test('the start of a cut gzip reply is decoded for the search of its ID', async () => {
  const whole = replyBytes(200, encoded.gzip, { 'content-encoding': 'gzip' });
  const server = await serve({ steps: [cut(whole, whole.length - 9, 'close')] });
  const { partial } = await failure(open().exchange(get(server.url)));
  expect(partial && text(partial.bytes)).toContain('"id":"t-1"');
});

test('a stream hands over the head, then each piece as it comes', async () => {
  const server = await serve({
    steps: [
      (socket) => {
        socket.write(
          'HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n',
        );
        const pieces = ['one', 'two', 'three'];
        const next = () => {
          const piece = pieces.shift();
          socket.write(piece === undefined ? '0\r\n\r\n' : `${piece.length.toString(16)}\r\n${piece}\r\n`);
          if (piece !== undefined) setTimeout(next, 10);
        };
        next();
      },
    ],
  });
  const seen: string[] = [];
  let head: WireHead | undefined;
  await open().stream(get(server.url), {
    onHead: (came) => {
      head = came;
    },
    onData: (chunk) => void seen.push(text(chunk)),
  });
  expect([head?.status, seen]).toEqual([200, ['one', 'two', 'three']]);
});

test('what a handler throws ends the exchange and is thrown on', async () => {
  const server = await serve({ steps: [raw('HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nhi')] });
  const transport = open();
  const mine = new Error('mine');
  const fail = () => {
    throw mine;
  };
  expect(await failure(transport.stream(get(server.url), { onHead: fail, onData: () => {} }))).toBe(mine);
  expect(await failure(transport.stream(get(server.url), { onHead: () => {}, onData: fail }))).toBe(mine);
});

test('a closing connection never ends the process when a large reply is cut at its end', async () => {
  const body = Buffer.alloc(4 * 1024 * 1024, 1);
  const whole = replyBytes(200, body);
  const server = await serve({
    steps: [cut(whole, whole.length - 1, 'close'), cut(whole, whole.length - 1, 'reset')],
  });
  for (let round = 0; round < 12; round += 1) {
    const error = await failure(open().stream(get(server.url), { onHead: () => {}, onData: () => {} }));
    expect(error.sent).toBe('maybe');
  }
});

test('close waits for a reply that must be seen through, and for nothing else', async () => {
  let transport: ReturnType<typeof open> | undefined;
  let closing: Promise<void> | undefined;
  const server = await serve({
    steps: [
      silence,
      (socket) => {
        closing = transport?.close();
        setTimeout(() => socket.write(replyBytes(200, 'paid')), 30);
      },
    ],
  });
  transport = open();
  const hanging = failure(transport.exchange(get(server.url)));
  while (server.requests.length === 0) await new Promise((resolve) => setTimeout(resolve, 2));
  const got = await transport.exchange(get(server.url, { seeThrough: true, freshConnection: true }));
  expect(text(got.bytes)).toBe('paid');
  await closing;
  expect((await hanging).sent).toBe('maybe');
});
