/** A file that a job has saved. */
export interface SavedFile {
  /** An absolute path. */
  path: string;
  bytes: number;
  sha256: string;
  /** The MIME type, such as `video/mp4`. */
  type: string;
}

/** The result of a command that creates, waits for or saves a job. */
export interface JobResult {
  family: string;
  /** The gateway's task ID, or gw's own if there is none. */
  id: string;
  status: string;
  /** The gateway's last record, unchanged. */
  record: unknown;
  files: SavedFile[];
}

/** Why a run failed: the error that `--json` prints. */
export interface GwError {
  kind: string;
  message: string;
  hint?: string;
  exit_code: number;
  /** HTTP status, and the gateway's own words, if there was a reply. */
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
  /** The environment: `GW_BASE_URL`, `GW_API_KEY`, `GW_STATE_DIR`, …; by default that of the process. */
  env?: Readonly<Record<string, string | undefined>>;
  /** The base of relative paths; by default the working directory of the process. */
  cwd?: string;
  /** The piped input: a text, bytes, or a stream; by default none. */
  stdin?: string | Uint8Array | AsyncIterable<string | Uint8Array>;
  /** Aborting it acts like Ctrl-C: a create under way is still awaited, and the job stays in the ledger. */
  signal?: {
    readonly aborted: boolean;
    addEventListener(type: 'abort', listener: () => void, options?: { once?: boolean }): void;
    removeEventListener(type: 'abort', listener: () => void): void;
  };
  /** Called for each event of a job. If it throws, the run goes on, and `error` reports it. */
  onEvent?: (event: GwEvent) => void;
}

export interface GwRun<R = unknown> {
  /** 0 if all went well; `gw help exit-codes` lists the others. */
  exitCode: number;
  /** The objects that `--json` prints, or the text of a command that prints no JSON. */
  results: R[];
  /** The first failure; absent if nothing failed. */
  error?: GwError;
}

/** The words of a command that returns a {@link JobResult}. */
export type JobWords =
  | readonly ['video', string, 'create' | 'wait' | 'download', ...string[]]
  | readonly ['image', 'create' | 'edit' | 'native', ...string[]]
  | readonly ['jobs', 'wait' | 'download' | 'sync', ...string[]]
  | readonly ['again', ...string[]];

/** Runs one command of gw in this process, like `gw WORDS --json`. It never throws for a failure of the command;
 * `exitCode` and `error` report it. It prints nothing, handles no signals, and leaves nothing open. Many calls may
 * run at once. */
export function gw(words: JobWords, options?: GwOptions): Promise<GwRun<JobResult>>;
export function gw<R = unknown>(words: readonly string[], options?: GwOptions): Promise<GwRun<R>>;
