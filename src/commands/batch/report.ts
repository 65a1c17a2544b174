import * as fs from 'node:fs';
import * as path from 'node:path';
import { faultReason } from '../../disk/disk-fault.ts';
import { replaceFile } from '../../disk/durable-directory.ts';
import { type OwnFile, refuseForeign } from '../../disk/own-file.ts';
import { GwError, usage } from '../../errors.ts';
import { oneLine, safeJson } from '../../io/escape.ts';
import type { Io } from '../../io/io.ts';
import { tryDirectory } from '../../jobs/save/disk-ways.ts';
import type { RowResult } from './run.ts';

type Entry = Omit<RowResult, 'files' | 'record'> & { readonly files: readonly { readonly path: string }[] };

const columns = ['row', 'line', 'row_key', 'key', 'family', 'id', 'status', 'files', 'error'] as const;

/**
 * All rows of a batch and what came of them, for --report: CSV or JSONL by the file's ending, written when the batch ends,
 * in place of an earlier report and of nothing else. Throws `usage` for another ending, and where no report can be written.
 */
export function openReport(named: string | undefined, cwd: string, io: Pick<Io, 'withoutSecrets'>) {
  if (named === undefined) return { add: () => {}, lacks: () => false, write: () => undefined };
  const file = path.resolve(cwd, named);
  const isCsv = /\.csv$/i.test(named);
  if (!isCsv && !/\.jsonl$/i.test(named)) {
    throw usage(`--report ${named}: the ending says the format`, 'write .csv or .jsonl');
  }
  const own: OwnFile = {
    file,
    named: `--report ${named}`,
    what: 'a report that gw wrote',
    isOwn: isCsv ? isCsvReport : isJsonReport,
    hint: 'give the report another name',
  };
  const dir = path.dirname(file);
  const attempt = (write: () => void) => {
    try {
      write();
    } catch (error) {
      if (error instanceof GwError) throw error;
      throw usage(`--report ${named}: cannot be written: ${faultReason(error)}`, 'name another file');
    }
  };
  refuseForeign(own);
  if (!fs.statSync(dir, { throwIfNoEntry: false })?.isDirectory())
    throw usage(`--report ${named}: its directory is not there`, 'make it first');
  attempt(() => tryDirectory(dir));
  const entries: Entry[] = [];
  const keys = new Set<string>();
  return {
    add({ row, line, row_key, key, family, id, status, files, error }: Entry): void {
      const paths = files.map((each) => ({ path: each.path }));
      keys.add(row_key);
      entries.push({ row, line, row_key, key, family, id, status, files: paths, error });
    },
    /** Whether nothing was added of a row. */
    lacks: (key: string): boolean => !keys.has(key),
    /** Writes it; what went wrong, if anything did: the rows stand as they are. */
    write(): GwError | undefined {
      if (entries.length === 0) return undefined;
      entries.sort((one, other) => one.row - other.row || (one.row_key < other.row_key ? -1 : 1));
      const lines = isCsv ? [columns.join(','), ...entries.map(csvLine)] : entries.map(safeJson);
      const text = io.withoutSecrets(`${lines.join('\n')}\n`);
      try {
        attempt(() => {
          refuseForeign(own);
          replaceFile(file, text, 0o666);
        });
        return undefined;
      } catch (error) {
        if (!(error instanceof GwError)) throw error;
        return new GwError('partial', `${error.message}; the rows stand as they are told`, error.facts);
      }
    },
  };
}

/** Reports of an older gw call the row's key `key`. */
const isCsvReport = (head: string): boolean =>
  /^row,line,(row_key,)?key,family,id,status,files,error\n/.test(head);

/** Whether the first line is an object of a report, which may be cut. */
const isJsonReport = (head: string): boolean => /^\{"row":\d+,"line":\d+,"(row_)?key":"/.test(head);

const csvLine = ({ error, files, ...entry }: Entry): string => {
  const cells = {
    ...entry,
    files: files.map((each) => each.path).join(' '),
    error: (error as { message?: string } | null)?.message ?? '',
  };
  return columns.map((column) => csvCell(cells[column])).join(',');
};

/** All paths of a job stand in one. */
const MAX_CELL = 100_000;

/** A cell that a spreadsheet would take for a formula is not one. */
function csvCell(value: unknown): string {
  // A line that begins with a stranger's words could command whoever reads it.
  const text = value === null ? '' : oneLine(String(value), MAX_CELL);
  const inert = typeof value === 'string' && /^[=+@\t\r-]/.test(text) ? `'${text}` : text;
  return /[",\n\r]/.test(inert) ? `"${inert.replaceAll('"', '""')}"` : inert;
}
