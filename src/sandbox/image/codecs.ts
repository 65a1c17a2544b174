import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { makePng, readImageSize } from '../media-check.ts';
import type { Canvas, Pixels } from './draw.ts';
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

const decoders = {
  png: async (bytes: ArrayBuffer, wasmDir: string) => {
    const { decode, init } = await import('@jsquash/png/decode.js');
    await once(join(wasmDir, 'squoosh_png_bg.wasm'), init);
    return decode(bytes);
  },
  jpg: async (bytes: ArrayBuffer, wasmDir: string) => {
    const { default: decode, init } = await import('@jsquash/jpeg/decode.js');
    await once(join(wasmDir, 'mozjpeg_dec.wasm'), (wasm) => init(given(wasm)));
    return decode(bytes);
  },
  webp: async (bytes: ArrayBuffer, wasmDir: string) => {
    const { default: decode, init } = await import('@jsquash/webp/decode.js');
    await once(join(wasmDir, 'webp_dec.wasm'), (wasm) => init(given(wasm)));
    return decode(bytes);
  },
} as const;

/**
 * The pixels of an image; undefined where it cannot be decoded.
 * @param type `png`, `jpg` or `webp`, others are not decoded
 */
export async function decode(
  bytes: Uint8Array,
  type: string | undefined,
  wasmDir: string,
): Promise<Pixels | undefined> {
  const decodeImage = Object.entries(decoders).find(([name]) => name === type)?.[1];
  if (!decodeImage) return undefined;
  try {
    const { data, width, height } = await decodeImage(new Uint8Array(bytes).buffer, wasmDir);
    return { data, width, height };
  } catch {
    return undefined;
  }
}

const EDGE_PX = 384;
/** Larger images are not decoded: their pixels would take more than 100 MB. */
const MOST_PIXELS = 25_000_000;
/** What is seen through a transparent image. */
const GROUND = 200;

/** A small PNG of an image, without transparency; undefined where it is of no kind that can be decoded, or too large. */
export async function makeThumbnail(bytes: Uint8Array, wasmDir: string): Promise<Uint8Array | undefined> {
  const size = await readImageSize(bytes);
  if (!size || size.width * size.height > MOST_PIXELS) return undefined;
  const image = await decode(bytes, size.type, wasmDir);
  if (!image) return undefined;
  const scale = Math.min(1, EDGE_PX / Math.max(image.width, image.height));
  const width = Math.max(1, Math.round(image.width * scale));
  const height = Math.max(1, Math.round(image.height * scale));
  return makePng(width, height, (row, y) => {
    const line = Math.floor(((y + 0.5) * image.height) / height) * image.width;
    for (let x = 0; x < width; x++) {
      const from = 4 * (line + Math.floor(((x + 0.5) * image.width) / width));
      const share = (image.data[from + 3] ?? 255) / 255;
      for (let channel = 0; channel < 3; channel++) {
        row[3 * x + channel] = Math.round((image.data[from + channel] ?? 0) * share + GROUND * (1 - share));
      }
    }
  });
}
