import type { Token } from 'marked';
import { visible } from '../../../io/escape.ts';
import { blockLines, type Drawing } from './blocks.ts';
import { asIs } from './ink.ts';
import { wrap } from './wrap.ts';

/** A long block is looked at again only when it has grown by this share: a list of a thousand lines is not read a thousand times. */
const GROWTH = 1 / 16;

/** The lexer of the Markdown library. */
export type Lex = (text: string) => Token[];

/** Loads the Markdown library. */
export async function loadLex(): Promise<Lex> {
  const { Lexer } = await import('marked');
  return (text) => new Lexer({ gfm: true }).lex(text);
}

/**
 * Markdown that comes in pieces. A block is finished, and drawn for good, when another one has begun behind it; the one
 * that is being written is drawn again with each piece.
 */
export class MarkdownStream {
  #open = '';
  #isFirst = true;
  /** True once the lexer has given up. */
  #isPlain = false;
  /** How much of the open text is whole lines. */
  #wholeLength = 0;
  /** How much of that the lexer has seen. */
  #lexedLength = 0;

  constructor(private readonly lex: Lex) {}

  /** Takes the next piece, which must be safe for the terminal; returns the lines that are finished by it. */
  push(piece: string, drawing: Drawing): string[] {
    const lineEnd = piece.lastIndexOf('\n') + 1;
    if (lineEnd > 0) this.#wholeLength = this.#open.length + lineEnd;
    this.#open += piece;
    const wholeLength = this.#wholeLength;
    if (wholeLength <= this.#lexedLength * (1 + GROWTH)) return [];
    this.#lexedLength = wholeLength;
    const tokens = this.#lexed(this.#open.slice(0, wholeLength));
    if (tokens === undefined) return [];
    const last = tokens.findLastIndex(({ type }) => type !== 'space');
    const finished = tokens.slice(0, Math.max(0, last));
    if (finished.every(({ type }) => type === 'space')) return [];
    const raw = finished.map((token) => token.raw).join('');
    if (!this.#open.startsWith(raw)) return [];
    this.#open = this.#open.slice(raw.length);
    this.#wholeLength -= raw.length;
    this.#lexedLength = this.#wholeLength;
    return this.#spaced(blockLines(finished, drawing));
  }

  /** The block that is being written, as it would look if it ended here. */
  live(drawing: Drawing): string[] {
    const lines = this.#draw(drawing);
    return lines.length === 0 || this.#isFirst ? lines : ['', ...lines];
  }

  /** The lines of what is left. */
  end(drawing: Drawing): string[] {
    const lines = this.#spaced(this.#draw(drawing));
    this.#open = '';
    this.#lexedLength = 0;
    this.#wholeLength = 0;
    return lines;
  }

  #draw(drawing: Drawing): string[] {
    if (this.#open.trim() === '') return [];
    const tokens = this.#lexed(this.#open);
    if (tokens !== undefined) return blockLines(tokens, drawing);
    return wrap([{ text: visible(this.#open.trimEnd()), paint: asIs }], drawing.columns);
  }

  /** Undefined for text that the lexer cannot take: a thousand quotes within each other end its stack. What follows is plain. */
  #lexed(text: string): Token[] | undefined {
    if (this.#isPlain) return undefined;
    try {
      return this.lex(text);
    } catch (error) {
      if (!(error instanceof RangeError)) throw error;
      this.#isPlain = true;
      return undefined;
    }
  }

  #spaced(lines: string[]): string[] {
    if (lines.length === 0) return lines;
    const spaced = this.#isFirst ? lines : ['', ...lines];
    this.#isFirst = false;
    return spaced;
  }
}
