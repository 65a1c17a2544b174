import { GwError, usage } from '../errors.ts';
import type { TaskFamily } from '../gateway/task.ts';
import type { Job } from '../ledger/event.ts';
import type { Hold, Ledger } from '../ledger/ledger.ts';
import type { TaskLook } from './watch/look.ts';

// Closes a job of unknown outcome by what its user found out; gw itself never guesses at it.

/**
 * Closes it as never created. The job is held: read again under its claim. Throws `usage` where its outcome is known, or
 * where images of it lie in part files, which a sync brings home.
 */
export function closeAsNone({ key, job }: Hold, ledger: Ledger): void {
  refuseKnown(job, key);
  if (job && Object.keys(job.parts).length > 0) {
    throw usage(`job ${key}: what came of it is still to be saved`, 'first run: gw jobs sync');
  }
  ledger.append(key, {
    event: 'refused',
    kind: 'absent',
    message: 'its user found that it was never created',
  });
}

/**
 * Takes a task that was looked up for the held job's. Throws `usage` where the job's outcome is known, or where the task
 * is another job's or carries another external ID.
 */
export async function adoptTask(
  { key, job }: Hold,
  { id, look, family }: { readonly id: string; readonly look: TaskLook; readonly family: TaskFamily },
  ledger: Ledger,
): Promise<void> {
  const open = refuseKnown(job, key);
  const owners = await ledger.find({ ids: [id], gateway: open.gateway });
  // A task that was only taken in, to be followed, was made by whoever says so.
  const owner = owners.find((each) => each.key !== key && each.endpoint !== family.query.endpoint.name);
  if (owner) throw usage(`--as ${id}: that is the task of job ${owner.key}`, `gw jobs show ${owner.key}`);
  const other = externalIdOf(id, look, family);
  if (other !== undefined && other !== open.externalId) {
    throw usage(
      `--as ${id}: that task was created with external ID ${other}, and job ${key} was not`,
      `gw jobs show ${key} tells what was asked for`,
    );
  }
  ledger.append(key, { event: 'accepted', id, status: look.view.status });
}

/** The external ID that a task's record names; undefined where it names none. */
function externalIdOf(id: string, { reply }: TaskLook, { externalIds }: TaskFamily): string | undefined {
  const records = externalIds?.findMany(reply.json).records ?? new Map<string, { id: string }>();
  return [...records].find(([, record]) => record.id === id)?.[0];
}

/** Throws unless nobody knows what came of the job. */
export function refuseKnown(job: Job | undefined, key: string): Job {
  if (job?.state === 'sent' || job?.state === 'unknown') return job;
  if (job === undefined)
    throw new GwError('not_found', `job ${key} is no longer in the ledger`, { taskId: key });
  const what =
    job.state === 'intent'
      ? 'nothing of it was sent; gw jobs sync closes it'
      : `its outcome is known: it is ${job.state.replace('_', ' ')}`;
  throw usage(`job ${key} cannot be resolved: ${what}`, `gw jobs show ${key}`);
}
