import { type AccountType, type PooledTask, poolOf, type RatePool } from '../../gateway/limits.ts';

/** Tasks at once for a family without a documented limit. */
const UNDOCUMENTED_AT_ONCE = 5;

/** `video alpha` -> `alpha`, `image edit` -> `image`. */
export const familyOf = (command: string): string =>
  command.replace(/^video /, '').replace(/^image .*/, 'image');

export interface Place extends RatePool {
  readonly atOnce: number;
}

export function placeOf(task: PooledTask, account: AccountType): Place {
  const pool = poolOf(task, account);
  return { ...pool, atOnce: pool.concurrentTasks ?? UNDOCUMENTED_AT_ONCE };
}
