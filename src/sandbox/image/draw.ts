import { seededInt, seededRandom } from '../seeded.ts';

/** The content of a sandbox picture. The same text gives the same picture. */
export interface Drawing {
  readonly widthPx: number;
  readonly heightPx: number;
  readonly isTransparent: boolean;
  readonly prompt: string;
  /** A small caption about the picture: model, size, quality and origin. */
  readonly caption: string;
  readonly seed: string;
}

const ink: Colour = [250, 248, 240];
const captionInk: Colour = [206, 212, 228];

/** Draws a picture: the prompt on a gradient, and below it the settings in small text. */
export function draw(drawing: Drawing): Canvas {
  const { widthPx, heightPx } = drawing;
  const canvas = new Canvas(widthPx, heightPx);
  const edgePx = Math.min(widthPx, heightPx);
  const cardPx = drawing.isTransparent ? Math.round(edgePx * 0.06) : 0;
  paintGround(canvas, cardPx, seededRandom(seededInt('picture', drawing.seed)));
  const marginPx = cardPx + Math.round(edgePx * 0.07);
  const innerWidthPx = widthPx - 2 * marginPx;
  const innerHeightPx = heightPx - 2 * marginPx;

  const smallPx = Math.max(1, Math.round(edgePx / 340));
  const caption = fitText(drawing.caption, innerWidthPx, innerHeightPx / 3, { most: smallPx, least: 1 });
  drawText(canvas, caption, marginPx, heightPx - marginPx - heightOf(caption), captionInk);

  const leftPx = innerHeightPx - heightOf(caption) - 4 * smallPx;
  const words = fitText(drawing.prompt, innerWidthPx, leftPx, {
    most: Math.max(2, Math.round(edgePx / 110)),
    least: Math.max(1, Math.floor(edgePx / 500)),
  });
  drawText(canvas, words, marginPx, marginPx, ink);
  return canvas;
}

/** Draws a gradient between two dark colours, and leaves `cardPx` on each side transparent. */
function paintGround(canvas: Canvas, cardPx: number, random: () => number): void {
  const tone = () => 20 + random() * 70;
  const from: Colour = [tone(), tone(), tone()];
  const to: Colour = [tone(), tone(), tone()];
  const { width, height } = canvas;
  for (let y = cardPx; y < height - cardPx; y++) {
    const mixed = (nth: 0 | 1 | 2) => from[nth] + ((to[nth] - from[nth]) * y) / height;
    canvas.fill(cardPx, y, width - 2 * cardPx, 1, pixelOf([mixed(0), mixed(1), mixed(2)]));
  }
}

/** The columns of a glyph; a column is a byte with its lowest bit on top, and the eighth row is for descenders. */
export const glyphColumns = 5;

/** The dots that a character takes across, and a line down. */
const DOTS_ACROSS = glyphColumns + 1;
const glyphRows = 8;

const DOTS_DOWN = glyphRows + 3;
const CUT = '...';

/** Text in lines, with characters drawn in dots of `dotPx`. */
interface TextBlock {
  readonly lines: readonly string[];
  readonly dotPx: number;
}

export const heightOf = ({ lines, dotPx }: TextBlock): number => lines.length * DOTS_DOWN * dotPx;

const columnsIn = (widthPx: number, dotPx: number): number =>
  Math.max(1, Math.floor((widthPx + dotPx) / (DOTS_ACROSS * dotPx)));

/** Removes accents; any other non-ASCII character becomes one sign, and white space except newlines a blank. */
const plain = (text: string): string =>
  text
    .normalize('NFKD')
    .replace(/\p{M}+/gu, '')
    .replace(/[^\S\n]/g, ' ')
    .replace(/\p{Cc}/gu, (control) => (control === '\n' ? control : ''))
    .replace(/[\u{10000}-\u{10ffff}]/gu, '\u00ff');

/** Wraps a text at blanks into lines of at most `columns` characters; longer words are cut. */
export function wrapText(text: string, columns: number): string[] {
  return plain(text)
    .split('\n')
    .flatMap((line) => {
      const lines: string[] = [];
      let current = '';
      for (const word of line.split(' ').flatMap((long) => pieces(long, columns))) {
        if (current !== '' && current.length + 1 + word.length > columns) {
          lines.push(current);
          current = word;
        } else current = current === '' ? word : `${current} ${word}`;
      }
      return [...lines, current];
    });
}

const pieces = (word: string, columns: number): string[] =>
  word.length <= columns ? [word] : (word.match(new RegExp(`[^]{1,${columns}}`, 'g')) ?? []);

/**
 * Lays a text out in the largest dots with which it fits into a rectangle; if it does not fit even with the smallest, its
 * end is cut off.
 */
