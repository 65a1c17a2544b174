import * as path from 'node:path';
import { Worker } from 'node:worker_threads';
import { once, type ShowBars } from './host.ts';

/**
 * Memory shared with the thread: a counter that the main thread increases, whether it has changed the terminal's
 * mode, the number of interrupts it has received, and the number of bars that have turned the echo off.
 */
export type Pulse = Int32Array;

const BEAT_MS = 100;

/** The escape sequences that show the cursor and, after line editing, turn bracketed paste off. */
export const restoreTerminal = (isGuarded: boolean): string => `\x1b[?25h${isGuarded ? '\x1b[?2004l' : ''}`;

/** Ends gw at a second interrupt even while the main thread is busy. */
export class Watchdog {
  readonly #pulse: Pulse = new Int32Array(new SharedArrayBuffer(16));
  readonly #thread: () => Worker;

  constructor(distDir: string) {
    this.#thread = once(() => {
      const thread = new Worker(path.join(distDir, 'watchdog-thread.js'), { workerData: this.#pulse.buffer });
      thread.unref();
      // An error in the thread ends only the watchdog, not the run.
      thread.on('error', () => {});
      return thread;
    });
  }

  /** Starts the watchdog thread. */
  start(): void {
    this.#thread();
  }

  /** Counts an interrupt; the first one starts the thread if it does not run yet. */
  interrupted(): void {
    Atomics.add(this.#pulse, 2, 1);
    this.#thread();
  }

  /** True while the terminal's mode is changed. */
  get isGuarding(): boolean {
    return this.#pulse[1] === 1;
  }

  /** Holds the terminal for bars until the function is called. During line editing bars show at once. */
  async holdTerminal(show: ShowBars): Promise<() => void> {
    const { holdTerminal } = await import('./terminal-keys.ts');
    if (this.isGuarding) show(true);
    const letGo = this.isGuarding ? () => {} : holdTerminal(show);
    Atomics.add(this.#pulse, 3, 1);
    return () => {
      Atomics.sub(this.#pulse, 3, 1);
      letGo();
    };
  }

  /** Call this before changing the terminal's mode: it saves the mode first. The function ends the guard. */
  async guardTerminal(): Promise<() => void> {
    const thread = this.#thread();
    await new Promise<void>((resolve) => {
      thread.once('message', () => resolve()).once('exit', () => resolve());
      thread.postMessage('guard');
    });
    const beat = setInterval(() => Atomics.add(this.#pulse, 0, 1), BEAT_MS);
    beat.unref();
    Atomics.store(this.#pulse, 1, 1);
    return () => {
      clearInterval(beat);
      Atomics.store(this.#pulse, 1, 0);
    };
  }
}
