/** Longest run of characters that counts as one token. */
const MOST_CHARS = 16;

/** Cuts a text into its tokens: a word each, with the white space before it; long words in pieces. */
export const tokensOf = (text: string): string[] => text.match(/\s*\S{1,16}|\s+$/gu) ?? [];

/** How many tokens a text has, without making them: it may be megabytes long. */
export function countTokens(text: string): number {
  let tokens = 0;
  let inWord = 0;
  for (let at = 0; at < text.length; at++) {
    if (text.charCodeAt(at) <= 0x20) inWord = 0;
    else if (inWord++ % MOST_CHARS === 0) tokens++;
  }
  return tokens;
}
