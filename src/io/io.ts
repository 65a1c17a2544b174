import type { Page } from './page.ts';
import type { Style } from './style.ts';

/** How results and side talk reach the user; made once from the flags, the environment and the streams. */
export interface OutputMode {
  readonly json: boolean;
  readonly quiet: boolean;
  readonly verbose: boolean;
  /** Bars and spinners on stderr: a terminal, not CI, not --no-progress. */
  readonly bars: boolean;
}

/**
 * The one sink. stdout carries results only; everything else goes to stderr. Each call replaces the exact API key by
 * `***`. Text from outside is made safe here: visible escapes on a terminal, unchanged in a pipe for results; always
 * escaped and cut for notes, warnings and errors.
 */
export interface Io {
  readonly mode: OutputMode;
  readonly stdoutIsTerminal: boolean;
  readonly stderrIsTerminal: boolean;
  /**
   * A result's text, or its bytes in UTF-8; newline added by the caller. Waits for back-pressure. Throws ClosedPipe, or GwError
   * `internal` when stdout cannot be written. A tail that may be the beginning of the key, or is half a surrogate
   * pair, waits for the next call or for `drain`.
   */
  out(text: string | Uint8Array): Promise<void>;
  /** Text of gw's own making (help), coloured on a terminal; nothing in it may come from outside. */
  outStyled(make: (style: Style) => string): Promise<void>;
  outJson(value: unknown): Promise<void>;
  /** An array as one line, row by row as they come. */
  outJsonRows(rows: AsyncIterable<unknown>): Promise<void>;
  /** A file's bytes (`-o -`), exactly; the key is not looked for in them. Throws GwError `usage` on a terminal. */
  outBytes(bytes: Uint8Array): Promise<void>;
  /** A reply's bytes as they came, in a pipe; only the key is replaced, also where it is cut over several calls. */
  outReply(bytes: Uint8Array): Promise<void>;
  /** A list: aligned on a terminal, tab-separated in a pipe, only IDs when quiet. */
  table(table: Table): Promise<void>;
  /** A table that is drawn over again in place, on the terminal that stdout is; nothing else is written meanwhile. */
  liveTable(): Promise<LiveTable>;
  /** `warning: …` on stderr; nothing when quiet, unless it is `urgent`: something paid for may be lost. */
  warn(text: string, urgent?: 'urgent'): void;
  /** One plain line on stderr; nothing when quiet, unless it is `urgent`: a flag has asked for it. */
  note(text: string, urgent?: 'urgent'): void;
  /** Text on stderr as it comes (a model's thoughts), treated like `out`; a flag asks for it, under -q too. */
  aside(text: string): void;
  /** The one error line (or JSON object) of a run; takes down bars first. Prints nothing for ClosedPipe. */
  error(error: unknown): void;
  /** Verbose lines (`> POST …`); nothing unless --verbose. */
  trace(text: string): void;
  /** The exact key, from now on replaced in everything written. */
  hideSecret(secret: string): void;
  /** Whether the exact key of 16 characters or more stands in a text. */
  holdsSecret(text: string): boolean;
  /** A text as it may be written elsewhere: the ledger. */
  withoutSecrets(text: string): string;
  /** Draws jobs' progress; nothing when quiet. Several may be open at once; they share the screen. */
  progress(): RunProgress;
  /**
   * Says on stderr what is awaited until the returned function is called, which leaves no trace of it; nothing but on a
   * terminal, and when quiet. Where a page is open it stands there.
   */
  awaiting(what: string): () => void;
  /** The terminal that stdout is, as a conversation uses it; one a run. Use it in place of `out`, never beside it. */
  page(): Promise<Page>;
  /**
   * Takes down bars, lets go of what waited, and resolves when everything written has been taken. Throws as `out` does
   * if what waited cannot be written; a failure that some call has already thrown is not thrown again.
   */
  drain(): Promise<void>;
}

export interface LiveTable {
  /** How many rows have room beside the header. */
  rows(): number;
  draw(table: Table): Promise<void>;
  end(): void;
}

/** A list as a command hands it over; cells as they came, made safe when drawn. */
export interface Table {
  readonly columns: readonly TableColumn[];
  readonly rows: readonly TableRow[];
}

export interface TableColumn {
  /** The header, shown on a terminal only. */
  readonly name: string;
  readonly align?: 'left' | 'right' | undefined;
  /** Kept whole while others can be cut: what a reader copies (an ID). */
  readonly whole?: boolean | undefined;
  /** Left out on a terminal that has no room for it: the highest number first, of equal ones the last. */
  readonly optional?: boolean | number | undefined;
  /** Columns of the terminal below which it is no use, where it may be cut. */
  readonly least?: number | undefined;
  /** Never cut on a terminal of this width or more. */
  readonly wholeFrom?: number | undefined;
  /** What is lost where it is cut; the end unless said. */
  readonly cut?: 'start' | undefined;
  /** On a terminal it stands here, from 0; elsewhere where it is listed, because scripts count on the order. */
  readonly terminalAt?: number | undefined;
}

export interface TableRow {
  /** What `-q` prints. */
  readonly id: string;
  readonly cells: readonly string[];
  /** What a terminal shows in place of the cells. */
  readonly drawn?: readonly string[] | undefined;
}

/** What a wait and a download report; drawn as bars on a terminal, as plain lines elsewhere. */
export interface Progress {
  /** A new look at the task: its status, and 0-100 where known or estimated. */
  task(update: TaskProgress): void;
  /** Bytes of an output so far. */
  download(update: DownloadProgress): void;
  /** A line that must not tear the bars. */
  line(text: string): void;
  stop(): void;
}

/** Progress of a run of many jobs, with one more bar for the whole. */
export interface RunProgress extends Progress {
  whole(update: WholeProgress): void;
}

export interface TaskProgress {
  readonly id: string;
  readonly status: string;
  readonly elapsedMs: number;
  /** The gateway's own figure. */
  readonly percent?: number | undefined;
  /** How long jobs like this one took before, from the ledger. */
  readonly estimateMs?: number | undefined;
  /** Where it stands, for statuses that are not a video task's (an asset's `Active`); else read from the status. */
  readonly state?: 'running' | 'succeeded' | 'failed' | undefined;
  readonly isPart?: boolean | undefined;
}

export interface DownloadProgress {
  readonly name: string;
  readonly bytes: number;
  readonly totalBytes: number | undefined;
  /** True with the last update; needed only where the total is not known. */
  readonly done?: boolean | undefined;
  /** True while it waits for others to end. */
  readonly isWaiting?: boolean | undefined;
  /** It is a part of something whose end is told in a line of its own: it leaves none. */
  readonly isPart?: boolean | undefined;
}

export interface WholeProgress {
  /** Finished jobs, the failed ones among them. */
  readonly done: number;
  readonly failed: number;
  readonly total: number;
  /** How long the rest is likely to take. */
  readonly leftMs?: number | undefined;
}
