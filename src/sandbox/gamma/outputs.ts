import { gammaFamily } from '../../gateway/gamma/task.ts';
import { filmFile, videoFile } from '../film.ts';
import type { OutputSource } from '../output-source.ts';
import { findFinished } from '../task.ts';
import type { GammaPlan } from './plan.ts';

/** The files of family C: a video each. */
export const gammaOutputs: OutputSource = {
  find(id, name, world) {
    const task = findFinished<GammaPlan>(world, gammaFamily.name, id);
    return task && name === videoFile(task.plan.film) ? filmFile(task.plan.film, task, world) : undefined;
  },
};
