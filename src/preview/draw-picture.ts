import { readFileSync } from 'node:fs';
import * as path from 'node:path';
import { deflateSync } from 'node:zlib';
import { readImageSize } from '../media/image-facts.ts';
import type { DrawTask } from '../media/in-worker.ts';
import { sourceOf } from '../media/probe.ts';
import { SNIFF_BYTES, sniff, typeInWords } from '../media/signatures.ts';
import { fitted, halfBlocks, type Pixels, shrunk } from './half-blocks.ts';

/** The text that draws a picture, or a clause that says why it cannot be drawn. */
export type Drawn = { readonly text: string } | { readonly problem: string };

/** Decoding a larger picture takes over a gigabyte of memory. */
const MAX_MEGAPIXELS = 64;

type Decode = (content: ArrayBuffer) => Promise<Pixels>;

/** Makes a codec use these bytes instead of looking for its file beside the bundle, and silences its messages. */
const given = (wasmBinary: Uint8Array) => ({
  wasmBinary,
  locateFile: (name: string) => name,
  print: () => {},
  printErr: () => {},
});

/** The codecs by image format; each is loaded with its file from `dist/wasm` when it is needed. */
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

/** Draws a PNG, JPEG or WebP image of at most {@link MAX_MEGAPIXELS}. Run it in a thread that can be stopped. */
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
  if (as === 'jpeg') return { text: await smallJpeg(inBox(picture, box), wasmDir) };
  if (as === 'sixel') return { text: await sixelGraphics(picture, box) };
  return { text: halfBlocks(picture, columns, rows, as) };
}

/** The character cells that a picture may fill. */
interface Cells {
  readonly columns: number;
  readonly rows: number;
}

/** The assumed size of a cell, because terminals may not report it. */
const CELL_PX = { width: 10, height: 20 };
/** Maximum payload of one escape sequence of kitty's protocol. */
const KITTY_PIECE = 4096;

/** The cells that a picture takes within a box at its own aspect ratio. */
export function cellsOf(picture: Pixels, { columns, rows }: Cells): Cells {
  const { width, height } = fitted(picture, columns * CELL_PX.width, rows * CELL_PX.height);
  return { columns: Math.ceil(width / CELL_PX.width), rows: Math.ceil(height / CELL_PX.height) };
}

/** Shrinks a picture to the pixels that the box can show. */
function inBox(picture: Pixels, { columns, rows }: Cells): Pixels {
  const { width, height } = fitted(picture, columns * CELL_PX.width, rows * CELL_PX.height);
  return shrunk(picture, width, height);
}

/** kitty's graphics protocol: compressed pixels in pieces; `q=2` keeps the terminal from replying on our stdin. */
function kittyGraphics(picture: Pixels, box: Cells): string {
  const { width, height, data } = inBox(picture, box);
  const { columns, rows } = cellsOf(picture, box);
  const packed = deflateSync(data).toString('base64');
  let text = '';
  for (let at = 0; at < packed.length; at += KITTY_PIECE) {
    const more = at + KITTY_PIECE < packed.length ? 1 : 0;
    const head = at === 0 ? `a=T,q=2,f=32,o=z,s=${width},v=${height},c=${columns},r=${rows},` : '';
    text += `\x1b_G${head}m=${more};${packed.slice(at, at + KITTY_PIECE)}\x1b\\`;
  }
  return `${text}\n`;
}

/** iTerm2's inline images: the unchanged file, which the terminal scales. */
function itermImage(content: Uint8Array, picture: Pixels, box: Cells): string {
  const { columns, rows } = cellsOf(picture, box);
  const base64 = Buffer.from(content.buffer, content.byteOffset, content.byteLength).toString('base64');
  const size = `size=${content.length};width=${columns};height=${rows};preserveAspectRatio=1`;
  return `\x1b]1337;File=inline=1;${size}:${base64}\x07\n`;
}

async function smallJpeg({ data, width, height }: Pixels, wasmDir: string): Promise<string> {
  const { default: encode, init } = await import('@jsquash/jpeg/encode.js');
  await init(given(readFileSync(path.join(wasmDir, 'mozjpeg_enc.wasm'))));
  const pixels = { data: Uint8ClampedArray.from(data), width, height, colorSpace: 'srgb' as const };
  return Buffer.from(await encode(pixels, { quality: 75 })).toString('base64');
}

async function sixelGraphics(picture: Pixels, box: Cells): Promise<string> {
  const { default: sixel } = await import('sixel');
  const { width, height, data } = inBox(picture, box);
  return `${sixel.image2sixel(data, width, height, 256, 1)}\n`;
}
