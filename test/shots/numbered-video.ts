import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import * as path from 'node:path';
import { wasmDir } from '../helpers/assets-dir.ts';

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

/** Makes all videos in one run of ffmpeg, because its start takes longer than a small video. Returns their paths. */
export function numberedVideos(dir: string, made: readonly VideoForm[]): string[] {
  const most = Math.max(...made.map(({ frames }) => frames));
  const pixels = Buffer.alloc(WIDTH * SIDE * most);
  for (let frame = 0; frame < most; frame += 1)
    for (let bit = 0; bit < BITS; bit += 1)
      for (let y = 0; y < SIDE; y += 1) {
        const start = (frame * SIDE + y) * WIDTH + bit * SIDE;
        pixels.fill((frame >> bit) & 1 ? 235 : 16, start, start + SIDE);
      }
  const sounds = made.filter(({ soundS }) => soundS !== undefined);
  const files = made.map(({ container }, at) => path.join(dir, `shot-${at}.${container}`));
  const words = [
    ...['-loglevel', 'error', '-f', 'rawvideo', '-pix_fmt', 'gray', '-s', `${WIDTH}x${SIDE}`],
    ...['-r', '25', '-i', 'pipe:0'],
    ...sounds.flatMap(({ soundS }) => ['-f', 'lavfi', '-t', String(soundS), '-i', 'sine=frequency=300']),
    ...made.flatMap((form, at) => [
      ...outputWords(form),
      ...(form.soundS === undefined ? [] : ['-map', `${1 + sounds.indexOf(form)}:a`, '-c:a', 'aac']),
      ...['-y', files[at] ?? ''],
    ]),
  ];
  execFileSync('ffmpeg', words, { input: pixels });
  return files;
}

function outputWords({ codec, frames, bFrames = false, isVariable = false }: VideoForm): string[] {
  const b = bFrames ? 3 : 0;
  const codecWords =
    codec === 'libx264'
      ? ['-bf', String(b), '-g', '25']
      : ['-x265-params', `log-level=none:bframes=${b}:keyint=25`];
  return [
    ...['-map', '0:v', '-frames:v', String(frames)],
    ...(isVariable ? ['-vf', "setpts='(N+N*N/20)/25/TB'", '-fps_mode', 'vfr'] : []),
    ...['-c:v', codec, '-preset', 'ultrafast', '-pix_fmt', 'yuv420p', ...codecWords],
  ];
}

/** The number that a PNG shows. */
export async function numberIn(picture: string): Promise<number> {
  const { decode, init } = await import('@jsquash/png/decode.js');
  await init(readFileSync(path.join(wasmDir, 'squoosh_png_bg.wasm')));
  const { data } = await decode(Uint8Array.from(readFileSync(picture)).buffer);
  let number = 0;
  for (let bit = 0; bit < BITS; bit += 1) {
    const middle = (SIDE / 2) * WIDTH + bit * SIDE + SIDE / 2;
    if ((data[4 * middle] ?? 0) > 128) number += 2 ** bit;
  }
  return number;
}
