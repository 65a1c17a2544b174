import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import * as path from 'node:path';
import { createInterface } from 'node:readline';
import { afterAll, beforeAll } from 'vitest';
import { makePng } from '../../src/sandbox/media-check.ts';
import { builtGw } from '../cli/built.ts';

export const key = 'sk-sdk-test';

/** The address of a sandbox, which is known once the tests run. */
interface Served {
  readonly baseUrl: string;
}

/** Starts `gw sandbox serve`, which has a key and answers at once. */
async function serve(): Promise<Served & { readonly close: () => Promise<void> }> {
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

/** A `gw sandbox serve` for all tests of a file or a `describe`. Its address may be read only inside a test. */
export function served(): Served {
  let running: Awaited<ReturnType<typeof serve>> | undefined;
  beforeAll(async () => {
    running = await serve();
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
