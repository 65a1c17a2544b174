const FAR = Number.POSITIVE_INFINITY;

/** The edit distance of two short words; a transposition counts once. */
function distance(a: string, b: string): number {
  const rows: number[][] = [Array.from({ length: b.length + 1 }, (_, column) => column)];
  const at = (row: number, column: number) => rows[row]?.[column] ?? FAR;
  for (let i = 1; i <= a.length; i += 1) {
    const row = [i];
    rows.push(row);
    for (let j = 1; j <= b.length; j += 1) {
      const same = a[i - 1] === b[j - 1] ? 0 : 1;
      const swapped = a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1] ? at(i - 2, j - 2) + 1 : FAR;
      row[j] = Math.min(at(i - 1, j) + 1, (row[j - 1] ?? 0) + 1, at(i - 1, j - 1) + same, swapped);
    }
  }
  return at(a.length, b.length);
}

/** The logarithm of a ratio such as `4:3`, so that 1:2 and 2:1 are equally far from 1:1; undefined for other words. */
function shapeOf(word: string): number | undefined {
  const [, width, height] = /^(\d{1,5}):(\d{1,5})$/.exec(word) ?? [];
  return Number(width) > 0 && Number(height) > 0 ? Math.log(Number(width) / Number(height)) : undefined;
}

/** True if a word of three or more letters begins the other one, or a part of it: `ratio` begins a part of `aspect-ratio`. */
const begins = (short: string, long: string): boolean =>
  short.length > 2 && `-${long.replace(/[^\p{L}\d]/gu, '-')}`.includes(`-${short}`);

/** The distance of a typed word from a known one: one typing error for three letters is near. Ratios compare by value. */
function farFrom(word: string, candidate: string): number {
  const ratio = shapeOf(word);
  if (ratio !== undefined) return Math.abs((shapeOf(candidate) ?? FAR) - ratio);
  // Neither case nor the dashes of a flag count.
  const [typed = '', known = ''] = [word, candidate].map((each) => each.toLowerCase().replace(/^-+/, ''));
  const slips = distance(typed, known);
  const limit = Math.max(typed.length, known.length, 3) / 3;
  // One typing error counts less than a word that the typed one begins, two count less than a word that begins it.
  const within = begins(typed, known) ? 1.5 : begins(known, typed) ? 2.5 : FAR;
  return Math.min(slips <= limit ? slips : FAR, within);
}

/** The known words nearest to a mistyped one, nearest first; none if nothing is near. */
export function nearest(word: string, known: readonly string[]): string[] {
  if (word.length > 100) return [];
  return known
    .map((candidate) => ({ candidate, far: farFrom(word, candidate) }))
    .filter(({ far }) => far < FAR)
    .sort((a, b) => a.far - b.far)
    .map(({ candidate }) => candidate);
}
