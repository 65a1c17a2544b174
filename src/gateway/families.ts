import type { Family, TaskFamily } from './task.ts';

// The families of jobs, by their name in the ledger and on the command line. Each is loaded when it is first needed.

const taskLoaders: Readonly<Record<string, () => Promise<TaskFamily>>> = {
  alpha: async () => (await import('./alpha/task.ts')).alphaFamily,
  beta: async () => (await import('./beta/task.ts')).betaFamily,
  gamma: async () => (await import('./gamma/task.ts')).gammaFamily,
};

const loaders: Readonly<Record<string, () => Promise<Family>>> = {
  ...taskLoaders,
  image: async () => (await import('./image/job.ts')).imageFamily,
};

export const familyNames = Object.keys(loaders);

/** A family by its name. Throws if the name is unknown. */
export const loadFamily = (name: string): Promise<Family> => load(loaders, name);

/** A family by its name; undefined for a name that this build does not know. */
export const findFamily = async (name: string): Promise<Family | undefined> =>
  Object.hasOwn(loaders, name) ? loaders[name]?.() : undefined;

/** A family of asynchronous generation by its name. Throws if the name is unknown. */
export const loadTaskFamily = (name: string): Promise<TaskFamily> => load(taskLoaders, name);

/** A family of asynchronous generation by its name; undefined for `image` or an unknown name. */
export const findTaskFamily = async (name: string): Promise<TaskFamily | undefined> => taskLoaders[name]?.();

async function load<F>(from: Readonly<Record<string, () => Promise<F>>>, name: string): Promise<F> {
  const found = from[name];
  if (!found) throw new Error(`no family is called ${name}`);
  return found();
}
