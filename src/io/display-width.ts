// The width of text on a terminal: East Asian wide characters and emoji take two columns, combining marks none.

const ascii = /^[\x20-\x7e]*$/;
let segmenter: Intl.Segmenter | undefined;

/** The user-perceived characters of a text. */
function graphemes(text: string): Iterable<Intl.SegmentData> {
  segmenter ??= new Intl.Segmenter(undefined, { granularity: 'grapheme' });
  return segmenter.segment(text);
}

function graphemeWidth(grapheme: string): number {
  // This expression is made here because that takes half a millisecond, which most runs do not need.
  const wide =
    /^(?:[\u1100-\u115f\u2329\u232a\u2e80-\u303e\u3041-\ua4cf\ua960-\ua97c\uac00-\ud7a3\uf900-\ufaff\ufe10-\ufe19\ufe30-\ufe6f\uff01-\uff60\uffe0-\uffe6\u{16fe0}-\u{18dff}\u{1aff0}-\u{1b2ff}\u{1f200}-\u{1f2ff}\u{20000}-\u{3fffd}]|\p{Emoji_Presentation}|\p{Emoji}\u{fe0f})/u;
  if (wide.test(grapheme)) return 2;
  return /^[\p{M}\p{Cf}\p{Cc}]+$/u.test(grapheme) ? 0 : 1;
}

/** The number of columns that one line of plain text (no escape sequences) takes. */
export function displayWidth(text: string): number {
  if (ascii.test(text)) return text.length;
  let columns = 0;
  for (const { segment } of graphemes(text)) columns += graphemeWidth(segment);
  return columns;
}

/** Cuts one line of plain text to at most `columns` columns; `…` replaces the cut-off end, or start. */
export function cutToWidth(text: string, columns: number, from: 'start' | 'end' = 'end'): string {
  if (displayWidth(text) <= columns) return text;
  if (columns < 1) return '';
  const segments = [...graphemes(text)].map(({ segment }) => segment);
  if (from === 'start') segments.reverse();
  const kept: string[] = [];
  let used = 0;
  for (const segment of segments) {
    used += graphemeWidth(segment);
    if (used > columns - 1) break;
    kept.push(segment);
  }
  return from === 'start' ? `…${kept.reverse().join('')}` : `${kept.join('')}…`;
}

/** Pads one line of plain text with blanks to `columns` columns. */
export function padToWidth(text: string, columns: number, align: 'left' | 'right' = 'left'): string {
  const blanks = ' '.repeat(Math.max(0, columns - displayWidth(text)));
  return align === 'left' ? text + blanks : blanks + text;
}
