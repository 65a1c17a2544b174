import { ShownRequest } from '../command.ts';
import type { Context } from '../context.ts';
import { GwError } from '../errors.ts';
import type { BudgetFlags } from '../flags/job-flags.ts';
import { counted } from '../io/quantity-text.ts';
import type { Estimate } from '../jobs/cost.ts';
import type { JobRequest } from '../jobs/create/job-request.ts';
import { budgetDeps, limitsOf } from './before-create.ts';

/** Throws GwError `budget` if batch jobs have no price while a limit of money applies; nothing has been sent. */
export async function refuseUnpriced(
  { unpriced, whyUnpriced }: { readonly unpriced: number; readonly whyUnpriced: string },
  flags: BudgetFlags,
  ctx: Context,
): Promise<void> {
  const limits = await limitsOf(flags, ctx);
  if (unpriced === 0 || flags.unpriced || (limits?.amount ?? limits?.maxCost) === undefined) return;
  const rows = counted(unpriced, 'row');
  const hint = 'let them pass with --unpriced, or say what they cost in the price file';
  throw new GwError('budget', `the cost of ${rows} is not known: ${whyUnpriced}; nothing was sent`, { hint });
}

/** Warns if this many rows would exceed a budget; costs are given by currency. */
export async function warnOfBudget(rows: number, costs: ReadonlyMap<string, number>, ctx: Context) {
  const limits = await limitsOf({}, ctx);
  if (limits === undefined || rows === 0) return;
  const { refuseOver } = await import('../jobs/create/budget.ts');
  const { jobs, amount, profile } = limits;
  const spend = { amount: costs.get(amount?.currency ?? '') ?? 0, unit: amount?.currency ?? '' };
  const deps = await budgetDeps(ctx);
  const apart = [{ limit: { jobs }, more: rows } as const, { limit: { amount }, more: 1 } as const];
  for (const { limit, more } of apart)
    try {
      await refuseOver({ profile, unpriced: true, ...limit }, spend, more, deps, 'its rows');
    } catch (error) {
      if (!(error instanceof GwError && error.kind === 'budget')) throw error;
      ctx.io.warn(error.message);
    }
}

/** True if a price file or a limit of money exists, so that costs are worth mentioning. */
export async function tellsCosts(flags: BudgetFlags, ctx: Context): Promise<boolean> {
  if ((await ctx.settings()).sandbox) return false;
  const limits = await limitsOf(flags, ctx);
  return (limits?.amount ?? limits?.maxCost ?? (await ctx.pricing()).prices) !== undefined;
}

/** Adds the estimated cost to a request that is shown, and prints it if costs are worth mentioning. */
export async function withEstimate(
  shown: ShownRequest,
  request: JobRequest,
  ctx: Context,
): Promise<ShownRequest> {
  if ((await ctx.settings()).sandbox) return shown;
  const { family, how, intent } = request;
  const estimate = await (await ctx.pricing()).estimate(family, intent);
  if (await tellsCosts(how, ctx)) ctx.io.note(await estimateText(estimate, how.count ?? 1));
  return new ShownRequest(shown.text, shown.json, shown.asked, estimate);
}

async function estimateText(estimate: Estimate, count: number): Promise<string> {
  if ('unknown' in estimate) return `the cost is not known: ${estimate.unknown}`;
  const { amount, unit } = estimate;
  const { exactSum } = await import('../jobs/stats.ts');
  const all = exactSum(Array.from({ length: count }, () => amount));
  return `estimated cost: ${all} ${unit}${count > 1 ? ` for ${count} jobs` : ''} by your price file`;
}
