import type { Token } from 'marked';

/** The lexer of the Markdown library. */
export type Lex = (text: string) => Token[];

/** Blocks within blocks, or marks within marks, beyond this are text: nobody could see the difference. */
const MAX_DEPTH = 16;
/** Emphasis that reaches further than this is none: the library looks for the other end of every mark. */
const MAX_EMPHASIS = 1_000;
/** How many marks of emphasis are looked at in one text. */
const MAX_MARKS = 4_000;
/** Short rows are filled up to the width of the first: a table of few bytes can have millions of cells. */
const MAX_CELLS = 10_000;

/**
 * Loads the Markdown library, held to bounds: a text of 64 KiB with lines of at most 8 KiB is read within a moment,
 * whatever it holds.
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
