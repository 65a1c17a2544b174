import { seededInt, seededRandom } from '../seeded.ts';

/** What a picture of the sandbox shows. The same words give the same picture. */
export interface Drawing {
  readonly widthPx: number;
  readonly heightPx: number;
  readonly isTransparent: boolean;
  readonly prompt: string;
  /** What the picture says about itself, in small: model, size, quality, where it comes from. */
  readonly caption: string;
  /** The image that was edited. */
  readonly thumbnail?: Pixels | undefined;
  readonly seed: string;
}

const ink: Colour = [250, 248, 240];
const captionInk: Colour = [206, 212, 228];
const DISCS = 4;

/** Draws a picture: the prompt on a gradient, and below it in small what was asked for. */
export function draw(drawing: Drawing): Canvas {
  const { widthPx, heightPx, thumbnail } = drawing;
  const canvas = new Canvas(widthPx, heightPx);
  const random = seededRandom(seededInt('picture', drawing.seed));
  paintGround(canvas, random);
  const edgePx = Math.min(widthPx, heightPx);
  const cardPx = drawing.isTransparent ? Math.round(edgePx * 0.06) : 0;
  const marginPx = cardPx + Math.round(edgePx * 0.07);
  const innerWidthPx = widthPx - 2 * marginPx;
  const innerHeightPx = heightPx - 2 * marginPx;

  const smallPx = Math.max(1, Math.round(edgePx / 340));
  const caption = fitText(drawing.caption, innerWidthPx, innerHeightPx / 3, { most: smallPx, least: 1 });
  drawText(canvas, caption, marginPx, heightPx - marginPx - heightOf(caption), captionInk);

  let topPx = marginPx;
  if (thumbnail) {
    topPx += placeThumbnail(canvas, thumbnail, marginPx, innerWidthPx, Math.floor(innerHeightPx * 0.42));
  }
  const leftPx = heightPx - marginPx - heightOf(caption) - 4 * smallPx - topPx;
  const words = fitText(drawing.prompt, innerWidthPx, leftPx, {
    most: Math.max(2, Math.round(edgePx / 110)),
    least: Math.max(1, Math.floor(edgePx / 500)),
  });
  drawText(canvas, words, marginPx, topPx, ink);
  if (cardPx > 0) {
    const size = [widthPx - 2 * cardPx, heightPx - 2 * cardPx] as const;
    canvas.clearAround(cardPx, cardPx, ...size, Math.round(edgePx * 0.05));
  }
  return canvas;
}

/** Draws the edited image in a frame; returns the height that it took. */
function placeThumbnail(
  canvas: Canvas,
  thumbnail: Pixels,
  marginPx: number,
  mostWidthPx: number,
  mostHeightPx: number,
): number {
  const scale = Math.min(mostWidthPx / thumbnail.width, mostHeightPx / thumbnail.height);
  const width = Math.max(1, Math.floor(thumbnail.width * scale));
  const height = Math.max(1, Math.floor(thumbnail.height * scale));
  const framePx = Math.max(1, Math.round(mostHeightPx / 80));
  const frame = pixelOf(ink);
  canvas.fill(marginPx - framePx, marginPx - framePx, width + 2 * framePx, height + 2 * framePx, frame);
  canvas.place(thumbnail, marginPx, marginPx, width, height);
  return height + 8 * framePx;
}

/** A diagonal gradient between two dark tones with a few lighter discs. */
function paintGround(canvas: Canvas, random: () => number): void {
  const { width, height } = canvas;
  const hue = random() * 360;
  const from = colourOf(hue, 0.55, 0.26);
  const to = colourOf(hue + 40 + random() * 90, 0.5, 0.4);
  // The tones along a diagonal, finer than the eye; a pixel's place on it is its column and row added.
  const tones = Uint32Array.from({ length: 1024 }, (_, nth) => pixelOf(between(from, to, nth / 1023)));
  const perX = 512 / width;
  for (let y = 0; y < height; y++) {
    const start = y * width;
    let tone = (512 * y) / height;
    for (let x = 0; x < width; x++, tone += perX) canvas.pixels[start + x] = tones[tone | 0] ?? 0;
  }
  const edge = Math.min(width, height);
  for (let nth = 0; nth < DISCS; nth++) {
    const tint = colourOf(hue + random() * 160, 0.7, 0.62);
    canvas.disc(random() * width, random() * height, edge * (0.12 + random() * 0.38), tint, 0.12);
  }
}

