import * as fs from 'node:fs/promises';
import { join } from 'node:path';
import type { EncodedPacket, InputTrack } from 'mediabunny';
import { alphaFixedRatios } from '../gateway/alpha/models.ts';
import { makePng } from './media-check.ts';
import type { OutputFile } from './output-source.ts';
import type { World } from './route.ts';
import type { SandboxTask } from './task.ts';

const tone = {
  file: 'tone.m4a',
  samplesPerPacket: 1024,
  rateHz: 48_000,
  primingPackets: 4,
  packets: 64,
} as const;

/**
 * Makes the video of a task: its clip looped to the asked length, with a tone when audio was asked for, without
 * encoding anything. The same task, variant and mark give the same bytes.
 * @param of the task it belongs to, the folder of the clips, and what makes an equal film in other bytes: a variant
 *   other than 0, a mark
 */
export async function makeMovie(
  film: Film,
  of: {
    readonly task: Pick<SandboxTask, 'id' | 'createdAtMs'>;
    readonly clipsDir: string;
    readonly variant?: number;
    readonly mark?: string;
  },
): Promise<Uint8Array> {
  const { task, clipsDir, variant = 0, mark = '' } = of;
  const media = await import('mediabunny');
  const { durationS, format, resolution, ratio, audio } = film;
  const open = async (file: string) => {
    const source = new media.BufferSource(await fs.readFile(join(clipsDir, file)));
    return new media.Input({ formats: [media.MP4], source });
  };
  const packetsOf = async (track: InputTrack) => {
    const packets: EncodedPacket[] = [];
    for await (const packet of new media.EncodedPacketSink(track).packets()) packets.push(packet);
    return packets;
  };

  const target = new media.BufferTarget();
  const Container = format === 'mov' ? media.MovOutputFormat : media.Mp4OutputFormat;
  const output = new media.Output({ format: new Container({ fastStart: 'in-memory' }), target });
  const video = new media.EncodedVideoPacketSource('avc');
  output.addVideoTrack(video, { frameRate: framesPerS });
  const sound = audio ? new media.EncodedAudioPacketSource('aac') : undefined;
  if (sound) output.addAudioTrack(sound);
  await output.start();

  const clip = await (await open(clipFile(resolution, ratio))).getPrimaryVideoTrack();
  const frames = clip ? await packetsOf(clip) : [];
  const videoConfig = await clip?.getDecoderConfig();
  for (let frame = 0; frame < durationS * framesPerS; frame++) {
    const packet = frames[frame % clipFrames];
    if (!packet) throw new Error(`the clip of ${resolution} ${ratio} is shorter than ${clipFrames} frames`);
    const timed = new media.EncodedPacket(packet.data, packet.type, frame / framesPerS, 1 / framesPerS);
    await video.add(timed, frame === 0 && videoConfig ? { decoderConfig: videoConfig } : undefined);
  }
  video.close();
  if (sound) {
    const clipTone = await (await open(tone.file)).getPrimaryAudioTrack();
    const packets = clipTone ? await packetsOf(clipTone) : [];
    const loop = packets.slice(tone.primingPackets, tone.primingPackets + tone.packets);
    const audioConfig = await clipTone?.getDecoderConfig();
    const packetS = tone.samplesPerPacket / tone.rateHz;
    for (let nth = 0; (nth + 1) * packetS <= durationS; nth++) {
      const packet = loop[nth % loop.length];
      if (!packet) throw new Error(`${tone.file} is too short`);
      const timed = new media.EncodedPacket(packet.data, packet.type, nth * packetS, packetS);
      await sound.add(timed, nth === 0 && audioConfig ? { decoderConfig: audioConfig } : undefined);
    }
    sound.close();
  }
  await output.finalize();

  const file = Buffer.from(target.buffer ?? new ArrayBuffer(0));
  setBoxTimes(
    new DataView(file.buffer, file.byteOffset, file.byteLength),
    Math.floor(task.createdAtMs / 1000) + variant,
  );
  return Buffer.concat([file, freeBox(`${task.id} ${variant}${mark && ` ${mark}`}`)]);
}

/** Seconds from 1904-01-01, where MP4 and MOV count from, to 1970-01-01. */
const MP4_EPOCH_S = 2_082_844_800;
const parents = new Set(['moov', 'trak', 'mdia']);
const dated = new Set(['mvhd', 'tkhd', 'mdhd']);

/**
 * Sets every creation and modification time of an MP4 or MOV in place, so that the same task gives the same bytes
 * whenever its file is made.
 * @param unixS Unix seconds
 */
function setBoxTimes(file: DataView, unixS: number, start = 0, end = file.byteLength): void {
  for (let at = start; at + 8 <= end; ) {
    const shortSize = file.getUint32(at);
    const header = shortSize === 1 ? 16 : 8;
    const size = shortSize === 1 ? Number(file.getBigUint64(at + 8)) : shortSize === 0 ? end - at : shortSize;
    if (size < header) return;
    const type = String.fromCharCode(...[4, 5, 6, 7].map((offset) => file.getUint8(at + offset)));
    if (parents.has(type)) setBoxTimes(file, unixS, at + header, at + size);
    if (dated.has(type)) {
      const isLong = file.getUint8(at + header) === 1;
      for (const nth of [0, 1]) {
        const field = at + header + 4 + nth * (isLong ? 8 : 4);
        if (isLong) file.setBigUint64(field, BigInt(unixS + MP4_EPOCH_S));
        else file.setUint32(field, unixS + MP4_EPOCH_S);
      }
    }
    at += size;
  }
}

/** A `free` box that holds a text: bytes that players skip, at the end of a file. */
function freeBox(text: string): Uint8Array {
  const content = Buffer.from(text);
  const box = Buffer.alloc(8 + content.length);
  box.writeUInt32BE(box.length);
  box.write('free', 4, 'latin1');
  content.copy(box, 8);
  return box;
}

/** Frame rate of every clip and so of every output. */
export const framesPerS = 24;

const clipFrames = 48;

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
const clipFile = (resolution: string, ratio: string): string =>
  `${resolution}-${ratio.replace(':', 'x')}.mp4`;

/** The fixed ratio that a picture of this size comes closest to. */
export function nearestRatio(widthPx: number, heightPx: number): (typeof alphaFixedRatios)[number] {
  const distance = (ratio: string) => Math.abs(Math.log(widthPx / heightPx / aspectOf(ratio)));
  return alphaFixedRatios.reduce((best, ratio) => (distance(ratio) < distance(best) ? ratio : best));
}

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
