import { execFileSync } from 'node:child_process';
import * as path from 'node:path';

// Videos in which every frame shows its number, as nine squares that are black or white.

const SIDE = 32;
const BITS = 9;
const WIDTH = SIDE * BITS;

export interface VideoForm {
  readonly codec: 'libx264' | 'libx265';
  readonly container: 'mp4' | 'mov';
  readonly frames: number;
  readonly bFrames?: boolean;
  /** Later frames are shown for longer. */
  readonly isVariable?: boolean;
  /** Seconds of sound; it may end before the picture or after it. */
  readonly soundS?: number;
}

/** Fifty forms that combine the properties which make a last frame hard to find. */
export const forms: readonly VideoForm[] = [
  ...(['libx264', 'libx265'] as const).flatMap((codec) =>
    (['mp4', 'mov'] as const).flatMap((container) =>
      [false, true].flatMap((bFrames) =>
        [false, true].flatMap((isVariable): VideoForm[] => [
          { codec, container, bFrames, isVariable, frames: 37 },
          { codec, container, bFrames, isVariable, frames: 50, soundS: 9 },
          { codec, container, bFrames, isVariable, frames: 121, soundS: 1 },
        ]),
      ),
    ),
  ),
  { codec: 'libx264', container: 'mp4', frames: 1 },
  { codec: 'libx265', container: 'mov', frames: 2, bFrames: true, soundS: 6 },
];

export function numberedVideo(dir: string, name: string, form: VideoForm): string {
  const { codec, container, frames, bFrames = false, isVariable = false, soundS } = form;
  const pixels = Buffer.alloc(WIDTH * SIDE * frames);
  for (let frame = 0; frame < frames; frame += 1)
    for (let bit = 0; bit < BITS; bit += 1)
      for (let y = 0; y < SIDE; y += 1) {
        const start = (frame * SIDE + y) * WIDTH + bit * SIDE;
        pixels.fill((frame >> bit) & 1 ? 235 : 16, start, start + SIDE);
      }
  const file = path.join(dir, `${name}.${container}`);
  const b = bFrames ? 3 : 0;
  const codecWords =
    codec === 'libx264'
      ? ['-bf', String(b), '-g', '25']
      : ['-x265-params', `log-level=none:bframes=${b}:keyint=25`];
  const words = [
    ...['-nostdin', '-loglevel', 'error', '-f', 'rawvideo', '-pix_fmt', 'gray', '-s', `${WIDTH}x${SIDE}`],
    ...['-r', '25', '-i', 'pipe:0'],
    ...(soundS === undefined ? [] : ['-f', 'lavfi', '-t', String(soundS), '-i', 'sine=frequency=300']),
    ...(isVariable ? ['-vf', "setpts='(N+N*N/20)/25/TB'", '-fps_mode', 'vfr'] : []),
    ...['-c:v', codec, '-preset', 'ultrafast', '-pix_fmt', 'yuv420p', ...codecWords],
    ...(soundS === undefined ? [] : ['-c:a', 'aac']),
    ...['-y', file],
  ];
  execFileSync(
    'ffmpeg',
    words.filter((word) => word !== '-nostdin'),
    { input: pixels },
  );
  return file;
}

/** The number that a picture shows. */
export function numberIn(picture: string): number {
  const pixels = execFileSync('ffmpeg', [
    ...['-nostdin', '-loglevel', 'error', '-i', picture, '-f', 'rawvideo', '-pix_fmt', 'gray', 'pipe:1'],
  ]);
  let number = 0;
  for (let bit = 0; bit < BITS; bit += 1) {
    const middle = (SIDE / 2) * WIDTH + bit * SIDE + SIDE / 2;
    if ((pixels[middle] ?? 0) > 128) number += 2 ** bit;
  }
  return number;
}
