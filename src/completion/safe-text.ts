const MAX_CHARACTERS = 48;

/** Words from outside, for a menu: no control, format or line character, and nothing that a shell could take up. */
export function safeText(text: string): string {
  const line = text
    .replace(/[^\p{L}\p{M}\p{N}\p{P}\p{S}]|[\\`$]/gu, ' ')
    .replace(/ +/g, ' ')
    .trim();
  const characters = [...line];
  return characters.length > MAX_CHARACTERS ? `${characters.slice(0, MAX_CHARACTERS).join('')}…` : line;
}

/** Whether a word from outside may be offered: it means itself in every shell, quoted or not. */
export const isSafeWord = (word: string): boolean => /^[A-Za-z0-9][A-Za-z0-9._:/@+-]{0,127}$/.test(word);
