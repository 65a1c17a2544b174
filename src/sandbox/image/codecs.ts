import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { makePng } from '../media-check.ts';
import type { Canvas } from './draw.ts';
import type { ImageOrder } from './order.ts';

/** The codecs keep one instance each for the whole process: which of them have theirs, by the file it came from. */
const ready = new Map<string, Promise<unknown>>();

/** Sets a codec up from its WebAssembly file, once. */
function once(file: string, init: (bytes: Uint8Array) => Promise<unknown>): Promise<unknown> {
  const known = ready.get(file);
  if (known) return known;
  const starting = readFile(file).then(init);
  starting.catch(() => ready.delete(file));
  ready.set(file, starting);
  return starting;
}

/** What makes a codec take these bytes instead of looking for its file where the bundle is, and keep its remarks. */
const given = (wasmBinary: Uint8Array) => ({
  wasmBinary,
  locateFile: (name: string) => name,
  print: () => {},
  printErr: () => {},
});

/**
 * A picture as a file of its order's format. Encoded for speed, not for the smallest size.
 * @param wasmDir folder of the codecs' WebAssembly files
 */
export function encode(canvas: Canvas, order: ImageOrder, wasmDir: string): Promise<Uint8Array> {
  const { format, compression, background } = order;
  if (format === 'png') return encodePng(canvas, background === 'transparent');
  return (format === 'jpeg' ? encodeJpeg : encodeWebp)(canvas, compression, wasmDir);
}

function encodePng({ data, width, height }: Canvas, isTransparent: boolean): Promise<Uint8Array> {
  const copyRow = (row: Uint8Array, y: number) => row.set(data.subarray(4 * y * width, 4 * (y + 1) * width));
  const dropAlpha = (row: Uint8Array, y: number) => {
    let from = 4 * y * width;
    for (let to = 0; to < row.length; to += 3, from += 4) {
      row[to] = data[from] ?? 0;
      row[to + 1] = data[from + 1] ?? 0;
      row[to + 2] = data[from + 2] ?? 0;
    }
  };
  return isTransparent ? makePng(width, height, copyRow, 4) : makePng(width, height, dropAlpha);
}

async function encodeJpeg(canvas: Canvas, quality: number, wasmDir: string): Promise<Uint8Array> {
  const { default: encodeImage, init } = await import('@jsquash/jpeg/encode.js');
  await once(join(wasmDir, 'mozjpeg_enc.wasm'), (wasm) => init(given(wasm)));
  // A progressive file takes three times as long.
  return new Uint8Array(await encodeImage(canvas, { quality, progressive: false }));
}

async function encodeWebp(canvas: Canvas, quality: number, wasmDir: string): Promise<Uint8Array> {
  const { default: encodeImage, init } = await import('@jsquash/webp/encode.js');
  // Of its two builds the codec takes this one wherever there is SIMD; the other one is not bundled.
  await once(join(wasmDir, 'webp_enc_simd.wasm'), (wasm) => init(given(wasm)));
  return new Uint8Array(await encodeImage(canvas, { quality, method: 0 }));
}
