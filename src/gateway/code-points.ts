/** Characters as the limits count them: an emoji of one code point is one. */
export function codePoints(text: string): number {
  let count = 0;
  for (const _ of text) count += 1;
  return count;
}
