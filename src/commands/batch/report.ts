import * as fs from 'node:fs';
import * as path from 'node:path';
import { replaceFile } from '../../disk/durable-directory.ts';
import { usage } from '../../errors.ts';
import type { RowResult } from './run.ts';

type Entry = Omit<RowResult, 'files' | 'record'> & { readonly files: readonly { readonly path: string }[] };

const columns = ['row', 'line', 'key', 'family', 'id', 'status', 'files', 'error'] as const;

/**
 * All rows of a batch and what came of them, for --report: CSV or JSONL by the file's ending, written when the batch ends,
 * in place of the last one. Throws `usage` for another ending and for a directory that is not there.
 */
export function openReport(named: string | undefined, cwd: string) {
  if (named === undefined) return { add: () => {}, write: () => {} };
  const file = path.resolve(cwd, named);
  const isCsv = /\.csv$/i.test(named);
  if (!isCsv && !/\.jsonl$/i.test(named)) {
    throw usage(`--report ${named}: the ending says the format`, 'write .csv or .jsonl');
  }
  if (!fs.statSync(path.dirname(file), { throwIfNoEntry: false })?.isDirectory()) {
    throw usage(`--report ${named}: its directory is not there`, 'make it first');
  }
  const entries: Entry[] = [];
  return {
    add({ row, line, key, family, id, status, files, error }: Entry): void {
      entries.push({
        row,
        line,
        key,
        family,
        id,
        status,
        error,
        files: files.map((each) => ({ path: each.path })),
      });
    },
    write(): void {
      if (entries.length === 0) return;
      entries.sort((one, other) => one.row - other.row || (one.key < other.key ? -1 : 1));
      const lines = isCsv
        ? [columns.join(','), ...entries.map(csvLine)]
        : entries.map((entry) => JSON.stringify(entry));
      replaceFile(file, `${lines.join('\n')}\n`, 0o666);
    },
  };
}

const csvLine = ({ error, files, ...entry }: Entry): string => {
  const cells = {
    ...entry,
    files: files.map((each) => each.path).join(' '),
    error: (error as { message?: string } | null)?.message ?? '',
  };
  return columns.map((column) => csvCell(cells[column])).join(',');
};

/** A cell that a spreadsheet would take for a formula is not one. */
function csvCell(value: unknown): string {
  const text = value === null ? '' : String(value);
  const inert = typeof value === 'string' && /^[=+@\t\r-]/.test(text) ? `'${text}` : text;
  return /[",\n\r]/.test(inert) ? `"${inert.replaceAll('"', '""')}"` : inert;
}
