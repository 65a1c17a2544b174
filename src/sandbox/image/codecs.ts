import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { makePng } from '../media-check.ts';
import type { Canvas } from './draw.ts';
import type { ImageOrder } from './order.ts';

/** The codecs that have been set up, by file; each has one instance for the whole process. */
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

/** Options that give a codec its bytes, instead of a search beside the bundle, and silence its messages. */
const given = (wasmBinary: Uint8Array) => ({
  wasmBinary,
  locateFile: (name: string) => name,
  print: () => {},
  printErr: () => {},
});

/**
 * Encodes a picture in the format of its order, for speed rather than for the smallest size.
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
  // With SIMD the codec uses this build; the other build is not bundled.
  await once(join(wasmDir, 'webp_enc_simd.wasm'), (wasm) => init(given(wasm)));
  return new Uint8Array(await encodeImage(canvas, { quality, method: 0 }));
}
