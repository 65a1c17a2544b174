import * as path from 'node:path';
import { Worker } from 'node:worker_threads';
import { DEADLINE_MS } from './probe.ts';

/** A task for the thread of `dist/worker.js`. */
export type Task = TracksTask | DrawTask;

export interface TracksTask {
  readonly do: 'tracks';
  /** An open file's descriptor, or the bytes themselves. */
  readonly content: number | Uint8Array;
}

export interface DrawTask {
  readonly do: 'draw';
  readonly content: Uint8Array;
  /** The form of the drawing: the terminal's graphics, half blocks in that many colours, or a small Base64 JPEG. */
  readonly as: 'kitty' | 'iterm2' | 'sixel' | 'true' | '256' | '16' | 'jpeg';
  readonly columns: number;
  readonly rows: number;
  /** The directory of the image codecs. */
  readonly wasmDir: string;
}

interface Thread {
  /** The directory of the files that are shipped with gw. */
  readonly assetsDir: string;
  readonly deadlineMs?: number | undefined;
  readonly signal?: AbortSignal | undefined;
}

/** Limits the JavaScript heap; buffers come on top and are limited by how much is read. */
const MAX_HEAP_MB = 256;

/**
 * Runs a task on possibly hostile data in its own thread, because an endless loop in this thread could not be stopped.
 * Returns the thread's last message and whether it finished in time. Throws the signal's reason.
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
    // The first message says that its libraries are loaded: on a busy machine that takes seconds and must not count.
    worker.on('message', (message: T | undefined) => {
      timer ??= setTimeout(end, deadlineMs);
      last = message;
    });
    // A crash of the library, or a lack of memory, counts as no answer.
    worker.on('error', () => {});
    worker.on('exit', (code) => {
      clearTimeout(timer);
      signal?.removeEventListener('abort', end);
      if (signal?.aborted) reject(signal.reason);
      else resolve({ last, isDone: code === 0 });
    });
  });
}
