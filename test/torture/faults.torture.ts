import * as fs from 'node:fs';
import type * as net from 'node:net';
import * as path from 'node:path';
import * as zlib from 'node:zlib';
import { expect } from 'vitest';
import type { Job } from '../../src/ledger/event.ts';
import { openLedger } from '../../src/ledger/open-ledger.ts';
import { cmd } from '../helpers/cmd.ts';
import { type Fault, honest, replyOf, startFaultProxy, type Upstream } from '../helpers/fault-proxy.ts';
import { type FaultServer, type SeenRequest, startFaultServer } from '../helpers/fault-server.ts';
import { freePort } from '../helpers/free-port.ts';
import { World } from '../helpers/gw.ts';
import { makeSelfSigned } from '../helpers/self-signed.ts';
import { tinyPng } from '../jobs/save/tiny-media.ts';
import { isLong, type Round, torture } from './torture.ts';

// Injects each network fault (promises.md, section 6) into each create, look-up and download, and checks the exit code, how
// often the gateway accepted a create, the state in the ledger, and the result of a later `gw jobs sync`.

/** How much of a reply reaches the client. */
type Leaves =
  /** The whole reply. */
  | 'all'
  /** A part of the reply, perhaps with its ID. */
  | 'some'
  /** No reply, although the gateway accepted the create. */
  | 'nothing'
  /** No reply, and the gateway did not accept the create. */
  | 'no create';

const html = Buffer.from('<!doctype html><title>502</title>');
const bomb = zlib.gzipSync(Buffer.alloc(80 * 1024 * 1024));
const huge = Buffer.from(`{"x":"${'a'.repeat(64 * 1024 * 1024)}"}`);

/** Forwards the request to the server, and sends something else back. */
const instead =
  (make: (reply: Upstream) => Upstream | Buffer | string): Fault =>
  async (socket, forward) => {
    const made = make(await forward());
    socket.end(typeof made === 'string' || Buffer.isBuffer(made) ? made : made.bytes);
  };
const saying = (status: number, body: Buffer | string, headers: Record<string, string> = {}) =>
  instead(() => replyOf(status, { 'content-type': 'application/json', ...headers }, Buffer.from(body)));
const lengthOff = (by: number) =>
  instead(({ status, headers, body }) => {
    const head = Object.entries({ ...headers, 'content-length': body.length + by });
    const lines = head.map(([name, value]) => `${name}: ${value}\r\n`).join('');
    return Buffer.concat([Buffer.from(`HTTP/1.1 ${status} X\r\n${lines}\r\n`), body]);
  });
/** Sends the first part of the reply, then ends the connection. */
const cutAt =
  (part: number, how: 'close' | 'reset'): Fault =>
  async (socket, forward) => {
    const { bytes } = await forward();
    socket.write(bytes.subarray(0, Math.floor(bytes.length * part)), () => {
      if (how === 'close') socket.end();
      else setTimeout(() => socket.resetAndDestroy(), 3);
    });
  };
const interim = (...statuses: number[]) =>
  statuses.map((status) => `HTTP/1.1 ${status} Soon\r\nx: y\r\n\r\n`).join('');

const faults: Readonly<
  Record<
    string,
    { readonly fault: Fault; readonly leaves: Leaves; readonly isSlow?: true; readonly isCostly?: true }
  >
