import { oneLine } from './escape.ts';
import type { TableColumn } from './io.ts';

/**
 * Names and their values for people, a pair a line, the values under each other. What comes from outside can begin no line of
 * its own; a value is cut at `most` characters.
 */
export function fieldLines(
  fields: Iterable<readonly [name: string, value: string]>,
  most = Number.POSITIVE_INFINITY,
): string {
  const rows = [...fields].map(([name, value]) => [oneLine(name, most), oneLine(value, most)] as const);
  const width = rows.reduce((widest, [name]) => Math.max(widest, name.length), 0);
  return rows.map(([name, value]) => `${name.padEnd(width)}  ${value}\n`).join('');
}

/** Each plain value of a record by its path (`content.video_url`); what is null or missing is left out. */
export function* leavesOf(value: unknown, path = ''): Generator<readonly [path: string, value: unknown]> {
  if (typeof value === 'object' && value !== null) {
    for (const [name, inner] of Object.entries(value)) {
      yield* leavesOf(inner, path === '' ? name : `${path}.${name}`);
    }
  } else if (value !== undefined && value !== null) yield [path, value];
}

/** The columns of a table: what is never cut, what may be, and what is left out first where a terminal has no room. */
export const columnsOf = (
  whole: readonly string[],
  others: readonly string[],
  optional: readonly string[] = [],
): TableColumn[] => [
  ...whole.map((name) => ({ name, whole: true })),
  ...others.map((name) => ({ name })),
  ...optional.map((name) => ({ name, optional: true })),
];
