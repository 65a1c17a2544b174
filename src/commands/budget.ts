import type { Settings } from '../config/settings.ts';
import type { Context } from '../context.ts';
import type { Budget } from '../jobs/create/budget.ts';

// The user's limits, as a create applies them; nothing is loaded where there are none.

const budgetOf = ({ budget: { jobs }, profile, sandbox }: Settings): Budget | undefined =>
  jobs.value === undefined || sandbox ? undefined : { jobs: jobs.value, profile: profile.value };

/** Begins a job within the budget of the profile; undefined where it has none. */
export async function withinBudget(
  settings: Settings,
  ctx: Context,
): Promise<(<T>(begin: () => T) => Promise<T>) | undefined> {
  const budget = budgetOf(settings);
  if (budget === undefined) return undefined;
  const { beginWithin } = await import('../jobs/create/budget.ts');
  const ledger = await ctx.ledger();
  return (begin) => beginWithin(budget, { ledger, clock: ctx.clock }, begin);
}

/** Throws GwError `budget` where so many jobs would pass it. */
export async function refuseOverBudget(settings: Settings, count: number, ctx: Context): Promise<void> {
  const budget = budgetOf(settings);
  if (budget === undefined) return;
  const { refuseOver } = await import('../jobs/create/budget.ts');
  await refuseOver(budget, count, { ledger: await ctx.ledger(), clock: ctx.clock });
}
