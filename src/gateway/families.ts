import type { Family } from './task.ts';

/** The families of asynchronous generation by name, each loaded when it is asked for. */
const loaders: Readonly<Record<string, () => Promise<Family>>> = {
  alpha: async () => (await import('./alpha-task.ts')).alphaFamily,
};

export const familyNames = Object.keys(loaders);

/** A family by its name, as it stands in the ledger and on the command line. Throws for a name that is none. */
export async function loadFamily(name: string): Promise<Family> {
  const load = loaders[name];
  if (!load) throw new Error(`no family is called ${name}`);
  return load();
}
