import { stripVTControlCharacters } from 'node:util';
import type { Token, Tokens } from 'marked';
import { cutToWidth, displayWidth } from '../../../io/display-width.ts';
import { visible } from '../../../io/escape.ts';
import { asIs, type Ink, plainText, type Span, spansOf, within, wrap } from './spans.ts';

/** The colours and the width for drawing a text. */
export interface Drawing {
  readonly ink: Ink;
  readonly columns: number;
  readonly hasUnicode: boolean;
  /** True to cut overlong code lines, in lines that are redrawn; otherwise code stays whole, so that it can be copied. */
  readonly cutCode: boolean;
}

const TAB = '    ';
/** Text deep in lists and quotes is drawn wider than the terminal rather than narrower than this. */
const MIN_COLUMNS = 8;

export function blockLines(tokens: readonly Token[], drawing: Drawing): string[] {
  return (tokens as readonly Tokens.Generic[])
    .filter(({ type }) => type !== 'space')
    .flatMap((token, index) => [...(index === 0 ? [] : ['']), ...lines(token, drawing)]);
}

function lines(token: Tokens.Generic, drawing: Drawing): string[] {
  const { ink, columns, hasUnicode } = drawing;
  switch (token.type) {
    case 'heading':
      return headingLines(token as Tokens.Heading, drawing);
    case 'code':
      return codeLines(token as Tokens.Code, drawing);
    case 'blockquote': {
      const edge = ink.faint(hasUnicode ? '│ ' : '> ');
      const inner = blockLines(token.tokens ?? [], {
        ...drawing,
        columns: Math.max(MIN_COLUMNS, columns - 2),
      });
      return inner.map((line) => `${edge}${line}`);
    }
    case 'list':
      return listLines(token as Tokens.List, drawing);
    case 'table':
      return tableLines(token as Tokens.Table, drawing);
    case 'hr':
      return [ink.faint((hasUnicode ? '─' : '-').repeat(Math.min(columns, 40)))];
    case 'def':
    case 'html':
      return wrap(textSpans(token.raw.trimEnd()), columns);
    default:
      return wrap(token.tokens ? spansOf(token.tokens, ink) : textSpans(token.text ?? token.raw), columns);
  }
}

const textSpans = (text: string): Span[] => [{ text: visible(text), paint: asIs }];

function headingLines({ depth, tokens }: Tokens.Heading, { ink, columns }: Drawing): string[] {
  const paint = depth === 1 ? ink.title : ink.heading;
  const mark = ink.hasColor ? [] : [{ text: `${'#'.repeat(depth)} `, paint }];
  const spans = spansOf(tokens, ink).map((span) => repainted(span, paint));
  return wrap([...mark, ...spans], columns);
}

function codeLines({ lang, text }: Tokens.Code, { ink, columns, cutCode }: Drawing): string[] {
  const fence = ink.hasColor ? '' : '```';
  const label = visible(lang ?? '').replaceAll('\t', ' ');
  const code = text.split('\n').map((line) => {
    const whole = `  ${visible(line).replaceAll('\t', TAB)}`;
    return ink.code(cutCode ? cutToWidth(whole, columns) : whole);
  });
  const shown = cutCode ? cutToWidth(`${fence}${label}`, columns) : `${fence}${label}`;
  return [...(shown === '' ? [] : [ink.faint(shown)]), ...code, ...(fence === '' ? [] : [fence])];
}

function listLines({ items, ordered, start, loose }: Tokens.List, drawing: Drawing): string[] {
  const first = start === '' ? 1 : start;
  const bullet = drawing.hasUnicode ? '•' : '-';
  const marks = items.map((_, index) => (ordered ? `${first + index}.` : bullet));
  const indent = Math.max(0, ...marks.map(displayWidth)) + 1;
  return items.flatMap((item, index) => {
    const inner = itemLines(item, { ...drawing, columns: Math.max(MIN_COLUMNS, drawing.columns - indent) });
    const mark = (marks[index] ?? '').padStart(indent - 1);
    const marked = inner.map((line, at) => {
      if (at === 0) return `${mark} ${line}`;
      return line === '' ? '' : `${' '.repeat(indent)}${line}`;
    });
    return loose && index > 0 ? ['', ...marked] : marked;
  });
}