> = {
  none: { fault: honest, leaves: 'all' },
  'reset before it is taken': { fault: (socket) => void socket.resetAndDestroy(), leaves: 'no create' },
  'closed before it is taken': { fault: (socket) => void socket.end(), leaves: 'no create' },
  '503 before it is taken': {
    fault: (socket) => void socket.end(replyOf(503, {}, html).bytes),
    leaves: 'no create',
  },
  'reset after it': {
    async fault(socket, forward) {
      await forward();
      socket.resetAndDestroy();
    },
    leaves: 'nothing',
  },
  'closed after it': {
    async fault(socket, forward) {
      await forward();
      socket.end();
    },
    leaves: 'nothing',
  },
  'silence after it': {
    fault: async (_, forward) => void (await forward()),
    leaves: 'nothing',
    isSlow: true,
    isCostly: true,
  },
  ...Object.fromEntries(
    [0.05, 0.2, 0.4, 0.6, 0.8, 0.95].flatMap((part) =>
      (['close', 'reset'] as const).map((how) => [
        `cut at ${part} by ${how}`,
        { fault: cutAt(part, how), leaves: 'some' as const },
      ]),
    ),
  ),
  'one byte at a time': {
    async fault(socket, forward) {
      const { bytes } = await forward();
      for (let at = 0; at < Math.min(bytes.length, 600); at += 1) {
        socket.write(bytes.subarray(at, at + 1));
        if (at % 4 === 0) await new Promise((resolve) => setImmediate(resolve));
      }
      socket.end(bytes.subarray(600));
    },
    leaves: 'all',
  },
  ...Object.fromEntries(
    [[100], [102], [103], [199], [100, 103, 102, 102]].map((statuses) => [
      `a reply behind ${statuses.join(', ')}`,
      {
        fault: instead(({ bytes }) => Buffer.concat([Buffer.from(interim(...statuses)), bytes])),
        leaves: 'all' as const,
      },
    ]),
  ),
  'heads with 1xx without end': { fault: instead(() => interim(102).repeat(2000)), leaves: 'nothing' },
  'another protocol': {
    fault: instead(({ bytes }) => Buffer.concat([Buffer.from(interim(101)), bytes])),
    leaves: 'nothing',
  },
  'no HTTP': { fault: instead(() => 'SSH-2.0-x\r\n\r\n'), leaves: 'nothing' },
  ...Object.fromEntries(
    [301, 302, 304, 307, 308, 409, 418, 425, 499, 500, 502, 503, 504].map((status) => [
      `HTTP ${status}`,
      {
        fault: saying(status, status === 304 ? '' : '{"error":{"message":"try again"}}'),
        leaves: 'nothing' as const,
      },
    ]),
  ),
  'HTML with 200': { fault: saying(200, html, { 'content-type': 'text/html' }), leaves: 'nothing' },
  'an empty 200': { fault: saying(200, ''), leaves: 'nothing' },
  'null with 200': { fault: saying(200, 'null'), leaves: 'nothing' },
  'a list with 200': { fault: saying(200, '[]'), leaves: 'nothing' },
  'broken JSON with 200': { fault: saying(200, '{"data":['), leaves: 'nothing' },
  'mistyped JSON with 200': {
    fault: saying(200, '{"id":7,"task_id":[],"data":7,"created":"x"}'),
    leaves: 'nothing',
  },
  'JSON of 5,000 levels': {
    fault: saying(200, `${'['.repeat(5000)}1${']'.repeat(5000)}`),
    leaves: 'nothing',
  },
  'the wrong content type': {
    fault: instead(({ status, headers, body }) =>
      replyOf(status, { ...headers, 'content-type': 'text/html' }, body),
    ),
    leaves: 'all',
  },
  'a length that is too long': { fault: lengthOff(100), leaves: 'some' },
  'a length that is too short': { fault: lengthOff(-10), leaves: 'some' },
  'a gzip bomb': {
    fault: saying(200, bomb, { 'content-encoding': 'gzip' }),
    leaves: 'nothing',
    isCostly: true,
  },
  'six encodings': {
    fault: saying(200, '{}', { 'content-encoding': 'gzip, gzip, gzip, gzip, gzip, gzip' }),
    leaves: 'nothing',
  },
  'more than 64 MiB': { fault: saying(200, huge), leaves: 'nothing', isCostly: true },
  'huge headers': {
    fault: saying(200, '{}', { 'x-a': 'a'.repeat(1024 * 1024) }),
    leaves: 'nothing',
    isCostly: true,
  },
};

