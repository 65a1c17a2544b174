import type { Context } from '../../context.ts';
import { usage } from '../../errors.ts';
import { nearest } from '../../flags/nearest.ts';
import { taskStatuses } from '../../gateway/task.ts';
import { statusWord } from '../../jobs/job-view.ts';
import { type Job, jobStates } from '../../ledger/event.ts';
import type { Wanted } from '../../ledger/ledger.ts';
import { readJobs } from './read-jobs.ts';

/**
 * The jobs that `--status` chooses, by the gateway's word or the ledger's, in any case. Throws `usage` for a word that no
 * job has and that gw does not know.
 */
export async function statusFilter(
  typed: string | undefined,
  wanted: Wanted,
  ctx: Context,
): Promise<(job: Job) => boolean> {
  if (typed === undefined) return () => true;
  const word = typed.toLowerCase();
  const has = (job: Job) => job.state === word || statusWord(job).toLowerCase() === word;
  const known = [...new Set<string>([...jobStates, 'damaged', ...taskStatuses])];
  if (known.includes(word)) return has;
  const [one] = await readJobs({ ...wanted, where: has, limit: 1 }, ctx);
  if (one === undefined) {
    const [near] = nearest(word, known, 1);
    throw usage(
      `--status ${typed}: not a status that a job can have`,
      near === undefined ? `Give one of ${known.join(', ')}.` : `Did you mean --status ${near}?`,
    );
  }
  return has;
}
