import { familyNames, loadFamily } from '../gateway/families.ts';
import type { Family, TaskView } from '../gateway/task.ts';
import { outputsOf } from '../gateway/task-state.ts';
import type { Job, JobState, SavedFile } from './event.ts';

/** True if a file is the complete output in its intended place. */
export const isHome = ({ rescued, cut }: Pick<SavedFile, 'rescued' | 'cut'>): boolean => !rescued && !cut;

/** True if nothing is left to do for a job at any time: only a new line about the job can change that. */
export type IsSettled = (job: Job) => boolean;

const badEnds: ReadonlySet<JobState> = new Set(['not_sent', 'refused', 'failed', 'lost']);

/** Loads all families, because only they can tell whether all outputs of a job are saved. */
export async function loadSettled(): Promise<IsSettled> {
  const families = new Map<string, Family>();
  for (const name of familyNames) families.set(name, await loadFamily(name));
  return (job) => {
    if (job.isDamaged || Object.keys(job.parts).length > 0) return false;
    if (!job.files.every(isHome)) return false;
    if (badEnds.has(job.state)) return true;
    if (job.state !== 'succeeded') return false;
    if (!job.save.download) return true;
    const family = families.get(job.family);
    const task = taskOf(job, family);
    return family !== undefined && task !== undefined && !lacks(task, job, family);
  };
}

/** The last job that was asked about, so that several questions parse its record only once. */
let last: { readonly job: Job; readonly family: Family; readonly task: TaskView | undefined } | undefined;

/** The parsed record of a job; undefined if there is none or this build cannot read it. */
export function taskOf(job: Job, family: Family | undefined): TaskView | undefined {
  if (family === undefined || job.record === undefined) return undefined;
  if (last?.job !== job || last.family !== family) last = { job, family, task: readTask(job, family) };
  return last.task;
}

/** The job's records and a newly seen one in one view; undefined if there is none or this build cannot read them. */
export function readTask(
  { earlierRecords = [], id, key, record }: Job,
  family: Family,
  seen?: TaskView,
): TaskView | undefined {
  try {
    const read = (each: unknown) => family.readTask(each, id ?? key);
    const now = seen ?? read(record);
    const before = seen && record !== undefined ? [...earlierRecords, record] : earlierRecords;
    return before.length === 0 ? now : { ...now, outputs: outputsOf([...before.map(read), now]) };
  } catch {
    return seen;
  }
}

/** True if a job's record names its outputs: it succeeded, or its cut reply holds links to images. */
export const namesOutputs = ({ state, record }: Job): boolean =>
  state === 'succeeded' || (state === 'unknown' && record !== undefined);

/**
 * True if a job whose record names its outputs has one that is not on disk, wanted or not. It is also true if the
 * record names none or cannot be read.
 */
export const lacksOutputs = (job: Job, family: Family): boolean =>
  namesOutputs(job) && lacks(taskOf(job, family), job, family);

function lacks(task: TaskView | undefined, { files }: Job, family: Family): boolean {
  const { outputs = [], hasNoFiles } = task ?? {};
  if (hasNoFiles) return false;
  if (files.some(({ rescued }) => rescued)) return true;
  if (outputs.length === 0) return 'query' in family && files.length === 0;
  return outputs.some(({ role }) => !files.some((file) => file.role === role && isHome(file)));
}
