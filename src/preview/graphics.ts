import { deflateSync } from 'node:zlib';
import { fitted, type Pixels, shrunk } from './pixels.ts';

/** A box of character cells that a picture is to fill. */
export interface Cells {
  readonly columns: number;
  readonly rows: number;
}

/** How large a cell is taken to be where the terminal does not say. */
const CELL_PX = { width: 10, height: 20 };
/** The longest piece of one command of kitty's protocol. */
const KITTY_PIECE = 4096;

/** The cells that a picture takes within a box, in its own shape. */
export function cellsOf(picture: Pixels, { columns, rows }: Cells): Cells {
  const { width, height } = fitted(picture, columns * CELL_PX.width, rows * CELL_PX.height);
  return { columns: Math.ceil(width / CELL_PX.width), rows: Math.ceil(height / CELL_PX.height) };
}

/** No more pixels than the box can show. */
function inBox(picture: Pixels, { columns, rows }: Cells): Pixels {
  const { width, height } = fitted(picture, columns * CELL_PX.width, rows * CELL_PX.height);
  return shrunk(picture, width, height);
}

/** kitty's graphics protocol: the pixels, packed, in pieces; `q=2` keeps the terminal from answering into our stdin. */
export function kittyGraphics(picture: Pixels, box: Cells): string {
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

/** iTerm2's inline images: the file as it is, scaled by the terminal. */
export function itermImage(content: Uint8Array, picture: Pixels, box: Cells): string {
  const { columns, rows } = cellsOf(picture, box);
  const base64 = Buffer.from(content.buffer, content.byteOffset, content.byteLength).toString('base64');
  const size = `size=${content.length};width=${columns};height=${rows};preserveAspectRatio=1`;
  return `\x1b]1337;File=inline=1;${size}:${base64}\x07\n`;
}

/** Sixel graphics, in at most 256 colours. */
export async function sixelGraphics(picture: Pixels, box: Cells): Promise<string> {
  const { default: sixel } = await import('sixel');
  const { width, height, data } = inBox(picture, box);
  return `${sixel.image2sixel(data, width, height, 256, 1)}\n`;
}
