import type { TaskOutput, TaskView } from './task.ts';

// Apart from the records' schemas: what only shows a status does not pay for them at start.

/** Where a task stands, in gw's own three words; the gateway's word travels beside it. */
export type TaskState = 'running' | 'succeeded' | 'failed';

const badEnds = new Set(['failed', 'cancelled', 'canceled', 'expired', 'rejected']);

/** The words that mean "not finished yet" in any family; another unfinished word deserves one warning. */
const knownRunning = new Set(['queued', 'running', 'submitted', 'processing']);

/** Every status word that gw knows, of any family. */
export const taskStatuses: readonly string[] = [...knownRunning, 'succeeded', ...badEnds];

export interface ReadStatus {
  /** The gateway's word; one that gw knows in lower case, as documented. */
  readonly status: string;
  readonly state: TaskState;
  /** False for a status the document does not list. */
  readonly statusKnown: boolean;
}

/**
 * Reads a gateway status. `succeeded` ends well and five words end badly, in any case; every other word, or none,
 * still runs ("States and transitions"; unknown states wait on).
 */
export function taskState(word: unknown): ReadStatus {
  const raw = typeof word === 'string' ? word : '';
  const status = raw.toLowerCase();
  if (status === 'succeeded') return { status, state: 'succeeded', statusKnown: true };
  if (badEnds.has(status)) return { status, state: 'failed', statusKnown: true };
  const statusKnown = knownRunning.has(status);
  return { status: statusKnown ? status : raw, state: 'running', statusKnown };
}

/**
 * What an ID of the gateway may look like (the document gives it no form): safe as a path segment, in a list with commas
 * and as a line of output that xargs hands to gw again, so that it begins with no dash.
 */
export const taskIdPattern = /^[A-Za-z0-9_][A-Za-z0-9._:~@+=-]{0,127}$/;

/**
 * The outputs of a task by what its records have said so far, the first one first: the gateway's ID tells them apart, and not
 * their place in a list, which may change. What a later record leaves out is still an output. Where not each has an ID, the
 * last record decides.
 */
export const outputsOf = (views: readonly Pick<TaskView, 'outputs'>[]): readonly TaskOutput[] =>
  views.reduce<readonly TaskOutput[]>((known, { outputs }) => {
    if (known.concat(outputs).some(({ id }) => id === undefined)) return outputs;
    const now = new Map(outputs.map((output) => [output.id, output]));
    const merged = known.map((output) => ({ ...output, url: now.get(output.id)?.url ?? output.url }));
    for (const { id, role, ...output } of outputs) {
      if (known.some((other) => other.id === id)) continue;
      let free = role;
      for (let count = 2; merged.some((output) => output.role === free); count += 1)
        free = `${role.replace(/-\d+$/, '')}-${count}`;
      merged.push({ ...output, id, role: free });
    }
    return merged;
  }, []);
