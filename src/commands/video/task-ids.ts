import type { Outcome } from '../../command.ts';
import type { Context } from '../../context.ts';
import { GwError, Interrupted, usage } from '../../errors.ts';
import type { SaveFlags } from '../../flags/job-flags.ts';
import type { SaidBy } from '../../flags/yielding.ts';
import type { TaskFamily } from '../../gateway/task.ts';
import { refuseOddFile } from '../../jobs/save/check-target.ts';
import { isFixedName, planTarget, render } from '../../jobs/save/output-path.ts';
import { parsePattern, windowsFault } from '../../placeholders.ts';
import { showInstead } from '../show-instead.ts';

const askedOf: Readonly<Record<string, string>> = {
  beta: ' --duration 3',
  gamma: ' --resolution 768P --duration 4 --ratio 16:9',
};
/** A command line that creates the task which the examples of other commands name. */
export const exampleCreate = (family: string): string =>
  `gw video ${family} create --sandbox "a paper boat"${askedOf[family] ?? ''}`;

/**
 * Warns about an output name that Windows does not allow, and returns true if there is one. A batch warns when its
 * rows are checked, so its rows do not.
 */
export function noteOfName(out: string | undefined, { host, io, followers }: Context): boolean {
  const fault = host.platform === 'win32' || followers ? undefined : windowsFault(out ?? '');
  if (fault !== undefined) io.note(`Windows forbids ${fault}`);
  return fault !== undefined;
}

/** Throws `usage` before any request if several tasks would share one file name. */
export function refuseSharedName(tasks: number, out: string | undefined, cwd: string): void {
  if (tasks < 2 || out === undefined || !isFixedName(planTarget(out, cwd))) return;
  const cure = 'put {id} into the name, or name a directory (ends in /)';
  throw usage(`--out ${out}: one file name for ${tasks} tasks`, cure);
}

/** Checks the new output path for existing tasks. Throws `usage` before any request. */
export function checkLaterOut(tasks: number, flags: SaveFlags, ctx: Context): void {
  refuseIdleExec(flags);
  noteOfName(flags.out, ctx);
  refuseSharedName(tasks, flags.out, ctx.host.cwd);
  refuseOddTarget(planTarget(flags.out, ctx.host.cwd));
}

/** Throws `usage` for a typed command per saved file if no file is saved; a default of the profile is passed over. */
export function refuseIdleExec({ exec, download, stored }: SaveFlags & SaidBy, waits = true): void {
  if (exec === undefined || stored?.includes('exec') || (waits && download === undefined)) return;
  const later = 'keep it for later: gw config set after_save COMMAND';
  if (waits) throw usage('--exec: nothing is saved with --no-download', `leave one out, or ${later}`);
  throw usage('--exec: nothing is saved without --wait', `add --wait, or ${later}`);
}

/** Throws `usage` if a target without placeholders names a path that cannot be an output file. */
export function refuseOddTarget(target: string, named?: string): void {
  if (isFixedName(target)) refuseOddFile(render(parsePattern(target), {}), named);
}

/**
 * Yields one outcome per task, in order; all start at once. A failed task does not stop the others; an interrupt
 * does.
 */
export async function* eachTask<T extends { readonly id: string }, R>(
  tasks: readonly T[],
  run: (task: T) => Promise<Outcome<R>>,
): AsyncGenerator<Outcome<R>> {
  const running = tasks.map((task) => {
    const outcome = run(task);
    // The error is reported when the task's turn comes, so a rejection before that must not end the process.
    outcome.catch(() => {});
    return { id: task.id, outcome };
  });
  for (const { id, outcome } of running) {
    try {
      yield await outcome;
    } catch (error) {
      if (tasks.length === 1) throw ofTask(error, id);
      if (error instanceof Interrupted) throw error;
      yield { error: ofTask(error, id) };
    }
  }
}

/** For --dry-run and --curl: the requests that would ask for these IDs. */
export async function* showQueries(
  family: TaskFamily,
  ids: readonly string[],
  ctx: Context,
): AsyncGenerator<Outcome<never>> {
  const { endpoint, maxIds, input } = family.query;
  for (let at = 0; at < ids.length; at += maxIds) {
    const value = await showInstead(endpoint, input(ids.slice(at, at + maxIds)), ctx);
    if (value) yield { value };
  }
}

/** An error or interrupt that names its task; one that names another task stays as it is. */
export function ofTask(error: unknown, taskId: string): unknown {
  const isOne = error instanceof GwError || error instanceof Interrupted;
  if (!isOne || error.facts.taskId !== undefined) return error;
  return error instanceof GwError ? error.told({ taskId }) : new Interrupted(error.signal, { taskId });
}
