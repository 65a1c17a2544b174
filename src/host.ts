import type { Readable, Writable } from 'node:stream';
import { setTimeout as delay } from 'node:timers/promises';

export { isObject } from './gateway/json-value.ts';

/** The world a run lives in; `bin` passes the real process, tests pass memory streams and a scripted clock. */
export interface Host {
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly cwd: string;
  readonly platform: NodeJS.Platform;
  readonly homeDir: string | undefined;
  readonly version: string;
  /** The version, platform and commit of gw as one file, which has no code cache. */
  readonly build?: string | undefined;
  /** Where the files that come with gw are: the sandbox's clips, the image codecs. */
  readonly assetsDir: string;
  readonly stdin: Readable & {
    readonly isTTY?: boolean;
    readonly fd?: number;
    /** On a terminal: whether each key arrives as it is pressed, Ctrl-C among them, without echo. */
    readonly setRawMode?: (on: boolean) => unknown;
  };
  readonly stdout: Writable & { readonly isTTY?: boolean; readonly columns?: number; readonly rows?: number };
  readonly stderr: Writable & { readonly isTTY?: boolean; readonly columns?: number; readonly rows?: number };
  readonly clock: Clock;
  /** Uniform in [0, 1). */
  readonly random: () => number;
  /** Whether V8's flags may be set (they spoil a code cache that is still to be made). */
  readonly mayTouchFlags: () => boolean;
  /** Where the launcher keeps compiled code, or why it keeps none; absent where none started this run. */
  readonly codeCache?: { readonly dir: string | undefined; readonly problem: string | undefined } | undefined;
  /**
   * Before the terminal's mode is changed: has a second interrupt end the process, and give the terminal back, also while
   * this thread is busy. The function ends the guard.
   */
  readonly guardTerminal: () => Promise<() => void>;
  /** Where bars are drawn on the process's own terminal, until the function is called (`terminal-keys.ts`). */
  readonly holdTerminal?: (show: ShowBars) => Promise<() => void>;
  /** Ends the process at once; for a second Ctrl-C only. */
  readonly endNow: (exitCode: number) => void;
  /** Set where a program runs gw (`gw` of gw-cli): what it prints is JSON, and events are told beside it. */
  readonly program?: Program;
  /** Calls back at each SIGINT, SIGTERM or SIGHUP; returns the function that stops listening. */
  readonly onSignal: (heard: (signal: 'SIGINT' | 'SIGTERM' | 'SIGHUP') => void) => () => void;
}

/** With false, takes bars off the screen and gives the cursor back, until it is called with true. */
export type ShowBars = (isShown: boolean) => void;

/** A program that runs gw in its own process, perhaps many at once. */
export interface Program {
  readonly onEvent?: ((event: object) => void) | undefined;
  /** What several runs use together, by its name; it is closed when the last of them has ended. */
  share<T extends { close(): Promise<void> }>(name: string, make: () => Promise<T>): Promise<T>;
}

/** Milliseconds from an arbitrary start, which never step; the global `performance` takes one of them to load. */
export const steadyMs = (): number => Number(process.hrtime.bigint()) / 1e6;

/** Time as a parameter: the wall clock for records, a steady one for deadlines, and a sleep that can be aborted. */
export interface Clock {
  /** Unix milliseconds; may step. */
  now(): number;
  /** Milliseconds from an arbitrary start; never steps. */
  steady(): number;
  /** Resolves after `ms`; rejects with the signal's reason when it is aborted. */
  sleep(ms: number, signal?: AbortSignal): Promise<void>;
}

/** A wait is told of again before 30 s have passed. */
export const BEAT_MS = 25_000;

/** Sleeps, and says so: at once, and again as long as it lasts. Rejects with the signal's reason when it is aborted. */
export async function sleepAloud(
  clock: Pick<Clock, 'steady' | 'sleep'>,
  ms: number,
  signal: AbortSignal | undefined,
  say: () => void,
): Promise<void> {
  const endMs = clock.steady() + ms;
  for (let leftMs = ms; leftMs > 0; leftMs = endMs - clock.steady()) {
    say();
    await clock.sleep(Math.min(leftMs, BEAT_MS), signal);
  }
}

export const machineClock: Clock = {
  now: Date.now,
  steady: steadyMs,
  sleep: (ms, signal) =>
    delay(ms, undefined, signal ? { signal } : {}).catch((error) => {
      throw signal?.aborted ? signal.reason : error;
    }),
};

export const aborted = (signal: AbortSignal): Promise<void> =>
  new Promise((resolve) => {
    if (signal.aborted) resolve();
    else signal.addEventListener('abort', () => resolve(), { once: true });
  });

/** A value made at its first use and kept; a promise counts as a value, its failure too. */
export function once<T>(make: () => T): () => T {
  let made: { readonly value: T } | undefined;
  return () => {
    made ??= { value: make() };
    return made.value;
  };
}