const between = (from: Colour, to: Colour, share: number): Colour => [
  Math.round(from[0] + (to[0] - from[0]) * share),
  Math.round(from[1] + (to[1] - from[1]) * share),
  Math.round(from[2] + (to[2] - from[2]) * share),
];

/** A colour by hue in degrees, saturation and lightness 0-1. */
function colourOf(hue: number, saturation: number, lightness: number): Colour {
  const chroma = saturation * Math.min(lightness, 1 - lightness);
  const channel = (offset: number) => {
    const at = (offset + hue / 30) % 12;
    return Math.round(255 * (lightness - chroma * Math.max(-1, Math.min(at - 3, 9 - at, 1))));
  };
  return [channel(0), channel(8), channel(4)];
}

/** A glyph is so many columns wide; a column is a byte, its lowest bit on top, and the eighth row holds descenders. */
export const glyphColumns = 5;

/** A character takes so many dots across, and a line so many down. */
const DOTS_ACROSS = glyphColumns + 1;
const glyphRows = 8;

const DOTS_DOWN = glyphRows + 3;
const CUT = '...';

/** Text in lines, each character drawn in dots of `dotPx`. */
export interface TextBlock {
  readonly lines: readonly string[];
  readonly dotPx: number;
}

export const heightOf = ({ lines, dotPx }: TextBlock): number => lines.length * DOTS_DOWN * dotPx;

const columnsIn = (widthPx: number, dotPx: number): number =>
  Math.max(1, Math.floor((widthPx + dotPx) / (DOTS_ACROSS * dotPx)));

/** Accents are taken off and other characters outside ASCII kept as one sign each; all white space but lines is a blank. */
const plain = (text: string): string =>
  text
    .normalize('NFKD')
    .replace(/\p{M}+/gu, '')
    .replace(/[^\S\n]/g, ' ')
    .replace(/\p{Cc}/gu, (control) => (control === '\n' ? control : ''))
    .replace(/[\u{10000}-\u{10ffff}]/gu, '\u00ff');

/** Breaks a text at blanks into lines of at most `columns` characters; a longer word is broken where it must be. */
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
 * Lays a text out in the largest dots that let all of it into a rectangle; where even `least` are too large, the end of
 * the text is cut off.
 */
