import { spawn } from 'node:child_process';
import * as path from 'node:path';
import { build } from 'esbuild';
import type { SavedFile } from '../../../src/ledger/event.ts';

export interface Ended {
  readonly code: number | null;
  readonly signal: string | null;
  readonly err: string;
  readonly files: SavedFile[];
  readonly failures: { kind: string; message: string; hint?: string }[];
  readonly peakKb: number;
}

/** Bundles fetch-one-script.ts into the directory; returns the script's path. */
export async function bundleFetchOne(dir: string): Promise<string> {
  const outfile = path.join(dir, 'fetch-one.cjs');
  await build({
    entryPoints: [path.join(import.meta.dirname, 'fetch-one-script.ts')],
    outfile,
    bundle: true,
    platform: 'node',
    format: 'cjs',
    target: 'node20',
    logLevel: 'error',
  });
  return outfile;
}

/** Runs a command to its end and reads what fetch-one printed. */
export function runToEnd(command: string, args: readonly string[]): Promise<Ended> {
  const env = { ...process.env };
  delete env.NODE_EXTRA_CA_CERTS;
  const child = spawn(command, args, { env, stdio: ['ignore', 'pipe', 'pipe'] });
  let [out, err] = ['', ''];
  child.stdout.on('data', (chunk) => (out += chunk));
  child.stderr.on('data', (chunk) => (err += chunk));
  return new Promise((resolve, reject) => {
    child.on('error', reject);
    child.on('close', (code, signal) => {
      const said = out === '' ? { files: [], failures: [], peakKb: 0 } : JSON.parse(out);
      resolve({ code, signal, err, ...said });
    });
  });
}
