import * as path from 'node:path';
import { Worker } from 'node:worker_threads';
import { once, type ShowBars } from './host.ts';

/**
 * Shared with the thread: a number that the main thread counts up, whether it has changed the terminal's mode, the
 * interrupts that it has heard, and how many bars have the terminal's echo turned off.
 */
export type Pulse = Int32Array;

const BEAT_MS = 100;

/** What gives the cursor back and, after line editing, takes back the marking of pastes. */
export const restoreTerminal = (isGuarded: boolean): string => `\x1b[?25h${isGuarded ? '\x1b[?2004l' : ''}`;

/** Ends gw at a second interrupt also while the main thread is busy. */
export class Watchdog {
  readonly #pulse: Pulse = new Int32Array(new SharedArrayBuffer(16));
  readonly #thread: () => Worker;

  constructor(distDir: string) {
    this.#thread = once(() => {
      const thread = new Worker(path.join(distDir, 'watchdog-thread.js'), { workerData: this.#pulse.buffer });
      thread.unref();
      // A fault of the thread costs the watch, not the run.
      thread.on('error', () => {});
      return thread;
    });
  }

  /** Listens from now on; costs a thread. */
  start(): void {
    this.#thread();
  }

  /** To be told of each interrupt, once: the first one starts the thread at the latest. */
  interrupted(): void {
    Atomics.add(this.#pulse, 2, 1);
    this.#thread();
  }

  /** True while the terminal's mode is changed. */
  get isGuarding(): boolean {
    return this.#pulse[1] === 1;
  }

  /** Holds the terminal for bars until the function is called. Line editing holds it itself, and they are drawn at once. */
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

  /** To be called before the terminal's mode is changed: resolves when it is known; the function ends the guard. */
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
