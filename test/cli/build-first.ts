import { builtGw } from './built.ts';

/** Builds gw before the first test, because under load a build takes longer than a hook may. */
export function setup(): void {
  builtGw();
}
