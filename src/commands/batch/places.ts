import { type AccountType, type PooledTask, poolOf } from '../../gateway/limits.ts';

/** Families whose tasks at once are not documented run so many. */
const UNDOCUMENTED_AT_ONCE = 5;

/** `video alpha` -> `alpha`, `image edit` -> `image`. */
export const familyOf = (command: string): string =>
  command.replace(/^video /, '').replace(/^image .*/, 'image');

/** The pool that a row counts in, and how many tasks of it run at once. */
export function placesOf(
  task: PooledTask,
  account: AccountType,
): { readonly pool: string; readonly atOnce: number; readonly isDocumented: boolean } {
  const { name, concurrentTasks } = poolOf(task, account);
  return {
    pool: name,
    atOnce: concurrentTasks ?? UNDOCUMENTED_AT_ONCE,
    isDocumented: concurrentTasks !== undefined,
  };
}
