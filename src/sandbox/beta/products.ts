import * as fs from 'node:fs/promises';
import { join } from 'node:path';
import { betaFamily } from '../../gateway/beta/task.ts';
import { filmFile, makeLastFrame } from '../movie.ts';
import { type OutputFile, signedLink } from '../output-source.ts';
import type { World } from '../route.ts';
import type { SandboxTask } from '../task.ts';
import type { BetaPlan, BetaProduct } from './plan.ts';

type Task = SandboxTask<BetaPlan>;
type Link = (file: string) => string;

interface Product {
  /** The item in `outputs` ("Output items by `type`"). */
  readonly item: (task: Task, link: Link) => Record<string, unknown>;
  /** Its files, by the names in their URLs. */
  readonly files: Readonly<Record<string, (task: Task, world: World) => OutputFile>>;
}

const picture = ({ plan }: Task): OutputFile => ({ type: 'image/png', make: () => makeLastFrame(plan.film) });
/** A picture of another moment, so that it differs from the clean one. */
const watermarkedPicture = ({ plan }: Task): OutputFile => ({
  type: 'image/png',
  make: () => makeLastFrame({ ...plan.film, durationS: plan.film.durationS + 0.5 }),
});
const mp3 = ({ id, plan }: Task, { clipsDir }: World): OutputFile => ({
  type: 'audio/mpeg',
  make: (variant) => makeMp3(plan.film.durationS, clipsDir, `${id} ${variant}`),
});
const wav = ({ id, plan }: Task): OutputFile => ({
  type: 'audio/wav',
  make: async (variant) => makeWav(plan.film.durationS, `${id} ${variant}`),
});
const film =
  (mark = '') =>
  (task: Task, world: World): OutputFile =>
    filmFile(task.plan.film, task, world, mark);

const secondsText = (seconds: number) => String(Number(seconds.toFixed(3)));

const table: Readonly<Record<BetaProduct, Product>> = {
  video: {
    item: ({ id, plan }, link) => ({
      type: 'video',
      id: `${id}-video`,
      url: link('video.mp4'),
      ...(plan.watermark && { watermark_url: link('video-watermarked.mp4') }),
      duration: secondsText(plan.film.durationS),
    }),
    files: { 'video.mp4': film(), 'video-watermarked.mp4': film('watermarked') },
  },
  image: {
    item: ({ id, plan }, link) => ({
      type: 'image',
      url: link('image.png'),
      ...(plan.watermark && { watermark_url: link('image-watermarked.png') }),
      group_id: `${id}-group`,
    }),
    files: { 'image.png': picture, 'image-watermarked.png': watermarkedPicture },
  },
  audio: {
    item: ({ id, plan }, link) => ({
      type: 'audio',
      id: `${id}-audio`,
      mp3_url: link('audio.mp3'),
      wav_url: link('audio.wav'),
      mp3_duration: secondsText(mp3LengthS(plan.film.durationS)),
      wav_duration: secondsText(plan.film.durationS),
    }),
    files: { 'audio.mp3': mp3, 'audio.wav': wav },
  },
  voice: {
    item: ({ id }, link) => ({
      type: 'voice',
      id: `${id}-voice`,
      name: 'Sandbox voice',
      url: link('voice.mp3'),
      owned_by: 'sandbox',
      status: 'succeeded',
    }),
    files: { 'voice.mp3': mp3 },
  },
  element: {
    item: ({ id, plan }, link) => ({
      type: 'element',
      id: `${id}-element`,
      name: 'Sandbox element',
      description: plan.prompt.slice(0, 100),
      element_type: 'multi_image',
      references: [{ type: 'image', role: 'frontal', url: link('element.png') }],
      owned_by: 'sandbox',
      status: 'succeeded',
      tags: [{ id: 'tag-1', name: 'sandbox', description: 'made by the embedded gateway' }],
    }),
    files: { 'element.png': picture },
  },
};

export function outputItems(task: Task, world: World): Record<string, unknown>[] {
  const link: Link = (file) => signedLink(world, task.id, file, task.endsAtMs + betaFamily.linkLifeMs);
  return task.plan.products.map((product) => table[product].item(task, link));
}

/** The files of family B. */
export function betaFile(task: Task, name: string, world: World): OutputFile | undefined {
  if (name.includes('-watermarked.') && !task.plan.watermark) return undefined;
  const owner = task.plan.products.find((product) => Object.hasOwn(table[product].files, name));
  return owner && table[owner].files[name]?.(task, world);
}

const mp3Tone = { file: 'tone.mp3', frameBytes: 96, frameS: 0.024, primingFrames: 25, frames: 50 } as const;
const sampling = { rateHz: 24_000, sampleBytes: 2, headBytes: 44 } as const;
const TONE_HZ = 208;

const mp3Frames = (durationS: number) => Math.ceil(durationS / mp3Tone.frameS);

/** The length of an MP3 for a duration: a whole number of frames. */
const mp3LengthS = (durationS: number): number => mp3Frames(durationS) * mp3Tone.frameS;

/**
 * Makes a tone as MP3 (48 kHz, mono) by looping the clip's frames, without encoding.
 * @param mark a text in its ID3v1 tag; another text gives other bytes
 */
async function makeMp3(durationS: number, clipsDir: string, mark: string): Promise<Uint8Array> {
  const clip = await fs.readFile(join(clipsDir, mp3Tone.file));
  const { frameBytes, primingFrames, frames } = mp3Tone;
  const loop = clip.subarray(primingFrames * frameBytes, (primingFrames + frames) * frameBytes);
  const tag = Buffer.alloc(128);
  tag.write('TAG', 'latin1');
  // Title, artist and album have 30 bytes each.
  tag.write(mark.slice(-90), 3, 'latin1');
  return Buffer.concat([Buffer.alloc(mp3Frames(durationS) * frameBytes, loop), tag]);
}

/**
 * Makes a tone as WAV (24 kHz, mono, 16 bit).
 * @param mark a text in a chunk that players skip; another text gives other bytes
 */
function makeWav(durationS: number, mark: string): Uint8Array {
  const samples = Math.round(durationS * sampling.rateHz);
  const dataBytes = samples * sampling.sampleBytes;
  const skipped = riffChunk('JUNK', Buffer.from(mark));
  const head = Buffer.alloc(sampling.headBytes);
  head.write('RIFF', 0, 'latin1');
  head.writeUInt32LE(sampling.headBytes - 8 + dataBytes + skipped.length, 4);
  head.write('WAVEfmt ', 8, 'latin1');
  head.writeUInt32LE(16, 16);
  head.writeUInt16LE(1, 20); // PCM
  head.writeUInt16LE(1, 22);
  head.writeUInt32LE(sampling.rateHz, 24);
  head.writeUInt32LE(sampling.rateHz * sampling.sampleBytes, 28);
  head.writeUInt16LE(sampling.sampleBytes, 32);
  head.writeUInt16LE(8 * sampling.sampleBytes, 34);
  head.write('data', 36, 'latin1');
  head.writeUInt32LE(dataBytes, 40);
  const data = Buffer.alloc(dataBytes);
  for (let nth = 0; nth < samples; nth++) {
    const level = Math.sin((2 * Math.PI * TONE_HZ * nth) / sampling.rateHz);
    data.writeInt16LE(Math.round(level * 3000), nth * sampling.sampleBytes);
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
