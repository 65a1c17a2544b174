/** Account limits of family A ("Limits"): requests a minute and tasks at once. */
export const accountLimits = {
  enterprise: { requestsPerMinute: 600, concurrentTasks: 10 },
  personal: { requestsPerMinute: 180, concurrentTasks: 3 },
} as const;

/** Family A standard 2.0 at 4k, both account types. */
export const fourKLimits = { requestsPerMinute: 15, concurrentTasks: 1 } as const;

/** No rate is documented for the other families: two requests a second are gentle, and enough for thousands of tasks. */
const gentleLimits = { requestsPerMinute: 120 } as const;

export type AccountType = keyof typeof accountLimits;
export const accountTypes = Object.keys(accountLimits) as AccountType[];

/** Tasks that share a rate and, where one is documented, a limit of how many run at once. */
export interface RatePool {
  readonly name: string;
  readonly requestsPerMinute: number;
  readonly concurrentTasks?: number;
}

/** What decides a task's pool. */
export interface PooledTask {
  readonly family: string;
  readonly settings: Readonly<Record<string, unknown>>;
}

/** The pool that a task counts in: family A has one of its own for 4k ("Limits"). */
export function poolOf({ family, settings }: PooledTask, account: AccountType): RatePool {
  if (family !== 'alpha') return { name: family, ...gentleLimits };
  if (settings.resolution === '4k') return { name: 'alpha-4k', ...fourKLimits };
  return { name: 'alpha', ...accountLimits[account] };
}
