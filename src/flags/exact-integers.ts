import { usage } from '../errors.ts';

/**
 * Refuses JSON with an integer that reading and writing it would change: `12345678901234567890` would be sent as another
 * number. Throws `usage` with the first.
 */
export function assertExactIntegers(text: string, named: string): void {
  // Only long ones can be lost.
  if (!/\d{16}/.test(text)) return;
  for (const piece of outsideTexts(text)) {
    for (const [part] of piece.matchAll(/-?\d[\d.eE+-]*/g)) {
      if (!/^-?\d{16,}$/.test(part) || isKept(part)) continue;
      const shown = part.length > 40 ? `${part.slice(0, 40)}…` : part;
      throw usage(
        `${named}: ${shown} has more digits than a JSON number keeps`,
        'write it in quotes to send it as text',
      );
    }
  }
}

function isKept(digits: string): boolean {
  const number = Number(digits);
  if (!Number.isFinite(number)) return false;
  const written = JSON.stringify(number);
  return /^-?\d+$/.test(written) ? written === digits : BigInt(digits) === BigInt(number);
}

/** What stands between the texts of JSON; by hand, as a pattern runs out of stack in a text of many megabytes. */
function* outsideTexts(json: string): Generator<string> {
  for (let from = 0; from < json.length; ) {
    const open = json.indexOf('"', from);
    yield json.slice(from, open < 0 ? json.length : open);
    if (open < 0) return;
    let close = json.indexOf('"', open + 1);
    while (close >= 0 && isEscaped(json, close)) close = json.indexOf('"', close + 1);
    if (close < 0) return;
    from = close + 1;
  }
}

function isEscaped(json: string, at: number): boolean {
  let backslashes = 0;
  while (json[at - 1 - backslashes] === '\\') backslashes += 1;
  return backslashes % 2 === 1;
}
