import type { Callback } from './callbacks.ts';
import type { SandboxTask } from './task.ts';

/**
 * A callback for each change of a task's status after its creation.
 * @param bodyAt what a callback says, of the task as it stands at that moment (Unix milliseconds)
 */
export function statusCallbacks(task: SandboxTask, bodyAt: (nowMs: number) => unknown): Callback[] {
  const moments = [...new Set([task.startsAtMs, task.endsAtMs])];
  return moments.map((atMs) => ({ atMs, body: () => bodyAt(atMs) }));
}
