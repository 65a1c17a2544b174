import type { Settings } from '../config/settings.ts';
import type { Context } from '../context.ts';
import type { Budget } from '../jobs/create/budget.ts';
import type { Job } from '../ledger/event.ts';
import type { Ledger } from '../ledger/ledger.ts';

// What a create asks of the ledger before it sends: whether the user's limits leave room, and whether the same was just made.

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

/** Warns where the same was asked for within the last hour; a ledger that cannot be read costs the warning alone. */
export async function warnOfAlike(
  asked: Pick<Job, 'family' | 'endpoint' | 'gateway'>,
  isSame: (job: Job) => boolean,
  ctx: Context,
): Promise<void> {
  const told = await tellOfAlike(asked, isSame, await ctx.ledger(), ctx.clock.now()).catch(() => undefined);
  if (told !== undefined) ctx.io.warn(told);
}

/** A request that was made this recently may be a slip of the hand. */
const RECENT_MS = 3_600_000;

/** What tells of the newest job of the last hour that runs or succeeded and asked for the same; undefined without one. */
async function tellOfAlike(
  asked: Pick<Job, 'family' | 'endpoint' | 'gateway'>,
  isSame: (job: Job) => boolean,
  ledger: Ledger,
  nowMs: number,
): Promise<string | undefined> {
  const { family, endpoint, gateway } = asked;
  const [job] = await ledger.find({
    ...{ family, gateway, sinceMs: nowMs - RECENT_MS, states: ['running', 'succeeded'], limit: 1 },
    where: (each) => each.endpoint === endpoint && isSame(each),
  });
  if (!job) return undefined;
  const minutes = Math.floor((nowMs - job.createdAtMs) / 60_000);
  const age = minutes < 1 ? 'less than a minute' : minutes === 1 ? '1 minute' : `${minutes} minutes`;
  const [file] = job.files;
  return (
    `the same was asked for ${age} ago, as ${job.id ?? job.key}${file ? `, saved in ${file.path}` : ''}; ` +
    'it is made once more (--once KEY makes a job at most once)'
  );
}
