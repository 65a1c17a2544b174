import { fitted, type Pixels, shrunk } from './pixels.ts';

/** What the terminal can show: 24 bits a colour, the 256 of xterm, or the first 16. */
export type ColorDepth = 'true' | '256' | '16';

const UPPER = '▀';
const LOWER = '▄';
/** Below this a pixel is taken for a hole, and the terminal's own background shows. */
const OPAQUE_FROM = 128;

/**
 * A picture as text: a cell holds two pixels, the upper one as the colour of a half block and the lower one as that of
 * its background. At most `columns` wide and `rows` high; holes stay holes.
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

/** The numbers that select a colour; `base` is 38 for the front and 48 for the back. */
const coders: Readonly<Record<ColorDepth, (color: readonly number[], base: number) => string>> = {
  true: ([red = 0, green = 0, blue = 0], base) => `${base};2;${red};${green};${blue}`,
  '256': (color, base) => `${base};5;${paletteIndex(color)}`,
  '16': ([red = 0, green = 0, blue = 0], base) => {
    const bright = Math.max(red, green, blue) > 170 ? 60 : 0;
    const bits = (red > 85 ? 1 : 0) + (green > 85 ? 2 : 0) + (blue > 85 ? 4 : 0);
    return String(base - 8 + bits + bright);
  },
};

/** The nearest of xterm's colour cube and its greys. */
function paletteIndex([red = 0, green = 0, blue = 0]: readonly number[]): number {
  const mean = (red + green + blue) / 3;
  const isGrey = Math.max(red, green, blue) - Math.min(red, green, blue) < 12;
  if (isGrey && mean > 4 && mean < 243) return 232 + Math.min(23, Math.max(0, Math.round((mean - 8) / 10)));
  const [r = 0, g = 0, b = 0] = [red, green, blue].map(cubeStep);
  return 16 + 36 * r + 6 * g + b;
}

/** The cube's levels are 0, 95, 135, 175, 215, 255. */
const cubeStep = (level: number): number =>
  level < 48 ? 0 : level < 115 ? 1 : Math.min(5, Math.round((level - 35) / 40));
