import { clipFrames, framesPerS, pictureSize } from './clip.ts';
import type { Film } from './film.ts';
import { makePng } from './png.ts';

/**
 * Draws the last frame of an output as a PNG of the video's size, from the formula that the clips are made with
 * (`clips/README.md`): a still gradient and a disc that goes round in two seconds.
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
      const disc = clamp((0.12 - Math.hypot(awayX, awayY)) * 60, 1);
      const luma = 1.164 * (84 + 60 * along * (1 - disc) + 130 * disc - 16);
      const red = 92 + 72 * along - 128;
      row[3 * x] = clamp(luma + 1.793 * red, 255);
      row[3 * x + 1] = clamp(luma - 0.213 * blue - 0.533 * red, 255);
      row[3 * x + 2] = clamp(luma + 2.112 * blue, 255);
    }
  });
}

const clamp = (value: number, most: number) => Math.min(most, Math.max(0, value));
