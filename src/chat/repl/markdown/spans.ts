import type { Token, Tokens } from 'marked';
import { textOf } from '../../../gateway/json-value.ts';
import { displayWidth } from '../../../io/display-width.ts';
import { visible } from '../../../io/escape.ts';

type Paint = (text: string) => string;

export const asIs: Paint = (text) => text;

/** Styles of the colouring library for the parts of a text. */
const styles = {
  strong: ['bold'],
  emphasis: ['italic'],
  deleted: ['strikethrough'],
  code: ['cyan'],
  link: ['underline'],
  faint: ['dim'],
  title: ['bold', 'underline'],
  heading: ['bold'],
} as const;

/** The painters for the parts of a text. Without colour the marks of Markdown stay, as nothing else shows them. */
export type Ink = Readonly<Record<keyof typeof styles, Paint>> & { readonly hasColor: boolean };

/** Loads the colouring library, if there is colour. */
export async function loadInk(hasColor: boolean): Promise<Ink> {
  const chalk = hasColor ? new (await import('chalk')).Chalk({ level: 1 }) : undefined;
  const paints = Object.entries(styles).map(([part, [first, second]]) => {
    const paint = chalk && (second ? chalk[first][second] : chalk[first]);
    return [part, paint ? (text: string) => paint(text) : asIs];
  });
  return { ...Object.fromEntries(paints), hasColor };
}

/** A piece of text with one painter; a newline in it is an intended line break. */
export interface Span {
  readonly text: string;
  readonly paint: Paint;
}

/** Converts inline Markdown to painted pieces that are safe for a terminal. */
export const spansOf = (tokens: readonly Token[], ink: Ink, paint = asIs): Span[] =>
  (tokens as readonly Tokens.Generic[]).flatMap((token) => [...span(token, ink, paint)]);

export function plainText(spans: readonly Span[]): string {
  return spans.map(({ text }) => text).join('');
}

function* span(token: Tokens.Generic, ink: Ink, paint: Paint): Generator<Span> {
  const inner = token.tokens ?? [];
  switch (token.type) {
    case 'strong':
      return yield* marked(inner, '**', ink.strong, ink, paint);
    case 'em':
      return yield* marked(inner, '*', ink.emphasis, ink, paint);
    case 'del':
      return yield* marked(inner, '~~', ink.deleted, ink, paint);
    case 'codespan': {
      const mark = ink.hasColor ? '' : '`';
      return yield { text: `${mark}${safe(token.text)}${mark}`, paint: within(paint, ink.code) };
    }
    case 'br':
      return yield { text: '\n', paint };
    case 'checkbox':
      return yield { text: token.checked === true ? '[x] ' : '[ ] ', paint };
    case 'link':
      return yield* link(token as Tokens.Link, ink, paint);
    case 'image':
      return yield { text: `[${safe(token.text) || 'image'}] (${safe(token.href)})`, paint };
    case 'html':
      return yield { text: /^<br\s*\/?>$/i.test(token.raw) ? '\n' : safe(token.raw), paint };
    case 'escape':
      return yield { text: safe(token.text), paint };
    default:
      // The lexer has resolved entities such as `&#27;`, so the text must be made safe again.
      if (inner.length > 0) yield* spansOf(inner, ink, paint);
      // A line end within a paragraph becomes a blank, because lines are wrapped again.
      else yield { text: safe(token.text ?? token.raw).replace(/[ \t]*\n[ \t]*/g, ' '), paint };
  }
}

function* marked(inner: readonly Token[], mark: string, own: Paint, ink: Ink, paint: Paint): Generator<Span> {
  const marks = ink.hasColor ? [] : [{ text: mark, paint }];
  yield* marks;
  yield* spansOf(inner, ink, within(paint, own));
  yield* marks;
}

