import { displayWidth } from '../../src/io/display-width.ts';

/** Shows what a terminal would show after these bytes. It knows lines, cursor moves and erasing. */
export class Screen {
  readonly lines: string[] = [''];
  #row = 0;
  #column = 0;
  cursorIsHidden = false;
  /** Control sequences that no part of gw should send. */
  readonly unknown: string[] = [];

  constructor(private readonly columns = 80) {}

  write(text: string): this {
    for (const [token] of text.matchAll(/\x1b\[[?0-9;]*[A-Za-z]|[\s\S]/gu)) this.#take(token);
    return this;
  }

  /** The lines without trailing blanks, and without the empty lines at the end. */
  shown(): string[] {
    const lines = this.lines.map((line) => line.trimEnd());
    while (lines.at(-1) === '') lines.pop();
    return lines;
  }

  #take(token: string): void {
    if (token === '\n') {
      this.#down();
    } else if (token === '\r') {
      this.#column = 0;
    } else if (token.startsWith('\x1b[')) {
      this.#control(token);
    } else if (/[\x00-\x1f\x7f-\x9f]/.test(token)) {
      this.unknown.push(token);
    } else {
      if (this.#column + displayWidth(token) > this.columns) this.#down();
      const line = this.lines[this.#row] ?? '';
      const before = line.padEnd(this.#column).slice(0, this.#column);
      this.lines[this.#row] = before + token + line.slice(this.#column + token.length);
      this.#column += token.length;
    }
  }

  #down(): void {
    this.#row += 1;
    this.#column = 0;
    this.lines[this.#row] ??= '';
  }

  #control(token: string): void {
    const amount = Number.parseInt(token.slice(2), 10) || 1;
    const line = this.lines[this.#row] ?? '';
    if (token === '\x1b[?25l') this.cursorIsHidden = true;
    else if (token === '\x1b[?25h') this.cursorIsHidden = false;
    else if (token.endsWith('m')) return;
    else if (token.endsWith('A')) this.#row = Math.max(0, this.#row - amount);
    else if (token === '\x1b[K') this.lines[this.#row] = line.slice(0, this.#column);
    else if (token === '\x1b[J') {
      this.lines[this.#row] = line.slice(0, this.#column);
      this.lines.length = this.#row + 1;
    } else this.unknown.push(token);
  }
}
