import { createHash } from 'node:crypto';
import * as path from 'node:path';
import { ensureDirectory } from '../disk/durable-directory.ts';
import { waitForLock } from '../disk/wait-for-lock.ts';
import { GwError } from '../errors.ts';
import { type AccountType, poolOf, type RatePool } from '../gateway/limits.ts';
import type { TaskFamily } from '../gateway/task.ts';
import type { Clock } from '../host.ts';
import type { Job } from '../ledger/event.ts';
import type { Ledger } from '../ledger/ledger.ts';
import { recordLook, YOUNG_MS } from './look.ts';
import type { Looker } from './looker.ts';
import { isOtherKey } from './other-key.ts';

/** What waiting for a slot needs. */
export interface SlotInput {
  readonly family: TaskFamily;
  readonly intent: { readonly gateway: string; readonly keyId?: string | undefined };
  readonly pool: RatePool;
  readonly looker: Looker;
  readonly ledger: Ledger;
  readonly clock: Clock;
  readonly random: () => number;
  readonly signal: AbortSignal;
  /** Steady milliseconds at which the wait ends. */
  readonly deadlineMs: number;
  readonly onQueued: (message: string) => void;
}

/**
 * Waits until the account has room for one more task, counted over all processes of this user by the ledger ("Limits"),
 * and takes the place: `begin` makes the job while no other process can count. Tasks that run are looked at meanwhile,
 * in case nobody else does. Throws `rate_limited` at the deadline, when nothing was sent, or what `begin` throws.
 */
export async function takeSlot<T>(input: SlotInput, begin: () => T): Promise<T> {
  const { clock, deadlineMs, family, pool, random, signal } = input;
  const most = pool.concurrentTasks;
  if (most === undefined) return begin();
  const { min, max } = family.pollIntervalMs;
  const lockFile = lockFileOf(input);
  const gone = new Set<string>();
  for (let tries = 0; ; tries += 1) {
    ensureDirectory(path.dirname(lockFile));
    const lock = await waitForLock(lockFile, clock);
    let taken: Job[];
    try {
      taken = (await openJobs(input)).filter((job) => !gone.has(job.key));
      if (taken.length < most) return begin();
    } finally {
      lock.release();
    }
    const what = `${taken.length} ${pool.name} tasks are queued or running, and the account runs ${most} at once`;
    if (tries === 0)
      input.onQueued(`no free slot: ${what}; waiting for one (--wait-timeout bounds the wait)`);
    if (await lookAtAll(taken, gone, input)) continue;
    const waitMs = min + random() * (max - min);
    if (clock.steady() + waitMs >= deadlineMs) {
      throw new GwError('rate_limited', `no free slot within the wait: ${what}; nothing was sent`, {
        hint: 'wait longer with --wait-timeout; gw jobs list --status running shows what takes the slots',
      });
    }
    await clock.sleep(waitMs, signal);
  }
}

function lockFileOf({ ledger, pool, intent }: SlotInput): string {
  const id = createHash('sha256').update(intent.gateway).digest('hex').slice(0, 16);
  return path.join(path.dirname(ledger.dir), 'locks', `slots-${pool.name}-${id}.lock`);
}

/** How long a task whose answer was lost is taken to run. */
const LIKELY_RUN_MS = 15 * 60_000;

/**
 * The jobs that take a slot: accepted and not finished, being sent by a process that lives, or sent a while ago without
 * an answer.
 */
async function openJobs({ clock, family, intent, ledger, pool }: SlotInput): Promise<Job[]> {
  const sinceMs = clock.now() - (family.recordLifeMs ?? family.linkLifeMs);
  const jobs = await ledger.find({ family: family.name, gateway: intent.gateway, sinceMs, isOpen: true });
  return jobs.filter((job) => {
    if (!isInPool(job, pool)) return false;
    // Another key may be another account, which has slots of its own.
    if (isOtherKey(job, intent.keyId)) return false;
    if (job.state === 'running') return true;
    // What was sent without an answer may run, for as long as a task is likely to.
    const isLost = job.state === 'sent' || job.state === 'unknown';
    if (isLost && clock.now() < (job.sentAtMs ?? job.createdAtMs) + LIKELY_RUN_MS) return true;
    return (job.state === 'intent' || job.state === 'sent') && ledger.isHeld(job.key);
  });
}

// Whether a job has the pool for itself does not depend on the kind of account.
const anyAccount: AccountType = 'personal';
const isInPool = (job: Job, pool: RatePool): boolean => poolOf(job, anyAccount).name === pool.name;

/** Looks at running tasks and writes down what has ended. Returns whether one has. */
async function lookAtAll(jobs: readonly Job[], gone: Set<string>, input: SlotInput): Promise<boolean> {
  const { clock, ledger, looker, pool, signal } = input;
  const ended = await Promise.all(
    jobs.map(async (job) => {
      if (job.id === undefined) return false;
      try {
        const look = await looker.look(job.id, { signal, retries: 0, pool });
        await recordLook(ledger, job.key, look, job.status);
        return look.view.state !== 'running';
      } catch (error) {
        signal.throwIfAborted();
        // What cannot be looked at may run, and what is young may not be known yet; what the gateway does not know does not.
        const isYoung = clock.now() < (job.acceptedAtMs ?? job.createdAtMs) + YOUNG_MS;
        if (isYoung || !(error instanceof GwError) || error.kind !== 'not_found') return false;
        gone.add(job.key);
        return true;
      }
    }),
  );
  return ended.includes(true);
}
