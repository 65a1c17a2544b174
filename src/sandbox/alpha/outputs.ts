import { ALPHA_MAX_DOWNLOADS, alphaFamily } from '../../gateway/alpha/task.ts';
import { filmFile, videoFile } from '../film.ts';
import { makeLastFrame } from '../last-frame.ts';
import type { OutputSource } from '../output-source.ts';
import { findFinished } from '../task.ts';
import type { AlphaPlan } from './plan.ts';

export const lastFrameFile = 'last-frame.png';

/** The files of family A: each may be downloaded up to 100 times ("Retention"). */
export const alphaOutputs: OutputSource = {
  find(id, name, world) {
    const task = findFinished<AlphaPlan>(world, alphaFamily.name, id);
    if (!task) return undefined;
    const { film, lastFrame } = task.plan;
    const maxDownloads = ALPHA_MAX_DOWNLOADS;
    if (name === videoFile(film)) return { ...filmFile(film, task, world), maxDownloads };
    if (name !== lastFrameFile || !lastFrame) return undefined;
    return { type: 'image/png', maxDownloads, make: () => makeLastFrame(film) };
  },
};
