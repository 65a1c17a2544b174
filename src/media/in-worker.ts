import * as path from 'node:path';
import { Worker } from 'node:worker_threads';
import { DEADLINE_MS } from './probe.ts';

/** What the thread of `dist/worker.js` is asked. */
export type Task = TracksTask | DrawTask;

export interface TracksTask {
  readonly do: 'tracks';
  /** An open file's descriptor, or the bytes themselves. */
  readonly content: number | Uint8Array;
}

export interface DrawTask {
  readonly do: 'draw';
  readonly content: Uint8Array;
  /** How: the terminal's own graphics, half blocks in so many colours, or a small JPEG in Base64. */
  readonly as: 'kitty' | 'iterm2' | 'sixel' | 'true' | '256' | '16' | 'jpeg';
  readonly columns: number;
  readonly rows: number;
  /** Where the image codecs are. */
  readonly wasmDir: string;
}

interface Thread {
  /** Where the files are that come with gw. */
  readonly assetsDir: string;
  readonly deadlineMs?: number | undefined;
  readonly signal?: AbortSignal | undefined;
}

/** Of JavaScript; buffers come on top and are bounded by what is read into them. */
const MAX_HEAP_MB = 256;

/**
 * Has a thread of its own read what may be hostile, because a loop in this one could not be ended. The last word of the
 * thread, and whether it came to its end in time. Throws the signal's reason.
 */
export function inWorker<T>(
  task: Task,
  { assetsDir, deadlineMs = DEADLINE_MS, signal }: Thread,
): Promise<{ last: T | undefined; isDone: boolean }> {
  signal?.throwIfAborted();
  return new Promise((resolve, reject) => {
    const worker = new Worker(path.join(assetsDir, 'worker.js'), {
      workerData: task,
      resourceLimits: { maxOldGenerationSizeMb: MAX_HEAP_MB },
    });
    let last: T | undefined;
    let timer: NodeJS.Timeout | undefined;
    const end = () => void worker.terminate();
    signal?.addEventListener('abort', end, { once: true });
    // Its first word is that it has loaded what it reads with: on a busy machine that takes seconds, and is no fault of the file.
    worker.on('message', (message: T | undefined) => {
      timer ??= setTimeout(end, deadlineMs);
      last = message;
    });
    // A fault of the library in there, or no memory left to it: as good as no answer.
    worker.on('error', () => {});
    worker.on('exit', (code) => {
      clearTimeout(timer);
      signal?.removeEventListener('abort', end);
      if (signal?.aborted) reject(signal.reason);
      else resolve({ last, isDone: code === 0 });
    });
  });
}
