import { cutToWidth, displayWidth, padToWidth } from './display-width.ts';
import { oneLine } from './escape.ts';
import type { Table, TableColumn } from './io.ts';
import { plainStyle, type Style } from './style.ts';

const GAP = '  ';
/** A cut column keeps at least this many columns of the terminal. */
const MIN_WIDTH = 6;
/** A narrower cut column is not useful enough to keep an optional column beside it. */
const READABLE_WIDTH = 20;

/** Hides secrets in a table. This must happen before cells are cut, because a cut API key is no longer recognised. */
export function hideInTable(table: Table, hide: (text: string) => string): Table {
  const rows = table.rows.map(({ id, cells, drawn }) => ({
    id: hide(id),
    cells: cells.map(hide),
    ...(drawn && { drawn: drawn.map(hide) }),
  }));
  return { columns: table.columns, rows };
}

export function idLines(table: Table): string {
  return lines(table.rows.map(({ id }) => oneLine(id)));
}

/** Rows without a header, with tabs between cells (for pipes and files); tabs and newlines in a cell are escaped. */
export function tabbedLines(table: Table): string {
  return lines(
    table.rows.map(({ cells }) => table.columns.map((_, at) => oneLine(cells[at] ?? '')).join('\t')),
  );
}

/** An aligned table with a header, cut to the terminal's width; empty if there are no rows. */
export function alignedLines(table: Table, terminalColumns: number, style: Style = plainStyle): string {
  if (table.rows.length === 0) return '';
  const texts = [
    table.columns.map(({ name }) => name.toUpperCase()),
    ...table.rows.map(({ cells, drawn = cells }) => table.columns.map((_, at) => oneLine(drawn[at] ?? ''))),
  ];
  const all = table.columns.map((column, at) => ({
    column,
    at,
    width: texts.reduce((widest, row) => Math.max(widest, displayWidth(row[at] ?? '')), 0),
  }));
  const kept = inTerminalOrder(shownAt(all, terminalColumns));
  const columns = kept.map(({ column }) => column);
  const natural = kept.map(({ width }) => width);
  const [header = [], ...rows] = texts.map((row) => kept.map(({ at }) => row[at] ?? ''));
  const widths = fitWidths(columns, natural, terminalColumns);
  const draw = (row: readonly string[]) => {
    const cells = columns.map(({ align, cut }, at) => {
      const width = widths[at] ?? 0;
      return padToWidth(cutToWidth(row[at] ?? '', width, cut), width, align);
    });
    return cutToWidth(cells.join(GAP).trimEnd(), terminalColumns);
  };
  return lines([style.strong(draw(header)), ...rows.map(draw)]);
}

function inTerminalOrder<C extends { readonly column: TableColumn }>(columns: readonly C[]): C[] {
  const ordered = columns.filter(({ column }) => column.terminalAt === undefined);
  for (const each of columns) {
    if (each.column.terminalAt !== undefined) ordered.splice(each.column.terminalAt, 0, each);
  }
  return ordered;
}

/**
 * The columns that fit on the terminal. A column with `wholeFrom` takes room from others at that width; those are then
 * hidden at smaller widths too, so that no column disappears as the terminal grows.
 */
function shownAt<C extends { readonly column: TableColumn; readonly at: number; readonly width: number }>(
  all: readonly C[],
  terminalColumns: number,
): readonly C[] {
  const plain = withRoom(all, terminalColumns);
  const from = Math.max(...all.map(({ column }) => column.wholeFrom ?? 0));
  if (from === 0) return plain;
  const whole = all.map((each) =>
    each.column.wholeFrom === undefined ? each : { ...each, column: { ...each.column, whole: true } },
  );
  const isShown = (columns: readonly C[], { at }: C) => columns.some((each) => each.at === at);
  const first = withRoom(whole, from);
  // A column that is too long to be shown whole even there is cut at every width.
  if (!all.every((each) => each.column.wholeFrom === undefined || isShown(first, each))) return plain;
  return terminalColumns < from
    ? plain.filter((each) => isShown(first, each))
    : withRoom(whole, terminalColumns);
}

/** Drops optional columns one by one until the others have their useful width. */
function withRoom<C extends { readonly column: TableColumn; readonly width: number }>(
  columns: readonly C[],
  terminalColumns: number,
): readonly C[] {
  const least = columns.reduce(
    (sum, { column, width }) =>
      sum + (column.whole ? width : Math.min(width, column.least ?? READABLE_WIDTH)) + GAP.length,
    -GAP.length,
  );
  const first = Math.max(...columns.map(({ column }) => Number(column.optional ?? 0)));
  if (least <= terminalColumns || first === 0) return columns;
  const at = columns.findLastIndex(({ column }) => Number(column.optional ?? 0) === first);
  return withRoom(columns.toSpliced(at, 1), terminalColumns);
}

/** Narrows the widest column that may be cut, step by step, until the row fits or nothing is left to cut. */
function fitWidths(
  columns: readonly TableColumn[],
  natural: readonly number[],
  terminalColumns: number,
): number[] {
  const widths = [...natural];
  let excess =
    widths.reduce((sum, width) => sum + width, 0) + GAP.length * (columns.length - 1) - terminalColumns;
  for (const leastOf of [(column?: TableColumn) => column?.least ?? MIN_WIDTH, () => MIN_WIDTH]) {
    while (excess > 0) {
      let widest = -1;
      for (const [at, width] of widths.entries()) {
        const canGive = columns[at]?.whole !== true && width > leastOf(columns[at]);
        if (canGive && width > (widths[widest] ?? 0)) widest = at;
      }
      if (widest < 0) break;
      widths[widest] = (widths[widest] ?? 0) - 1;
      excess -= 1;
    }
  }
  return widths;
}

function lines(texts: readonly string[]): string {
  return texts.map((text) => `${text}\n`).join('');
}
