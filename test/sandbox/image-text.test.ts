import { describe, expect, it } from 'vitest';
import { draw, fitText, glyphColumns, glyphOf, heightOf, wrapText } from '../../src/sandbox/image/draw.ts';

// The texts on the sandbox's images.

const printable = Array.from({ length: 95 }, (_, nth) => String.fromCharCode(32 + nth));

describe('the glyphs', () => {
  it('are one of its own for each printable character', () => {
    const shapes = printable.map((character) => Buffer.from(glyphOf(character)).toString('hex'));
    expect(new Set(shapes).size).toBe(95);
    expect(shapes.every((shape) => shape.length === 2 * glyphColumns)).toBe(true);
    expect(shapes[0]).toBe('0000000000');
  });

  it.each(['\u00ff', '日', '\ud800'])('are a box for %j', (character) => {
    expect(glyphOf(character)).toEqual(Uint8Array.of(0x7f, 0x41, 0x41, 0x41, 0x7f));
  });
});

describe('text', () => {
  it.each([
    ['a paper boat', 7, ['a paper', 'boat']],
    ['a paper boat', 12, ['a paper boat']],
    ['unbreakable', 4, ['unbr', 'eaka', 'ble']],
    ['two\nlines\n\nmore', 10, ['two', 'lines', '', 'more']],
    ['über cafe\u0301\t\u0007x', 20, ['uber cafe x']],
    ['a 🦊 fox', 20, ['a \u00ff fox']],
    ['', 5, ['']],
  ])('%j breaks at %i columns', (text, columns, lines) => {
    expect(wrapText(text, columns)).toEqual(lines);
  });

  it('is drawn as large as it fits', () => {
    const room = [600, 200, { most: 8, least: 2 }] as const;
    expect(fitText('fox', ...room)).toEqual({ lines: ['fox'], dotPx: 8 });
    const long = fitText('word '.repeat(40).trim(), ...room);
    expect(long.dotPx).toBeLessThan(8);
    expect(heightOf(long)).toBeLessThanOrEqual(200);
    expect(long.lines.join(' ')).toBe('word '.repeat(40).trim());
  });

  it('is cut with dots where even the smallest is too large', () => {
    const cut = fitText('word '.repeat(6400), 600, 200, { most: 8, least: 2 });
    expect(cut.dotPx).toBe(2);
    expect(heightOf(cut)).toBeLessThanOrEqual(200);
    expect(cut.lines.at(-1)).toMatch(/\.\.\.$/);
  });
});

it.each([
  [1, 1],
  [16, 16],
  [1, 3000],
  [3000, 1],
  [33, 17],
])('a picture of %ix%i holds its words', (widthPx, heightPx) => {
  for (const isTransparent of [false, true]) {
    const order = {
      widthPx,
      heightPx,
      isTransparent,
      prompt: 'a fox '.repeat(50),
      caption: 'img-2',
      seed: 'x',
    };
    const { data } = draw(order);
    expect(data).toHaveLength(4 * widthPx * heightPx);
    expect(data.some((value) => value !== 0)).toBe(true);
  }
});
