import { familyNames, loadFamily } from '../gateway/families.ts';
import type { Family, TaskView } from '../gateway/task.ts';
import { outputsOf } from '../gateway/task-state.ts';
import { isHome, type Job, type JobState } from './event.ts';

/** Whether nothing is left to do for a job, whatever the time is: only a new line about it can change that. */
export type IsSettled = (job: Job) => boolean;

const badEnds: ReadonlySet<JobState> = new Set(['not_sent', 'refused', 'failed', 'lost']);

/** Loads the families, who alone can tell whether all outputs of a job are saved. */
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

/** The job that was asked of last: several questions about one job parse its record once. */
let last: { readonly job: Job; readonly family: Family; readonly task: TaskView | undefined } | undefined;

/** What the record of a job says; undefined where there is none, or none that this build can read. */
export function taskOf(job: Job, family: Family | undefined): TaskView | undefined {
  if (family === undefined || job.record === undefined) return undefined;
  if (last?.job !== job || last.family !== family) last = { job, family, task: readTask(job, family) };
  return last.task;
}

/** What the records of a job say, with one that was just seen; undefined where there is none, or none that this build can read. */
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

/** Whether the record of a job names what was made: it succeeded, or its reply was cut behind links to images. */
export const namesOutputs = ({ state, record }: Job): boolean =>
  state === 'succeeded' || (state === 'unknown' && record !== undefined);

/**
 * Whether a job whose record names what was made has an output that is not on disk, wanted or not. A task whose record
 * names none, or cannot be read, has one all the same.
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