/** Kind of a create, on which depends how gw reports a lost reply. */
type Kind = 'task' | 'found by its ID' | 'image' | 'streamed image';
const tiny = ['--size', '64x48'];
const creates: Readonly<Record<string, { readonly argv: readonly string[]; readonly kind: Kind }>> = {
  alpha: { argv: ['video', 'alpha', 'create', 'a fox'], kind: 'task' },
  'beta text': { argv: ['video', 'beta', 'create', 'a fox', '--duration', '3'], kind: 'found by its ID' },
  'beta turbo': {
    argv: cmd`video beta create "a fox" --turbo --duration 3`,
    kind: 'found by its ID',
  },
  'beta o1': {
    argv: cmd`video beta create @fox --mode o1 --image fox=https://example.com/a.png --ratio 9:16`,
    kind: 'found by its ID',
  },
  'beta motion': {
    argv: cmd`video beta create --mode motion --set x=1`,
    kind: 'found by its ID',
  },
  gamma: {
    argv: cmd`video gamma create "a fox" -m gamma-H3-Max --resolution 480P --duration 5 --ratio 1:1`,
    kind: 'task',
  },
  image: { argv: ['image', 'create', 'a fox', ...tiny], kind: 'image' },
  'image edit': { argv: ['image', 'edit', 'a hat', '--image', 'fox.png', ...tiny], kind: 'image' },
  'image edit as JSON': {
    argv: cmd`image edit "a hat" --image fox.png --no-multipart ${tiny}`,
    kind: 'image',
  },
  'native image': { argv: ['image', 'native', 'a fox'], kind: 'image' },
  'streamed image': { argv: ['image', 'create', 'a fox', '--stream', ...tiny], kind: 'streamed image' },
};

interface Scene {
  readonly world: World;
  /** Choose the fault of each next request: `api` for the API, `outputs` for the output server. */
  api: (request: SeenRequest) => Fault;
  outputs: (request: SeenRequest) => Fault;
  gw(argv: readonly string[]): ReturnType<World['gw']>;
  jobs(): Promise<Job[]>;
  taken(): number;
  files(): string[];
  parts(): string[];
}

const isPart = (name: string) => name.startsWith('.gw-');

/** Opens a world whose sandbox is behind two proxies. */
async function scene({ after }: Pick<Round, 'after'>): Promise<Scene> {
  const world = await World.open();
  after(() => world.close());
  fs.writeFileSync(path.join(world.cwd, 'fox.png'), tinyPng);
  const state = path.join(world.dir, 'state');
  const proxies: { outputs?: FaultServer } = {};
  const here: Scene = {
    world,
    api: () => honest,
    outputs: () => honest,
    gw: (argv) => world.gw(argv, { env: { GW_BASE_URL: api.url, GW_STATE_DIR: state } }),
    jobs: () => openLedger({ dir: state, clock: world.clock, keepPrompts: true }).find(),
    taken: () =>
      world.sandbox.requests.filter(
        ({ server, acceptedTaskId }) => server === 'api' && acceptedTaskId !== undefined,
      ).length,
    files: () => fs.readdirSync(world.cwd).filter((name) => name !== 'fox.png' && !isPart(name)),
    parts: () => fs.readdirSync(world.cwd).filter(isPart),
  };
  const outputs = await startFaultProxy(world.sandbox.outputUrl, {
    faultOf: (request) => here.outputs(request),
  });
  proxies.outputs = outputs;
  after(() => outputs.close());
  const replaced = () => ({ [world.sandbox.outputUrl]: outputs.url });
  const api = await startFaultProxy(world.sandbox.baseUrl, {
    faultOf: (request) => here.api(request),
    replaced,
  });
  after(() => api.close());
  return here;
}

/** Injects this fault into the first matching request only. */
function once(fault: Fault, isMeant: (request: SeenRequest) => boolean) {
  let isDone = false;
  return (request: SeenRequest) => {
    if (isDone || !isMeant(request)) return honest;
    isDone = true;
    return fault;
  };
}

const isCreate = ({ method, target }: SeenRequest) => method === 'POST' && !/^\/tasks(\?|$)/.test(target);
const errorOf = (err: string) => JSON.parse(err.trim().split('\n').at(-1) ?? '').error;

