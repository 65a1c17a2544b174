import type { Clock } from '../../src/host.ts';

interface Sleeper {
  readonly atMs: number;
  readonly wake: () => void;
}

/**
 * A clock for many sleepers at once: it advances to the next one that wakes only when nothing else is left to do. `busy`
 * counts the work of a test outside the process, such as a request under way.
 */
export class VirtualClock implements Clock {
  busy = 0;
  private ms = 0;
  private readonly sleepers = new Set<Sleeper>();
  constructor(private readonly startMs = Date.UTC(2026, 10, 20, 12)) {}
  now = (): number => this.startMs + this.ms;
  steady = (): number => this.ms;
  sleep(ms: number, signal?: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      if (signal?.aborted) return reject(signal.reason);
      const abort = () => {
        this.sleepers.delete(sleeper);
        reject(signal?.reason);
      };
      const sleeper: Sleeper = {
        atMs: this.ms + ms,
        wake: () => {
          this.sleepers.delete(sleeper);
          signal?.removeEventListener('abort', abort);
          resolve();
        },
      };
      signal?.addEventListener('abort', abort, { once: true });
      this.sleepers.add(sleeper);
    });
  }

  /** Makes the clock wait while this work runs. */
  async during<T>(work: Promise<T>): Promise<T> {
    this.busy += 1;
    try {
      return await work;
    } finally {
      this.busy -= 1;
    }
  }

  /** Lets time pass until the work has ended. */
  async until<T>(work: Promise<T>): Promise<T> {
    let isOver = false;
    const over = () => {
      isOver = true;
    };
    work.then(over, over);
    while (!isOver) {
      for (let turn = 0; turn < 4; turn += 1) await new Promise((resolve) => setImmediate(resolve));
      if (this.busy > 0 || isOver) continue;
      let next: Sleeper | undefined;
      for (const sleeper of this.sleepers) if (!next || sleeper.atMs < next.atMs) next = sleeper;
      if (!next) continue;
      this.ms = Math.max(this.ms, next.atMs);
      next.wake();
    }
    return work;
  }
}
