import * as fs from 'node:fs';
import * as os from 'node:os';
import * as path from 'node:path';
import { build } from 'esbuild';

/** Bundles a script with a real process's io into one CommonJS file, as the product is bundled. `body` sees `io` and `host`. */
export async function bundleScript(body: string): Promise<{ readonly file: string; remove(): void }> {
  const dir = fs.mkdtempSync(path.join(os.tmpdir(), 'gw-io-'));
  const file = path.join(dir, 'script.cjs');
  const source = path.resolve(import.meta.dirname, '../../src');
  await build({
    stdin: { contents: scriptAround(source, body), resolveDir: source, loader: 'ts' },
    bundle: true,
    platform: 'node',
    target: 'node20',
    format: 'cjs',
    outfile: file,
    logLevel: 'error',
  });
  return { file, remove: () => fs.rmSync(dir, { recursive: true, force: true }) };
}

function scriptAround(source: string, body: string): string {
  return `
    import { createIo, readOutputMode } from '${source}/io/create-io.ts';
    import { ClosedPipe, GwError } from '${source}/errors.ts';
    const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms));
    const clock = { now: () => Date.now(), steady: () => performance.now(), sleep };
    const host = {
      get stdin() { return process.stdin; }, stdout: process.stdout, stderr: process.stderr,
      env: process.env, platform: process.platform, clock,
    };
    const flags = { json: process.argv.includes('--json') };
    const io = createIo({ host, mode: readOutputMode(flags, host) });
    (async () => {
      try {
        ${body}
        await io.drain();
      } catch (error) {
        process.exitCode = error instanceof ClosedPipe ? 0 : error instanceof GwError ? error.exitCode : 99;
        io.error(error);
        await io.drain();
      }
    })();
  `;
}
