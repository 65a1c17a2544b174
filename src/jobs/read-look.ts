import { GwError } from '../errors.ts';
import type { TaskFamily } from '../gateway/task.ts';
import type { Reply } from '../http/client.ts';
import type { TaskLook } from './look.ts';

/** What one look came to. */
export type LookOutcome = { readonly look: TaskLook } | { readonly error: unknown };

/** A reply, and what it holds of one task; no record where it does not name the task. */
interface Came {
  readonly record: unknown;
  readonly recordText?: string | undefined;
  readonly reply: Reply;
  readonly serverDateMs: number;
}

/** Reads one task's record of a reply: `not_found` where there is none, `unavailable` where it cannot be read. */
export function readLook(family: TaskFamily, id: string, came: Came): LookOutcome {
  if (came.record === undefined) {
    return { error: new GwError('not_found', `the gateway does not know task ${id}`, { taskId: id }) };
  }
  try {
    const view = readable(() => family.readTask(came.record, id), `the record of task ${id}`);
    return { look: { ...came, view } };
  } catch (error) {
    return { error };
  }
}

/** What a parser makes of it. Throws `unavailable` where it cannot be read. */
export function readable<T>(parse: () => T, what: string): T {
  try {
    return parse();
  } catch {
    throw new GwError('unavailable', `${what} cannot be read`);
  }
}
