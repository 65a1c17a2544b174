import type { Context } from '../../context.ts';
import type { Clock } from '../../host.ts';
import type { Page } from '../../io/page.ts';
import type { SafeStream } from '../../io/secret-filter.ts';
import type { Drawing } from './markdown/blocks.ts';
import { type Lex, loadLex, MarkdownStream } from './markdown/markdown-stream.ts';
import { type Ink, loadInk } from './markdown/spans.ts';

export interface AnswerView {
  /** Adds the next piece of the answer. */
  text(piece: string): void;
  end(): void;
}

/** Longer lines are hard to read. */
const MAX_COLUMNS = 100;
const FRAME_MS = 40;
/** Drawing takes at most a fifth of the time, however long a block gets. */
const REST = 4;

export interface AnswerViewOptions {
  readonly page: Page;
  readonly clock: Pick<Clock, 'steady' | 'sleep'>;
  readonly lex: Lex;
  readonly ink: Ink;
  /** True to show text as it arrives, even if the terminal could render it. */
  readonly raw?: boolean;
}

/** Shows an answer while it arrives: finished blocks once, and below them the block being written, redrawn. */
export function showAnswer(options: AnswerViewOptions): AnswerView {
  return options.page.options.canRedraw && !options.raw
    ? new MarkdownView(options)
    : new PlainView(options.page);
}

/** As `showAnswer`, for one answer on its own page, which closes with it. */
export async function showOneAnswer({ io, clock }: Pick<Context, 'io' | 'clock'>): Promise<AnswerView> {
  const page = await io.page();
  const [ink, lex] = await Promise.all([loadInk(page.options.hasColor), loadLex()]);
  const view = showAnswer({ page, clock, lex, ink });
  return {
    text: (piece) => view.text(piece),
    end() {
      view.end();
      page.close();
    },
  };
}

/** Prints text as it arrives, unformatted, if lines cannot or should not be redrawn. */
class PlainView implements AnswerView {
  readonly #safe: SafeStream;
  #last = '\n';

  constructor(private readonly page: Page) {
    this.#safe = page.safeText();
  }

  text(piece: string): void {
    this.#print(this.#safe.push(piece));
  }

  end(): void {
    this.#print(this.#safe.end());
    if (this.#last !== '\n') this.#print('\n');
  }

  /** The page ends an open line before it prints, so a continued text must bypass it. */
  #print(text: string): void {
    if (text === '') return;
    this.#last = text.slice(-1);
    this.page.above(text);
  }
}

class MarkdownView implements AnswerView {
  readonly #safe: SafeStream;
  readonly #markdown: MarkdownStream;
  readonly #ended = new AbortController();
  #carriageReturn = '';
  #drawnAtMs = Number.NEGATIVE_INFINITY;
  #frameMs = FRAME_MS;
  #isWaiting = false;

  constructor(private readonly options: AnswerViewOptions) {
    this.#safe = options.page.safeText();
    this.#markdown = new MarkdownStream(options.lex);
  }

  text(piece: string): void {
    // A CR LF pair may be split between two pieces.
    const whole = this.#carriageReturn + piece;
    this.#carriageReturn = whole.endsWith('\r') ? '\r' : '';
    const text = this.#carriageReturn === '' ? whole : whole.slice(0, -1);
    this.#push(this.#safe.push(text.replaceAll('\r\n', '\n')));
    this.#drawSoon();
  }

  end(): void {
    this.#ended.abort();
    this.#push(this.#safe.push(this.#carriageReturn) + this.#safe.end());
    this.options.page.draw([]);
    this.#print(this.#markdown.end(this.#drawing(false)));
  }

  #push(text: string): void {
    const lines = this.#markdown.push(text, this.#drawing(false));
    if (lines.length === 0) return;
    this.options.page.draw([]);
    this.#print(lines);
  }

  #print(lines: readonly string[]): void {
    if (lines.length > 0) this.options.page.print(`${lines.join('\n')}\n`);
  }

  #drawSoon(): void {
    const { clock } = this.options;
    const waitMs = this.#drawnAtMs + this.#frameMs - clock.steady();
    if (waitMs <= 0) this.#draw();
    else if (!this.#isWaiting) {
      this.#isWaiting = true;
      clock
        .sleep(waitMs, this.#ended.signal)
        .then(() => this.#draw())
        .catch(() => {})
        .finally(() => {
          this.#isWaiting = false;
        });
    }
  }

  #draw(): void {
    if (this.#ended.signal.aborted) return;
    const { clock, page } = this.options;
    const startMs = clock.steady();
    page.draw(this.#markdown.live(this.#drawing(true)));
    this.#drawnAtMs = clock.steady();
    this.#frameMs = Math.max(FRAME_MS, (this.#drawnAtMs - startMs) * REST);
  }

  #drawing(cutCode: boolean): Drawing {
    const { page, ink } = this.options;
    const columns = Math.max(20, Math.min(page.size().columns - 1, MAX_COLUMNS));
    return { ink, columns, hasUnicode: page.options.hasUnicode, cutCode };
  }
}
