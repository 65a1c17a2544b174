import * as fs from 'node:fs/promises';
import { join } from 'node:path';
import * as media from 'mediabunny';
import { type MediaLimits, type Range, within } from '../gateway/limits.ts';
import { checkPicture, inWords, type Refuse } from './media-check.ts';
import { clipFile, clipFrames, type Film, framesPerS } from './movie.ts';
import type { SandboxTask } from './task.ts';

// Makes and reads films and sounds with a library that only this module loads.

/** The packets before `first` belong to the encoder's start. */
const tone = { file: 'tone.m4a', packetS: 1024 / 48_000, first: 4, packets: 64 } as const;

/**
 * Makes the video of a task without encoding: its clip is looped to the requested length, with a tone if audio is
 * requested. The same task, variant and mark give the same bytes.
 * @param of the task, the folder of the clips, and two values that give an equal film other bytes: a variant other than
 * 0, and a mark
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
  const { durationS, format, resolution, ratio, audio } = film;
  const open = async (file: string) => {
    const source = new media.BufferSource(await fs.readFile(join(clipsDir, file)));
    return new media.Input({ formats: [media.MP4], source });
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
  await loop(clip, video, { first: 0, packets: clipFrames, packetS: 1 / framesPerS, durationS });
  if (sound) await loop(await (await open(tone.file)).getPrimaryAudioTrack(), sound, { ...tone, durationS });
  await output.finalize();

  const file = Buffer.from(target.buffer ?? new ArrayBuffer(0));
  setBoxTimes(file, Math.floor(task.createdAtMs / 1000) + variant);
  return Buffer.concat([file, freeBox(`${task.id} ${variant}${mark && ` ${mark}`}`)]);
}

/** Fills an output track with a clip's packets, repeated for this many seconds. */
async function loop<Config>(
  from: (media.InputTrack & { getDecoderConfig(): Promise<Config | null> }) | null,
  to: { add(packet: media.EncodedPacket, meta?: { decoderConfig?: Config }): Promise<void>; close(): void },
  of: Readonly<Record<'first' | 'packets' | 'packetS' | 'durationS', number>>,
): Promise<void> {
  const packets: media.EncodedPacket[] = [];
  if (from) for await (const packet of new media.EncodedPacketSink(from).packets()) packets.push(packet);
  const decoderConfig = (await from?.getDecoderConfig()) ?? undefined;
  for (let nth = 0; (nth + 1) * of.packetS <= of.durationS + 1e-9; nth++) {
    const packet = packets[of.first + (nth % of.packets)];
    if (!packet) throw new Error(`a clip is shorter than ${of.packets} packets`);
    const timed = new media.EncodedPacket(packet.data, packet.type, nth * of.packetS, of.packetS);
    await to.add(timed, nth === 0 && decoderConfig ? { decoderConfig } : undefined);
  }
  to.close();
}

/** Seconds from 1904-01-01, the epoch of MP4 and MOV, to 1970-01-01. */
const MP4_EPOCH_S = 2_082_844_800;
const parents = new Set(['moov', 'trak', 'mdia']);
const dated = new Set(['mvhd', 'tkhd', 'mdhd']);

/**
 * Sets every creation and modification time of an MP4 or MOV in place, so that the same task gives the same bytes
 * whenever its file is made. It handles only the boxes that the library writes, with 32-bit sizes and times.
 * @param unixS Unix seconds
 */
function setBoxTimes(file: Buffer, unixS: number): void {
  let size: number;
  for (let at = 0; at + 8 <= file.length; at += size) {
    size = file.readUInt32BE(at);
    if (size < 8) return;
    const type = file.toString('latin1', at + 4, at + 8);
    if (parents.has(type)) setBoxTimes(file.subarray(at + 8, at + size), unixS);
    if (!dated.has(type)) continue;
    for (const field of [12, 16]) file.writeUInt32BE(unixS + MP4_EPOCH_S, at + field);
  }
}

/** A `free` box with a text: bytes at the end of a file that players skip. */
function freeBox(text: string): Uint8Array {
  const content = Buffer.from(text);
  const box = Buffer.alloc(8 + content.length);
  box.writeUInt32BE(box.length);
  box.write('free', 4, 'latin1');
  content.copy(box, 8);
  return box;
}

/** Checks a video or audio clip and returns its length in seconds. */
export async function checkClip(
  modality: 'video' | 'audio',
  bytes: Uint8Array,
  limits: MediaLimits,
  refuse: Refuse,
): Promise<number> {
  // Otherwise the library would print file contents to the terminal of the sandbox.
  media.Logging.level = media.LogLevel.Silent;
  const formats = modality === 'audio' ? [media.WAVE, media.MP3] : [media.MP4, media.QTFF];
  const input = new media.Input({ formats, source: new media.BufferSource(bytes) });
  const durationS = await input.computeDuration().catch(() => undefined);
  if (durationS === undefined) throw refuse(`not ${modality} (${limits.formats?.join(', ')} are taken)`);
  if (limits.durationS && !within(durationS, limits.durationS)) {
    throw refuse(`${durationS.toFixed(1)} s long, ${inWords(limits.durationS)} s are taken`);
  }
  if (modality === 'audio') return durationS;
  const picture = await input.getPrimaryVideoTrack();
  if (!picture) throw refuse('a video without a picture');
  checkPicture({ width: picture.displayWidth, height: picture.displayHeight }, limits, refuse);
  const { averagePacketRate } = await picture.computePacketStats(RATE_PACKETS);
  // The rate is measured in whole ticks of the file's clock, so 23.976 may come out slightly lower.
  if (limits.framesPerS && !within(Number(averagePacketRate.toFixed(2)), roundedRange(limits.framesPerS))) {
    throw refuse(`${averagePacketRate.toFixed(2)} frames a second, ${inWords(limits.framesPerS)} are taken`);
  }
  const sound = await input.getPrimaryAudioTrack();
  checkCodec(picture.codec, limits.videoCodecs, 'video', refuse);
  if (sound) checkCodec(sound.codec, limits.audioCodecs, 'audio', refuse);
  return durationS;
}

const RATE_PACKETS = 100;
const roundedRange = ({ min, max }: Range): Range => ({ min: Math.floor(min * 100) / 100, max });

function checkCodec(
  codec: string | null,
  taken: readonly string[] | undefined,
  kind: string,
  refuse: Refuse,
): void {
  if (taken && !(codec !== null && taken.includes(codec))) {
    throw refuse(`its ${kind} is ${codec ?? 'of an unknown codec'}, ${taken.join(', ')} are taken`);
  }
}