/** In a tight list, the parts of an item follow without blank lines. */
function itemLines(item: Tokens.ListItem, drawing: Drawing): string[] {
  const lines = item.loose
    ? blockLines(item.tokens, drawing)
    : inlineTogether(item.tokens).flatMap((block) => blockLines(block, drawing));
  return lines.length === 0 ? [''] : lines;
}

/** The checkbox of a task is a token of its own, which is joined with its text. */
function inlineTogether(tokens: readonly Token[]): Token[][] {
  const groups: Token[][] = [];
  for (const token of tokens) {
    if (token.type === 'space') continue;
    const last = groups.at(-1);
    const box = last?.length === 1 ? last[0] : undefined;
    if (box?.type === 'checkbox' && token.type === 'text') {
      const { raw, text, tokens: inner } = token as Tokens.Text;
      groups.pop();
      groups.push([{ type: 'paragraph', raw, text, tokens: [box, ...(inner ?? [])] } as Tokens.Paragraph]);
    } else groups.push([token]);
  }
  return groups;
}

/** A narrower column is unreadable, so such a table is drawn wider than the terminal. */
const MIN_COLUMN = 4;
const GAP = 3;

/** A table with its cells wrapped to fit the width, if that is possible. */
function tableLines({ header, rows, align }: Tokens.Table, drawing: Drawing): string[] {
  const { ink, columns } = drawing;
  const cells = [header, ...rows].map((row) => row.map((cell) => spansOf(cell.tokens, ink)));
  const widths = fitted(naturalWidths(cells, header.length), columns - GAP * (header.length - 1));
  const [line, cross] = drawing.hasUnicode ? ['─', '─┼─'] : ['-', '-+-'];
  const bar = ink.faint(drawing.hasUnicode ? ' │ ' : ' | ');
  const rule = ink.faint(widths.map((width) => line.repeat(width)).join(cross));
  return cells.flatMap((row, index) => {
    const painted = index === 0 ? row.map((cell) => cell.map((span) => repainted(span, ink.strong))) : row;
    const wrapped = widths.map((width, column) => wrap(painted[column] ?? [], width));
    const height = highest(wrapped.map((lines) => lines.length));
    const lines = Array.from({ length: height }, (_, at) =>
      widths
        .map((width, column) => pad(wrapped[column]?.[at] ?? '', width, align[column] ?? 'left'))
        .join(bar)
        .trimEnd(),
    );
    return index === 0 ? [...lines, rule] : lines;
  });
}

const repainted = ({ text, paint }: Span, outer: Span['paint']): Span => ({
  text,
  paint: within(outer, paint),
});

function naturalWidths(cells: readonly (readonly Span[])[][], count: number): number[] {
  return Array.from({ length: count }, (_, column) =>
    highest([1, ...cells.map((row) => displayWidth(plainText(row[column] ?? [])))]),
  );
}

/** Reduces the widest columns to a common width that fits the total; the remainder goes to the last ones. */
function fitted(widths: readonly number[], total: number): number[] {
  const cutTo = (limit: number) => widths.map((width) => Math.min(width, limit));
  let limit = MIN_COLUMN;
  let tooWide = highest(widths) + 1;
  while (limit + 1 < tooWide) {
    const middle = Math.floor((limit + tooWide) / 2);
    if (sum(cutTo(middle)) <= total) limit = middle;
    else tooWide = middle;
  }
  const narrowed = cutTo(limit);
  let spare = total - sum(narrowed);
  for (let column = widths.length - 1; spare > 0 && column >= 0; column -= 1) {
    if ((widths[column] ?? 0) <= limit) continue;
    narrowed[column] = limit + 1;
    spare -= 1;
  }
  return narrowed;
}

/** No spread here, because a table may have more rows than a call accepts arguments. */
const highest = (numbers: readonly number[]) => numbers.reduce((most, each) => Math.max(most, each), 0);

const sum = (numbers: readonly number[]) => numbers.reduce((total, each) => total + each, 0);

function pad(painted: string, width: number, align: 'left' | 'right' | 'center'): string {
  const blanks = Math.max(0, width - displayWidth(stripVTControlCharacters(painted)));
  const before = align === 'right' ? blanks : align === 'center' ? Math.floor(blanks / 2) : 0;
  return ' '.repeat(before) + painted + ' '.repeat(blanks - before);
}
