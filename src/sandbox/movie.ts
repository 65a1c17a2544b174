import * as fs from 'node:fs/promises';
import { join } from 'node:path';
import type { EncodedPacket, InputTrack } from 'mediabunny';
import { freeBox, setBoxTimes } from './box-times.ts';
import { clipFile, clipFrames, framesPerS } from './clip.ts';
import type { Film } from './film.ts';
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
  const output = new media.Output({
    format: new Container({ fastStart: 'in-memory' }),
    target,
  });
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
