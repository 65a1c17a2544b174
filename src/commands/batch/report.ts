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

/** What is printed of a row as it ends (the contract, section "batch"). */
export interface RowResult extends Pick<Row, 'row' | 'line'>, Omit<JobResult, 'id'> {
  /** What the row is called: `day/boat`. */
  readonly row_key: string;
  /** gw's own, of its job; null where none is known here. */
  readonly key: string | null;
  readonly id: string | null;
  /** As in the error line; null where the row is saved. */
  readonly error: unknown;
}

export const namedBy = ({ row, line, key, command }: Row) =>
  ({ row, line, row_key: key, key: null, family: familyOf(command) }) as const;

/** What is told of a row: that it was not sent, where nothing else is known. */
export const rowResult = (row: Row, known: Partial<RowResult> = {}): RowResult => ({
  ...namedBy(row),
  id: null,
  status: 'not_sent',
  files: [],
  record: null,
  error: null,
  ...known,
});

/** What the rows of a run came to, drawn as they end and said when it is over. */
export class RowSums {
  saved = 0;
  failed = 0;
  unknown = 0;
  /** Ended for this run, and the next one goes on with them. */
  open = 0;
  /** Of these, rows that wait for one that this run leaves out: the same command would not make them. */
  stuck = 0;
  /** Taken out of the queue. */
  cancelled = 0;

  /** Of how many rows. */
  constructor(private readonly rows: number) {}

  get done(): number {
    return this.rows - this.left + this.open;
  }

  /** Rows of which no end is known. */
  get left(): number {
    return this.rows - this.saved - this.failed - this.unknown - this.cancelled;
  }

  draw(bars: RunProgress, total: number, leftMs?: number): void {
    bars.whole({ done: this.done, failed: this.failed + this.unknown, total, leftMs });
  }

  /** Says in one line how the rows stand, and how to go on. */
  say(
    /** What is left was not sent, or is not done; `--redis` where it is on a queue; the command that goes on. */
    how: { left: 'sent' | 'done'; redis?: boolean; command: (...added: string[]) => string },
    { io }: Pick<Context, 'io'>,
  ): void {
    const { saved, failed, unknown, cancelled, left } = this;
    const { command } = how;
    const parts = [
      `${saved} saved`,
      failed > 0 && `${failed} failed`,
      unknown > 0 && `${unknown} of unknown outcome`,
      cancelled > 0 && `${cancelled} taken out`,
      left > 0 && `${left} not ${how.left}`,
    ];
    const where = how.redis ? ' on the machine that sent it' : '';
    const next = [
      left + cancelled > this.stuck && `go on with: ${command()}`,
      failed > 0 && `create anew what failed with: ${command('--retry-failed')}`,
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
 * All rows of a batch and what came of them, for --report: CSV or JSONL by the file's ending, written when the batch ends,
 * in place of an earlier report and of nothing else. Throws `usage` for another ending, and where no report can be written.
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