export function fitText(
  text: string,
  widthPx: number,
  heightPx: number,
  dots: { readonly most: number; readonly least: number },
): TextBlock {
  const linesIn = (dotPx: number) => Math.max(1, Math.floor(heightPx / (DOTS_DOWN * dotPx)));
  // Text beyond the capacity of the smallest dots is not laid out at all.
  const shown = text.slice(0, linesIn(dots.least) * (columnsIn(widthPx, dots.least) + 1));
  const first = shown.length === text.length ? dots.most : 0;
  for (let dotPx = first; dotPx >= dots.least; dotPx--) {
    const lines = wrapText(shown, columnsIn(widthPx, dotPx));
    if (lines.length <= linesIn(dotPx)) return { lines, dotPx };
  }
  const columns = columnsIn(widthPx, dots.least);
  const lines = wrapText(shown, columns).slice(0, linesIn(dots.least));
  const last = lines.pop() ?? '';
  return {
    lines: [...lines, `${last.slice(0, Math.max(0, columns - CUT.length))}${CUT}`],
    dotPx: dots.least,
  };
}

/** Draws lines from `left`, `top` on. */
function drawText(canvas: Canvas, { lines, dotPx }: TextBlock, left: number, top: number, ink: Colour): void {
  const pixel = pixelOf(ink);
  for (const [nth, line] of lines.entries()) {
    for (const [at, character] of [...line].entries()) {
      for (const [column, bits] of glyphOf(character).entries()) {
        const x = left + (at * DOTS_ACROSS + column) * dotPx;
        for (let row = 0; row < glyphRows; row++) {
          if (bits & (1 << row)) canvas.fill(x, top + (nth * DOTS_DOWN + row) * dotPx, dotPx, dotPx, pixel);
        }
      }
    }
  }
}

/** The characters from space to tilde, five columns of two hexadecimal digits each. */
const table = `
0000000000 00005f0000 0007000700 147f147f14 242a7f2a12 2313086462 3649562050 0005030000
001c224100 0041221c00 2a1c7f1c2a 08083e0808 0080703000 0808080808 0060600000 2010080402
3e5149453e 00427f4000 4261514946 2241494936 1814127f10 2745454539 3c4a494930 0171090503
3649494936 064949291e 0036360000 0080763600 0814224100 1414141414 0041221408 0201590906
3e415d554e 7e1111117e 7f49494936 3e41414122 7f4141413e 7f49494941 7f09090901 3e4149497a
7f0808087f 00417f4100 2040413f01 7f08142241 7f40404040 7f020c027f 7f0408107f 3e4141413e
7f09090906 3e4151215e 7f09192946 2649494932 01017f0101 3f4040403f 1f2040201f 3f4038403f
6314081463 0708700807 6151494543 007f414100 0204081020 0041417f00 0402010204 4040404040
0003070800 2054545478 7f48444438 3844444428 384444487f 3854545418 087e090102 18a4a4a47c
7f08040478 00447d4000 4080847d00 7f10284400 00417f4000 7c04180478 7c08040478 3844444438
fc24242418 18242424fc 7c08040408 4854545424 043f444020 3c4040207c 1c2040201c 3c4030403c
4428102844 1ca0a0a07c 4464544c44 0008364100 00007f0000 0041360800 0804081008
`;

const glyphs: readonly Uint8Array[] = table
  .trim()
  .split(/\s+/)
  .map((hex) => Uint8Array.from(Buffer.from(hex, 'hex')));

/** The glyph for a character outside the table. */
const box = Uint8Array.of(0x7f, 0x41, 0x41, 0x41, 0x7f);

const FIRST = ' '.charCodeAt(0);

export const glyphOf = (character: string): Uint8Array => glyphs[character.charCodeAt(0) - FIRST] ?? box;

type Colour = readonly [red: number, green: number, blue: number];

/** An opaque pixel as a number in a Uint32Array over the bytes. */
const pixelOf = (colour: Colour): number => new Uint32Array(Uint8Array.of(...colour, 255).buffer)[0] ?? 0;

/** A picture in memory: RGBA, 8 bits each, row by row. All drawing is clipped to it. */
export class Canvas {
  readonly data: Uint8ClampedArray<ArrayBuffer>;
  /** The same memory with one number per pixel, which fills rows much faster than single bytes. */
  readonly pixels: Uint32Array<ArrayBuffer>;

  constructor(
    readonly width: number,
    readonly height: number,
  ) {
    const bytes = new ArrayBuffer(4 * width * height);
    this.data = new Uint8ClampedArray(bytes);
    this.pixels = new Uint32Array(bytes);
  }

  fill(left: number, top: number, width: number, height: number, pixel: number): void {
    const from = Math.max(0, left);
    const to = Math.min(this.width, left + width);
    if (to <= from) return;
    for (let y = Math.max(0, top); y < Math.min(this.height, top + height); y++) {
      this.pixels.fill(pixel, y * this.width + from, y * this.width + to);
    }
  }

  /** A copy in square blocks of `edge` pixels, each with the colour of its middle pixel. */
  inBlocks(edge: number): Canvas {
    const coarse = new Canvas(this.width, this.height);
    const middle = (at: number, end: number) => Math.min(end - 1, at - (at % edge) + (edge >> 1));
    for (let y = 0; y < this.height; y++) {
      const from = middle(y, this.height) * this.width;
      for (let x = 0; x < this.width; x++) {
        coarse.pixels[y * this.width + x] = this.pixels[from + middle(x, this.width)] ?? 0;
      }
    }
    return coarse;
  }
}
