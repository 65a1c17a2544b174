// stdout as the terminal of a conversation: finished text, unfinished lines below it, and the line being typed. All are
// written through this class, so that none disturbs another.
import { type Host, sizeOf } from '../host.ts';
import type { LiveRegion, TerminalCursor, TerminalSize } from './live-region.ts';
import { SafeStream, type SecretFilter } from './secret-filter.ts';

interface TypedLine {
  /** Removes the line from the screen and leaves the cursor at its start. */
  lift(): void;
  /** Draws the line again below the text that was written meanwhile. */
  restore(): void;
}

interface PageOptions {
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
  /** False after `close`: then messages go to stderr directly again. */
  isOpen = true;

  constructor(readonly options: PageOptions) {
    this.#region = options.region;
    // The code that reads from the terminal notices when it is gone.
    options.stream.on('error', () => {});
  }

  size(): TerminalSize {
    return sizeOf(this.options.stream);
  }

  /**
   * Prints gw's own text, which may hold colour, above the unfinished lines; text from outside in it must already be
   * safe. The key is replaced.
   */
  print(text: string): void {
    const { cursor, secrets } = this.options;
    const start = cursor.atLineStart || this.#typed !== undefined ? '' : '\n';
    cursor.atLineStart = text.endsWith('\n');
    this.#above(start + secrets.hide(text));
  }

  /** Like `print` for a part of a longer text, without starting a new line. */
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

  /** Replaces the unfinished lines; each must be narrower than the terminal. */
  draw(lines: readonly string[]): void {
    if (!this.options.canRedraw) return;
    const { rows } = this.size();
    this.#region.draw(lines.slice(-Math.max(1, rows - 1)).map((line) => this.options.secrets.hide(line)));
  }

  /** Sets the line being typed; until it is unset, other text is printed above it. */
  setTyped(line: TypedLine | undefined): void {
    // Drawn lines hide the cursor, but a typed line needs it.
    if (line !== undefined) this.#region.end();
    this.#typed = line;
    // The code that ends the typing also ends its line.
    this.options.cursor.atLineStart = true;
  }

  /** Makes text that comes in pieces safe: control characters are escaped and the key is replaced. */
  safeText(): SafeStream {
    return new SafeStream(this.options.secrets, true);
  }

  /** Copies a text to the terminal's clipboard (OSC 52), with the key replaced; terminals do not report success. */
  copy(text: string): void {
    const base64 = Buffer.from(this.options.secrets.hide(text)).toString('base64');
    this.#write(`\x1b]52;c;${base64}\x07`);
  }

  /** Removes the drawn lines and releases the terminal. */
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