/** The address is shown beside the text of a link, because a hidden address could deceive. */
function* link(token: Tokens.Link, ink: Ink, paint: Paint): Generator<Span> {
  const inner = spansOf(token.tokens, ink, within(paint, ink.link));
  yield* inner;
  const href = safe(token.href);
  const text = plainText(inner);
  if (href !== text && href !== `mailto:${text}` && href !== `http://${text}`)
    yield { text: ` (${href})`, paint: within(paint, ink.faint) };
}

/** A painter that paints twice: with `inner`, and then with `outer` around that. */
export const within =
  (outer: Paint, inner: Paint): Paint =>
  (text) =>
    outer(inner(text));

const safe = (text: unknown): string => visible(textOf(text));

/** White space, a character of a script that is written without blanks, or a word. */
const pieces =
  /\n|[^\S\n]+|[\u2e80-\u9fff\uac00-\ud7a3\uf900-\ufaff\uff01-\uff60]|[^\s\u2e80-\u9fff\uac00-\ud7a3\uf900-\ufaff\uff01-\uff60]+/g;

interface Piece {
  readonly text: string;
  readonly paint: Paint;
  readonly columns: number;
}

/** Wraps painted text into lines of at most `columns` columns; a longer word is cut. */
export function wrap(spans: readonly Span[], columns: number): string[] {
  const width = Math.max(1, columns);
  const lines = new Lines(width);
  let word: Piece[] = [];
  const endWord = () => {
    lines.addWord(word);
    word = [];
  };
  for (const { text, paint } of spans) {
    for (const [piece] of text.matchAll(pieces)) {
      if (piece === '\n') {
        endWord();
        lines.break();
      } else if (/^\s/.test(piece)) {
        endWord();
        lines.addBlank({ text: ' ', paint, columns: 1 });
      } else if (/^[\u2e80-\uff60]/.test(piece)) {
        endWord();
        lines.addWord([{ text: piece, paint, columns: displayWidth(piece) }]);
      } else word.push({ text: piece, paint, columns: displayWidth(piece) });
    }
  }
  endWord();
  return lines.end();
}

class Lines {
  readonly #done: string[] = [];
  #line: Piece[] = [];
  #columns = 0;
  #blank: Piece | undefined;

  constructor(private readonly width: number) {}

  /** The blank is kept until the next word, and dropped if that begins a line. */
  addBlank(blank: Piece): void {
    if (this.#line.length > 0) this.#blank = blank;
  }

  addWord(word: readonly Piece[]): void {
    if (word.length === 0) return;
    const columns = word.reduce((sum, piece) => sum + piece.columns, 0);
    const blank = this.#blank;
    this.#blank = undefined;
    const isFirst = this.#line.length === 0;
    if (!isFirst && this.#columns + (blank?.columns ?? 0) + columns > this.width) this.break();
    else if (blank !== undefined) this.#put(blank);
    for (const piece of word) this.#putCut(piece);
  }

  break(): void {
    this.#done.push(paintTogether(this.#line));
    this.#line = [];
    this.#columns = 0;
    this.#blank = undefined;
  }

  end(): string[] {
    if (this.#line.length > 0 || this.#done.length === 0) this.break();
    return this.#done;
  }

  #put(piece: Piece): void {
    this.#line.push(piece);
    this.#columns += piece.columns;
  }

  #putCut(piece: Piece): void {
    if (this.#columns + piece.columns <= this.width) {
      this.#put(piece);
      return;
    }
    for (const character of piece.text) {
      const columns = displayWidth(character);
      if (this.#columns + columns > this.width && this.#line.length > 0) this.break();
      this.#put({ text: character, paint: piece.paint, columns });
    }
  }
}

/** Neighbours with the same painter are painted together, which needs fewer control sequences. */
function paintTogether(line: readonly Piece[]): string {
  let text = '';
  let run = '';
  let paint: Paint | undefined;
  for (const piece of line) {
    if (piece.paint !== paint) {
      text += paint === undefined ? '' : paint(run);
      run = '';
      paint = piece.paint;
    }
    run += piece.text;
  }
  return text + (paint === undefined ? '' : paint(run));
}
