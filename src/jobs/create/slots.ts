import { createHash } from 'node:crypto';
import * as fs from 'node:fs';
import * as path from 'node:path';
import { ensureDirectory } from '../../disk/durable-directory.ts';
import { isLocked, type LockFile, tryLock, waitForLock } from '../../disk/lock-file.ts';
import { SignsOfLife } from '../../disk/other-gw.ts';
import { GwError } from '../../errors.ts';
import { poolOf, type RatePool } from '../../gateway/limits.ts';
import type { TaskFamily } from '../../gateway/task.ts';
import { counted } from '../../io/quantity-text.ts';
import { type Job, mayExist } from '../../ledger/event.ts';
import { claimError } from '../../ledger/write-error.ts';
import { nowOf } from '../job-view.ts';
import type { FollowDeps } from '../watch/follow.ts';
import { recordLook, youngUntilMs } from '../watch/look.ts';
import { spedUp } from '../watch/poll.ts';
import { isOtherKey } from './hold-job.ts';

/** What waiting for a slot needs. */
export interface SlotInput extends Pick<FollowDeps, 'looker' | 'ledger' | 'clock' | 'random' | 'signal'> {
  readonly family: TaskFamily;
  readonly intent: { readonly gateway: string; readonly keyId?: string | undefined };
  readonly pool: RatePool;
  /** Resolves once no urgent work must be done before more money is spent. */
  readonly calm?: (() => Promise<void>) | undefined;
  /** Steady time in ms at which the wait ends. */
  readonly deadlineMs: number;
  /** Longest time without a sign of life from another gw in the queue (`--timeout`). */
  readonly silenceMs: number;
  readonly onQueued: (message: string) => void;
  /** Called, when it changes, with the jobs of unknown outcome that occupy slots. */
  readonly onKept: (message: string, about?: string) => void;
  /** True if many creates of this process may wait here: then only one of them is in the queue at a time. */
  readonly isOneOfMany?: boolean | undefined;
  /** As in `poll`. */
  readonly speed?: (() => number) | undefined;
}

/** How often ledger and queue are checked, so that a slot that another gw frees is taken within a second. */
const CHECK_MS = 100;
/** Status lines during a wait come at least every 30 s. */
const HEARTBEAT_MS = 19_000;

