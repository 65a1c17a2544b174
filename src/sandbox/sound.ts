import * as fs from 'node:fs/promises';
import { join } from 'node:path';

const mp3Tone = { file: 'tone.mp3', frameBytes: 96, frameS: 0.024, primingFrames: 25, frames: 50 } as const;
const wav = { rateHz: 24_000, sampleBytes: 2, headBytes: 44 } as const;
/** The tone of `clips/tone.mp3`, whose length is a whole number of its periods. */
const partials = [
  { hz: 208 + 1 / 3, loudness: 0.06 },
  { hz: 291 + 2 / 3, loudness: 0.05 },
  { hz: 416 + 2 / 3, loudness: 0.04 },
] as const;

const mp3Frames = (durationS: number) => Math.ceil(durationS / mp3Tone.frameS);

/** How long the MP3 of so many seconds is: a whole number of its frames. */
export const mp3LengthS = (durationS: number): number => mp3Frames(durationS) * mp3Tone.frameS;

/**
 * A tone as MP3 (48 kHz, mono): the clip's frames looped, without encoding anything.
 * @param mark a text in its ID3v1 tag; another gives other bytes
 */
export async function makeMp3(durationS: number, clipsDir: string, mark: string): Promise<Uint8Array> {
  const clip = await fs.readFile(join(clipsDir, mp3Tone.file));
  const { frameBytes, primingFrames, frames } = mp3Tone;
  const loop = clip.subarray(primingFrames * frameBytes, (primingFrames + frames) * frameBytes);
  const tag = Buffer.alloc(128);
  tag.write('TAG', 'latin1');
  // Title, artist and album: 30 bytes each.
  tag.write(mark.slice(-90), 3, 'latin1');
  return Buffer.concat([Buffer.alloc(mp3Frames(durationS) * frameBytes, loop), tag]);
}

/**
 * The same tone as WAV (24 kHz, mono, 16 bit).
 * @param mark a text in a chunk that players skip; another gives other bytes
 */
export function makeWav(durationS: number, mark: string): Uint8Array {
  const samples = Math.round(durationS * wav.rateHz);
  const dataBytes = samples * wav.sampleBytes;
  const skipped = riffChunk('JUNK', Buffer.from(mark));
  const head = Buffer.alloc(wav.headBytes);
  head.write('RIFF', 0, 'latin1');
  head.writeUInt32LE(wav.headBytes - 8 + dataBytes + skipped.length, 4);
  head.write('WAVEfmt ', 8, 'latin1');
  head.writeUInt32LE(16, 16);
  head.writeUInt16LE(1, 20); // PCM
  head.writeUInt16LE(1, 22);
  head.writeUInt32LE(wav.rateHz, 24);
  head.writeUInt32LE(wav.rateHz * wav.sampleBytes, 28);
  head.writeUInt16LE(wav.sampleBytes, 32);
  head.writeUInt16LE(8 * wav.sampleBytes, 34);
  head.write('data', 36, 'latin1');
  head.writeUInt32LE(dataBytes, 40);
  const data = Buffer.alloc(dataBytes);
  for (let nth = 0; nth < samples; nth++) {
    const turns = (2 * Math.PI * nth) / wav.rateHz;
    const level = partials.reduce((sum, { hz, loudness }) => sum + loudness * Math.sin(hz * turns), 0);
    data.writeInt16LE(Math.round(level * 0x7fff), nth * wav.sampleBytes);
  }
  return Buffer.concat([head, data, skipped]);
}

function riffChunk(name: string, content: Uint8Array): Buffer {
  const evenBytes = content.length + (content.length % 2);
  const chunk = Buffer.alloc(8 + evenBytes);
  chunk.write(name, 'latin1');
  chunk.writeUInt32LE(evenBytes, 4);
  chunk.set(content, 8);
  return chunk;
}
