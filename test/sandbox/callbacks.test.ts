import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { describe, expect, it, onTestFinished } from 'vitest';
import { betaVariants } from '../../src/gateway/beta/modes.ts';
import { Callbacks, loopbackPort } from '../../src/sandbox/callbacks.ts';
import { listening } from '../helpers/listening.ts';
import { json, post, sandbox, text } from './fixture.ts';

const fast = { speed: Number.POSITIVE_INFINITY, callbackPorts: 'any' } as const;

interface Caller {
  readonly url: string;
  /** The bodies that were posted so far. */
  // biome-ignore lint/suspicious/noExplicitAny: bodies are looked at field by field, each expectation is the check
  readonly bodies: any[];
  /** Resolves when `count` bodies were posted. */
  came(count: number): Promise<void>;
}

/** A listener on this machine that handles each post with `answer`; by default it echoes a challenge. */
async function caller(
  answer: (body: { challenge?: string }, response: ServerResponse) => void = echo,
  host = '127.0.0.1',
): Promise<Caller> {
  const bodies: { challenge?: string }[] = [];
  let told = () => {};
  const server = createServer(async (request: IncomingMessage, response) => {
    let raw = '';
    for await (const chunk of request) raw += chunk;
    bodies.push(JSON.parse(raw));
    told();
    answer(JSON.parse(raw), response);
  });
  const { port } = await listening(server, host);
  return {
    url: `http://${host === '::1' ? '[::1]' : host}:${port}/told?by=gw`,
    bodies,
    came: (count) =>
      new Promise((resolve) => {
        told = () => {
          if (bodies.length >= count) resolve();
        };
        told();
      }),
  };
}

const echo = ({ challenge }: { challenge?: string }, response: ServerResponse) =>
  response.end(JSON.stringify({ challenge }));

const gamma = (callback_url: string) => ({
  model: 'gamma-H3',
  content: [text('a fox')],
  resolution: '768P',
  duration: 4,
  ratio: '1:1',
  callback_url,
});

describe('callbacks of family C', () => {
  it('begin with a challenge, then tell of each change', async () => {
    const at = await sandbox({ ...fast, speed: 5000 });
    const { url, bodies, came } = await caller();
    const { task_id: id } = json(await post(at, '/v2/video_generation', gamma(url)));
    await came(3);
    expect(bodies).toEqual([
      { challenge: expect.stringMatching(/^[0-9a-f]{32}$/) },
      { task_id: id, task: expect.objectContaining({ id, status: 'running' }) },
      {
        task_id: id,
        task: expect.objectContaining({ status: 'succeeded', content: { url: expect.any(String) } }),
      },
    ]);
  });

  it.each<[string, (body: { challenge?: string }, response: ServerResponse) => void]>([
    ['another challenge', (_, response) => response.end('{"challenge":"other"}')],
    ['no JSON', ({ challenge }, response) => response.end(challenge)],
    ['null', (_, response) => response.end('null')],
    ['an error', ({ challenge }, response) => response.writeHead(500).end(JSON.stringify({ challenge }))],
    ['a reset', (_, response) => response.socket?.destroy()],
  ])('end where the challenge is answered with %s', async (_, answer) => {
    const at = await sandbox(fast);
    const wrong = await caller(answer);
    await post(at, '/v2/video_generation', gamma(wrong.url));
    await wrong.came(1);
    // The callbacks of the first task would have arrived before those of this later task.
    const right = await caller();
    await post(at, '/v2/video_generation', gamma(right.url));
    await right.came(2);
    expect(wrong.bodies).toEqual([{ challenge: expect.any(String) }]);
  });
});

describe('callbacks of family B', () => {
  const create = (
    at: { readonly baseUrl: string },
    callback_url: string,
    path: string = betaVariants.text.path,
  ) => post(at as Parameters<typeof post>[0], path, { prompt: 'a fox', options: { callback_url } });

  it('are the record at each change, without a challenge, for documented bodies and others', async () => {
    const at = await sandbox(fast);
    const { url, bodies, came } = await caller((_, response) => response.writeHead(500).end());
    const first = json(await create(at, url)).data.id;
    await came(1);
    const second = json(await create(at, url, betaVariants.motion.path)).data.id;
    await came(2);
    expect(bodies).toEqual([
      expect.objectContaining({ id: first, status: 'succeeded', outputs: [expect.anything()] }),
      expect.objectContaining({ id: second, status: 'succeeded' }),
    ]);
  });

  it('go to this machine by any of its names', async () => {
    const at = await sandbox(fast);
    const six = await caller(echo, '::1');
    const four = await caller();
    await create(at, six.url);
    await create(at, four.url.replace('127.0.0.1', 'localhost'));
    await Promise.all([six.came(1), four.came(1)]);
  });

  it('do no harm where nobody listens', async () => {
    const at = await sandbox(fast);
    const gone = await caller();
    for (const url of ['http://127.0.0.1:1/', 'https://example.com/hook', gone.url]) {
      expect((await create(at, url)).status).toBe(200);
    }
    await gone.came(1);
  });
});

