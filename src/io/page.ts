// stdout as the terminal that a conversation is held on: finished text, lines below it that are still being made, and
// the line that is being typed, all written through one hand so that none tears another.
import type { Host } from '../host.ts';
import { type LiveRegion, sizeOf, type TerminalCursor, type TerminalSize } from './live-region.ts';
import { SafeStream, type SecretFilter } from './secret-filter.ts';

interface TypedLine {
  /** Takes the line off the screen and leaves the cursor where it began. */
  lift(): void;
  /** Puts it back below what was written meanwhile. */
  restore(): void;
}

export interface PageOptions {
  readonly stream: Host['stdout'];
  readonly region: LiveRegion;
  readonly secrets: SecretFilter;
  readonly cursor: TerminalCursor;
  readonly hasColor: boolean;
  readonly hasUnicode: boolean;
  readonly canRedraw: boolean;
}

export class Page {
  readonly #region: LiveRegion;
  #typed: TypedLine | undefined;
  /** False once it has been closed: side talk goes its own way again. */
  isOpen = true;

  constructor(readonly options: PageOptions) {
    this.#region = options.region;
    // A terminal that is gone is noticed by whoever reads from it.
    options.stream.on('error', () => {});
  }

  size(): TerminalSize {
    return sizeOf(this.options.stream);
  }

  /**
   * Text of gw's own making that may hold colour, above whatever is still being made; what it holds from outside must
   * have been made safe. The key is replaced in it.
   */
  print(text: string): void {
    const { cursor, secrets } = this.options;
    const start = cursor.atLineStart || this.#typed !== undefined ? '' : '\n';
    cursor.atLineStart = text.endsWith('\n');
    this.#above(start + secrets.hide(text));
  }

  /** As `print` for a piece of a text that goes on, where no line is to be begun. */
  above(text: string): void {
    this.options.cursor.atLineStart = text.endsWith('\n');
    this.#above(text);
  }

  #above(text: string): void {
    const typed = this.#typed;
    if (typed === undefined) {
      this.#region.above(text);
      return;
    }
    typed.lift();
    this.#write(text.endsWith('\n') ? text : `${text}\n`);
    this.options.cursor.atLineStart = true;
    typed.restore();
  }

  /** The lines that are being made, each narrower than the terminal, in place of those that stood there. */
  draw(lines: readonly string[]): void {
    if (!this.options.canRedraw) return;
    const { rows } = this.size();
    this.#region.draw(lines.slice(-Math.max(1, rows - 1)).map((line) => this.options.secrets.hide(line)));
  }

  /** While set, the line being typed: what is printed meanwhile goes above it. */
  setTyped(line: TypedLine | undefined): void {
    // A typed line has its cursor, which what was drawn had hidden.
    if (line !== undefined) this.#region.end();
    this.#typed = line;
    // Whoever ends the typing ends its line too.
    this.options.cursor.atLineStart = true;
  }

  /** Makes text safe that comes in pieces: controls shown escaped, the key replaced. */
  safeText(): SafeStream {
    return new SafeStream(this.options.secrets, true);
  }

  /** Hands a text to the clipboard of the terminal (OSC 52), the key replaced in it; whether it takes it is never told. */
  copy(text: string): void {
    const base64 = Buffer.from(this.options.secrets.hide(text)).toString('base64');
    this.#write(`\x1b]52;c;${base64}\x07`);
  }

  /** Takes down what is drawn and gives the terminal back. */
  close(): void {
    this.isOpen = false;
    this.#typed = undefined;
    this.#region.end();
  }

  #write(text: string): void {
    const { stream } = this.options;
    if (!stream.destroyed) stream.write(text);
  }
}
