import { usage } from '../../errors.ts';

/**
 * Words as a shell takes them: quotes hold blanks, a backslash the next character. File managers quote paths that way
 * when a file is dropped on a terminal. Throws GwError `usage` for a quote that does not end.
 */
export function splitWords(text: string): string[] {
  const words: string[] = [];
  const word = /\s*((?:\\[\s\S]|"(?:\\[\s\S]|[^"\\])*"|'[^']*'|[^\s"'\\])+)/y;
  let end = 0;
  for (let found = word.exec(text); found !== null; found = word.exec(text)) {
    words.push(unquoted(found[1] ?? ''));
    end = word.lastIndex;
  }
  const rest = text.slice(end).trim();
  if (rest !== '')
    throw usage(
      `the quote in ${rest.slice(0, 40)} does not end`,
      'close it, or write \\" for the character itself',
    );
  return words;
}

function unquoted(word: string): string {
  return word.replace(
    /\\([\s\S])|"((?:\\[\s\S]|[^"\\])*)"|'([^']*)'/g,
    (_, escaped?: string, double?: string, single?: string) =>
      escaped ?? single ?? (double ?? '').replace(/\\(["\\])/g, '$1'),
  );
}
