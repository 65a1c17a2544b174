import { GwError } from '../../errors.ts';
import type { RatePool } from '../../gateway/limits.ts';
import type { Family, TaskFamily } from '../../gateway/task.ts';
import type { Job } from '../../ledger/event.ts';
import { lacksOutputs } from '../../ledger/settled.ts';
import { explainOtherKey, isOtherKey, lostFacts } from '../create/hold-job.ts';
import { type Settled, settleUnanswered } from '../create/lost.ts';
import { canBeLookedUp, idToConfirm, isUnanswered } from '../create/standing.ts';
import { isOpenImageJob, syncImageJob } from '../image/sync-image-job.ts';
import { linkExpiresAtMs, recordExpiresAtMs } from '../job-view.ts';
import { endOf, type FollowDeps, type Followed, type JobDeps } from './follow.ts';
import type { Looker } from './looker.ts';
import { lookNow } from './poll.ts';
import { createTurns, SAVES_AT_ONCE, sideBySide, type Turns } from './turns.ts';

/** True if a job still needs something: an answer, a query, its outputs saved, or a part file removed. */
export function isOpen(job: Job, family: Family, nowMs: number): boolean {
  if (family.name === 'image') return isOpenImageJob(job, nowMs);
  if (job.state === 'intent' || job.state === 'sent' || job.state === 'running') return true;
  if (job.state === 'unknown') return canBeLookedUp(job, family, nowMs) || idToConfirm(job) !== undefined;
  return (
    job.state === 'succeeded' &&
    job.save.download &&
    (lacksOutputs(job, family) || Object.keys(job.parts).length > 0)
  );
}

/** A job to sync, with what that needs. */
export interface SyncInput {
  readonly job: Job;
  readonly family: Family;
  readonly deps: JobDeps;
  /** Absent for a family without tasks. */
  readonly looks?: Looks | undefined;
}

interface Looks {
  readonly family: TaskFamily;
  readonly looker: Looker;
  readonly pool: RatePool;
}

export type Synced =
  /** There is nothing to report. */
  | { readonly outcome: 'quiet' }
  /** Another process is saving it, or has done so meanwhile. */
  | { readonly outcome: 'elsewhere' }
  | { readonly outcome: 'running'; readonly id: string; readonly status: string }
  /** It was sent without an answer and may exist; the message says why no more is known. */
  | { readonly outcome: 'unknown'; readonly message: string; readonly isLookedForAgain: boolean }
  /** It is finished, failed, or was interrupted. */
  | { readonly outcome: 'ended'; readonly id: string; readonly followed: Followed };

/**
 * Brings jobs up to date without waiting, all at once: unanswered ones are settled, running tasks are queried together,
 * and a few outputs are saved at a time; what expires soonest goes first. Yields each job when it is done, including
 * those that an interrupt left unfinished.
 */
export async function* syncJobs(
  inputs: readonly SyncInput[],
  signal: AbortSignal,
  turns: Turns = createTurns(SAVES_AT_ONCE),
): AsyncGenerator<{ readonly job: Job; readonly synced: Synced }> {
  const dueMs = new Map(inputs.map((input) => [input, diesAtMs(input)]));
  const dueFirst = inputs.toSorted((left, right) => (dueMs.get(left) ?? 0) - (dueMs.get(right) ?? 0));
  // All are announced before the first query, so that they share requests.
  const announced = dueFirst.map((input) => {
    const { job, looks } = input;
    return { input, unfollow: job.id === undefined ? undefined : looks?.looker.follow(job.id) };
  });
  yield* sideBySide(announced, signal, async ({ input, unfollow }, child) => {
    try {
      const own = { ...input, deps: { ...input.deps, signal: child } };
      return { job: input.job, synced: await syncJob(own, turns, unfollow) };
    } finally {
      unfollow?.();
      input.deps.progress.stop();
    }
  });
}

/** When the link or record of a job expires, in Unix ms; without either, its creation time plus the life of links. */
function diesAtMs({ job, family }: Pick<SyncInput, 'job' | 'family'>): number {
  return (
    linkExpiresAtMs(job, family) ?? recordExpiresAtMs(job, family) ?? job.createdAtMs + family.linkLifeMs
  );
}