/**
 * Waits until the account has room for one more task, counted in the ledger over all processes of this user ("Limits"),
 * and takes the slot: `begin` makes the job while no other process can count. Processes are served in order of arrival.
 * Free slots show in the ledger's files; the first in the queue queries running tasks that nobody follows, at the
 * family's poll interval. Throws `rate_limited` at the deadline, when nothing was sent, `usage` if the queue cannot be
 * written, or what `begin` throws.
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
    // A missing index is built here, before other processes wait for the lock.
    await openJobs(input);
    if (!input.isOneOfMany) return await waitInLine(input, line, most, begin);
    const before = standing.get(line.dir);
    const mine = { isOver: false };
    standing.set(line.dir, mine);
    try {
      while (before?.isOver === false && input.clock.steady() < input.deadlineMs)
        await input.clock.sleep(CHECK_MS, input.signal);
      return await waitInLine(input, line, most, begin);
    } finally {
      mine.isOver = true;
      if (standing.get(line.dir) === mine) standing.delete(line.dir);
    }
  } catch (error) {
    throw claimError(error, line.dir, 'usage');
  }
}

/** The last create of this process in each queue: only one waits at a time, to save reads of the ledger. */
const standing = new Map<string, { readonly isOver: boolean }>();

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
  const tell = placeTeller(input);
  const lives = new Map<string, SignsOfLife>();
  let countedMs = clock.steady();
  try {
    for (;;) {
      await input.calm?.();
      signal.throwIfAborted();
      const seen = stateOf(ledger.dir, line.dir);
      const lock = await waitForLock(line.lockFile, clock);
      let taken: Job[];
      let before: number;
      try {
        const passedMs = clock.steady() - countedMs;
        countedMs += passedMs;
        const isSilent = (file: string): boolean => {
          const life = lives.get(file) ?? new SignsOfLife(file);
          lives.set(file, life);
          return life.after(passedMs, family.pollIntervalMs.min) >= input.silenceMs;
        };
        taken = (await openJobs(input)).filter(
          // A stopped process that has not sent its create takes no slot.
          (job) => !gone.has(job.key) && !(job.state === 'intent' && isSilent(ledger.lockOf(job.key))),
        );
        const tickets = livingTickets(line.dir).filter(
          (number) => !isSilent(path.join(line.dir, String(number))),
        );
        before = tickets.filter((number) => number < (ticket?.number ?? Number.POSITIVE_INFINITY)).length;
        if (taken.length + before < most) return await begin();
        ticket ??= drawTicket(line.dir);
      } finally {
        lock.release();
      }
      const kept = keptText(taken, input);
      const what = `${taken.length} ${pool.name} tasks are queued or running, and the account runs ${most} at once`;
      tell(what, before, kept);
      const nextMs = () => {
        const { min, max } = family.pollIntervalMs;
        return spedUp(min + random() * (max - min), input.speed?.() ?? 1);
      };
      if (before === 0 && looking === undefined && clock.steady() >= lookAtMs) {
        looking = lookAtAll(taken, gone, input).finally(() => {
          looking = undefined;
          lookAtMs = clock.steady() + nextMs();
        });
        // An interrupt ends the wait itself, so this rejection is ignored.
        looking.catch(() => {});
      }
      const knownGone = gone.size;
      const recountMs = clock.steady() + family.pollIntervalMs.min;
      do {
        if (clock.steady() + CHECK_MS >= deadlineMs) {
          throw new GwError('rate_limited', `no slot became free in time: ${what}; nothing was sent`, {
            hint: `wait longer with --wait-timeout; ${kept ?? 'gw jobs list --status running shows what takes the slots'}`,
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

/** Reports the position in the queue: at first, when it changes, and as a sign of life. */
function placeTeller({ clock, onKept, onQueued }: SlotInput) {
  let told: number | undefined;
  let toldKept: string | undefined;
  let toldAtMs = 0;
  return (what: string, before: number, kept: string | undefined): void => {
    if (kept !== toldKept && kept !== undefined) onKept(kept);
    toldKept = kept;
    const place = before === 0 ? '' : `; ${before} before you`;
    const isDue = told !== before || clock.steady() - toldAtMs >= HEARTBEAT_MS;
    if (told === undefined) {
      onQueued(`no free slot: ${what}; waiting for one (--wait-timeout limits the wait)${place}`);
    } else if (isDue) {
      onQueued(`${told === before ? 'still ' : ''}waiting for a free slot${place || '; you are next'}`);
    }
    if (isDue) toldAtMs = clock.steady();
    told = before;
  };
}

// The queue: a numbered file for each waiting create, in order of arrival, which its process holds as a lock.

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

/** The numbers of waiting creates; tickets of dead processes are removed. Call this under the pool's lock. */
function livingTickets(dir: string): number[] {
  const numbers: number[] = [];
  for (const name of fs.readdirSync(dir)) {
    if (!/^\d+$/.test(name)) continue;
    if (isLocked(path.join(dir, name))) numbers.push(Number(name));
    else fs.rmSync(path.join(dir, name), { force: true });
  }
  return numbers;
}

/** Makes the next ticket. Call this under the pool's lock. */
function drawTicket(dir: string): Ticket | undefined {
  const number = Math.max(0, ...livingTickets(dir)) + 1;
  const lock = tryLock(path.join(dir, String(number)));
  return lock && { number, lock };
}

/** A text that changes whenever a job of the ledger or the queue changes. */
function stateOf(ledgerDir: string, lineDir: string): string {
  const journals = fs.readdirSync(ledgerDir).filter((name) => name.endsWith('.jsonl'));
  const sizes = journals.map((name) => {
    const stats = fs.statSync(path.join(ledgerDir, name), { throwIfNoEntry: false });
    return `${name} ${stats?.ino} ${stats?.size}`;
  });
  return JSON.stringify([sizes, fs.readdirSync(lineDir)]);
}

/** How long a task whose answer was lost is assumed to run. */
export const LIKELY_RUN_MS = 15 * 60_000;

/**
 * The jobs that occupy a slot: accepted and unfinished, being sent by a living process, or sent recently without an
 * answer.
 */
async function openJobs(input: SlotInput): Promise<Job[]> {
  const { clock, family, intent, ledger, pool } = input;
  const sinceMs = clock.now() - (family.recordLifeMs ?? family.linkLifeMs);
  const jobs = await ledger.find({ family: family.name, gateway: intent.gateway, sinceMs, isOpen: true });
  const taken: Job[] = [];
  for (const listed of jobs) {
    // Whether a job belongs to a pool does not depend on the account type.
    if (poolOf(listed, 'personal').name !== pool.name) continue;
    // Another API key may belong to another account, which has its own slots.
    if (isOtherKey(listed, intent.keyId)) continue;
    const job = await nowOf(listed, ledger);
    // A job without an answer may be running, for as long as a task is likely to run.
    if (job.state === 'running' || job.isHeld || (mayExist(job) && keepsSlot(job, input))) taken.push(job);
  }
  return taken;
}

const keptUntilMs = ({ sentAtMs, createdAtMs }: Job, { speed }: SlotInput): number =>
  (sentAtMs ?? createdAtMs) + spedUp(LIKELY_RUN_MS, speed?.() ?? 1);

/**
 * True if a lost create still counts as running. A sending time far in the future came from a wrong clock; such a job
 * would occupy its slot until that date, so it does not count.
 */
const keepsSlot = (job: Job, input: SlotInput): boolean => {
  const leftMs = keptUntilMs(job, input) - input.clock.now();
  return leftMs > 0 && leftMs <= 2 * LIKELY_RUN_MS;
};

const MOST_NAMED = 5;

/** A message about jobs of unknown outcome that occupy slots: which, until when, and what frees them. */
function keptText(taken: readonly Job[], input: SlotInput): string | undefined {
  const lost = taken.filter((job) => mayExist(job) && !input.ledger.isHeld(job.key));
  const [first] = lost;
  if (first === undefined) return undefined;
  const named = lost
    .slice(0, MOST_NAMED)
    .map((job) => `${job.key} until ${new Date(keptUntilMs(job, input)).toISOString()}`);
  const more = lost.length > MOST_NAMED ? ` and ${lost.length - MOST_NAMED} more` : '';
  const slots = counted(lost.length, 'slot is kept for a job', 'slots are kept for jobs');
  return (
    `${slots} of unknown outcome: ${named.join(', ')}${more}; ` +
    `gw jobs list --status unknown shows them, and this frees one: gw jobs resolve ${first.key} --as ID|none`
  );
}

/**
 * Queries running tasks that no gw follows, and records those that have ended; tasks that the gateway does not know are
 * added to `gone`. Each is queried in turn, and only if it has not ended meanwhile.
 */
async function lookAtAll(jobs: readonly Job[], gone: Set<string>, input: SlotInput): Promise<void> {
  const { clock, ledger, looker, pool, signal } = input;
  for (const { key, id } of jobs) {
    if (id === undefined || looker.isFollowed(id) || ledger.isHeld(key)) continue;
    const [job] = await ledger.find({ ids: [key] });
    if (job?.state !== 'running') continue;
    try {
      const look = await looker.look(id, { signal, retries: 0, pool });
      await recordLook(ledger, key, look, job.status);
    } catch (error) {
      signal.throwIfAborted();
      // A task that cannot be queried may be running, and a new one may be unknown yet; a forgotten one is over.
      const isYoung = clock.steady() < youngUntilMs(job, clock);
      if (!isYoung && error instanceof GwError && error.kind === 'not_found') gone.add(key);
    }
  }
}
