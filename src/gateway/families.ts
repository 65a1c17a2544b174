import { alphaFamily } from './alpha.ts';
import type { Family } from './task.ts';

/** The families of asynchronous generation by name, as they stand in the ledger and on the command line. */
export const families: Readonly<Record<string, Family>> = { alpha: alphaFamily };
