import { stripVTControlCharacters } from 'node:util';
import type { Tokens } from 'marked';
import { displayWidth } from '../../../io/display-width.ts';
import type { Drawing } from './blocks.ts';
import { plainText, type Span, spansOf } from './spans.ts';
import { wrap } from './wrap.ts';

/** Columns narrower than this cannot be read; a table that would need them is wider than the terminal. */
const MIN_COLUMN = 4;
const GAP = 3;

/** A table with its cells wrapped, so that it fits the width where that is at all possible. */
export function tableLines({ header, rows, align }: Tokens.Table, drawing: Drawing): string[] {
  const { ink, columns } = drawing;
  const cells = [header, ...rows].map((row) => row.map((cell) => spansOf(cell.tokens, ink)));
  const widths = fitted(naturalWidths(cells, header.length), columns - GAP * (header.length - 1));
  const [line, cross] = drawing.hasUnicode ? ['─', '─┼─'] : ['-', '-+-'];
  const bar = ink.faint(drawing.hasUnicode ? ' │ ' : ' | ');
  const rule = ink.faint(widths.map((width) => line.repeat(width)).join(cross));
  return cells.flatMap((row, index) => {
    const painted = index === 0 ? row.map((cell) => cell.map((span) => bold(span, ink.strong))) : row;
    const wrapped = widths.map((width, column) => wrap(painted[column] ?? [], width));
    const height = Math.max(...wrapped.map((lines) => lines.length));
    const lines = Array.from({ length: height }, (_, at) =>
      widths
        .map((width, column) => pad(wrapped[column]?.[at] ?? '', width, align[column] ?? 'left'))
        .join(bar)
        .trimEnd(),
    );
    return index === 0 ? [...lines, rule] : lines;
  });
}

const bold = ({ text, paint }: Span, strong: Span['paint']): Span => ({
  text,
  paint: (plain) => strong(paint(plain)),
});

function naturalWidths(cells: readonly (readonly Span[])[][], count: number): number[] {
  return Array.from({ length: count }, (_, column) =>
    Math.max(1, ...cells.map((row) => displayWidth(plainText(row[column] ?? [])))),
  );
}

/** Takes from the widest column as long as the sum is too large. */
function fitted(widths: readonly number[], total: number): number[] {
  const narrowed = [...widths];
  for (let over = sum(narrowed) - total; over > 0; over -= 1) {
    const widest = narrowed.indexOf(Math.max(...narrowed));
    const width = narrowed[widest] ?? 0;
    if (width <= MIN_COLUMN) break;
    narrowed[widest] = width - 1;
  }
  return narrowed;
}

const sum = (numbers: readonly number[]) => numbers.reduce((total, each) => total + each, 0);

function pad(painted: string, width: number, align: 'left' | 'right' | 'center'): string {
  const blanks = Math.max(0, width - displayWidth(stripVTControlCharacters(painted)));
  const before = align === 'right' ? blanks : align === 'center' ? Math.floor(blanks / 2) : 0;
  return ' '.repeat(before) + painted + ' '.repeat(blanks - before);
}
