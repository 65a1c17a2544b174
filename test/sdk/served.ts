import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import * as path from 'node:path';
import { createInterface } from 'node:readline';
import { afterAll, beforeAll } from 'vitest';
import { makePng } from '../../src/sandbox/media-check.ts';
import { startSandbox } from '../../src/sandbox/server.ts';
import { builtGw } from '../cli/built.ts';
import { wasmDir } from '../helpers/assets-dir.ts';

// The official SDKs talk to the sandbox as to their own services: to one in this process, and to `gw sandbox serve`.

export const key = 'sk-sdk-test';
const clipsDir = path.join(import.meta.dirname, '../../src/sandbox/clips');

/** The address of a sandbox, which is known once the tests run. */
export interface Served {
  readonly baseUrl: string;
}

interface Running extends Served {
  readonly close: () => Promise<void>;
}

/** Both ways start a sandbox that has a key and answers at once. */
const ways: Readonly<Record<string, () => Promise<Running>>> = {
  'a sandbox in this process': () =>
    startSandbox({
      key,
      account: 'enterprise',
      speed: Number.POSITIVE_INFINITY,
      faults: [],
      clipsDir,
      wasmDir,
      keepRequests: false,
    }),
  'gw sandbox serve': spawnServe,
};

async function spawnServe(): Promise<Running> {
  const home = mkdtempSync(path.join(tmpdir(), 'gw-sdk-'));
  const { command, cacheDir } = builtGw();
  const [file, ...first] = command;
  const child = spawn(
    file,
    [...first, 'sandbox', 'serve', '--json', '--quiet', '--fresh', '--speed', '1000000', '--key', key],
    {
      env: { HOME: home, PATH: process.env.PATH, XDG_CACHE_HOME: cacheDir },
      stdio: ['ignore', 'pipe', 'inherit'],
    },
  );
  const ended = new Promise<void>((resolve) => void child.once('close', () => resolve()));
  for await (const line of createInterface(child.stdout)) {
    const { base_url: baseUrl } = JSON.parse(line);
    return {
      baseUrl,
      close: async () => {
        child.kill('SIGTERM');
        await ended;
        rmSync(home, { recursive: true, force: true });
      },
    };
  }
  throw new Error('gw sandbox serve ended before it listened');
}

export const servedWays = Object.keys(ways);

/** A sandbox for all tests of a `describe`. Its address may be read only inside a test. */
export function served(way: string): Served {
  let running: Running | undefined;
  beforeAll(async () => {
    running = await ways[way]?.();
  });
  afterAll(() => running?.close());
  return {
    get baseUrl() {
      if (!running) throw new Error('the sandbox is not started yet');
      return running.baseUrl;
    },
  };
}

/** A grey PNG of 320x200 in Base64. */
export const pngBase64 = async (): Promise<string> =>
  Buffer.from(await makePng(320, 200, (row) => row.fill(90))).toString('base64');

/** The parameters of the tool that the tests offer. */
export const weatherSchema = {
  type: 'object' as const,
  properties: { city: { type: 'string' }, days: { type: 'integer', minimum: 1, maximum: 7 } },
  required: ['city'],
};
