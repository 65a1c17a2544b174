import type { Readable, Writable } from 'node:stream';
import { setTimeout as delay } from 'node:timers/promises';

export { isObject } from './gateway/json-value.ts';

/** The environment of a run: `bin` passes the real process, tests pass memory streams and a scripted clock. */
export interface Host {
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly cwd: string;
  readonly platform: NodeJS.Platform;
  readonly homeDir: string | undefined;
  readonly version: string;
  /** The version, platform and commit of the single-file build, which has no code cache. */
  readonly build?: string | undefined;
  /** The directory of the files shipped with gw: the sandbox's clips and the image codecs. */
  readonly assetsDir: string;
  readonly stdin: Readable & {
    readonly isTTY?: boolean;
    readonly fd?: number;
    /** On a terminal: switches raw mode, in which every key, including Ctrl-C, arrives at once and without echo. */
    readonly setRawMode?: (on: boolean) => unknown;
  };
  readonly stdout: Writable & { readonly isTTY?: boolean; readonly columns?: number; readonly rows?: number };
  readonly stderr: Writable & { readonly isTTY?: boolean; readonly columns?: number; readonly rows?: number };
  readonly clock: Clock;
  /** Uniform in [0, 1). */
  readonly random: () => number;
  /** Whether V8's flags may be changed; a change makes a code cache unusable. */
  readonly mayTouchFlags: () => boolean;
  /** The directory of compiled code, or why there is none; absent if no launcher started this run. */
  readonly codeCache?: { readonly dir: string | undefined; readonly problem: string | undefined } | undefined;
  /**
   * Called before the terminal's mode is changed: from then on a second interrupt ends the process and restores the
   * terminal, even while this thread is busy. The returned function ends the guard.
   */
  readonly guardTerminal: () => Promise<() => void>;
  /** Holds the process's terminal for bars until the returned function is called (`terminal-keys.ts`). */
  readonly holdTerminal?: (show: ShowBars) => Promise<() => void>;
  /** Ends the process at once; used only for a second Ctrl-C. */
  readonly endNow: (exitCode: number) => void;
  /** Set if a program runs gw through gw-cli: output is JSON, and events are passed to the program. */
  readonly program?: Program;
  /** Calls back at each SIGINT, SIGTERM or SIGHUP; returns the function that stops listening. */
  readonly onSignal: (heard: (signal: 'SIGINT' | 'SIGTERM' | 'SIGHUP') => void) => () => void;
}

/** False clears the bars and shows the cursor; true draws the bars again. */
export type ShowBars = (isShown: boolean) => void;

/** A program that runs gw in its own process, perhaps many runs at once. */
export interface Program {
  readonly onEvent?: ((event: object) => void) | undefined;
  /** Returns a named resource that several runs share; it is closed when the last run ends. */
  share<T extends { close(): Promise<void> }>(name: string, make: () => Promise<T>): Promise<T>;
}

/** Monotonic milliseconds from an arbitrary start; loading the global `performance` would take a millisecond. */
export const steadyMs = (): number => Number(process.hrtime.bigint()) / 1e6;

/** Time as a parameter: a wall clock for records, a monotonic clock for deadlines, and a sleep that can be aborted. */
export interface Clock {
  /** Unix milliseconds; may jump. */
  now(): number;
  /** Milliseconds from an arbitrary start; never jumps. */
  steady(): number;
  /** Resolves after `ms`; rejects with the signal's reason when it is aborted. */
  sleep(ms: number, signal?: AbortSignal): Promise<void>;
}

/** A wait is reported again before 30 s have passed. */
export const BEAT_MS = 25_000;

/** Sleeps and reports it, at once and then repeatedly. Rejects with the signal's reason if it is aborted. */
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

/** The result of a call; undefined if the call throws. */
export const quietly = <T>(act: () => T): T | undefined => {
  try {
    return act();
  } catch {
    return undefined;
  }
};

/** True if a call succeeds; false if it throws. */
export const can = (act: () => void): boolean =>
  quietly(() => {
    act();
    return true;
  }) ?? false;

/** Calls a function at first use and keeps its result; a promise is kept too, even if it rejects. */
export function once<T>(make: () => T): () => T {
  let made: { readonly value: T } | undefined;
  return () => {
    made ??= { value: make() };
    return made.value;
  };
}

/** Groups items into chunks of at most `most`; the last chunk may be empty. */
export async function* chunksOf<T>(all: AsyncIterable<T>, most: number): AsyncGenerator<T[]> {
  let chunk: T[] = [];
  for await (const each of all) {
    chunk.push(each);
    if (chunk.length < most) continue;
    yield chunk;
    chunk = [];
  }
  yield chunk;
}

/** The size of a terminal; the usual one if the terminal does not tell its own. */
export const sizeOf = ({ columns, rows }: Host['stdout']) => ({ columns: columns || 80, rows: rows || 24 });
