import { type Canvas, type Colour, pixelOf } from './canvas.ts';
import { glyphColumns, glyphOf, glyphRows } from './glyphs.ts';

/** A character takes so many dots across, and a line so many down. */
const DOTS_ACROSS = glyphColumns + 1;
const DOTS_DOWN = glyphRows + 3;
const CUT = '...';

/** Text in lines, each character drawn in dots of `dotPx`. */
export interface TextBlock {
  readonly lines: readonly string[];
  readonly dotPx: number;
}

export const heightOf = ({ lines, dotPx }: TextBlock): number => lines.length * DOTS_DOWN * dotPx;

/** How many characters of this size go into a width. */
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
export function drawText(
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
