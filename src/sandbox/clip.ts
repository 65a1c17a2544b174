import { alphaFixedRatios } from '../gateway/alpha/models.ts';

/** Frame rate of every clip and so of every output. */
export const framesPerS = 24;

/** Length of a clip in `clips/`, in frames. */
export const clipFrames = 48;

const even = (value: number) => Math.round(value / 2) * 2;

/** Width divided by height of a ratio such as `16:9`. */
export function aspectOf(ratio: string): number {
  const [width = 1, height = 1] = ratio.split(':').map(Number);
  return width / height;
}

/** Short edges of the resolutions that do not have their number in pixels. */
const edges: Readonly<Record<string, number>> = { '2k': 1440, '4k': 2160 };

/** Picture size in pixels: the short edge has the resolution's number, or that of `2k` and `4k`; the long edge is even. */
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

/** The file in `clips/` that outputs of this size are made of. */
export const clipFile = (resolution: string, ratio: string): string =>
  `${resolution}-${ratio.replace(':', 'x')}.mp4`;

/** The fixed ratio that a picture of this size comes closest to. */
export function nearestRatio(widthPx: number, heightPx: number): (typeof alphaFixedRatios)[number] {
  const distance = (ratio: string) => Math.abs(Math.log(widthPx / heightPx / aspectOf(ratio)));
  return alphaFixedRatios.reduce((best, ratio) => (distance(ratio) < distance(best) ? ratio : best));
}
