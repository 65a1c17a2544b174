import type { Token } from 'marked';
import { visible } from '../../../io/escape.ts';
import { blockLines, type Drawing } from './blocks.ts';
import { asIs, wrap } from './spans.ts';

/** A long block is parsed again only after growing by this share, and not for each line of a long list. */
const GROWTH = 1 / 16;
/** A longer block or line ends the rendering: the rest of the text is shown plain. */
const MAX_BLOCK = 64 * 1024;
const MAX_LINE = 8 * 1024;
/** A longer piece is split, so that its blocks are found before it exceeds the limit of a block. */
const MAX_PIECE = 16 * 1024;

/**
 * Renders Markdown that arrives in pieces. A block is finished, and drawn for the last time, when the next one has begun;
 * the block being written is drawn again with each piece. Only one block is kept, however long the text is.
 */
export class MarkdownStream {
  #open = '';
  /** True if a blank line precedes the next block. */
  #hasGap = false;
  /** True once the text has exceeded a limit, or the lexer has failed. */
  #isPlain = false;
  /** The length of the complete lines in the open text. */
  #wholeLength = 0;
  /** The length of these that the lexer has seen. */
  #lexedLength = 0;

  constructor(private readonly lex: Lex) {}

  /** Adds the next piece, which must be safe for the terminal; returns the lines that it finishes. */
  push(piece: string, drawing: Drawing): string[] {
    const parts = Math.max(1, Math.ceil(piece.length / MAX_PIECE));
    return Array.from({ length: parts }, (_, at) =>
      piece.slice(at * MAX_PIECE, (at + 1) * MAX_PIECE),
    ).flatMap((part) => this.#push(part, drawing));
  }

  #push(piece: string, drawing: Drawing): string[] {
    const lineEnd = piece.lastIndexOf('\n') + 1;
    const before = this.#open.length;
    this.#open += piece;
    const lines = () => this.#open.slice(this.#wholeLength).split('\n');
    this.#isPlain ||= lines().some(({ length }) => length > MAX_LINE);
    if (lineEnd > 0) this.#wholeLength = before + lineEnd;
    const finished = this.#isPlain ? [] : this.#finished(drawing);
    this.#isPlain ||= this.#open.length > MAX_BLOCK;
    return this.#isPlain ? [...finished, ...this.#plain()] : finished;
  }

  /** The block being written, as it would look if it ended here. */
  live(drawing: Drawing): string[] {
    const lines = this.#draw(drawing);
    return lines.length > 0 && this.#hasGap ? ['', ...lines] : lines;
  }

  end(drawing: Drawing): string[] {
    const lines = this.live(drawing);
    this.#take(this.#open.length);
    return lines;
  }

  #draw(drawing: Drawing): string[] {
    if (this.#open.trim() === '') return [];
    const tokens = this.#lexed(this.#open);
    if (tokens !== undefined) return blockLines(tokens, drawing);
    return wrap([{ text: visible(this.#open.trimEnd()), paint: asIs }], drawing.columns);
  }

  #finished(drawing: Drawing): string[] {
    if (this.#wholeLength <= this.#lexedLength * (1 + GROWTH)) return [];
    this.#lexedLength = this.#wholeLength;
    const tokens = this.#lexed(this.#open.slice(0, this.#wholeLength)) ?? [];
    const last = tokens.findLastIndex(({ type }) => type !== 'space');
    const finished = tokens.slice(0, Math.max(0, last));
    if (finished.every(({ type }) => type === 'space')) return [];
    const raw = finished.map((token) => token.raw).join('');
    if (!this.#open.startsWith(raw)) return [];
    this.#take(raw.length);
    const lines = blockLines(finished, drawing);
    const spaced = this.#hasGap ? ['', ...lines] : lines;
    this.#hasGap = true;
    return spaced;
  }

  /** Complete lines unchanged, and an incomplete line once it is too long to be drawn again. */
  #plain(): string[] {
    const isLong = this.#open.length - this.#wholeLength > MAX_LINE;
    const text = this.#open.slice(0, isLong ? this.#open.length : this.#wholeLength);
    if (text === '') return [];
    this.#take(text.length);
    const lines = visible(text.replace(/\n$/, '')).split('\n');
    const spaced = this.#hasGap ? ['', ...lines] : lines;
    this.#hasGap = false;
    return spaced;
  }

  #take(length: number): void {
    this.#open = this.#open.slice(length);
    this.#wholeLength = Math.max(0, this.#wholeLength - length);
    this.#lexedLength = this.#wholeLength;
  }

  /** Undefined if the lexer fails; the rest of the text is then plain. */
  #lexed(text: string): Token[] | undefined {
    if (this.#isPlain) return undefined;
    try {
      return this.lex(text);
    } catch {
      this.#isPlain = true;
      return undefined;
    }
  }
}

/** The lexer of the Markdown library. */
export type Lex = (text: string) => Token[];

/** Deeper nested blocks or marks are shown as text, because nobody could see the difference. */
const MAX_DEPTH = 16;
/** Longer emphasis is not recognised, because the library searches the other end of every mark. */
const MAX_EMPHASIS = 1_000;
/** The number of emphasis marks that are examined in one text. */
const MAX_MARKS = 4_000;
/** Short rows are padded to the width of the first, so a table of few bytes could have millions of cells. */
const MAX_CELLS = 10_000;

/**
 * Loads the Markdown library with limits: a text of 64 KiB with lines of at most 8 KiB is parsed quickly, whatever it
 * contains.
 */
export async function loadLex(): Promise<Lex> {
  const { Lexer, Tokenizer } = await import('marked');

  class Bounded extends Tokenizer {
    #depth = 0;
    #marks = 0;

    override blockquote(source: string) {
      return this.#within(() => super.blockquote(source));
    }

    override list(source: string) {
      return this.#within(() => super.list(source));
    }

    override link(source: string) {
      return this.#within(() => super.link(source));
    }

    override reflink(...[source, links]: Parameters<InstanceType<typeof Tokenizer>['reflink']>) {
      return this.#within(() => super.reflink(source, links));
    }

    override emStrong(source: string, masked: string, before?: string) {
      return this.#marked(source, masked, (near, maskedNear) => super.emStrong(near, maskedNear, before));
    }

    override del(source: string, masked: string, before?: string) {
      return this.#marked(source, masked, (near, maskedNear) => super.del(near, maskedNear, before));
    }

    override table(source: string) {
      const [, , rule = '', rows = ''] = this.rules.block.table.exec(source) ?? [];
      if (rule.split('|').length * rows.split('\n').length > MAX_CELLS) return undefined;
      return super.table(source);
    }

    #within<T>(read: () => T): T | undefined {
      if (this.#depth === MAX_DEPTH) return undefined;
      this.#depth += 1;
      try {
        return read();
      } finally {
        this.#depth -= 1;
      }
    }

    #marked<T>(source: string, masked: string, read: (near: string, maskedNear: string) => T): T | undefined {
      if (!/^[*_~]/.test(source) || this.#marks === MAX_MARKS) return undefined;
      this.#marks += 1;
      if (source.length <= MAX_EMPHASIS) return this.#within(() => read(source, masked));
      const maskedNear = masked.slice(-source.length).slice(0, MAX_EMPHASIS);
      return this.#within(() => read(source.slice(0, MAX_EMPHASIS), maskedNear));
    }
  }

  return (text) => new Lexer({ gfm: true, tokenizer: new Bounded() }).lex(text);
}