/** Brings one job up to date without waiting. Never throws: a failure or an interrupt is in the `error`. */
async function syncJob(input: SyncInput, turns: Turns, looked = () => {}): Promise<Synced> {
  const { family, looks, deps } = input;
  let { job } = input;
  let { id } = job;
  try {
    if (family.name === 'image') return await syncImage(job, family, deps, turns);
    if (id === undefined && isUnanswered(job)) {
      const settled = await settleUnanswered(job, family, { ...deps, client: async () => deps.client });
      if (settled.outcome !== 'adopted') return unsettled(job, settled);
      id = settled.id;
      job = (await deps.ledger.find({ ids: [job.key] }))[0] ?? job;
    }
    if (id === undefined || !looks) return { outcome: 'quiet' };
    return await syncTask({ job, id, looks }, { ...deps, turns, looker: looks.looker }, looked);
  } catch (failure) {
    const error = deps.signal.aborted ? deps.signal.reason : failure;
    const followed = { status: job.status ?? '', record: job.record, files: [], error };
    return { outcome: 'ended', id: id ?? job.key, followed };
  }
}

function unsettled(job: Job, settled: Exclude<Settled, { readonly outcome: 'adopted' }>): Synced {
  if (settled.outcome === 'open')
    return { outcome: 'unknown', message: settled.message, isLookedForAgain: true };
  if (settled.outcome === 'unknown' && (job.state === 'sent' || settled.message !== undefined))
    return { outcome: 'unknown', message: settled.message ?? CANNOT_BE_FOUND, isLookedForAgain: false };
  if (settled.outcome !== 'over' || !settled.error) return { outcome: 'quiet' };
  const followed = { status: 'refused', record: undefined, files: [], error: settled.error };
  return { outcome: 'ended', id: job.key, followed };
}

const CANNOT_BE_FOUND = 'there is nothing by which it can be looked up';

async function syncImage(job: Job, family: Family, deps: JobDeps, turns: Turns): Promise<Synced> {
  const followed = await turns.take(diesAtMs({ job, family }), () => syncImageJob(job, deps));
  if (!followed) return { outcome: 'quiet' };
  const isMute = followed.files.length === 0 && followed.error === undefined;
  if (isMute && followed.status === 'unknown' && job.state === 'sent')
    return { outcome: 'unknown', message: CANNOT_BE_FOUND, isLookedForAgain: false };
  if (isMute) return { outcome: 'quiet' };
  return { outcome: 'ended', id: job.key, followed };
}

interface Task {
  readonly job: Job;
  readonly id: string;
  readonly looks: Looks;
}

async function syncTask({ job, id, looks }: Task, deps: FollowDeps, looked: () => void): Promise<Synced> {
  const { key } = job;
  const { family, pool } = looks;
  const { ledger, clock } = deps;
  try {
    // Others may be settled before they are looked at, and a look waits for them a second.
    const look = await lookNow({ id, key, family, job }, { pool, patienceMs: 1_000 }, deps);
    looked();
    const { state, status } = look.view;
    if (state === 'running') return { outcome: 'running', id, status };
    const followed = await endOf(look, { id, key, family, save: job.save, pool, ownOnly: true }, deps);
    if (followed.isElsewhere) return { outcome: 'elsewhere' };
    return { outcome: 'ended', id, followed };
  } catch (error) {
    if (isOtherKey(job, deps.keyId) || !isExpired(error, job, family, clock.now()))
      throw explainOtherKey(error, job, deps.keyId);
    const message = 'the gateway no longer keeps the record';
    let unsaved = '';
    const hold = await ledger.hold(key);
    if (!hold) return { outcome: 'elsewhere' };
    try {
      // Its end may have been recorded since the job was listed.
      const now = hold.job;
      if (now?.state === 'running') ledger.append(key, { event: 'lost', message });
      else if (now?.state === 'succeeded' && lacksOutputs(now, family))
        unsaved = ', and its output is not saved';
      else return { outcome: 'quiet' };
    } finally {
      hold.release();
    }
    const lost = new GwError('not_found', `task ${id}: ${message}${unsaved}`, lostFacts(id));
    const followed = { status: job.status ?? '', record: job.record, files: [], error: lost };
    return { outcome: 'ended', id, followed };
  }
}

function isExpired(error: unknown, job: Job, family: TaskFamily, nowMs: number): boolean {
  const isGone = error instanceof GwError && error.kind === 'not_found';
  const lifeMs = family.recordLifeMs ?? family.linkLifeMs;
  return isGone && nowMs >= (job.acceptedAtMs ?? job.createdAtMs) + lifeMs;
}
