import { type Patience, waitForOther } from '../../disk/other-gw.ts';
import { GwError } from '../../errors.ts';
import type { Job } from '../../ledger/event.ts';
import type { Hold, Ledger } from '../../ledger/ledger.ts';

/** Holds a job as soon as no other process does; `onWait` is told who holds it. Throws as `waitForOther` does. */
export const holdWhenFree = (
  key: string,
  deps: Patience & { readonly ledger: Ledger },
  onWait: (who: string) => void,
): Promise<Hold> =>
  waitForOther(
    { file: deps.ledger.lockOf(key), what: `job ${key}`, pauseMs: 500 },
    deps,
    () => deps.ledger.hold(key),
    onWait,
  );

/**
 * True if a job was made with another API key than the current one. That key may belong to another account, which
 * cannot see the job's task, so "not found" then proves nothing. False if either key is unknown.
 */
export const isOtherKey = ({ keyId }: Pick<Job, 'keyId'>, inUse: string | undefined): boolean =>
  keyId !== undefined && inUse !== undefined && keyId !== inUse;

/** The facts of an error for a task that the gateway does not know, or no longer knows. */
export const lostFacts = (id: string) => ({
  taskId: id,
  hint: `what is known of it: gw jobs show ${id}; make it anew`,
  anew: `gw again ${id} --wait`,
});

/** Adds a hint to a `not_found` error, for a job of another API key one about that key; others stay as they are. */
export function explainOtherKey(
  error: unknown,
  job: Pick<Job, 'key'> & Partial<Job>,
  inUse: string | undefined,
): unknown {
  if (!(error instanceof GwError) || error.kind !== 'not_found') return error;
  const { id = job.key, profile } = job;
  if (!isOtherKey(job, inUse)) return error.told(lostFacts(id));
  const hint = `it was made under profile ${profile}: use the key of then, with --profile, GW_API_KEY or --api-key-file`;
  return error.told(
    { taskId: id, hint },
    `${error.message} with this key, but ${id} was made with another key`,
  );
}
