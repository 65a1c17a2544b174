import { displayWidth } from '../../../io/display-width.ts';
import type { Paint, Span } from './spans.ts';

/** White space, a character of a script that is written without blanks, or a word. */
const pieces =
  /\n|[^\S\n]+|[\u2e80-\u9fff\uac00-\ud7a3\uf900-\ufaff\uff01-\uff60]|[^\s\u2e80-\u9fff\uac00-\ud7a3\uf900-\ufaff\uff01-\uff60]+/g;

interface Piece {
  readonly text: string;
  readonly paint: Paint;
  readonly columns: number;
}

/** Breaks painted text into lines of at most `columns` columns; a word that is longer is cut. */
export function wrap(spans: readonly Span[], columns: number): string[] {
  const width = Math.max(1, columns);
  const lines = new Lines(width);
  let word: Piece[] = [];
  const endWord = () => {
    lines.addWord(word);
    word = [];
  };
  for (const { text, paint } of spans) {
    for (const [piece] of text.matchAll(pieces)) {
      if (piece === '\n') {
        endWord();
        lines.break();
      } else if (/^\s/.test(piece)) {
        endWord();
        lines.addBlank({ text: ' ', paint, columns: 1 });
      } else if (/^[\u2e80-\uff60]/.test(piece)) {
        endWord();
        lines.addWord([{ text: piece, paint, columns: displayWidth(piece) }]);
      } else word.push({ text: piece, paint, columns: displayWidth(piece) });
    }
  }
  endWord();
  return lines.end();
}

class Lines {
  readonly #done: string[] = [];
  #line: Piece[] = [];
  #columns = 0;
  #blank: Piece | undefined;

  constructor(private readonly width: number) {}

  /** Stands before the next word, unless that begins a line. */
  addBlank(blank: Piece): void {
    if (this.#line.length > 0) this.#blank = blank;
  }

  addWord(word: readonly Piece[]): void {
    if (word.length === 0) return;
    const columns = word.reduce((sum, piece) => sum + piece.columns, 0);
    const blank = this.#blank;
    this.#blank = undefined;
    const isFirst = this.#line.length === 0;
    if (!isFirst && this.#columns + (blank?.columns ?? 0) + columns > this.width) this.break();
    else if (blank !== undefined) this.#put(blank);
    for (const piece of word) this.#putCut(piece);
  }

  break(): void {
    this.#done.push(paintTogether(this.#line));
    this.#line = [];
    this.#columns = 0;
    this.#blank = undefined;
  }

  end(): string[] {
    if (this.#line.length > 0 || this.#done.length === 0) this.break();
    return this.#done;
  }

  #put(piece: Piece): void {
    this.#line.push(piece);
    this.#columns += piece.columns;
  }

  #putCut(piece: Piece): void {
    if (this.#columns + piece.columns <= this.width) {
      this.#put(piece);
      return;
    }
    for (const character of piece.text) {
      const columns = displayWidth(character);
      if (this.#columns + columns > this.width && this.#line.length > 0) this.break();
      this.#put({ text: character, paint: piece.paint, columns });
    }
  }
}

/** Neighbours of one paint are painted at once: fewer control sequences for the terminal. */
function paintTogether(line: readonly Piece[]): string {
  let text = '';
  let run = '';
  let paint: Paint | undefined;
  for (const piece of line) {
    if (piece.paint !== paint) {
      text += paint === undefined ? '' : paint(run);
      run = '';
      paint = piece.paint;
    }
    run += piece.text;
  }
  return text + (paint === undefined ? '' : paint(run));
}
