import { usage } from '../../errors.ts';
import { type Placeholder, placeholderList, placeholders } from '../../placeholders.ts';

/** A pattern in pieces: what the user wrote stays as written, placeholders are filled in. */
export type PatternPiece = { readonly literal: string } | { readonly placeholder: Placeholder };

const hint = `placeholders are ${placeholderList}; write {{ and }} for a plain brace`;

/**
 * Reads a pattern of `-o`. `{{` and `}}` stand for a brace, a lone `}` for itself.
 * Throws `usage` for an unknown placeholder or a brace that is not closed.
 */
export function parsePattern(pattern: string): PatternPiece[] {
  const pieces: PatternPiece[] = [];
  let literal = '';
  for (let at = 0; at < pattern.length; at++) {
    const pair = pattern.slice(at, at + 2);
    if (pair === '{{' || pair === '}}') {
      literal += pair[0];
      at++;
      continue;
    }
    if (pattern[at] !== '{') {
      literal += pattern[at];
      continue;
    }
    const end = pattern.indexOf('}', at);
    if (end === -1) throw usage(`--out: the brace of "${pattern.slice(at)}" is not closed`, hint);
    const name = pattern.slice(at + 1, end);
    const placeholder = placeholders.find((known) => known === name);
    if (!placeholder) throw usage(`--out: {${name}} is not a placeholder`, hint);
    if (literal !== '') pieces.push({ literal });
    literal = '';
    pieces.push({ placeholder });
    at = end;
  }
  if (literal !== '') pieces.push({ literal });
  return pieces;
}

/** A path that is to be taken as written, as a pattern. */
export function escapePattern(path: string): string {
  return path.replaceAll('{', '{{').replaceAll('}', '}}');
}

/** The placeholders that a pattern uses. */
export function placeholdersOf(pieces: readonly PatternPiece[]): Set<Placeholder> {
  return new Set(pieces.flatMap((piece) => ('placeholder' in piece ? [piece.placeholder] : [])));
}
