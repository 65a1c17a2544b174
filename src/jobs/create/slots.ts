import { createHash } from 'node:crypto';
import * as fs from 'node:fs';
import * as path from 'node:path';
import { ensureDirectory } from '../../disk/durable-directory.ts';
import { isLocked, type LockFile, tryLock, waitForLock } from '../../disk/lock-file.ts';
import { GwError } from '../../errors.ts';
import { type AccountType, poolOf, type RatePool } from '../../gateway/limits.ts';
import { type TaskFamily, YOUNG_MS } from '../../gateway/task.ts';
import type { Clock } from '../../host.ts';
import type { Job } from '../../ledger/event.ts';
import type { Ledger } from '../../ledger/ledger.ts';
import { claimError } from '../../ledger/write-error.ts';
import { recordLook } from '../watch/look.ts';
import type { Looker } from '../watch/looker.ts';
import { spedUp } from '../watch/poll.ts';
import { isOtherKey } from './hold-job.ts';

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
  /** Resolves when nothing else must be done before new money is spent. */
  readonly calm?: (() => Promise<void>) | undefined;
  /** Steady milliseconds at which the wait ends. */
  readonly deadlineMs: number;
  readonly onQueued: (message: string) => void;
  /** As in `poll`. */
  readonly speed?: (() => number) | undefined;
}

/** How often the ledger and the line are looked at: a slot that another gw frees is taken within a second. */
const CHECK_MS = 100;

/**
 * Waits until the account has room for one more task, counted over all processes of this user by the ledger ("Limits"),
 * and takes the place: `begin` makes the job while no other process can count. First come, first served over processes. That
 * a slot is free is seen in the ledger's files; the first in line looks at the tasks that run, at the family's pace, in case
 * nobody else does. Throws `rate_limited` at the deadline, when nothing was sent, `usage` where the line cannot be written,
 * or what `begin` throws.
 */
export async function takeSlot<T>(input: SlotInput, begin: () => T | Promise<T>): Promise<T> {
  const most = input.pool.concurrentTasks;
  if (most === undefined) {
    await input.calm?.();
    input.signal.throwIfAborted();
    return begin();
  }
  const line = lineOf(input);
  try {
    ensureDirectory(input.ledger.dir);
    ensureDirectory(line.dir);
    // An index that is missing is made here, not while others wait for the lock.
    await openJobs(input);
    return await waitInLine(input, line, most, begin);
  } catch (error) {
    throw claimError(error, line.dir, 'usage');
  }
}

async function waitInLine<T>(
  input: SlotInput,
  line: Line,
  most: number,
  begin: () => T | Promise<T>,
): Promise<T> {
  const { clock, deadlineMs, family, pool, random, signal, ledger } = input;
  const gone = new Set<string>();
  let looking: Promise<void> | undefined;
  let lookAtMs = clock.steady();
  let ticket: Ticket | undefined;
  let told: number | undefined;
  try {
    for (;;) {
      await input.calm?.();
      signal.throwIfAborted();
      const seen = stateOf(ledger.dir, line.dir);
      const lock = await waitForLock(line.lockFile, clock);
      let taken: Job[];
      let before: number;
      try {
        taken = (await openJobs(input)).filter((job) => !gone.has(job.key));
        const tickets = livingTickets(line.dir);
        before = tickets.filter((number) => number < (ticket?.number ?? Number.POSITIVE_INFINITY)).length;
        if (taken.length + before < most) return await begin();
        ticket ??= drawTicket(line.dir, tickets);
      } finally {
        lock.release();
      }
      const what = `${taken.length} ${pool.name} tasks are queued or running, and the account runs ${most} at once`;
      const place = before === 0 ? '' : `; ${before} before you`;
      if (told === undefined) {
        input.onQueued(`no free slot: ${what}; waiting for one (--wait-timeout limits the wait)${place}`);
      } else if (told !== before) input.onQueued(`waiting for a free slot${place || '; you are next'}`);
      told = before;
      const nextMs = () => {
        const { min, max } = family.pollIntervalMs;
        return spedUp(min + random() * (max - min), input.speed?.() ?? 1);
      };
      if (before === 0 && looking === undefined && clock.steady() >= lookAtMs) {
        looking = lookAtAll(taken, gone, input).finally(() => {
          looking = undefined;
          lookAtMs = clock.steady() + nextMs();
        });
        // An interrupt ends the wait itself.
        looking.catch(() => {});
      }
      const knownGone = gone.size;
      const recountMs = clock.steady() + family.pollIntervalMs.min;
      do {
        if (clock.steady() + CHECK_MS >= deadlineMs) {
          throw new GwError('rate_limited', `no slot became free in time: ${what}; nothing was sent`, {
            hint: 'wait longer with --wait-timeout; gw jobs list --status running shows what takes the slots',
          });
        }
        await clock.sleep(CHECK_MS, signal);
      } while (
        stateOf(ledger.dir, line.dir) === seen &&
        gone.size === knownGone &&
        clock.steady() < Math.min(recountMs, looking || before > 0 ? recountMs : lookAtMs)
      );
    }
  } finally {
    ticket?.lock.release();
  }
}

