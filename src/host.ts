import type { Readable, Writable } from 'node:stream';

/** The world a run lives in; `bin` passes the real process, tests pass memory streams and a scripted clock. */
export interface Host {
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly cwd: string;
  readonly platform: NodeJS.Platform;
  readonly homeDir: string | undefined;
  readonly stdin: Readable & { readonly isTTY?: boolean; readonly fd?: number };
  readonly stdout: Writable & { readonly isTTY?: boolean; readonly columns?: number; readonly rows?: number };
  readonly stderr: Writable & { readonly isTTY?: boolean; readonly columns?: number; readonly rows?: number };
  readonly clock: Clock;
  /** Uniform in [0, 1). */
  readonly random: () => number;
  /** Calls back at each SIGINT, SIGTERM or SIGHUP; returns the function that stops listening. */
  readonly onSignal: (heard: (signal: 'SIGINT' | 'SIGTERM' | 'SIGHUP') => void) => () => void;
}

/** Time as a parameter: the wall clock for records, a steady one for deadlines, and a sleep that can be aborted. */
export interface Clock {
  /** Unix milliseconds; may step. */
  now(): number;
  /** Milliseconds from an arbitrary start; never steps. */
  steady(): number;
  /** Resolves after `ms`; rejects with the signal's reason when it is aborted. */
  sleep(ms: number, signal?: AbortSignal): Promise<void>;
}
