import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { makePng } from '../media-check.ts';
import type { Canvas } from './draw.ts';
import type { ImageOrder } from './order.ts';

/** Each codec has one instance for the whole process, made from its WebAssembly file when it is first needed. */
let jpegReady: Promise<unknown> | undefined;
let webpReady: Promise<unknown> | undefined;

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

function encodePng({ pixels, width, height }: Canvas, isTransparent: boolean): Promise<Uint8Array> {
  const data = new Uint8Array(pixels.buffer);
  const pixelRow = (y: number) => data.subarray(4 * y * width, 4 * (y + 1) * width);
  const copyRow = (row: Uint8Array, y: number) => row.set(pixelRow(y));
  const dropAlpha = (row: Uint8Array, y: number) => {
    if (y > 0 && Buffer.compare(pixelRow(y), pixelRow(y - 1)) === 0) return;
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
  jpegReady ??= readFile(join(wasmDir, 'mozjpeg_enc.wasm')).then((wasm) => init(given(wasm)));
  await jpegReady;
  // A progressive file takes three times as long.
  return new Uint8Array(await encodeImage(canvas, { quality, progressive: false }));
}

async function encodeWebp(canvas: Canvas, quality: number, wasmDir: string): Promise<Uint8Array> {
  const { default: encodeImage, init } = await import('@jsquash/webp/encode.js');
  // With SIMD the codec uses this build; the other build is not bundled.
  webpReady ??= readFile(join(wasmDir, 'webp_enc_simd.wasm')).then((wasm) => init(given(wasm)));
  await webpReady;
  return new Uint8Array(await encodeImage(canvas, { quality, method: 0 }));
}
