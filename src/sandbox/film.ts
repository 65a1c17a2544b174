import { makeMovie } from './movie.ts';
import type { OutputFile } from './output-source.ts';
import type { SandboxTask } from './task.ts';
import type { World } from './world.ts';

/** A video that a finished task offers: one of the clips, looped. */
export interface Film {
  readonly durationS: number;
  /** One of the ratios that there are clips of. */
  readonly ratio: string;
  /** In lower case, as the clips are named. */
  readonly resolution: string;
  readonly format: 'mp4' | 'mov';
  readonly audio: boolean;
}

const types = { mp4: 'video/mp4', mov: 'video/quicktime' } as const;

/** The name of a task's video in its address. */
export const videoFile = (film: Film): string => `video.${film.format}`;

/**
 * A film as a file of its task. The same task and mark give the same bytes.
 * @param mark tells two equal films of one task apart
 */
export const filmFile = (film: Film, task: SandboxTask, world: World, mark = ''): OutputFile => ({
  type: types[film.format],
  make: (variant) => makeMovie(film, { task, clipsDir: world.clipsDir, variant, mark }),
});
