import type { Page } from './page.ts';
import type { Style } from './style.ts';

/** How results and messages reach the user; decided once from the flags, the environment and the streams. */
export interface OutputMode {
  readonly json: boolean;
  readonly quiet: boolean;
  readonly verbose: boolean;
  /** True if bars and spinners may be drawn on stderr: it is a terminal, not CI, and not --no-progress. */
  readonly bars: boolean;
}

/**
 * The only way to write output. stdout carries only results; everything else goes to stderr. Each call replaces the API
 * key by `***`. Text from outside is made safe here: in results it is escaped on a terminal and unchanged in a pipe; in
 * notes, warnings and errors it is always escaped and cut.
 */
export interface Io {
  readonly mode: OutputMode;
  readonly stdoutIsTerminal: boolean;
  readonly stderrIsTerminal: boolean;
  /**
   * Writes a result's text, or its bytes in UTF-8; the caller adds newlines. Waits for back-pressure. Throws
   * ClosedPipe, or GwError `internal` if stdout cannot be written. A tail that may begin the key, or is half a
   * surrogate pair, waits for the next call or for `drain`.
   */
  out(text: string | Uint8Array): Promise<void>;
  /** Writes gw's own text (help), coloured on a terminal; it must not contain text from outside. */
  outStyled(make: (style: Style) => string): Promise<void>;
  outJson(value: unknown): Promise<void>;
  /** Writes a JSON array on one line, row by row. */
  outJsonRows(rows: AsyncIterable<unknown>): Promise<void>;
  /** Writes a file's bytes (`-o -`) unchanged, without looking for the key. Throws GwError `usage` on a terminal. */
  outBytes(bytes: Uint8Array): Promise<void>;
  /** Writes a reply's bytes to a pipe; only the key is replaced, even if it is split across calls. */
  outReply(bytes: Uint8Array): Promise<void>;
  /** Writes a list: aligned on a terminal, tab-separated in a pipe, only IDs when quiet. */
  table(table: Table): Promise<void>;
  /** A table on the terminal that is redrawn in place; nothing else may be written meanwhile. */
  liveTable(): Promise<LiveTable>;
  /** Writes `warning: …` to stderr; nothing when quiet, unless `urgent`: something paid for may be lost. */
  warn(text: string, urgent?: 'urgent'): void;
  /** Writes one plain line to stderr; nothing when quiet, unless `urgent`: a flag asked for it. */
  note(text: string, urgent?: 'urgent'): void;
  /** Writes streamed text (a model's thoughts) to stderr, like `out`; also under -q, because a flag asks for it. */
  aside(text: string): void;
  /** Writes the error line (or JSON object) of a run, after removing bars. Prints nothing for ClosedPipe. */
  error(error: unknown): void;
  /** Writes a verbose line (`> POST …`); nothing unless --verbose. */
  trace(text: string): void;
  /** From now on replaces this API key in everything that is written. */
  hideSecret(secret: string): void;
  /** True if a text contains an API key of 16 or more characters. */
  holdsSecret(text: string): boolean;
  /** A text with secrets replaced, for writing elsewhere, such as to the ledger. */
  withoutSecrets(text: string): string;
  /** Draws the progress of jobs; nothing when quiet. Several reporters may be open at once and share the screen. */
  progress(): RunProgress;
  /**
   * Shows on stderr what gw is waiting for until the returned function is called, which removes it; only on a terminal,
   * and not when quiet. An open page shows it instead.
   */
  awaiting(what: string): () => void;
  /** The terminal of stdout for a conversation; one per run. Use it instead of `out`, never with it. */
  page(): Promise<Page>;
  /**
   * Removes bars, writes held-back text, and resolves when everything has been written. Throws as `out` does if the
   * held-back text cannot be written, but does not repeat a failure that a call has already thrown.
   */
  drain(): Promise<void>;
}

interface LiveTable {
  /** How many rows fit besides the header. */
  rows(): number;
  draw(table: Table): Promise<void>;
  end(): void;
}

/** A list from a command; its cells are raw and made safe when drawn. */
export interface Table {
  readonly columns: readonly TableColumn[];
  readonly rows: readonly TableRow[];
}

export interface TableColumn {
  /** The header, which only a terminal shows. */
  readonly name: string;
  readonly align?: 'left' | 'right' | undefined;
  /** Never cut while other columns can be: a value that readers copy, such as an ID. */
  readonly whole?: boolean | undefined;
  /** Left out if the terminal is too narrow: the highest number first, and of equal ones the last. */
  readonly optional?: boolean | number | undefined;
  /** Least number of columns at which a cut value is still useful. */
  readonly least?: number | undefined;
  /** Never cut if the terminal has at least this many columns. */
  readonly wholeFrom?: number | undefined;
  /** Which end is cut off; by default the end. */
  readonly cut?: 'start' | undefined;
  /** Its position on a terminal, from 0; elsewhere the listed order stays, because scripts rely on it. */
  readonly terminalAt?: number | undefined;
}

interface TableRow {
  /** The text that `-q` prints. */
  readonly id: string;
  readonly cells: readonly string[];
  /** Cells that a terminal shows instead of `cells`. */
  readonly drawn?: readonly string[] | undefined;
}

/** Receives the progress of waits and downloads; drawn as bars on a terminal, as plain lines elsewhere. */
export interface Progress {
  /** Reports a new query of a task: its status, and 0-100 if known or estimated. */
  task(update: TaskProgress): void;
  /** Reports how many bytes of an output have come. */
  download(update: DownloadProgress): void;
  /** Prints a line without disturbing the bars. */
  line(text: string): void;
  stop(): void;
}

/** Progress of a run of many jobs, with an additional bar for the whole run. */
export interface RunProgress extends Progress {
  whole(update: WholeProgress): void;
}

export interface TaskProgress {
  readonly id: string;
  readonly status: string;
  readonly elapsedMs: number;
  /** The gateway's own percentage. */
  readonly percent?: number | undefined;
  /** How long similar jobs in the ledger took. */
  readonly estimateMs?: number | undefined;
  /** The state, if the status is not a video task's (an asset's `Active`); else it follows from the status. */
  readonly state?: 'running' | 'succeeded' | 'failed' | undefined;
  readonly isPart?: boolean | undefined;
}

export interface DownloadProgress {
  readonly name: string;
  readonly bytes: number;
  readonly totalBytes: number | undefined;
  /** True in the last update; needed only if the total is unknown. */
  readonly done?: boolean | undefined;
  /** True while the download waits for others to end. */
  readonly isWaiting?: boolean | undefined;
  /** True for a part of something that prints its own final line; a part prints none. */
  readonly isPart?: boolean | undefined;
}

export interface WholeProgress {
  /** Finished jobs, including failed ones. */
  readonly done: number;
  readonly failed: number;
  readonly total: number;
  /** Estimated time for the remaining jobs. */
  readonly leftMs?: number | undefined;
}
