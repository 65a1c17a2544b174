/**
 * JSON text on one line, otherwise as it came: only the white space between its tokens goes, so that no number and no
 * escape is written anew.
 */
export const compactJson = (text: string): string =>
  text.replace(/"[^"\\]*(?:\\.[^"\\]*)*"|\s+/g, (token) => (token.startsWith('"') ? token : ''));
