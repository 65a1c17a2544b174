import * as fs from 'node:fs';
import * as path from 'node:path';
import type { Row } from '../../batch/rows.ts';
import type { Context } from '../../context.ts';
import { faultReason } from '../../disk/disk-fault.ts';
import { replaceFile } from '../../disk/durable-directory.ts';
import { type OwnFile, refuseForeign } from '../../disk/own-file.ts';
import { GwError, usage } from '../../errors.ts';
import { oneLine, safeJson } from '../../io/escape.ts';
import type { Io, RunProgress } from '../../io/io.ts';
import { counted } from '../../io/quantity-text.ts';
import { tryDirectory } from '../../jobs/save/disk-ways.ts';
import type { JobResult } from '../video/follow-job.ts';
import { familyOf } from './places.ts';

/** The printed result of a row (the contract, section "batch"). */
export interface RowResult extends Pick<Row, 'row' | 'line'>, Omit<JobResult, 'id'> {
  /** The user's key of the row: `day/boat`. */
  readonly row_key: string;
  /** gw's own key of the job; null if this machine knows none. */
  readonly key: string | null;
  readonly id: string | null;
  /** As in the error line; null if the row is saved. */
  readonly error: unknown;
}

export const namedBy = ({ row, line, key, command }: Row) =>
  ({ row, line, row_key: key, key: null, family: familyOf(command) }) as const;

/** The result of a row; `not_sent` if nothing else is known. */
export const rowResult = (row: Row, known: Partial<RowResult> = {}): RowResult => ({
  ...namedBy(row),
  id: null,
  status: 'not_sent',
  files: [],
  record: null,
  error: null,
  ...known,
});

/** The counts of a run's rows, drawn as rows end and printed at the end. */
export class RowSums {
  saved = 0;
  failed = 0;
  unknown = 0;
  /** Rows that this run has ended without a final outcome; the next run continues them. */
  open = 0;
  /** The open rows that the same command does not end: their outputs are gone, or they wait for a row left out. */
  stuck = 0;
  /** Rows taken out of the queue. */
  cancelled = 0;

  /** `rows` is the total number. */
  constructor(private readonly rows: number) {}

  get done(): number {
    return this.rows - this.left + this.open;
  }

  /** The number of rows without a final outcome. */
  get left(): number {
    return this.rows - this.saved - this.failed - this.unknown - this.cancelled;
  }

  draw(bars: RunProgress, total: number, leftMs?: number): void {
    bars.whole({ done: this.done, failed: this.failed + this.unknown, total, leftMs });
  }

  /** Prints in one line how the rows stand, and how to go on. */
  say(
    /** Whether open rows are not sent or not done; `redis` if they are on a queue; `command` goes on with them. */
    how: { left: 'sent' | 'done'; redis?: boolean; command: (...added: string[]) => string },
    { io }: Pick<Context, 'io'>,
  ): void {
    const { saved, failed, unknown, cancelled, left } = this;
    const parts = [
      `${saved} saved`,
      failed > 0 && `${failed} failed`,
      unknown > 0 && `${unknown} of unknown outcome`,
      cancelled > 0 && `${cancelled} taken out`,
      left > 0 && `${left} not ${how.left}`,
    ];
    const where = how.redis ? ' on the machine that sent it' : '';
    const next = [
      left + cancelled > this.stuck && `go on with: ${how.command()}`,
      failed > 0 && `create anew what failed with: ${how.command('--retry-failed')}`,
      unknown > 0 &&
        `gw jobs sync${where} looks for what is unknown (family B), and gw jobs resolve closes it`,
    ];
    const sum = `${counted(this.rows, 'row')}: ${parts.filter(Boolean).join(', ')}`;
    io.note([sum, ...next].filter(Boolean).join('; '));
  }
}

type Entry = Omit<RowResult, 'files' | 'record'> & { readonly files: readonly { readonly path: string }[] };

const columns = ['row', 'line', 'row_key', 'key', 'family', 'id', 'status', 'files', 'error'] as const;

/**
 * The report of --report: all rows of a batch with their outcomes, as CSV or JSONL by the file's ending. It is written at
 * the end, and replaces only an earlier report. Throws `usage` for another ending or an unwritable place.
 */
export function openReport(named: string | undefined, cwd: string, io: Pick<Io, 'withoutSecrets'>) {
  if (named === undefined) return { add: () => {}, lacks: () => false, write: () => undefined };
  const file = path.resolve(cwd, named);
  const isCsv = /\.csv$/i.test(named);
  if (!isCsv && !/\.jsonl$/i.test(named))
    throw usage(`--report ${named}: the ending says the format`, 'write .csv or .jsonl');
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
    add({ record: _, ...entry }: RowResult): void {
      keys.add(entry.row_key);
      entries.push({ ...entry, files: entry.files.map(({ path }) => ({ path })) });
    },
    /** True if no entry of a row was added. */
    lacks: (key: string): boolean => !keys.has(key),
    /** Writes the report and returns an error instead of throwing it, because the rows are done. */
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

/** Reports of an older gw name the row's key `key`. */
const isCsvReport = (head: string): boolean =>
  /^row,line,(row_key,)?key,family,id,status,files,error\n/.test(head);

/** True if the first line, which may be cut, is a report entry. */
const isJsonReport = (head: string): boolean => /^\{"row":\d+,"line":\d+,"(row_)?key":"/.test(head);

const csvLine = ({ error, files, ...entry }: Entry): string => {
  const cells = {
    ...entry,
    files: files.map((each) => each.path).join(' '),
    error: (error as { message?: string } | null)?.message ?? '',
  };
  return columns.map((column) => csvCell(cells[column])).join(',');
};

/** Large enough for all paths of a job in one cell. */
const MAX_CELL = 100_000;

/** Keeps a spreadsheet from reading a cell as a formula. */
function csvCell(value: unknown): string {
  // Untrusted text is escaped, because it could contain control characters.
  const text = value === null ? '' : oneLine(String(value), MAX_CELL);
  const inert = typeof value === 'string' && /^[=+@\t\r-]/.test(text) ? `'${text}` : text;
  return /[",\n\r]/.test(inert) ? `"${inert.replaceAll('"', '""')}"` : inert;
}
