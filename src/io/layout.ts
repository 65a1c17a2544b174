import { oneLine } from './escape.ts';
import type { TableColumn } from './io.ts';

/**
 * Names and values for people, one pair per line with aligned values. Text from outside cannot start a new line; a
 * value is cut at `most` characters.
 */
export function fieldLines(
  fields: Iterable<readonly [name: string, value: string]>,
  most = Number.POSITIVE_INFINITY,
): string {
  const rows = [...fields].map(([name, value]) => [oneLine(name, most), oneLine(value, most)] as const);
  const width = rows.reduce((widest, [name]) => Math.max(widest, name.length), 0);
  return rows.map(([name, value]) => `${name.padEnd(width)}  ${value}\n`).join('');
}

/** Each scalar value of a record with its path (`content.video_url`); null and undefined are left out. */
export function* leavesOf(value: unknown, path = ''): Generator<readonly [path: string, value: unknown]> {
  if (typeof value === 'object' && value !== null) {
    for (const [name, inner] of Object.entries(value)) {
      yield* leavesOf(inner, path === '' ? name : `${path}.${name}`);
    }
  } else if (value !== undefined && value !== null) yield [path, value];
}

/** Columns of a table: those never cut, those that may be cut, and those left out first on a narrow terminal. */
export const columnsOf = (
  whole: readonly string[],
  others: readonly string[],
  optional: readonly string[] = [],
): TableColumn[] => [
  ...whole.map((name) => ({ name, whole: true })),
  ...others.map((name) => ({ name })),
  ...optional.map((name) => ({ name, optional: true })),
];
