import { seededInt, seededRandom } from '../seeded.ts';
import { Canvas, type Colour, type Pixels, pixelOf } from './canvas.ts';
import { drawText, fitText, heightOf } from './text.ts';

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