const cells = Object.keys(creates).flatMap((create) =>
  Object.keys(faults).map((fault) => ({ create, fault })),
);

torture('each fault against each create', { short: 24 }, async (round) => {
  const { create, fault } = round.pick(cells);
  const { argv, kind } = creates[create] ?? { argv: [], kind: 'task' };
  const { fault: strike, leaves, isSlow } = faults[fault] ?? { fault: honest, leaves: 'all' };
  round.counts.faults += 1;
  const here = await scene(round);
  let named = false;
  here.api = once(async (socket, forward) => {
    // Record the bytes of the reply that the client can see.
    const write = socket.write.bind(socket) as (...args: unknown[]) => boolean;
    const end = socket.end.bind(socket) as (...args: unknown[]) => typeof socket;
    let came = '';
    const see = (bytes: unknown) => {
      if (typeof bytes === 'string' || Buffer.isBuffer(bytes)) came += bytes.toString('latin1');
      const [head = '', ...rest] = came.split('\r\n\r\n');
      const announced = Number(/^content-length: (\d+)/im.exec(head)?.[1] ?? Number.POSITIVE_INFINITY);
      named = /"(task_id|id)":\s*"[^"]+"/.test(rest.join('\r\n\r\n').slice(0, announced));
    };
    Object.assign(socket, {
      write(...args: unknown[]) {
        see(args[0]);
        return write(...args);
      },
      end(...args: unknown[]) {
        see(args[0]);
        return end(...args);
      },
    });
    await strike(socket, forward);
  }, isCreate);
  const made = await here.gw([...argv, '--json', ...(isSlow ? ['--timeout', '1s'] : [])]);
  const say = `${create}, ${fault}: ${made.err}`;
  const isFound =
    leaves === 'all' || kind === 'found by its ID' || (kind === 'task' && leaves === 'some' && named);
  const mayBeWhole = kind === 'streamed image' && leaves === 'some';
  if (!mayBeWhole) expect(made.code, say).toBe(isFound ? 0 : 14);
  expect([0, 14], say).toContain(made.code);
  expect(made.err, say).not.toMatch(/try again|asked again/i);
  const wasTaken = leaves === 'no create' && kind !== 'found by its ID' ? 0 : 1;
  if (here.taken() > 1) round.counts.doubled += 1;
  expect(here.taken(), say).toBe(wasTaken);
  const [job, ...others] = await here.jobs();
  expect(others, say).toEqual([]);
  const isImage = kind === 'image' || kind === 'streamed image';
  expect(job?.state, say).toBe(made.code === 14 ? 'unknown' : isImage ? 'succeeded' : 'running');
  if (made.code === 14)
    expect(errorOf(made.err), say).toMatchObject({ kind: 'unknown_outcome', task_id: job?.key });
  expect([here.files().length, here.parts()], say).toEqual([job?.files.length ?? 0, []]);

  here.world.clock.ms += 600_000;
  const synced = await here.gw(['jobs', 'sync']);
  const [ended] = await here.jobs();
  expect(here.taken(), say).toBe(wasTaken);
  expect(ended?.state, `${say}; then ${synced.err}`).toBe(made.code === 14 ? 'unknown' : 'succeeded');
  if (made.code === 0) expect(synced.code, synced.err).toBe(0);
  const isSaved = made.code === 0 && ended?.files.length === 1 && here.files().length === 1;
  if (made.code === 0 && !isSaved) round.counts.lost += 1;
});

/** Faults of looks and downloads: each one happens once or always. */
const readCells = (['alpha', 'beta text', 'gamma'] as const).flatMap((create) =>
  Object.keys(faults).flatMap((fault) =>
    (['a look', 'a download'] as const).flatMap((what) =>
      (['once', 'always'] as const).map((how) => ({ create, fault, what, how })),
    ),
  ),
);

