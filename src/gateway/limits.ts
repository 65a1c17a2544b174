/** Account limits of family A ("Limits"): requests a minute and tasks at once. */
export const accountLimits = {
  enterprise: { requestsPerMinute: 600, concurrentTasks: 10 },
  personal: { requestsPerMinute: 180, concurrentTasks: 3 },
} as const;

/** Family A standard 2.0 at 4k, both account types. */
export const fourKLimits = { requestsPerMinute: 15, concurrentTasks: 1 } as const;

export type AccountType = keyof typeof accountLimits;
export const accountTypes = Object.keys(accountLimits) as AccountType[];
