/**
 * The terminal that the bar library draws on: it only collects the lines of one frame. Where they go on the real one,
 * and what else is written there meanwhile, is for LiveRegion to settle.
 */
export class FrameTerminal {
  #text = '';

  constructor(private readonly columns: () => number) {}

  lines(): string[] {
    return this.#text === '' ? [] : this.#text.split('\n');
  }

  isTTY(): boolean {
    return true;
  }

  getWidth(): number {
    return this.columns();
  }

  /** A frame begins. */
  cursorRelativeReset(): void {
    this.#text = '';
  }

  newline(): void {
    this.#text += '\n';
  }

  write(text: string): void {
    this.#text += text;
  }

  cursor(): void {}
  cursorTo(): void {}
  lineWrapping(): void {}
  clearRight(): void {}
  clearLine(): void {}
  clearBottom(): void {}
}