torture('each fault against each look and each download', { short: 16 }, async (round) => {
  const { create, fault, what, how } = round.pick(readCells);
  const { argv } = creates[create] ?? { argv: [] };
  const { fault: strike, leaves, isSlow, isCostly } = faults[fault] ?? { fault: honest, leaves: 'all' };
  round.counts.faults += 1;
  const here = await scene(round);
  const made = await here.gw([...argv, '--json']);
  const { id } = JSON.parse(made.out) as { id: string };
  here.world.clock.ms += 600_000;
  const struck = how === 'once' ? once(strike, () => true) : () => strike;
  if (what === 'a look') here.api = struck;
  else here.outputs = struck;
  const family = argv[1] ?? '';
  const quick = isSlow ? ['--timeout', '300ms'] : [];
  // By the scene's clock a wait polls for 15 minutes, about 90 times: too often for a fault that costs real seconds each time.
  const longest = ['--wait-timeout', isCostly ? '1m' : '2h'];
  const waited = await here.gw(['video', family, 'wait', id, '--json', ...longest, ...quick]);
  const say = `${create}, ${fault}, ${what}, ${how}: ${waited.code} ${waited.err}`;
  expect([0, 4, 8, 10, 12], say).toContain(waited.code);
  // gw must never save a page as a video.
  const isRefused = fault === 'the wrong content type' && what === 'a download';
  if (leaves === 'all') expect(waited.code, say).toBe(isRefused && how === 'always' ? 12 : 0);
  if (waited.code !== 0) {
    expect(here.files(), say).toEqual([]);
    expect(here.parts().length, say).toBeLessThanOrEqual(1);
    const [job] = await here.jobs();
    expect(['running', 'succeeded'], say).toContain(job?.state);
  }
  here.api = () => honest;
  here.outputs = () => honest;
  here.world.clock.ms += 600_000;
  const synced = await here.gw(['jobs', 'sync']);
  expect(synced.code, `${say}; then ${synced.err}`).toBe(0);
  const [job] = await here.jobs();
  const [file] = job?.files ?? [];
  if (job?.state !== 'succeeded' || !file) round.counts.lost += 1;
  const [name] = here.files();
  expect([here.files().length, here.parts()], say).toEqual([1, []]);
  const served = await fetch(here.world.sandbox.tasks().length > 0 ? String(linkOf(job)) : '');
  if (
    !Buffer.from(await served.arrayBuffer()).equals(fs.readFileSync(path.join(here.world.cwd, name ?? '')))
  ) {
    round.counts.halfFiles += 1;
  }
  expect(here.taken(), say).toBe(1);
});

/** Makes the argv of a call that creates no task, from the IDs of an existing group and asset. */
type Call = (there: { readonly group: string; readonly asset: string }) => readonly string[];
const png = 'https://example.com/fox.png';
const calls: Readonly<Record<string, Call>> = {
  models: () => ['models'],
  balance: () => ['balance'],
  'asset list': ({ group }) => ['asset', 'list', '--group-id', group],
  'asset get': ({ asset }) => ['asset', 'get', asset],
  'asset update': ({ asset }) => ['asset', 'update', asset, '--name', 'red'],
  'asset delete': ({ asset }) => ['asset', 'delete', asset, '--yes'],
  'asset create': ({ group }) => ['asset', 'create', '--group', group, '--url', png, '--name', 'hat'],
  'asset group create': () => ['asset', 'group', 'create', '--name', 'hats'],
  chat: () => ['chat', 'hello', '--no-stream'],
  'streamed chat': () => ['chat', 'hello'],
};

const callCells = Object.keys(calls).flatMap((call) =>
  Object.keys(faults).flatMap((fault) => (['once', 'always'] as const).map((how) => ({ call, fault, how }))),
);