export function fitText(
  text: string,
  widthPx: number,
  heightPx: number,
  dots: { readonly most: number; readonly least: number },
): TextBlock {
  const linesIn = (dotPx: number) => Math.max(1, Math.floor(heightPx / (DOTS_DOWN * dotPx)));
  // More than the smallest dots can show is not even looked at.
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

/** Draws lines from `left`, `top` on, with a shadow that keeps them legible on any ground. */
function drawText(
  canvas: Canvas,
  { lines, dotPx }: TextBlock,
  left: number,
  top: number,
  colour: Colour,
): void {
  const shadowPx = Math.max(1, Math.floor(dotPx / 2));
  for (const [ink, offset] of [
    [pixelOf([16, 18, 28]), shadowPx],
    [pixelOf(colour), 0],
  ] as const) {
    for (const [nth, line] of lines.entries()) {
      const y = top + nth * DOTS_DOWN * dotPx + offset;
      for (const [column, character] of [...line].entries()) {
        drawGlyph(canvas, glyphOf(character), left + column * DOTS_ACROSS * dotPx + offset, y, dotPx, ink);
      }
    }
  }
}

function drawGlyph(
  canvas: Canvas,
  columns: Uint8Array,
  left: number,
  top: number,
  dotPx: number,
  ink: number,
): void {
  for (const [x, bits] of columns.entries()) {
    for (let y = 0; y < glyphRows; y++) {
      if (bits & (1 << y)) canvas.fill(left + x * dotPx, top + y * dotPx, dotPx, dotPx, ink);
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

/** What stands for a character that the table does not have. */
const box = Uint8Array.of(0x7f, 0x41, 0x41, 0x41, 0x7f);

const FIRST = ' '.charCodeAt(0);

export const glyphOf = (character: string): Uint8Array => glyphs[character.charCodeAt(0) - FIRST] ?? box;

type Colour = readonly [red: number, green: number, blue: number];

const isLittleEndian = new Uint8Array(Uint32Array.of(1).buffer)[0] === 1;

/** A pixel of RGBA as it stands in a Uint32Array over the bytes. */
const pixelOf = ([red, green, blue]: Colour, alpha = 255): number =>
  (isLittleEndian
    ? red | (green << 8) | (blue << 16) | (alpha << 24)
    : (red << 24) | (green << 16) | (blue << 8) | alpha) >>> 0;

/** A picture in memory: RGBA, 8 bits each, row by row. All drawing is clipped to it. */
export class Canvas {
  readonly data: Uint8ClampedArray<ArrayBuffer>;
  /** The same memory, a number a pixel: a row is filled many times faster than byte by byte. */
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

  /** Lays a colour over `from`-`to` of the row `y`, `share` of it 0-1; what was transparent stays so. */
  tint(y: number, from: number, to: number, [red, green, blue]: Colour, share: number): void {
    const part = Math.round(share * 256);
    const rest = 256 - part;
    const { data } = this;
    const end = 4 * (y * this.width + Math.min(this.width, to));
    for (let at = 4 * (y * this.width + Math.max(0, from)); at < end; at += 4) {
      data[at] = ((data[at] ?? 0) * rest + red * part) >> 8;
      data[at + 1] = ((data[at + 1] ?? 0) * rest + green * part) >> 8;
      data[at + 2] = ((data[at + 2] ?? 0) * rest + blue * part) >> 8;
    }
  }

  disc(centreX: number, centreY: number, radius: number, colour: Colour, share: number): void {
    const bottom = Math.min(this.height - 1, Math.ceil(centreY + radius));
    for (let y = Math.max(0, Math.floor(centreY - radius)); y <= bottom; y++) {
      const half = Math.sqrt(Math.max(0, radius ** 2 - (y - centreY) ** 2));
      this.tint(y, Math.round(centreX - half), Math.round(centreX + half), colour, share);
    }
  }

  /** Makes everything transparent that lies outside a rectangle with round corners. */
  clearAround(left: number, top: number, width: number, height: number, radius: number): void {
    for (let y = 0; y < this.height; y++) {
      const start = y * this.width;
      const past = Math.max(top + radius - y - 0.5, y + 0.5 - (top + height - radius), 0);
      if (past > radius) {
        this.pixels.fill(0, start, start + this.width);
        continue;
      }
      const inset = Math.round(left + radius - Math.sqrt(radius ** 2 - past ** 2));
      this.pixels.fill(0, start, start + inset);
      this.pixels.fill(0, start + Math.round(2 * left + width) - inset, start + this.width);
    }
  }

  /** Draws another picture into a rectangle, scaled by taking the nearest pixel, over what is there. */
  place(picture: Pixels, left: number, top: number, width: number, height: number): void {
    const from = new Uint32Array(
      picture.data.buffer,
      picture.data.byteOffset,
      picture.width * picture.height,
    );
    for (let y = 0; y < height; y++) {
      const row = Math.floor(((y + 0.5) * picture.height) / height) * picture.width;
      const to = (top + y) * this.width + left;
      for (let x = 0; x < width; x++) {
        this.pixels[to + x] = from[row + Math.floor(((x + 0.5) * picture.width) / width)] ?? 0;
      }
    }
  }

  /** A copy in square blocks of `edge` pixels, each as its middle one is. */
  inBlocks(edge: number): Canvas {
    const coarse = new Canvas(this.width, this.height);
    for (let top = 0; top < this.height; top += edge) {
      const bottom = Math.min(this.height, top + edge);
      const middle = Math.floor((top + bottom) / 2) * this.width;
      const first = top * this.width;
      for (let left = 0; left < this.width; left += edge) {
        const right = Math.min(this.width, left + edge);
        const pixel = this.pixels[middle + Math.floor((left + right) / 2)] ?? 0;
        coarse.pixels.fill(pixel, first + left, first + right);
      }
      for (let y = top + 1; y < bottom; y++) {
        coarse.pixels.copyWithin(y * this.width, first, first + this.width);
      }
    }
    return coarse;
  }
}

/** A decoded picture: RGBA, 8 bits each, row by row. */
export interface Pixels {
  readonly width: number;
  readonly height: number;
  readonly data: Uint8ClampedArray;
}
