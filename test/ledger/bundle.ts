import { type ChildProcess, spawn } from 'node:child_process';
import * as fs from 'node:fs';
import * as os from 'node:os';
import * as path from 'node:path';
import { buildSync } from 'esbuild';
import { afterAll } from 'vitest';

const made: string[] = [];
afterAll(() => {
  for (const dir of made) fs.rmSync(dir, { recursive: true, force: true });
});

/** Bundles a script of the tests, so that it runs in a process of its own without a TypeScript loader. */
export function bundle(script: string): string {
  const outdir = fs.mkdtempSync(path.join(os.tmpdir(), 'gw-script-'));
  made.push(outdir);
  const outfile = path.join(outdir, `${path.basename(script, '.ts')}.cjs`);
  buildSync({
    entryPoints: [script],
    bundle: true,
    platform: 'node',
    target: 'node20',
    format: 'cjs',
    outfile,
  });
  return outfile;
}

export interface Finished {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
  readonly out: string;
  readonly err: string;
}

/** A running child with what it has printed so far. */
export class Running {
  out = '';
  err = '';
  readonly child: ChildProcess;
  readonly finished: Promise<Finished>;
  constructor(command: string, args: readonly string[]) {
    this.child = spawn(command, args, { stdio: ['pipe', 'pipe', 'pipe'] });
    this.child.stdout?.setEncoding('utf8').on('data', (text) => {
      this.out += text;
    });
    this.child.stderr?.setEncoding('utf8').on('data', (text) => {
      this.err += text;
    });
    this.finished = new Promise((resolve, reject) => {
      this.child.on('error', reject);
      this.child.on('close', (code, signal) => resolve({ code, signal, out: this.out, err: this.err }));
    });
  }

  /** Resolves when a text has been printed on stdout; rejects when the child ends without it. */
  async printed(text: string): Promise<void> {
    while (!this.out.includes(text)) {
      const ended = await Promise.race([
        this.finished,
        new Promise<undefined>((resolve) => this.child.stdout?.once('data', () => resolve(undefined))),
      ]);
      if (ended && !this.out.includes(text))
        throw new Error(`ended without ${text}: ${JSON.stringify(ended)}`);
    }
  }
}

export const runNode = (...args: string[]) => new Running(process.execPath, args);
