/** Pasted blocks that are too long to be shown, by what stands for each in the line. */
export type Pastes = Map<string, string>;

/** What is longer is shown as one word: nobody edits it, and a screen would not hold it. */
const MAX_SHOWN_LINES = 12;
const MAX_SHOWN_CHARACTERS = 1_000;

/** C0 and C1 without newline and tab: no text, and readline would count columns for them. */
const controls = /[\x00-\x08\x0b-\x1f\x7f-\x9f]/g;

/**
 * A pasted block as it goes into the line: its own text, or where that is long a short word that is remembered in
 * `pastes` and stands for it. Line ends become newlines, those at the end are dropped, control characters too.
 */
export function foldPaste(raw: string, pastes: Pastes): string {
  const text = raw.replace(/\r\n?/g, '\n').replace(controls, '').replace(/\n+$/, '');
  const lines = text.split('\n').length;
  if (lines <= MAX_SHOWN_LINES && text.length <= MAX_SHOWN_CHARACTERS) return text;
  const size = lines > 1 ? `${lines} lines` : `${text.length} characters`;
  const fold = `[paste ${pastes.size + 1}: ${size}]`;
  pastes.set(fold, text);
  return fold;
}
