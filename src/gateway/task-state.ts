import type { TaskOutput, TaskView } from './task.ts';

// This file is separate from the records' schemas, so that commands which only show a status do not load them.

/** The state of a task in gw's own three words; the gateway's word is kept in `status`. */
type TaskState = 'running' | 'succeeded' | 'failed';

const badEnds = new Set(['failed', 'cancelled', 'canceled', 'expired', 'rejected']);

/** The words that mean "not finished yet" in any family; gw warns once about any other unfinished word. */
const knownRunning = new Set(['queued', 'running', 'submitted', 'processing']);

/** Every status that gw knows, of any family. */
export const taskStatuses: readonly string[] = [...knownRunning, 'succeeded', ...badEnds];

export interface ReadStatus {
  /** The gateway's status: in lower case if gw knows it, otherwise as it came. */
  readonly status: string;
  readonly state: TaskState;
  /** False for a status that the document does not list. */
  readonly statusKnown: boolean;
}

/**
 * Reads a gateway status in any case. `succeeded` is a success and five words are failures; any other word counts as
 * still running ("States and transitions": an unknown state keeps waiting), and a missing one is read as `running`.
 */
export function taskState(word: unknown): ReadStatus {
  const raw = typeof word === 'string' && word !== '' ? word : 'running';
  const status = raw.toLowerCase();
  if (status === 'succeeded') return { status, state: 'succeeded', statusKnown: true };
  if (badEnds.has(status)) return { status, state: 'failed', statusKnown: true };
  const statusKnown = knownRunning.has(status) && raw === word;
  return { status: statusKnown ? status : raw, state: 'running', statusKnown };
}

/**
 * The form of a usable task ID (the document states none): safe as a path segment, in a comma-separated list, and as an
 * output line that xargs passes to gw; so it does not begin with a dash.
 */
export const taskIdPattern = /^[A-Za-z0-9_][A-Za-z0-9._:~@+=-]{0,127}$/;

/**
 * The outputs of a task from all its records so far, in order of first appearance. Outputs are matched by the gateway's
 * ID, because positions in the list may change. An output that a later record omits is kept. If any output has no ID,
 * the last record decides alone.
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