it('a challenge that is not echoed in time ends them', async () => {
  const callbacks = new Callbacks(() => 0, 'any', undefined, 10);
  onTestFinished(() => callbacks.close());
  const silent = await caller(() => {});
  const { url, came } = await caller();
  callbacks.send(silent.url, [{ atMs: 0, body: () => ({ from: 'silent' }) }], true);
  callbacks.send(url, [{ atMs: 60, body: () => ({ from: 'other' }) }], false);
  await came(1);
  // On a busy machine even the challenge may be missing here, so only the callback itself must be absent.
  expect(silent.bodies).not.toContainEqual({ from: 'silent' });
});

it('nothing comes after the close, of what was due later and of what was under way', async () => {
  const bodyOf = (from: string) => [{ atMs: 0, body: () => ({ from }) }];
  const closed = new Callbacks(() => 0, 'any');
  let reply = (_: { challenge?: string }) => {};
  const held = await caller(({ challenge }, response) => {
    reply = () => response.end(JSON.stringify({ challenge }));
  });
  const { url, bodies, came } = await caller();
  closed.send(held.url, bodyOf('under way'), true);
  await held.came(1);
  closed.send(url, [{ atMs: 20, body: () => ({ from: 'later' }) }], false);
  closed.close();
  closed.send(url, bodyOf('closed before'), false);
  reply({});
  const open = new Callbacks(() => 0, 'any');
  onTestFinished(() => open.close());
  open.send(url, [{ atMs: 60, body: () => ({ from: 'open' }) }], false);
  open.send(held.url, [{ atMs: 60, body: () => ({ from: 'open' }) }], false);
  await Promise.all([came(1), held.came(2)]);
  expect(bodies).toEqual([{ from: 'open' }]);
  expect(held.bodies).toEqual([{ challenge: expect.any(String) }, { from: 'open' }]);
});

it.each([
  ['http://127.0.0.1:80/x', 80],
  ['http://127.8.9.1/', 80],
  ['http://localhost:4010/hook?a=b', 4010],
  ['http://[::1]:4010/', 4010],
  ['https://localhost/', undefined],
  ['http://example.com/', undefined],
  ['http://127.0.0.1.example.com/', undefined],
  ['http://localhost@example.com/', undefined],
  ['http://10.0.0.1/', undefined],
  ['http://0.0.0.0/', undefined],
  ['nonsense', undefined],
])('%s is on this machine at port %s', (url, port) => {
  expect(loopbackPort(url)).toBe(port);
});

it('no port is called that was not allowed, and what to do is told once', async () => {
  const allowed = await caller();
  const other = await caller();
  const told: string[] = [];
  const ports = [Number(new URL(allowed.url).port)];
  const tell = (what: string) => told.push(what);
  const at = await sandbox({ speed: Number.POSITIVE_INFINITY, callbackPorts: ports, tell });
  for (const url of [other.url, other.url, 'https://example.com/', allowed.url]) {
    expect((await post(at, '/v2/video_generation', gamma(url))).status).toBe(200);
  }
  await allowed.came(2);
  expect(other.bodies).toEqual([]);
  const { port } = new URL(other.url);
  expect(told).toEqual([
    `a callback to port ${port} is not sent: --callbacks ${port} allows it`,
    'a callback to another machine, or not to http://, is never sent',
  ]);
});

it('none is sent by a sandbox that was not told of a port', async () => {
  const at = await sandbox({ speed: Number.POSITIVE_INFINITY });
  const { url, bodies } = await caller();
  await post(at, '/v2/video_generation', gamma(url));
  // A second sandbox may send callbacks. When its callbacks have arrived, those of the first would have arrived too.
  const second = await sandbox(fast);
  const { url: heard, came } = await caller();
  await post(second, '/v2/video_generation', gamma(heard));
  await came(2);
  expect(bodies).toEqual([]);
});