torture('each fault against each call of chat, models and assets', { short: 24 }, async (round) => {
  const { call, fault, how } = round.pick(callCells);
  const { fault: strike, leaves, isSlow } = faults[fault] ?? { fault: honest, leaves: 'all' };
  round.counts.faults += 1;
  const here = await scene(round);
  const group = (await here.gw(['asset', 'group', 'create', '--name', 'foxes'])).out.trim();
  const made = ['asset', 'create', '--group', group, '--url', png, '--name', 'fox'];
  const asset = (await here.gw(made)).out.trim();
  const argv = calls[call]?.({ group, asset }) ?? [];
  const isChat = call.includes('chat');
  const whole = isChat ? (await here.gw(argv)).out : '';
  const seen = () => here.world.sandbox.requests.length;
  const before = seen();
  let struck = 0;
  const hit: Fault = (socket, forward) => {
    struck += 1;
    return strike(socket, forward);
  };
  here.api = how === 'once' ? once(hit, () => true) : () => hit;
  const run = await here.gw([...argv, ...(isSlow ? ['--timeout', '300ms'] : [])]);
  const say = `${call}, ${fault}, ${how}: ${run.code} ${run.out} ${run.err}`;
  const taken = seen() - before;
  here.api = () => honest;
  const library = async (...list: string[]) =>
    (await here.gw(['asset', ...list, '-q'])).out.split('\n').length - 1;
  expect(struck, say).toBeGreaterThan(0);
  expect([0, 4, 5, 8], say).toContain(run.code);
  if (leaves === 'all') expect(run.code, say).toBe(0);
  if (isChat) {
    // gw prints the whole answer, or a part of it and an error. It never repeats a chat whose answer was lost.
    expect(run.code === 0 ? run.out : whole.slice(0, run.out.length), say).toBe(
      run.code === 0 ? whole : run.out,
    );
    const isAnswered = /^(HTTP 5|503)/.test(fault);
    if (!isAnswered) expect(struck, say).toBe(1);
    if (leaves !== 'all' && !isAnswered && fault !== 'none') expect([0, 5, 8], say).toContain(run.code);
    if (isAnswered && how === 'once') expect(run.code, say).toBe(0);
    if (!isAnswered && taken > 1) round.counts.doubled += 1;
  } else if (call === 'asset create' || call === 'asset group create') {
    const there = await (call === 'asset create'
      ? library('list', '--group-id', group)
      : library('group', 'list'));
    if (there > 2) round.counts.doubled += 1;
    if (run.code === 0) expect(there, say).toBe(2);
    else if (there > 1) expect(run.err, say).toMatch(/may have been created/);
  } else if (run.code !== 0 && !/^HTTP [34]/.test(fault)) {
    // gw retries after a temporary fault, so only HTTP 3xx and 4xx statuses may fail when the fault happens once.
    expect(how, say).toBe('always');
  }
});

/** Faults that let no byte of a request out. Each resolves with the base URL to use. */
const noWays: Readonly<Record<string, (round: Pick<Round, 'after'>) => Promise<string>>> = {
  'connection refused': async () => `http://127.0.0.1:${await freePort()}`,
  'name not found': async () => 'https://gateway.invalid',
  'connect timeout': (round) => secured(round, () => true),
  'TLS failure': (round) => secured(round, () => false, makeSelfSigned()),
  'reset before a byte is written': (round) => secured(round, (socket) => Boolean(socket.resetAndDestroy())),
};

/** Starts a server that clients reach with TLS. When `meet` returns true for a connection, the server leaves it alone. */
async function secured(
  { after }: Pick<Round, 'after'>,
  meet: (socket: net.Socket) => boolean,
  tls?: ReturnType<typeof makeSelfSigned>,
): Promise<string> {
  const server = await startFaultServer({ steps: [], onConnection: meet, ...(tls && { tls }) });
  after(() => server.close());
  return `https://127.0.0.1:${server.port}`;
}

const unsent: Readonly<Record<string, Call>> = {
  ...Object.fromEntries(Object.entries(creates).map(([name, { argv }]) => [name, () => argv])),
  ...calls,
};
const noWayCells = Object.keys(unsent)
  .flatMap((call) => Object.keys(noWays).map((way) => ({ call, way })))
  // The connect timeout takes ten seconds of real time.
  .filter(({ way }) => isLong || way !== 'connect timeout');

