import * as fs from 'node:fs';
import * as path from 'node:path';
import { Readable, Writable } from 'node:stream';
import { GwError } from '../../src/errors.ts';
import type { Host } from '../../src/host.ts';
import { newDir } from '../helpers/new-dir.ts';

/** A host with its own home, which sees nothing of the real environment. */
export function testHost(
  env: Record<string, string> = {},
  changes: Partial<Host> = {},
): Host & { readonly config: string } {
  const home = newDir();
  const sink = () => new Writable({ write: (_chunk, _encoding, done) => done() });
  let steadyMs = 0;
  return {
    env,
    cwd: home,
    platform: 'linux',
    homeDir: home,
    version: '0.0.0-test',
    assetsDir: home,
    stdin: Readable.from([]),
    stdout: sink(),
    stderr: sink(),
    clock: {
      now: () => Date.now(),
      steady: () => steadyMs,
      sleep: async (ms) => {
        steadyMs += ms;
      },
    },
    random: () => 0.5,
    mayTouchFlags: () => false,
    guardTerminal: async () => () => {},
    endNow: () => undefined,
    onSignal: () => () => undefined,
    config: path.join(home, '.config', 'gw'),
    ...changes,
  };
}

export function writeConfig(
  host: { readonly config: string },
  name: string,
  text: string,
  mode = 0o600,
): string {
  fs.mkdirSync(host.config, { recursive: true });
  const file = path.join(host.config, name);
  fs.writeFileSync(file, text, { mode });
  return file;
}

/** The GwError that an action throws. */
export async function refusal(act: () => unknown): Promise<GwError> {
  try {
    await act();
  } catch (error) {
    if (error instanceof GwError) return error;
    throw error;
  }
  throw new Error('nothing was refused');
}
