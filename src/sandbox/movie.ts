import { alphaFixedRatios } from '../gateway/alpha/models.ts';
import { makePng } from './media-check.ts';
import type { OutputFile } from './output-source.ts';
import type { World } from './route.ts';
import type { SandboxTask } from './task.ts';

/** Frame rate of every clip, and so of every output. */
export const framesPerS = 24;

export const clipFrames = 48;

const even = (value: number) => Math.round(value / 2) * 2;

function aspectOf(ratio: string): number {
  const [width = 1, height = 1] = ratio.split(':').map(Number);
  return width / height;
}

/** Short edges of the resolutions whose name is not their number of pixels. */
const edges: Readonly<Record<string, number>> = { '2k': 1440, '4k': 2160 };

/** The picture size: the short edge is the resolution's number, or fixed for `2k` and `4k`; the long edge is even. */
export function pictureSize(
  resolution: string,
  ratio: string,
): { readonly widthPx: number; readonly heightPx: number } {
  const edge = edges[resolution] ?? Number.parseInt(resolution, 10);
  const aspect = aspectOf(ratio);
  return aspect >= 1
    ? { widthPx: even(edge * aspect), heightPx: edge }
    : { widthPx: edge, heightPx: even(edge / aspect) };
}

/** The token count of a film: all its pixels, divided by 1024. */
export function filmTokens({ resolution, ratio, durationS }: Film): number {
  const { widthPx, heightPx } = pictureSize(resolution, ratio);
  return Math.round((widthPx * heightPx * framesPerS * durationS) / 1024);
}

/** The file in `clips/` for outputs of this size. */
export const clipFile = (resolution: string, ratio: string): string =>
  `${resolution}-${ratio.replace(':', 'x')}.mp4`;

/** The fixed ratio nearest to a picture's size. */
export function nearestRatio(widthPx: number, heightPx: number): (typeof alphaFixedRatios)[number] {
  const distance = (ratio: string) => Math.abs(Math.log(widthPx / heightPx / aspectOf(ratio)));
  return alphaFixedRatios.reduce((best, ratio) => (distance(ratio) < distance(best) ? ratio : best));
}

/** The video of a finished task: one of the clips, looped. */
export interface Film {
  readonly durationS: number;
  /** A ratio for which there is a clip. */
  readonly ratio: string;
  /** In lower case, as in the names of the clips. */
  readonly resolution: string;
  readonly format: 'mp4' | 'mov';
  readonly audio: boolean;
}

const types = { mp4: 'video/mp4', mov: 'video/quicktime' } as const;

/** The name of a task's video in its URL. */
export const videoFile = (film: Film): string => `video.${film.format}`;

/**
 * A film as a file of its task. The same task and mark give the same bytes.
 * @param mark distinguishes two equal films of one task
 */
export const filmFile = (film: Film, task: SandboxTask, world: World, mark = ''): OutputFile => ({
  type: types[film.format],
  make: async (variant) =>
    (await import('./film.ts')).makeMovie(film, { task, clipsDir: world.clipsDir, variant, mark }),
});

/**
 * Draws the last frame of an output as a PNG of the video's size, with the formula of the clips (`clips/README.md`): a
 * still gradient and a disc that goes round in two seconds.
 */
export function makeLastFrame(output: Pick<Film, 'resolution' | 'ratio' | 'durationS'>): Promise<Uint8Array> {
  const { widthPx, heightPx } = pictureSize(output.resolution, output.ratio);
  const angle = (Math.PI * ((output.durationS * framesPerS - 1) % clipFrames)) / framesPerS;
  const edgePx = Math.min(widthPx, heightPx);
  const centre = { x: 0.5 + 0.26 * Math.cos(angle), y: 0.5 + 0.22 * Math.sin(angle) };
  return makePng(widthPx, heightPx, (row, y) => {
    const down = (y + 0.5) / heightPx;
    const blue = 168 - 72 * down - 128;
    const awayY = ((down - centre.y) * heightPx) / edgePx;
    for (let x = 0; x < widthPx; x++) {
      const along = (x + 0.5) / widthPx;
      const awayX = ((along - centre.x) * widthPx) / edgePx;
      const disc = clamp((0.06 - Math.hypot(awayX, awayY)) * 60, 1);
      const luma = 1.164 * (84 + 60 * along * (1 - disc) + 130 * disc - 16);
      const red = 92 + 72 * along - 128;
      row[3 * x] = clamp(luma + 1.793 * red, 255);
      row[3 * x + 1] = clamp(luma - 0.213 * blue - 0.533 * red, 255);
      row[3 * x + 2] = clamp(luma + 2.112 * blue, 255);
    }
  });
}

const clamp = (value: number, most: number) => Math.min(most, Math.max(0, value));
