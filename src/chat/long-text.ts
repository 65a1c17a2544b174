/** A text that came in pieces and is too long to be held twice, as joining it would. */
export class LongText {
  constructor(readonly pieces: string[]) {}

  toJSON(): string {
    return this.pieces.join('');
  }
}

const LONG_CHARACTERS = 1024 * 1024;

/** A text and the piece that follows it. A long one takes the piece in; what has not become long stays a string. */
export function grown(text: string | LongText, piece: string): string | LongText {
  if (text instanceof LongText) {
    text.pieces.push(piece);
    return text;
  }
  return text.length + piece.length > LONG_CHARACTERS ? new LongText([text, piece]) : text + piece;
}
