/** A file that a job has saved. */
export interface SavedFile {
  /** Absolute. */
  path: string;
  bytes: number;
  sha256: string;
  /** Such as `video/mp4`. */
  type: string;
}

/** What a command gives that creates, waits for or saves a job. */
export interface JobResult {
  family: string;
  /** The gateway's task ID, or gw's own where there is none. */
  id: string;
  status: string;
  /** The gateway's last record, as it came. */
  record: unknown;
  files: SavedFile[];
}

/** Why a run failed: what `--json` prints of an error. */
export interface GwError {
  kind: string;
  message: string;
  hint?: string;
  exit_code: number;
  /** HTTP status, and the gateway's own words, where there was a reply. */
  status?: number;
  type?: string;
  code?: string;
  request_id?: string;
  task_id?: string;
  /** RFC 3339. */
  retry_at?: string;
}

/** A line of `--events`. */
export interface GwEvent {
  event: 'intent' | 'accepted' | 'status' | 'download' | 'saved' | 'failed' | 'unknown' | 'result';
  /** RFC 3339. */
  t: string;
  family: string;
  key: string;
  id?: string;
  status?: string;
  error?: GwError;
  [field: string]: unknown;
}

export interface GwOptions {
  /** The environment: `GW_BASE_URL`, `GW_API_KEY`, `GW_STATE_DIR`, …; that of the process where it is left out. */
  env?: Readonly<Record<string, string | undefined>>;
  /** What relative paths begin in; the working directory of the process where it is left out. */
  cwd?: string;
  /** What is piped in: a text, bytes, or a stream. Nothing where it is left out. */
  stdin?: string | Uint8Array | AsyncIterable<string | Uint8Array>;
  /** Aborting it is Ctrl-C: what is being paid for is waited for, and the job stays in the ledger. */
  signal?: {
    readonly aborted: boolean;
    addEventListener(type: 'abort', listener: () => void, options?: { once?: boolean }): void;
    removeEventListener(type: 'abort', listener: () => void): void;
  };
  /** Hears of what happens to jobs as it happens. The run goes on where it throws, and `error` tells of that. */
  onEvent?: (event: GwEvent) => void;
}

export interface GwRun<R = unknown> {
  /** 0 where all went well; `gw help exit-codes` lists the others. */
  exitCode: number;
  /** The objects that `--json` prints; the text of a command that prints no JSON. */
  results: R[];
  /** The first failure; absent where nothing failed. */
  error?: GwError;
}

/** The words of a command that gives a {@link JobResult}. */
export type JobWords =
  | readonly ['video', string, 'create' | 'wait' | 'download', ...string[]]
  | readonly ['image', 'create' | 'edit' | 'native', ...string[]]
  | readonly ['jobs', 'wait' | 'download' | 'sync', ...string[]]
  | readonly ['again', ...string[]];

/**
 * Runs one command of gw in this process, as `gw WORDS --json` would run, and never throws for a failure of the command:
 * `exitCode` and `error` tell of it. It prints nothing, handles no signal, and leaves nothing open. Many may run at once.
 */
export function gw(words: JobWords, options?: GwOptions): Promise<GwRun<JobResult>>;
export function gw<R = unknown>(words: readonly string[], options?: GwOptions): Promise<GwRun<R>>;
