import { program } from '../program.ts';
import { shells } from './shells.ts';
import { type CompletionTable, completionTable } from './table.ts';

// The exports that the build uses.

/** The table from which completions are computed (`dist/complete.json`). */
export const buildTable = (): Promise<CompletionTable> => completionTable(program);

/** The files of completions/, name to text. */
export const scriptFiles = (): Record<string, string> =>
  Object.fromEntries(Object.values(shells).map(({ file, script }) => [file, script]));
