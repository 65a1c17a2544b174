import { readFileSync } from 'node:fs';
import * as path from 'node:path';
import { SNIFF_BYTES, sniff, typeInWords } from '../media/signatures.ts';
import type { Pixels } from './pixels.ts';

type Decode = (content: ArrayBuffer) => Promise<Pixels>;

/** What makes a codec take these bytes instead of looking for its file beside the bundle, and keep its remarks. */
const given = (wasmBinary: Uint8Array) => ({
  wasmBinary,
  locateFile: (name: string) => name,
  print: () => {},
  printErr: () => {},
});

/** The codecs by the format they read; each is loaded, with its file from `dist/wasm`, when it is asked for. */
const codecs: Readonly<Record<string, (wasmDir: string) => Promise<Decode>>> = {
  async png(wasmDir) {
    const { decode, init } = await import('@jsquash/png/decode.js');
    await init(readFileSync(path.join(wasmDir, 'squoosh_png_bg.wasm')));
    return (content) => decode(content) as Promise<Pixels>;
  },
  async jpeg(wasmDir) {
    const { default: decode, init } = await import('@jsquash/jpeg/decode.js');
    await init(given(readFileSync(path.join(wasmDir, 'mozjpeg_dec.wasm'))));
    return (content) => decode(content) as Promise<Pixels>;
  },
  async webp(wasmDir) {
    const { default: decode, init } = await import('@jsquash/webp/decode.js');
    await init(given(readFileSync(path.join(wasmDir, 'webp_dec.wasm'))));
    return (content) => decode(content) as Promise<Pixels>;
  },
};

/** The pixels of a PNG, JPEG or WebP image. Throws Error, with a clause for people, for any other and for a broken one. */
export async function decodeImage(content: Uint8Array, wasmDir: string): Promise<Pixels> {
  const fileType = sniff(content.subarray(0, SNIFF_BYTES));
  const load = codecs[fileType?.format ?? ''];
  if (!load) throw new Error(`${typeInWords(fileType)} cannot be drawn here`);
  const decode = await load(wasmDir);
  try {
    return await decode(Uint8Array.from(content).buffer);
  } catch {
    throw new Error(`it is no readable ${fileType?.format.toUpperCase()}`);
  }
}
