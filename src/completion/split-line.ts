/** A command line up to the cursor, as a shell would read it. */
export interface SplitLine {
  /** The words before the one at the cursor, the command first. */
  readonly words: readonly string[];
  readonly current: string;
  /** How much of `current` readline leaves alone: it replaces what follows the last unquoted break character. */
  readonly keptLength: number;
}

/** Break characters that readline counts to the word that they begin. */
const specialPrefixes = '$@';

/**
 * Splits what bash hands over; nothing is expanded. `breaks` is COMP_WORDBREAKS, whose `=` and `:` split what is one word
 * to gw, such as `--ratio=16:9`.
 */
export function splitLine(line: string, breaks: string): SplitLine {
  const words: string[] = [];
  let current = '';
  let keptLength = 0;
  let quote = '';
  let isOpen = false;
  for (let at = 0; at < line.length; at += 1) {
    const char = line.charAt(at);
    const next = line.charAt(at + 1);
    if (quote === "'" ? char === "'" : quote !== '' && char === quote) {
      quote = '';
    } else if (char === '\\' && quote !== "'" && (quote === '' || '"\\$`'.includes(next))) {
      current += next;
      isOpen = true;
      at += 1;
    } else if (quote !== '') {
      current += char;
    } else if (char === '"' || char === "'") {
      quote = char;
      isOpen = true;
      keptLength = current.length;
    } else if (/\s/.test(char)) {
      if (isOpen) words.push(current);
      current = '';
      keptLength = 0;
      isOpen = false;
    } else {
      current += char;
      isOpen = true;
      if (breaks.includes(char)) keptLength = current.length - (specialPrefixes.includes(char) ? 1 : 0);
    }
  }
  return { words, current, keptLength };
}
