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
  readonly stdinIsTerminal: boolean;
  readonly stdoutIsTerminal: boolean;
  readonly stderrIsTerminal: boolean;
  /** Result text for people; newline added by the caller. Waits for back-pressure. Throws ClosedPipe. */
  out(text: string): Promise<void>;
  /** One JSON value as one line. */
  outJson(value: unknown): Promise<void>;
  /** A gateway reply that must reach stdout unchanged (`get --json`). */
  outRaw(text: string): Promise<void>;
  /** `warning: …` on stderr, also when quiet is off only. */
  warn(text: string): void;
  /** One plain line on stderr; nothing when quiet. */
  note(text: string): void;
  /** The one error line (or JSON object) of a run. */
  error(error: unknown): void;
  /** Verbose lines (`> POST …`); nothing unless --verbose. */
  trace(text: string): void;
  /** The exact key, from now on replaced in everything written. */
  hideSecret(secret: string): void;
  /** Draws a job's progress; nothing when quiet. */
  progress(): Progress;
  /** Resolves when everything written has been taken. */
  drain(): Promise<void>;
}

/** What a wait and a download report; drawn as bars on a terminal, as plain lines elsewhere. */
export interface Progress {
  /** A new look at the task: its status, and 0-100 where known or estimated. */
  task(update: TaskProgress): void;
  /** Bytes of an output so far. */
  download(update: { readonly name: string; readonly bytes: number; readonly totalBytes: number | undefined }): void;
  /** A line that must not tear the bars. */
  line(text: string): void;
  stop(): void;
}

export interface TaskProgress {
  readonly id: string;
  readonly status: string;
  readonly elapsedMs: number;
  /** The gateway's own figure. */
  readonly percent?: number | undefined;
  /** How long jobs like this one took before, from the ledger. */
  readonly estimateMs?: number | undefined;
}
