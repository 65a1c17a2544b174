import { existsSync, mkdirSync, renameSync, symlinkSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import * as path from 'node:path';

// The files that the build puts beside the bundle, for runs from the sources: links into the sources and the packages.

const { buildAlone } = createRequire(import.meta.url)('../../bin/build-alone.js') as {
  buildAlone(entryPoint: string): Promise<{ readonly outputFiles: readonly [{ readonly text: string }] }>;
};
const root = path.join(import.meta.dirname, '../..');
const codecs = [
  'jpeg/codec/dec/mozjpeg_dec.wasm',
  'jpeg/codec/enc/mozjpeg_enc.wasm',
  'png/codec/pkg/squoosh_png_bg.wasm',
  'webp/codec/dec/webp_dec.wasm',
  'webp/codec/enc/webp_enc_simd.wasm',
];

/** Makes one directory for each run of the tests; the first test file that needs it does so. */
async function lay(): Promise<string> {
  const dir = path.join(tmpdir(), 'gw-assets');
  mkdirSync(path.join(dir, 'wasm'), { recursive: true });
  link(path.join(root, 'src/sandbox/clips'), path.join(dir, 'clips'));
  for (const file of codecs) {
    link(path.join(root, 'node_modules/@jsquash', file), path.join(dir, 'wasm', path.basename(file)));
  }
  // The worker thread that reads untrusted files.
  const worker = path.join(dir, 'worker.js');
  if (existsSync(worker)) return dir;
  const { outputFiles } = await buildAlone('src/worker.ts');
  writeFileSync(`${worker}.${process.pid}`, outputFiles[0].text);
  renameSync(`${worker}.${process.pid}`, worker);
  return dir;
}

function link(to: string, at: string): void {
  try {
    symlinkSync(to, at);
  } catch (error) {
    if ((error as { code?: unknown }).code !== 'EEXIST') throw error;
  }
}

/** The value of `host.assetsDir`: it holds `clips`, `wasm` and `worker.js`. */
export const assetsDir = await lay();
/** The directory of the image codecs. */
export const wasmDir = path.join(assetsDir, 'wasm');