torture('no connection for each create and each call', { short: 16, tags: ['openssl'] }, async (round) => {
  const { call, way } = round.pick(noWayCells);
  round.counts.faults += 1;
  const here = await scene(round);
  const argv = unsent[call]?.({ group: 'group-1', asset: 'asset-1' }) ?? [];
  const url = (await noWays[way]?.(round)) ?? '';
  const retries = way === 'connect timeout' ? 0 : 2;
  const env = { GW_BASE_URL: url, GW_STATE_DIR: path.join(here.world.dir, 'state') };
  const run = await here.world.gw([...argv, '--json', '--retries', String(retries)], { env });
  const say = `${call}, ${way}: ${run.code} ${run.err}`;
  expect(run.code, say).toBe(8);
  expect(errorOf(run.err), say).toMatchObject({ kind: 'unavailable' });
  expect(run.err, say).not.toMatch(/may (exist|have been)/);
  // No byte was sent, so gw retries even a paid create.
  // gw does not retry after an untrusted certificate, because a retry would find the same certificate.
  expect(here.world.clock.slept, say).toHaveLength(way === 'TLS failure' ? 0 : retries);
  const isCreate = call in creates;
  const states = async () => (await here.jobs()).map(({ state }) => state);
  expect(await states(), say).toEqual(isCreate ? ['not_sent'] : []);
  expect([here.files(), here.parts()], say).toEqual([[], []]);
  const synced = await here.gw(['jobs', 'sync']);
  expect([synced.code, here.taken()], say).toEqual([0, 0]);
  if (!isCreate) return;
  const again = await here.gw([...argv, '--json']);
  expect([again.code, here.taken()], `${say}; then ${again.err}`).toEqual([0, 1]);
});

const bytes = { 'another letter': 0x58, 'a NUL': 0, 'a newline': 0x0a, 'half a character': 0xff };
const damaged = ['alpha', 'beta text', 'gamma'] as const;

/** After one damaged byte of a journal, the output must still be saved, or gw must show that something is wrong. */
torture('a damaged byte of a journal, then a sync', { short: 16 }, async (round) => {
  const { counts, random } = round;
  counts.faults += 1;
  const here = await scene(round);
  const create = round.pick(damaged);
  const { argv } = creates[create] ?? { argv: [] };
  const { id } = JSON.parse((await here.gw([...argv, '--json'])).out) as { id: string };
  const ledger = path.join(here.world.dir, 'state', 'ledger');
  const [name = ''] = fs.readdirSync(ledger).filter((each) => each.endsWith('.jsonl'));
  const file = path.join(ledger, name);
  const journal = fs.readFileSync(file);
  const at = Math.floor(random() * journal.length);
  const [what, byte] = round.pick(Object.entries(bytes));
  journal[at] = byte;
  fs.writeFileSync(file, journal);
  here.world.clock.ms += 600_000;
  const synced = await here.gw(['jobs', 'sync', '-q']);
  const say = `${create}, ${what} at ${at}: ${synced.code} ${synced.err}; ${journal.toString('latin1', Math.max(0, at - 60), at + 20)}`;
  expect([0, 2, 3, 4, 8, 10, 12, 13, 14], say).toContain(synced.code);
  if (here.taken() !== 1) counts.doubled += 1;
  expect(here.parts(), say).toEqual([]);
  const saved = () =>
    fs.readdirSync(here.world.cwd, { recursive: true }).filter((each) => String(each).endsWith('.mp4'));
  if (saved().length > 0) return;
  // The sync saved no output: it must have printed why, also under -q, or the job must be listed. A wait by ID must save it.
  const listed = await here.gw(['jobs', 'list', '--json']);
  if (synced.err === '' && JSON.parse(listed.out).length === 0) counts.lost += 1;
  const brought = await here.gw(cmd`video ${argv[1] ?? ''} wait ${id} -o home.mp4 --profile default`);
  expect([brought.code, saved().length], `${say}; then ${brought.err}`).toEqual([0, 1]);
});

/** The output link in the record of any family. */
const linkOf = (job: Job | undefined): string | undefined =>
  /"(?:video_)?url":"([^"]+)"/.exec(JSON.stringify(job?.record ?? ''))?.[1];
