import { createHash } from 'node:crypto';
import * as path from 'node:path';
import { ensureDirectory } from '../../disk/durable-directory.ts';
import { waitForLock } from '../../disk/wait-for-lock.ts';
import { GwError } from '../../errors.ts';
import type { Clock } from '../../host.ts';
import type { Job } from '../../ledger/event.ts';
import type { Ledger } from '../../ledger/ledger.ts';
import { claimError } from '../../ledger/write-error.ts';

// A limit that the user has set is counted in the ledger, over all processes of this user, under one lock with the intent
// that would pass it: of those who race for the last place one gets it.

/** How many jobs a profile may make in a calendar hour, day or month of this machine's time zone. */
export interface Budget {
  readonly jobs: { readonly most: number; readonly period: 'hour' | 'day' | 'month' };
  readonly profile: string;
}

interface BudgetDeps {
  readonly ledger: Ledger;
  readonly clock: Clock;
}

/** Begins a job within a budget. Throws GwError `budget` where it would pass it, or what `begin` throws. */
export async function beginWithin<T>(budget: Budget, deps: BudgetDeps, begin: () => T): Promise<T> {
  const { clock, ledger } = deps;
  const locks = path.join(path.dirname(ledger.dir), 'locks');
  const id = createHash('sha256').update(budget.profile).digest('hex').slice(0, 16);
  let lock: Awaited<ReturnType<typeof waitForLock>>;
  try {
    ensureDirectory(locks);
    lock = await waitForLock(path.join(locks, `budget-${id}.lock`), clock);
  } catch (error) {
    throw claimError(error, locks, 'usage');
  }
  try {
    await refuseOver(budget, 1, deps);
    return begin();
  } finally {
    lock.release();
  }
}

/** Throws GwError `budget` where so many more jobs would pass it. */
export async function refuseOver(budget: Budget, more: number, { clock, ledger }: BudgetDeps): Promise<void> {
  const { most, period } = budget.jobs;
  const { startMs, endMs } = spanOf(period, clock.now());
  const used = await ledger.find({
    sinceMs: startMs,
    where: (job) => job.profile === budget.profile && counts(job),
  });
  if (used.length + more <= most) return;
  const adds = more === 1 ? 'this one would add 1' : `these would add ${more}`;
  throw new GwError(
    'budget',
    `budget.jobs ${most}/${period}: ${used.length} of profile ${budget.profile} ${used.length === 1 ? 'is' : 'are'} used, ` +
      `and ${adds}; the ${period} ends at ${new Date(endMs).toISOString()}; nothing was sent`,
    { hint: `raise it with: gw config set budget.jobs N/${period}` },
  );
}

/** Whether a job counts: what certainly made nothing does not, nor a task that was made elsewhere and only taken in. */
const counts = ({ state, bodySha256, isDamaged }: Job): boolean =>
  state !== 'not_sent' && state !== 'refused' && (bodySha256 !== '' || isDamaged === true);

/** The calendar period that a moment lies in, by this machine's time zone, Unix milliseconds. */
export function spanOf(
  period: Budget['jobs']['period'],
  nowMs: number,
): { readonly startMs: number; readonly endMs: number } {
  const now = new Date(nowMs);
  const [year, month, day] = [now.getFullYear(), now.getMonth(), now.getDate()];
  switch (period) {
    case 'hour': {
      // Zones that are off by half an hour begin theirs there; an hour that comes twice in autumn is two.
      const startMs = nowMs - (now.getMinutes() * 60_000 + now.getSeconds() * 1000 + now.getMilliseconds());
      return { startMs, endMs: startMs + 3_600_000 };
    }
    case 'day':
      return { startMs: +new Date(year, month, day), endMs: +new Date(year, month, day + 1) };
    case 'month':
      return { startMs: +new Date(year, month), endMs: +new Date(year, month + 1) };
  }
}
