import { stripVTControlCharacters } from 'node:util';
import type { Host, ShowBars } from '../host.ts';
import { displayWidth } from './display-width.ts';

// The redrawn lines at the bottom of the terminal, such as bars. Each frame is one write that overwrites the lines in
// place, so that nothing flickers; other output to the terminal goes above them.

export interface TerminalSize {
  readonly columns: number;
  readonly rows: number;
}

const ESC = '\x1b[';

export class LiveRegion {
  /** The lines on the screen now; empty while lifted. */
  #drawn: readonly string[] = [];
  /** The terminal's width when they were drawn. */
  #columns = 0;
  #wanted: readonly string[] = [];
  #cursorIsHidden = false;
  #isShown = true;
  /** Releases the terminal. */
  #letGo: Promise<() => void> | undefined;

  constructor(
    private readonly write: (text: string) => void,
    private readonly size: () => TerminalSize,
    private readonly cursor: TerminalCursor,
    private readonly hold?: Host['holdTerminal'],
  ) {}

  /** Replaces the lines at the bottom; each must be narrower than the terminal. */
  draw(lines: readonly string[]): void {
    this.#wanted = lines;
    if (this.hold && lines.length > 0 && this.#letGo === undefined) {
      // A frame hides the cursor, and Ctrl-Z must be able to restore it.
      this.#isShown = false;
      this.#letGo = this.hold(this.show);
    }
    const isSame = lines.length === this.#drawn.length && lines.every((line, at) => line === this.#drawn[at]);
    if (!isSame) this.#emit('');
  }

  /** Writes text above the lines, which are drawn again once the text has ended its line. */
  above(text: string): void {
    this.#emit(text);
  }

  /** Removes the lines so that something else may write; the next frame draws them again. */
  lift(): void {
    if (this.#drawn.length > 0) this.write(`${this.#home()}${ESC}J`);
    this.#drawn = [];
  }

  /** Removes the lines permanently and shows the cursor again. */
  end(): void {
    this.#wanted = [];
    this.show(false);
    this.#isShown = true;
    void this.#letGo?.then((letGo) => letGo());
    this.#letGo = undefined;
  }

  readonly show: ShowBars = (isShown) => {
    this.#isShown = isShown;
    if (isShown) return this.draw(this.#wanted);
    this.lift();
    if (this.#cursorIsHidden) this.write(`${ESC}?25h`);
    this.#cursorIsHidden = false;
  };

  #emit(text: string): void {
    const home = this.#home();
    const hadLines = this.#drawn.length > 0;
    // Lines below an unfinished line would be drawn into it.
    const mayDraw = this.cursor.atLineStart && this.#isShown;
    const lines = mayDraw ? this.#wanted.slice(0, Math.max(1, this.size().rows - 1)) : [];
    this.#drawn = lines;
    this.#columns = this.size().columns;
    const erase = hadLines && (text !== '' || lines.length === 0) ? `${ESC}J` : '';
    const hide = lines.length > 0 && !this.#cursorIsHidden ? `${ESC}?25l` : '';
    if (hide !== '') this.#cursorIsHidden = true;
    const body = lines.length === 0 ? '' : `${lines.map((line) => `${line}${ESC}K`).join('\n')}${ESC}J`;
    const frame = home + erase + text + hide + body;
    if (frame !== '') this.write(frame);
  }

  /** Moves to the first drawn line, counting the extra rows that lines take after the terminal became narrower. */
  #home(): string {
    if (this.#drawn.length === 0) return '';
    const { columns } = this.size();
    let rows = 0;
    for (const line of this.#drawn) {
      rows += Math.max(1, Math.ceil(displayWidth(stripVTControlCharacters(line)) / columns));
    }
    // A row that the terminal wrapped stays joined to the next one unless it is erased first.
    const erase = columns === this.#columns ? '' : `${ESC}J`;
    return `${rows > 1 ? `${ESC}${rows - 1}A` : ''}\r${erase}`;
  }
}

/** The cursor state that stdout and stderr share if both are the terminal. */
export interface TerminalCursor {
  /** True if the last output ended its line. */
  atLineStart: boolean;
}
