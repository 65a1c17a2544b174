import { createHash } from 'node:crypto';
import { mkdirSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import * as path from 'node:path';

// What the build lays beside the bundle, for runs from the sources: links into the sources and the packages.

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
function lay(): string {
  const checkout = createHash('sha256').update(root).digest('hex').slice(0, 12);
  const dir = path.join(tmpdir(), `gw-assets-${process.getuid?.() ?? 0}-${checkout}`);
  mkdirSync(path.join(dir, 'wasm'), { recursive: true });
  link(path.join(root, 'src/sandbox/clips'), path.join(dir, 'clips'));
  for (const file of codecs) {
    link(path.join(root, 'node_modules/@jsquash', file), path.join(dir, 'wasm', path.basename(file)));
  }
  return dir;
}

function link(to: string, at: string): void {
  try {
    symlinkSync(to, at);
  } catch (error) {
    if ((error as { code?: unknown }).code !== 'EEXIST') throw error;
  }
}

/** As `host.assetsDir`: holds `clips` and `wasm`. */
export const assetsDir = lay();
/** Where the image codecs are, by their file names. */
export const wasmDir = path.join(assetsDir, 'wasm');
