import * as fs from 'node:fs';
import { sha256OfFile } from '../../disk/small-file.ts';
import type { Family } from '../../gateway/task.ts';
import { quietly } from '../../host.ts';
import type { Job, SavedFile } from '../../ledger/event.ts';
import { isHome, taskOf } from '../../ledger/settled.ts';

// Whether a job is saved, decided only here from its record (what was made), the ledger (where it was saved, including
// copies) and the disk (what exists). Every command that waits, downloads, continues, lists or reports asks here.

/** The outputs of a job and their files on disk. */
export interface SavedOutputs {
  /** One file per output, in order: where it was saved first, else a copy. */
  readonly files: readonly SavedFile[];
  /** Outputs without a file: `path` if it was saved but is gone or changed; `rescued` if it is kept in the refuge. */
  readonly missing: readonly Missing[];
}

type Missing = Readonly<{ role: string; path?: string | undefined; rescued?: SavedFile | undefined }>;

/** Checks files by content: each is read and compared with its recorded SHA-256. Throws the signal's reason. */
export async function savedOutputs(
  job: Job,
  family: Family | undefined,
  signal: AbortSignal,
): Promise<SavedOutputs> {
  const whole = new Set<SavedFile>();
  for (const [, copies] of copiesOf(job, family)) {
    for (const file of copies) {
      if (await isWhole(file, signal)) whole.add(file);
      if (whole.has(file) && isHome(file)) break;
    }
  }
  return verdict(copiesOf(job, family), (file) => whole.has(file));
}

/** Like `savedOutputs`, by file size only: for thousands of jobs, and for files that are only opened. */
export const outputsBySize = (job: Job, family: Family | undefined): SavedOutputs =>
  verdict(copiesOf(job, family), hasSize);

/** True if a saved file is gone or has another size; there may still be a copy. */
export const lacksFile = ({ files }: Job): boolean => !files.every(hasSize);

/** True if a saved file is unchanged since it was recorded. Aborting throws the signal's reason. */
export async function isWhole(file: SavedFile, signal: AbortSignal): Promise<boolean> {
  try {
    return hasSize(file) && (await sha256OfFile(file.path, signal)) === file.sha256;
  } catch {
    signal.throwIfAborted();
    return false;
  }
}

function hasSize({ path, bytes }: SavedFile): boolean {
  const stats = quietly(() => fs.statSync(path, { throwIfNoEntry: false }));
  return stats?.isFile() === true && stats.size === bytes;
}

type Copies = readonly (readonly [role: string, copies: readonly SavedFile[]])[];

/** Each output with the files that it was saved as, in the order of saving. */
function copiesOf(job: Job, family: Family | undefined): Copies {
  const task = taskOf(job, family);
  const named = [...(task?.outputs ?? []).map(({ role }) => role), ...(task?.cameAlong ?? [])];
  const saved = [...new Set(job.files.map(({ role }) => role))];
  const isTask = family !== undefined && 'query' in family;
  // A task has a file even if its record names none.
  const unnamed = saved.length > 0 || task?.hasNoFiles || !isTask ? saved : ['video'];
  return (named.length > 0 ? named : unnamed).map((role) => [
    role,
    job.files.filter((file) => file.role === role),
  ]);
}

function verdict(outputs: Copies, isThere: (file: SavedFile) => boolean): SavedOutputs {
  const files: SavedFile[] = [];
  const missing: Missing[] = [];
  for (const [role, copies] of outputs) {
    // A rescued file must still be saved to its target, and a truncated one must be fetched completely.
    const there = copies.filter(isThere);
    const file = there.find(isHome);
    if (file) files.push(file);
    else missing.push({ role, path: copies.find(isHome)?.path, rescued: there.find((each) => each.rescued) });
  }
  return { files, missing };
}
