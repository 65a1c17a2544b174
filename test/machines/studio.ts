import * as fs from 'node:fs';
import * as net from 'node:net';
import * as path from 'node:path';
import type { Sandbox } from '../../src/sandbox/server.ts';
import { NearPlace } from '../cli/near-place.ts';
import { control, openSandbox, Place, pause, type Running } from '../cli/place.ts';
import { listening } from '../helpers/listening.ts';
import { openRedis, type TestRedis } from './redis.ts';

// `gw batch run --redis` and `gw worker` as processes: each machine has its own home, and all share a real Redis and a gateway.

export interface Studio {
  readonly sandbox: Sandbox;
  readonly redis: TestRedis;
  /** The environment variables that every machine has. */
  readonly env: Record<string, string>;
  /** The machine with the manifest. */
  readonly laptop: Place;
  machine(): Place;
  /** Starts a worker, on a new machine unless `on` names one. */
  worker(name: string, more?: readonly string[], on?: Place): Running & { readonly place: Place };
  batch(...words: string[]): Promise<Awaited<ReturnType<Place['run']>>>;
  /** Replaces the gateway's faults. */
  faults(list: string): Promise<unknown>;
}

/** A studio that runs gw in separate processes. */
export async function openStudio(
  options: Parameters<typeof openSandbox>[0] = {},
  Machine = Place,
): Promise<Studio> {
  const sandbox = await openSandbox(options);
  const redis = await openRedis({ appendOnly: true });
  const machine = () => new Machine(sandbox);
  const laptop = machine();
  const env = { GW_INTERVAL: '100ms', GW_REDIS_URL: redis.url };
  return {
    ...{ sandbox, redis, env, laptop, machine },
    worker(name, more = [], on) {
      const place = on ?? machine();
      return Object.assign(place.start(['worker', '--redis', '--name', name, ...more], { env }), { place });
    },
    batch: (command, ...words) => laptop.run(['batch', command, 'day.jsonl', ...words, '--redis'], { env }),
    faults: (faults) => control(sandbox, 'PUT faults', { faults }),
  };
}

/** A studio that runs gw in the test's process, for tests that need neither a kill nor a process ID. */
export const openNearStudio = (options: Parameters<typeof openSandbox>[0] = {}) =>
  openStudio(options, NearPlace);

export const alpha = {
  command: 'video alpha',
  prompt: 'a fox',
  model: '2.0-fast',
  resolution: '480p',
  duration: 4,
};
export const beta = { command: 'video beta', prompt: 'a fox', duration: 3 };
export const gamma = {
  command: 'video gamma',
  prompt: 'a fox',
  duration: 5,
  resolution: '768P',
  ratio: '16:9',
};
export const image = { command: 'image create', prompt: 'a fox', size: '256x256' };
export const mixed = [alpha, beta, gamma, image];

export const write = ({ laptop }: Pick<Studio, 'laptop'>, rows: readonly object[]) =>
  fs.writeFileSync(
    path.join(laptop.cwd, 'day.jsonl'),
    rows.map((row, at) => `${JSON.stringify({ id: `r${at}`, ...row })}\n`).join(''),
  );
/** Copies the manifest to another machine. */
export const giveManifest = ({ laptop }: Studio, { cwd }: Place) =>
  fs.copyFileSync(path.join(laptop.cwd, 'day.jsonl'), path.join(cwd, 'day.jsonl'));
export const paid = ({ sandbox }: Studio) =>
  sandbox.requests.filter(({ server, method }) => server === 'api' && method === 'POST');
/** Resolves when this many rows on the queue have a task ID. */
export async function toldIds({ redis }: Studio, rows: number): Promise<void> {
  for (let tries = 0; tries < 1_000; tries += 1) {
    if ((await redis.everything()).match(/"state":"running"/g)?.length === rows) return;
    await pause(20);
  }
  throw new Error('their IDs were never told');
}
/** A proxy to Redis that holds back the first step containing `text`, and everything after it, until `open` is called. */
export async function openGate(port: number, text: string) {
  let reach = () => {};
  let open = () => {};
  const reached = new Promise<void>((resolve) => (reach = resolve));
  const opened = new Promise<void>((resolve) => (open = resolve));
  const server = net.createServer((client) => {
    const redis = net.connect(port, '127.0.0.1');
    for (const socket of [client, redis]) socket.on('error', () => {});
    let before = Promise.resolve();
    client.on('data', (bytes) => {
      if (bytes.includes(text)) {
        reach();
        before = opened;
      }
      before = before.then(() => void redis.write(bytes));
    });
    client.on('close', () => redis.destroy());
    redis.pipe(client);
  });
  const { port: own } = await listening(server);
  return { url: `redis://127.0.0.1:${own}`, reached, open };
}
export const stop = async (worker: Running) => {
  worker.child.kill('SIGTERM');
  return worker.ended;
};

export const rowsIn = (out: string) =>
  out
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line));
export const endsOf = (out: string) =>
  rowsIn(out).map(({ row_key, status, error }) => [row_key, status, error?.kind]);
