import * as fs from 'node:fs';
import { sha256OfFile } from '../../disk/small-file.ts';
import type { Family } from '../../gateway/task.ts';
import { isHome, type Job, type SavedFile } from '../../ledger/event.ts';
import { taskOf } from '../../ledger/settled.ts';

// Whether a job is saved: the one answer, of its record (what was made), the ledger (where it was saved, copies too) and the
// disk (what is there). Every command that waits, downloads, goes on, lists or reports asks here.

/** The outputs of a job, as they are on disk. */
export interface SavedOutputs {
  /** One file an output, in their order: where it was saved first, else a copy. */
  readonly files: readonly SavedFile[];
  /** The others: `path` where one was saved, and is gone or changed; `rescued` where it is kept whole until it can be saved. */
  readonly missing: readonly Missing[];
}

type Missing = Readonly<{ role: string; path?: string | undefined; rescued?: SavedFile | undefined }>;

/** By what the files hold: each is read, and has the recorded SHA-256. Aborting throws the signal's reason. */
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

/** As `savedOutputs`, by the files' sizes alone: for lists and batches of thousands, and for what is only opened. */
export const outputsBySize = (job: Job, family: Family | undefined): SavedOutputs =>
  verdict(copiesOf(job, family), hasSize);

/** Whether something that was saved is gone or has another size; there may be a copy. */
export const lacksFile = ({ files }: Job): boolean => !files.every(hasSize);

/** Whether a file that was saved is there as it was recorded. Aborting throws the signal's reason. */
export async function isWhole(file: SavedFile, signal: AbortSignal): Promise<boolean> {
  try {
    return hasSize(file) && (await sha256OfFile(file.path, signal)) === file.sha256;
  } catch {
    signal.throwIfAborted();
    return false;
  }
}

function hasSize({ path, bytes }: SavedFile): boolean {
  try {
    const stats = fs.statSync(path, { throwIfNoEntry: false });
    return stats?.isFile() === true && stats.size === bytes;
  } catch {
    return false;
  }
}

type Copies = readonly (readonly [role: string, copies: readonly SavedFile[]])[];

/** What was made, each with the files that it was saved as, in the order of saving. */
function copiesOf(job: Job, family: Family | undefined): Copies {
  const task = taskOf(job, family);
  const named = [...(task?.outputs ?? []).map(({ role }) => role), ...(task?.cameAlong ?? [])];
  const saved = [...new Set(job.files.map(({ role }) => role))];
  const isTask = family !== undefined && 'query' in family;
  // A task has a file even where its record names none.
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
    // What was rescued is still to be saved where it was wanted, and what is cut to be had whole.
    const there = copies.filter(isThere);
    const file = there.find(isHome);
    if (file) files.push(file);
    else missing.push({ role, path: copies.find(isHome)?.path, rescued: there.find((each) => each.rescued) });
  }
  return { files, missing };
}