// The line: a file for each who waits, numbered in the order in which they came, and held as a lock by its process.

interface Ticket {
  readonly number: number;
  readonly lock: LockFile;
}

interface Line {
  readonly lockFile: string;
  readonly dir: string;
}

function lineOf({ ledger, pool, intent }: SlotInput): Line {
  const id = createHash('sha256').update(intent.gateway).digest('hex').slice(0, 16);
  const base = path.join(path.dirname(ledger.dir), 'locks', `slots-${pool.name}-${id}`);
  return { lockFile: `${base}.lock`, dir: `${base}.line` };
}

/** The numbers of those who wait; a ticket of a process that has died is removed. To be called under the pool's lock. */
function livingTickets(dir: string): number[] {
  const numbers: number[] = [];
  for (const name of fs.readdirSync(dir)) {
    if (!/^\d+$/.test(name)) continue;
    if (isLocked(path.join(dir, name))) numbers.push(Number(name));
    else fs.rmSync(path.join(dir, name), { force: true });
  }
  return numbers;
}

/** The next ticket. To be called under the pool's lock. */
function drawTicket(dir: string, living: readonly number[]): Ticket | undefined {
  const number = Math.max(0, ...living) + 1;
  const lock = tryLock(path.join(dir, String(number)));
  return lock && { number, lock };
}

/** Changes when a job of the ledger, or the line, does. */
function stateOf(ledgerDir: string, lineDir: string): string {
  const journals = fs.readdirSync(ledgerDir).filter((name) => name.endsWith('.jsonl'));
  const sizes = journals.map((name) => {
    const stats = fs.statSync(path.join(ledgerDir, name), { throwIfNoEntry: false });
    return `${name} ${stats?.ino} ${stats?.size}`;
  });
  return JSON.stringify([sizes, fs.readdirSync(lineDir)]);
}

/** How long a task whose answer was lost is taken to run. */
const LIKELY_RUN_MS = 15 * 60_000;

/**
 * The jobs that take a slot: accepted and not finished, being sent by a process that lives, or sent a while ago without
 * an answer.
 */
async function openJobs({ clock, family, intent, ledger, pool, speed }: SlotInput): Promise<Job[]> {
  const sinceMs = clock.now() - (family.recordLifeMs ?? family.linkLifeMs);
  const likelyMs = spedUp(LIKELY_RUN_MS, speed?.() ?? 1);
  const jobs = await ledger.find({ family: family.name, gateway: intent.gateway, sinceMs, isOpen: true });
  return jobs.filter((job) => {
    if (!isInPool(job, pool)) return false;
    // Another key may be another account, which has slots of its own.
    if (isOtherKey(job, intent.keyId)) return false;
    if (job.state === 'running') return true;
    // What was sent without an answer may run, for as long as a task is likely to.
    const isLost = job.state === 'sent' || job.state === 'unknown';
    if (isLost && clock.now() < (job.sentAtMs ?? job.createdAtMs) + likelyMs) return true;
    return (job.state === 'intent' || job.state === 'sent') && ledger.isHeld(job.key);
  });
}

// Whether a job has the pool for itself does not depend on the kind of account.
const anyAccount: AccountType = 'personal';
const isInPool = (job: Job, pool: RatePool): boolean => poolOf(job, anyAccount).name === pool.name;

/** Looks at running tasks and writes down what has ended; those that the gateway does not know are added to `gone`. */
async function lookAtAll(jobs: readonly Job[], gone: Set<string>, input: SlotInput): Promise<void> {
  const { clock, ledger, looker, pool, signal } = input;
  await Promise.all(
    jobs.map(async (job) => {
      if (job.id === undefined) return;
      try {
        const look = await looker.look(job.id, { signal, retries: 0, pool });
        await recordLook(ledger, job.key, look, job.status);
      } catch (error) {
        signal.throwIfAborted();
        // What cannot be looked at may run, and what is young may not be known yet; what the gateway does not know does not.
        const isYoung = clock.now() < (job.acceptedAtMs ?? job.createdAtMs) + YOUNG_MS;
        if (!isYoung && error instanceof GwError && error.kind === 'not_found') gone.add(job.key);
      }
    }),
  );
}
