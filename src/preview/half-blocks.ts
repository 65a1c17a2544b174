/** The colours that the terminal can show: 24 bits, the 256 of xterm, or the first 16. */
export type ColorDepth = 'true' | '256' | '16';

const UPPER = '▀';
const LOWER = '▄';
/** A pixel with less opacity is not drawn, so that the terminal's own background shows. */
const OPAQUE_FROM = 128;

/**
 * Draws a picture as text: each cell shows two pixels, the upper one as the colour of a half block and the lower one as
 * its background. It is at most `columns` wide and `rows` high; transparent pixels stay empty.
 */
export function halfBlocks(picture: Pixels, columns: number, rows: number, depth: ColorDepth): string {
  const { width, height } = fitted(picture, columns, rows * 2);
  const small = shrunk(picture, width, height);
  const code = coders[depth];
  const colorAt = (x: number, y: number): readonly number[] | undefined => {
    if (y >= height) return undefined;
    const at = (y * width + x) * 4;
    return (small.data[at + 3] ?? 0) < OPAQUE_FROM ? undefined : [...small.data.subarray(at, at + 3)];
  };
  let text = '';
  for (let y = 0; y < height; y += 2) {
    let before = '';
    for (let x = 0; x < width; x += 1) {
      const upper = colorAt(x, y);
      const lower = colorAt(x, y + 1);
      const [glyph, front, back] = upper ? [UPPER, upper, lower] : [lower ? LOWER : ' ', lower, undefined];
      const style = `${front ? code(front, 38) : '39'};${back ? code(back, 48) : '49'}`;
      text += style === before ? glyph : `\x1b[${style}m${glyph}`;
      before = style;
    }
    text += '\x1b[0m\n';
  }
  return text;
}

/** The escape codes that select a colour; `base` is 38 for the foreground and 48 for the background. */
const coders: Readonly<Record<ColorDepth, (color: readonly number[], base: number) => string>> = {
  true: ([red = 0, green = 0, blue = 0], base) => `${base};2;${red};${green};${blue}`,
  '256': (color, base) => `${base};5;${paletteIndex(color)}`,
  '16': ([red = 0, green = 0, blue = 0], base) => {
    const bright = Math.max(red, green, blue) > 170 ? 60 : 0;
    const bits = (red > 85 ? 1 : 0) + (green > 85 ? 2 : 0) + (blue > 85 ? 4 : 0);
    return String(base - 8 + bits + bright);
  },
};

/** The nearest colour of xterm's colour cube and greys. */
function paletteIndex([red = 0, green = 0, blue = 0]: readonly number[]): number {
  const mean = (red + green + blue) / 3;
  const isGrey = Math.max(red, green, blue) - Math.min(red, green, blue) < 12;
  if (isGrey && mean > 4 && mean < 243) return 232 + Math.min(23, Math.max(0, Math.round((mean - 8) / 10)));
  const [r = 0, g = 0, b = 0] = [red, green, blue].map(cubeStep);
  return 16 + 36 * r + 6 * g + b;
}

const cubeStep = (level: number): number =>
  level < 48 ? 0 : level < 115 ? 1 : Math.min(5, Math.round((level - 35) / 40));

/** A picture as rows of RGBA pixels. */
export interface Pixels {
  readonly width: number;
  readonly height: number;
  readonly data: Uint8Array | Uint8ClampedArray;
}

/** The largest size with the picture's aspect ratio that fits in a box; never larger than the picture. */
export function fitted({ width, height }: Pixels, maxWidth: number, maxHeight: number) {
  const scale = Math.min(1, maxWidth / width, maxHeight / height);
  return { width: Math.max(1, Math.round(width * scale)), height: Math.max(1, Math.round(height * scale)) };
}

/** Shrinks a picture: each pixel is the mean of the pixels it covers, weighted by their opacity. */
export function shrunk(from: Pixels, width: number, height: number): Pixels {
  if (width === from.width && height === from.height) return from;
  const data = new Uint8Array(width * height * 4);
  for (let y = 0; y < height; y += 1) {
    const top = Math.floor((y * from.height) / height);
    const bottom = Math.max(top + 1, Math.floor(((y + 1) * from.height) / height));
    for (let x = 0; x < width; x += 1) {
      const left = Math.floor((x * from.width) / width);
      const right = Math.max(left + 1, Math.floor(((x + 1) * from.width) / width));
      data.set(meanOf(from, left, top, right, bottom), (y * width + x) * 4);
    }
  }
  return { width, height, data };
}

function meanOf({ data, width }: Pixels, left: number, top: number, right: number, bottom: number) {
  let red = 0;
  let green = 0;
  let blue = 0;
  let opacity = 0;
  for (let y = top; y < bottom; y += 1) {
    for (let at = (y * width + left) * 4; at < (y * width + right) * 4; at += 4) {
      const alpha = data[at + 3] ?? 0;
      red += (data[at] ?? 0) * alpha;
      green += (data[at + 1] ?? 0) * alpha;
      blue += (data[at + 2] ?? 0) * alpha;
      opacity += alpha;
    }
  }
  const share = Math.max(opacity, 1);
  return [red / share, green / share, blue / share, opacity / ((right - left) * (bottom - top))];
}
