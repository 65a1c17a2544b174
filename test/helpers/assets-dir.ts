import { createHash } from 'node:crypto';
import { mkdirSync, readFileSync, renameSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import * as path from 'node:path';

// What the build lays beside the bundle, for runs from the sources: links into the sources and the packages.

interface BuildResult {
  readonly outputFiles: readonly [{ readonly text: string }];
  readonly metafile: { readonly inputs: object };
}
const { buildAlone } = createRequire(import.meta.url)('../../bin/build-alone.js') as {
  buildAlone(entryPoint: string): Promise<BuildResult>;
};
const root = path.join(import.meta.dirname, '../..');
const codecs = [
  'jpeg/codec/dec/mozjpeg_dec.wasm',
  'jpeg/codec/enc/mozjpeg_enc.wasm',
  'png/codec/pkg/squoosh_png_bg.wasm',
  'webp/codec/dec/webp_dec.wasm',
  'webp/codec/enc/webp_enc.wasm',
  'webp/codec/enc/webp_enc_simd.wasm',
];

/** One for each checkout, made by whichever test file comes first and left for the next. */
async function lay(): Promise<string> {
  const checkout = createHash('sha256').update(root).digest('hex').slice(0, 12);
  const dir = path.join(tmpdir(), `gw-assets-${process.getuid?.() ?? 0}-${checkout}`);
  mkdirSync(path.join(dir, 'wasm'), { recursive: true });
  link(path.join(root, 'src/sandbox/clips'), path.join(dir, 'clips'));
  for (const file of codecs) {
    link(path.join(root, 'node_modules/@jsquash', file), path.join(dir, 'wasm', path.basename(file)));
  }
  await buildWorker(path.join(dir, 'worker.js'));
  return dir;
}

/** The thread of hostile files, built when one of its sources is newer. */
async function buildWorker(file: string): Promise<void> {
  const made = path.join(path.dirname(file), 'worker-inputs.json');
  if (isCurrent(file, made)) return;
  const { outputFiles, metafile } = await buildAlone('src/worker.ts');
  replace(file, outputFiles[0].text);
  replace(made, JSON.stringify(Object.keys(metafile.inputs)));
}

function replace(file: string, text: string): void {
  const own = `${file}.${process.pid}`;
  writeFileSync(own, text);
  renameSync(own, file);
}

function isCurrent(file: string, made: string): boolean {
  try {
    const builtMs = statSync(file).mtimeMs;
    const inputs = JSON.parse(readFileSync(made, 'utf8')) as string[];
    return inputs.every((input) => statSync(path.join(root, input)).mtimeMs < builtMs);
  } catch {
    return false;
  }
}

function link(to: string, at: string): void {
  try {
    symlinkSync(to, at);
  } catch (error) {
    if ((error as { code?: unknown }).code !== 'EEXIST') throw error;
  }
}

/** As `host.assetsDir`: holds `clips`, `wasm` and `worker.js`. */
export const assetsDir = await lay();
/** Where the image codecs are, by their file names. */
export const wasmDir = path.join(assetsDir, 'wasm');
