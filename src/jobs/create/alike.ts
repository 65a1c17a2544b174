import type { Job } from '../../ledger/event.ts';
import type { Ledger } from '../../ledger/ledger.ts';

/** A request that was made this recently may be a slip of the hand. */
const RECENT_MS = 3_600_000;

/** What tells of the newest job of the last hour that runs or succeeded and asked for the same; undefined without one. */
export async function tellOfAlike(
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
