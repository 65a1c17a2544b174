// stderr: lines and text beside the result. It never throws and never waits; a broken stderr must not stop gw.
import type { Host } from '../host.ts';
import type { LiveRegion, TerminalCursor } from './live-region.ts';
import type { Page } from './page.ts';
import { SafeStream, type SecretFilter } from './secret-filter.ts';
import { loadStyle, plainStyle, type Style } from './style.ts';

interface SideStreamOptions {
  readonly stream: Host['stderr'];
  readonly secrets: SecretFilter;
  readonly cursor: TerminalCursor;
  readonly color: boolean;
  /** The bars, if a terminal shows them. */
  readonly region: LiveRegion | undefined;
  /** A conversation's page on the same terminal, which must not be disturbed. */
  readonly page?: (() => Pick<Page, 'above'> | undefined) | undefined;
}

/** Makes a line of gw's own; any text from outside in it must already be safe. */
export type Line = (style: Style) => string;

export class SideStream {
  readonly #cursor: TerminalCursor;
  readonly #safe: SafeStream;
  #style: Style | undefined;
  /** Lines that wait for the colouring library, in order. */
  #waiting: Line[] = [];
  #styleLoaded: Promise<void> | undefined;

  constructor(private readonly options: SideStreamOptions) {
    const isTerminal = options.stream.isTTY === true;
    this.#cursor = isTerminal ? options.cursor : { atLineStart: true };
    this.#safe = new SafeStream(options.secrets, isTerminal);
    this.#style = options.color ? undefined : plainStyle;
    // There is no way to report that stderr cannot be written.
    options.stream.on('error', () => {});
  }

  /** Writes one line with a newline. `colored` means that the line uses colour, so the library is worth loading. */
  line(line: Line, colored = false): void {
    const whole: Line = (style) => {
      const held = this.#safe.end();
      const isOpen = held === '' ? !this.#cursor.atLineStart : !held.endsWith('\n');
      return `${held}${isOpen ? '\n' : ''}${this.options.secrets.hide(line(style))}\n`;
    };
    if (this.#style === undefined && (colored || this.#waiting.length > 0)) this.#defer(whole);
    else this.#put(whole(this.#style ?? plainStyle));
  }

  /** Writes text in pieces: escaped on a terminal, unchanged elsewhere. */
  text(text: string): void {
    const piece: Line = () => this.#safe.push(text);
    if (this.#waiting.length > 0) this.#waiting.push(piece);
    else this.#put(piece(plainStyle));
  }

  /** Resolves when no line waits for the colouring library any more. */
  settled(): Promise<void> | void {
    if (this.#waiting.length > 0) return this.#styleLoaded;
  }

  /** Writes held-back text and resolves when everything has been written, or stderr is gone. */
  async drain(): Promise<void> {
    await this.settled();
    this.#put(this.#safe.end());
    const { stream } = this.options;
    await new Promise<void>((resolve) => {
      if (stream.destroyed || stream.writableLength === 0) resolve();
      else stream.write('', () => resolve());
    });
  }

  #defer(line: Line): void {
    this.#waiting.push(line);
    this.#styleLoaded ??= loadStyle()
      .catch(() => plainStyle)
      .then((style) => {
        this.#style = style;
        for (const waiting of this.#waiting.splice(0)) this.#put(waiting(style));
      });
  }

  #put(text: string): void {
    if (text === '') return;
    const { region, stream } = this.options;
    this.#cursor.atLineStart = text.endsWith('\n');
    const above = this.options.page?.() ?? region;
    if (above !== undefined) above.above(text);
    else if (!stream.destroyed) stream.write(text);
  }
}
