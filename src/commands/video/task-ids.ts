import type { Outcome } from '../../command.ts';
import { GwError, Interrupted, usage } from '../../errors.ts';
import { TaskId } from '../../gateway/task.ts';
import { isFixedName, planTarget } from '../../jobs/download/plan-target.ts';

/** The IDs of a command line, each once, in order. Throws `usage` for one that no gateway gives out. */
export function taskIds(args: readonly string[]): string[] {
  for (const id of args) {
    if (!TaskId.safeParse(id).success) {
      throw usage(
        `${id}: not a task ID`,
        'IDs are letters, digits, dots, dashes and underscores; gw jobs list shows yours',
      );
    }
  }
  return [...new Set(args)];
}

/** Several tasks cannot share one file name. Throws `usage` before anything is asked. */
export function refuseSharedName(ids: readonly string[], out: string | undefined, cwd: string): void {
  if (ids.length < 2 || out === undefined || !isFixedName(planTarget(out, cwd))) return;
  throw usage(
    `--out ${out}: one file name for ${ids.length} tasks`,
    'put {id} into the name, or name a directory (ends in /)',
  );
}

/** One outcome an ID, in order; what fails for one does not stop the others, an interrupt does. */
export async function* eachId<R>(
  ids: readonly string[],
  run: (id: string) => Promise<Outcome<R>>,
): AsyncGenerator<Outcome<R>> {
  for (const id of ids) {
    try {
      yield await run(id);
    } catch (error) {
      if (error instanceof Interrupted || ids.length === 1) throw ofTask(error, id);
      yield { error: ofTask(error, id) };
    }
  }
}

/** One outcome an ID, all at once, each as it ends. */
export async function* allIds<R>(
  ids: readonly string[],
  run: (id: string) => Promise<Outcome<R>>,
): AsyncGenerator<Outcome<R>> {
  const running = new Map(
    ids.map((id) => [
      id,
      run(id).then(
        (outcome) => ({ id, outcome }),
        (error: unknown) => ({ id, outcome: { error: ofTask(error, id) } as Outcome<R> }),
      ),
    ]),
  );
  while (running.size > 0) {
    const { id, outcome } = await Promise.race(running.values());
    running.delete(id);
    yield outcome;
  }
}

/** An error that says which task it concerns. */
function ofTask(error: unknown, taskId: string): unknown {
  if (!(error instanceof GwError) || error.facts.taskId !== undefined) return error;
  return new GwError(error.kind, error.message, { ...error.facts, taskId });
}
