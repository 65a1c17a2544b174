import { readFileSync } from 'node:fs';
import * as path from 'node:path';
import { readImageSize } from '../media/image-facts.ts';
import type { DrawTask } from '../media/in-worker.ts';
import { sourceOf } from '../media/probe.ts';
import { SNIFF_BYTES, sniff, typeInWords } from '../media/signatures.ts';
import { itermImage, kittyGraphics, sixelGraphics } from './graphics.ts';
import { halfBlocks } from './half-blocks.ts';
import type { Pixels } from './pixels.ts';

/** What draws a picture, or a clause that says why it cannot be drawn. */
export type Drawn = { readonly text: string } | { readonly problem: string };

/** A picture of more takes over a gigabyte to decode. */
const MAX_MEGAPIXELS = 64;

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

/** Draws a PNG, JPEG or WebP image of at most {@link MAX_MEGAPIXELS}. Made for a thread that can be ended. */
export async function drawPicture({ content, as, columns, rows, wasmDir }: DrawTask): Promise<Drawn> {
  const fileType = sniff(content.subarray(0, SNIFF_BYTES));
  const format = fileType?.format ?? '';
  const load = codecs[format];
  if (!load) return { problem: `${typeInWords(fileType)} cannot be drawn here` };
  const { widthPx = 0, heightPx = 0 } = await readImageSize(sourceOf(content), format);
  if (widthPx * heightPx > MAX_MEGAPIXELS * 1e6) {
    return { problem: `it is ${widthPx}x${heightPx} px; at most ${MAX_MEGAPIXELS} megapixels are drawn` };
  }
  const broken = { problem: `it is no readable ${format.toUpperCase()}` };
  if (widthPx === 0) return broken;
  const decode = await load(wasmDir);
  let picture: Pixels;
  try {
    picture = await decode(Uint8Array.from(content).buffer);
  } catch {
    return broken;
  }
  const box = { columns, rows };
  if (as === 'kitty') return { text: kittyGraphics(picture, box) };
  if (as === 'iterm2') return { text: itermImage(content, picture, box) };
  if (as === 'sixel') return { text: await sixelGraphics(picture, box) };
  return { text: halfBlocks(picture, columns, rows, as) };
}
