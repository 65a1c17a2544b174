import { displayWidth } from './display-width.ts';

// Wraps gw's own text to the terminal's width.

/**
 * Wraps a line to `width` columns, only at blanks; later lines are indented by `hang`. Blanks at the start and between
 * words that stay on one line are kept.
 */
export function wrapLine(text: string, width: number, hang = 0): string[] {
  const words = text.match(/^ *\S+| +\S+/g) ?? [];
  const lines: string[] = [];
  let line = '';
  for (const word of words) {
    if (line !== '' && displayWidth(line + word) > width) {
      lines.push(line);
      line = ' '.repeat(hang) + word.trimStart();
    } else line += word;
  }
  return line === '' ? lines : [...lines, line];
}

/** Wraps a command line so that it still runs: between shell words, with `\` at the end of all lines but the last. */
export function drawExample(example: string, width: number): string[] {
  const lines: string[] = [];
  let line = ' ';
  for (const word of withValues(shellWords(example))) {
    if (line.trim() !== '' && displayWidth(`${line} ${word} \\`) > width) {
      lines.push(`${line} \\`);
      line = `     ${word}`;
    } else line += ` ${word}`;
  }
  return [...lines, line];
}

/** Joins an option and its value, so that they stay on one line. */
function withValues(words: readonly string[]): string[] {
  const pieces: string[] = [];
  for (const word of words) {
    const before = pieces.at(-1);
    const takesIt = before !== undefined && /^--?[a-z-]+$/.test(before) && /^[^-|>&)]/.test(word);
    pieces.push(takesIt ? `${pieces.pop()} ${word}` : word);
  }
  return pieces;
}

/** The parts of a command line between which it may be broken: not inside quotes, but inside `$(…)`. */
function shellWords(line: string): string[] {
  const words: string[] = [];
  const open: string[] = [];
  let word = '';
  for (const [at, letter] of [...line].entries()) {
    const within = open.at(-1);
    if (letter === ' ' && within !== '"' && within !== "'") {
      if (word !== '') words.push(word);
      word = '';
      continue;
    }
    word += letter;
    const ends = letter === (within === '(' ? ')' : within);
    const begins =
      letter === '"' || (letter === "'" && within !== '"') || (letter === '(' && line[at - 1] === '$');
    if (ends) open.pop();
    else if (begins && within !== "'") open.push(letter);
  }
  return word === '' ? words : [...words, word];
}

/** Wraps a message to `columns` columns; a command line at its end can still be run. */
export function wrapMessage(text: string, columns: number): string {
  if (displayWidth(text) <= columns) return text;
  const [, before = text, command = ''] = /^(.*: )(gw [a-z][^;]*)$/s.exec(text) ?? [];
  const lines = wrapLine(before.trimEnd(), columns);
  const last = `${lines.at(-1)} ${command}`.trimEnd();
  const fits = command === '' || displayWidth(last) <= columns;
  return (fits ? [...lines.slice(0, -1), last] : [...lines, ...drawExample(command, columns)]).join('\n');
}
