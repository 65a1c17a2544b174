import type { Token, Tokens } from 'marked';
import { cutToWidth, displayWidth } from '../../../io/display-width.ts';
import { visible } from '../../../io/escape.ts';
import type { Ink } from './ink.ts';
import { type Span, spansOf } from './spans.ts';
import { tableLines } from './table.ts';
import { wrap } from './wrap.ts';

/** What a text is drawn with and how wide. */
export interface Drawing {
  readonly ink: Ink;
  readonly columns: number;
  readonly hasUnicode: boolean;
  /** Code longer than the line is cut, for lines that are drawn over again; else it stays whole, to be copied. */
  readonly cutCode: boolean;
}

const TAB = '    ';

/** Blocks of Markdown -> painted lines with a blank one between blocks. */
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
      const inner = blockLines(token.tokens ?? [], { ...drawing, columns: columns - 2 });
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

const textSpans = (text: string): Span[] => [{ text: visible(text), paint: (plain) => plain }];

function headingLines({ depth, tokens }: Tokens.Heading, { ink, columns }: Drawing): string[] {
  const paint = depth === 1 ? ink.title : ink.heading;
  const mark = ink.hasColor ? [] : [{ text: `${'#'.repeat(depth)} `, paint }];
  const spans = spansOf(tokens, ink).map((span) => ({
    text: span.text,
    paint: (text: string) => paint(span.paint(text)),
  }));
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
    const inner = itemLines(item, { ...drawing, columns: Math.max(8, drawing.columns - indent) });
    const mark = (marks[index] ?? '').padStart(indent - 1);
    const marked = inner.map((line, at) => {
      if (at === 0) return `${mark} ${line}`;
      return line === '' ? '' : `${' '.repeat(indent)}${line}`;
    });
    return loose && index > 0 ? ['', ...marked] : marked;
  });
}

/** In a tight list what an item holds follows without blank lines. */
function itemLines(item: Tokens.ListItem, drawing: Drawing): string[] {
  const spaced = blockLines(item.tokens, drawing);
  if (item.loose) return spaced.length === 0 ? [''] : spaced;
  const blocks = inlineTogether(item.tokens);
  const tight = blocks.flatMap((block) => blockLines(block, drawing));
  return tight.length === 0 ? [''] : tight;
}

/** A task's box comes as a token of its own beside the text that it belongs to. */
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
