/** A text in pieces that is too long to be joined, which would need its memory twice. */
export class LongText {
  constructor(readonly pieces: string[]) {}

  toJSON(): string {
    return this.pieces.join('');
  }
}

const LONG_CHARACTERS = 1024 * 1024;

/** Appends a piece to a text; a text that has become long is kept in pieces. */
export function grown(text: string | LongText, piece: string): string | LongText {
  if (text instanceof LongText) {
    text.pieces.push(piece);
    return text;
  }
  return text.length + piece.length > LONG_CHARACTERS ? new LongText([text, piece]) : text + piece;
}
