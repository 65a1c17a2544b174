import { betaFamily } from '../../gateway/beta/task.ts';
import { filmFile } from '../film.ts';
import { makeLastFrame } from '../last-frame.ts';
import type { OutputFile, OutputSource } from '../output-source.ts';
import { signedLink } from '../signed-link.ts';
import { makeMp3, makeWav, mp3LengthS } from '../sound.ts';
import { findFinished, type SandboxTask } from '../task.ts';
import type { World } from '../world.ts';
import type { BetaPlan, BetaProduct } from './plan.ts';

type Task = SandboxTask<BetaPlan>;
type Link = (file: string) => string;

interface Product {
  /** The item in `outputs` ("Output items by `type`"). */
  readonly item: (task: Task, link: Link) => Record<string, unknown>;
  /** Its files by the names in their addresses. */
  readonly files: Readonly<Record<string, (task: Task, world: World) => OutputFile>>;
}

const picture = ({ plan }: Task): OutputFile => ({
  type: 'image/png',
  make: () => makeLastFrame(plan.film),
});
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

/** The field `outputs` of a task that has succeeded. */
export function outputItems(task: Task, world: World): Record<string, unknown>[] {
  const expiresS = Math.floor((task.endsAtMs + betaFamily.linkLifeMs) / 1000);
  const link: Link = (file) => signedLink(world.store.secret, world.outputUrl(), task.id, file, expiresS);
  return task.plan.products.map((product) => table[product].item(task, link));
}

/** The files of family B. */
export const betaOutputs: OutputSource = {
  find(id, name, world) {
    const task = findFinished<BetaPlan>(world, betaFamily.name, id);
    if (!task || (name.includes('-watermarked.') && !task.plan.watermark)) return undefined;
    for (const product of task.plan.products) {
      const { files } = table[product];
      const file = Object.hasOwn(files, name) ? files[name] : undefined;
      if (file) return file(task, world);
    }
    return undefined;
  },
};
