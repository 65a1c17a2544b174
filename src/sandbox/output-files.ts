import { makeLastFrame } from './last-frame.ts';
import { makeMovie } from './movie.ts';
import type { SandboxTask, TaskOutputPlan } from './task.ts';

export const lastFrameFile = 'last-frame.png';

/** The name of a task's video in its address. */
export const videoFile = (output: TaskOutputPlan): string => `video.${output.format}`;

export interface OutputFile {
  readonly bytes: Uint8Array;
  readonly type: string;
}

const videoTypes = { mp4: 'video/mp4', mov: 'video/quicktime' } as const;
const KEPT_BYTES = 64 * 1024 * 1024;

/** Makes the files of finished tasks when they are asked for, and keeps the latest in memory. */
export class OutputFiles {
  readonly #clipsDir: string;
  readonly #made = new Map<string, { readonly making: Promise<OutputFile>; bytes: number }>();

  /** @param clipsDir folder of the clips that the videos are made of */
  constructor(clipsDir: string) {
    this.#clipsDir = clipsDir;
  }

  /** The file of a task by its name; undefined where the task has no such file. */
  async get(task: SandboxTask, file: string, variant: number): Promise<OutputFile | undefined> {
    const key = `${task.id} ${file} ${variant}`;
    const known = this.#made.get(key);
    if (known) return known.making;
    const making = this.#make(task, file, variant);
    if (!making) return undefined;
    const entry = { making, bytes: 0 };
    this.#made.set(key, entry);
    try {
      entry.bytes = (await making).bytes.length;
    } catch (error) {
      this.#made.delete(key);
      throw error;
    }
    this.#forgetOldest(key);
    return making;
  }

  #forgetOldest(except: string): void {
    let bytes = 0;
    for (const entry of this.#made.values()) bytes += entry.bytes;
    for (const [key, entry] of this.#made) {
      if (bytes <= KEPT_BYTES) return;
      if (key === except) continue;
      this.#made.delete(key);
      bytes -= entry.bytes;
    }
  }

  #make(task: SandboxTask, file: string, variant: number): Promise<OutputFile> | undefined {
    const { output } = task;
    if (file === videoFile(output)) {
      return makeMovie(task, this.#clipsDir, variant).then((bytes) => ({
        bytes,
        type: videoTypes[output.format],
      }));
    }
    if (file === lastFrameFile && output.lastFrame) {
      return makeLastFrame(output).then((bytes) => ({ bytes, type: 'image/png' }));
    }
    return undefined;
  }
}
