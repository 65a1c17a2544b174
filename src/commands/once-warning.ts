import type { Context } from '../context.ts';
import { tellOfAlike } from '../jobs/create/alike.ts';
import type { Job } from '../ledger/event.ts';

/** Warns where the same was asked for within the last hour; a ledger that cannot be read costs the warning alone. */
export async function warnOfAlike(
  asked: Pick<Job, 'family' | 'endpoint' | 'gateway'>,
  isSame: (job: Job) => boolean,
  ctx: Context,
): Promise<void> {
  const told = await tellOfAlike(asked, isSame, await ctx.ledger(), ctx.clock.now()).catch(() => undefined);
  if (told !== undefined) ctx.io.warn(told);
}
