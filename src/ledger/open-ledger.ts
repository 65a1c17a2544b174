import * as crypto from 'node:crypto';
import * as fs from 'node:fs';
import * as path from 'node:path';
import { isFull } from '../disk/disk-fault.ts';
import { type AppendCalls, appendLine, ensureDirectory, FailedSync } from '../disk/durable-directory.ts';
import { isLocked, type LockFile, type Step, tryLock } from '../disk/lock-file.ts';
import { type GwError, usage } from '../errors.ts';
import { type Clock, can, quietly } from '../host.ts';
import type { IntentEvent, Job, JobState, LedgerEvent, SavedFile } from './event.ts';
import { bearing, isHoldersOnly, standingOf } from './fold.ts';
import { JobFinder } from './job-finder.ts';
import { isJobKey, newJobKey, type RandomBytes } from './job-key.ts';
import { currentJournal } from './journal-files.ts';
import type { Hold, Ledger, Wanted } from './ledger.ts';
import { markSent, unmarkSent } from './sent-marks.ts';
import { serialize } from './serialize.ts';
import { isHome } from './settled.ts';
import { claimError, readError, writeError } from './write-error.ts';

interface LedgerOptions {
  /** The state directory; journals are in `ledger/` below it and locks in `locks/`. */
  readonly dir: string;
  readonly clock: Pick<Clock, 'now'>;
  /** Throws if the new directory cannot be trusted: only now is it known whether its disk keeps permissions. */
  readonly refuseNewPlace?: (() => void) | undefined;
  /** Leaves prompts out of the ledger if false (GW_LEDGER_PROMPTS=off). */
  readonly keepPrompts: boolean;
  readonly hideSecret?: ((text: string) => string) | undefined;
  /** Called if lines are unreadable, after each search and before a job begins, which may then be paid twice. */
  readonly tellDamage?: (() => void) | undefined;
  /** Adds facts to a job that its damaged intent no longer tells. */
  readonly completed?: ((job: Job) => Promise<Job>) | undefined;
  /** Receives each complete output in its intended place once its `saved` event is written. */
  readonly onSaved?: ((key: string, file: SavedFile) => void) | undefined;
  readonly randomBytes?: RandomBytes | undefined;
  readonly calls?: AppendCalls | undefined;
  readonly step?: Step | undefined;
}

/** How often a line is appended again because its journal was rewritten meanwhile; duplicated lines are harmless. */
const MAX_APPENDS = 3;

/** Opens the ledger of a state directory. Nothing on the disk is touched before the first read or write. */
export function openLedger(options: LedgerOptions): Ledger {
  const { step = () => {}, completed = async (job: Job) => job } = options;
  const dir = path.join(options.dir, 'ledger');
  const locks = path.join(options.dir, 'locks');
  const loadWriter = async () => (await import('./write-contents.ts')).loadWriter();
  const finder = new JobFinder(dir, loadWriter, completed);

  const append = (key: string, event: LedgerEvent): void => {
    if (!isHoldersOnly(event)) {
      write(key, event);
      return;
    }
    const held = holds.jobs.get(key);
    if (held === undefined) throw new Error(`${event.event} of ${key}: only its holder may say so`);
    const does = bearing(held.state, event);
    if (does === 'void') return;
    // On a shared disk another machine takes a job over if this one shows no sign of life for an hour.
    if (event.event === 'sent' && !claiming(locks, 'usage', held.lock.isOwn)) throw heldElsewhere(key);
    write(key, event, isOnlyTrace(held.state, event));
    if (does === 'moves') held.state = standingOf(event)?.state ?? held.state;
    if (!held.isKeyed) return;
    if (event.event === 'not_made') unmarkSent(dir, key);
    if (event.event !== 'sent') return;
    try {
      markSent(dir, key);
    } catch (error) {
      throw writeError(error, dir, key, event);
    }
  };

  const tellDamage = (): void => {
    if (finder.unreadable.length > 0) options.tellDamage?.();
  };

  /** Refuses to begin a paid job in a ledger that this build could not read back. */
  const refuseNewer = (): void => {
    try {
      finder.refuseNewer();
      tellDamage();
    } catch (error) {
      throw readError(error, dir);
    }
  };

  const { reading, ...reads } = readsOf(finder, dir, tellDamage);
  const write = lineWriter(dir, options, refuseNewer);

  const holds = new Holds(locks, step, reads.find);

  return {
    dir,
    begin(intent: IntentEvent, key: string = newJobKey(options.randomBytes)): Hold {
      const hold = holds.one(key, intent);
      try {
        append(key, intent);
        return hold;
      } catch (error) {
        hold.release();
        throw error;
      }
    },
    hold: async (key) => (await holds.many([key]))[0],
    holdMany: (keys) => holds.many(keys),
    lockOf: (key) => lockPath(locks, key),
    isHeld: (key) => claiming(locks, 'download', () => isLocked(lockPath(locks, key))),
    append,
    ...reads,
    get unreadable() {
      return finder.unreadable;
    },
    remove: async (keys) => {
      const { removeJobs } = await import('./rewrite-journal.ts');
      return reading(() => removeJobs({ dir, locks, step }, keys), 'rewritten');
    },
  };
}

/** The reading functions of the ledger. They throw GwError if the ledger cannot be read. */
function readsOf(finder: JobFinder, dir: string, tellDamage: () => void) {
  const reading = async <T>(read: () => T, failed?: 'rewritten'): Promise<Awaited<T>> => {
    try {
      return await read();
    } catch (error) {
      throw readError(error, dir, failed);
    }
  };

  async function* each(wanted: Wanted = {}): AsyncGenerator<Job> {
    try {
      yield* finder.each(wanted);
    } catch (error) {
      throw readError(error, dir);
    } finally {
      tellDamage();
    }
  }
  const find = async (wanted?: Wanted): Promise<Job[]> => {
    const jobs: Job[] = [];
    for await (const job of each(wanted)) jobs.push(job);
    return jobs;
  };
  const names: Ledger['names'] = (read) => reading(() => finder.names(read));
  return { reading, each, find, names };
}

class Holds {
  /** The held jobs, with their state as this process knows it, and whether they were made with `--once`. */
  readonly jobs = new Map<string, { state: JobState; readonly lock: LockFile; readonly isKeyed: boolean }>();

  constructor(
    private readonly locks: string,
    private readonly step: Step,
    private readonly find: Ledger['find'],
  ) {}

  /** Claims a job that is to begin. Throws GwError `usage` if another process holds it or the claim cannot be made. */
  one(key: string, intent: IntentEvent): Hold {
    const lock = claiming(this.locks, 'usage', () => this.#claim(key));
    if (!lock) throw heldElsewhere(key);
    return this.#hold(key, lock, undefined, intent);
  }

  /** Claims the jobs that no other process holds. */
  async many(keys: Iterable<string>): Promise<Hold[]> {
    const claims = new Map<string, LockFile>();
    try {
      for (const key of keys) {
        const lock = this.#claim(key);
        if (lock) claims.set(key, lock);
      }
      if (claims.size === 0) return [];
      this.step('read what is held');
      const jobs = new Map((await this.find({ ids: [...claims.keys()] })).map((job) => [job.key, job]));
      return [...claims].map(([key, lock]) => this.#hold(key, lock, jobs.get(key)));
    } catch (error) {
      for (const lock of claims.values()) lock.release();
      throw claimError(error, this.locks, 'download');
    }
  }

  /** Undefined while another process holds the job. Throws the system's error if the claim cannot be made. */
  #claim(key: string): LockFile | undefined {
    ensureDirectory(this.locks);
    return tryLock(lockPath(this.locks, key), this.step);
  }

  #hold(key: string, lock: LockFile, job: Job | undefined, { once }: Pick<Job, 'once'> = job ?? {}): Hold {
    // A job that is not in the ledger has not been sent either.
    this.jobs.set(key, { state: job?.state ?? 'intent', lock, isKeyed: once !== undefined });
    const release = () => {
      if (this.jobs.delete(key)) lock.release();
    };
    return { key, job, release };
  }
}

const heldElsewhere = (key: string): GwError =>
  usage(`another gw is working on job ${key}; nothing was sent`, `gw jobs show ${key}`);

/** Runs a step of a claim; a fault of the disk becomes a GwError that names the directory of locks. */
function claiming<T>(locks: string, kind: 'usage' | 'download', act: () => T): T {
  try {
    return act();
  } catch (error) {
    throw claimError(error, locks, kind);
  }
}

/** Makes a function that durably appends a line to its month's journal; it checks `refuseNewer` before a job. */
function lineWriter(dir: string, options: LedgerOptions, refuseNewer: () => void) {
  const { clock, calls = fs, step = () => {}, hideSecret = (text: string) => text } = options;
  const serializing = { hideSecret, keepPrompts: options.keepPrompts };
  let poison: FailedSync | undefined;
  return (key: string, event: LedgerEvent, mayUseReserve = false): void => {
    const now = clock.now();
    const json = serialize(key, now, event, serializing);
    let file = dir;
    const appendOnce = () => {
      for (let tries = 0; tries < MAX_APPENDS; tries += 1) {
        file = currentJournal(dir, now);
        step(`append ${event.event}`);
        if (isStill(file, appendLine(file, json, { calls, step }))) return;
      }
    };
    try {
      if (poison) throw poison;
      ensureDirectory(dir);
      if (event.event === 'intent') {
        refuseNewer();
        if (!fs.existsSync(fileIn(dir))) {
          options.refuseNewPlace?.();
          keepReserve(dir);
        }
      }
      try {
        appendOnce();
      } catch (error) {
        if (!mayUseReserve || !isFull(error) || !giveUpReserve(dir)) throw error;
        appendOnce();
      }
    } catch (error) {
      if (error instanceof FailedSync) poison = error;
      throw writeError(error, file, key, event);
    }
    if (event.event === 'saved' && isHome(event)) options.onSaved?.(key, event);
  };
}

/** True if a path still belongs to the file with that inode, or if this cannot be determined. */
const isStill = (file: string, number: number): boolean =>
  quietly(() => fs.statSync(file, { throwIfNoEntry: false })?.ino === number) ?? true;

/** A key that gw did not make is hashed, because it might not be safe in a path. */
function lockPath(locks: string, key: string): string {
  const name = isJobKey(key) ? key : `job-${crypto.createHash('sha256').update(key).digest('hex')}`;
  return path.join(locks, `${name}.lock`);
}

// Disk space is reserved for the one line that must not be lost.

/** True if an event is the only trace of a paid task: its ID, confirmed or not, or the reply of a job without an ID. */
function isOnlyTrace(state: JobState, event: LedgerEvent): boolean {
  if (event.event === 'accepted') return true;
  const isTrace =
    event.event === 'final' ||
    (event.event === 'unknown' && (event.record !== undefined || event.unconfirmedId !== undefined));
  return isTrace && (state === 'sent' || state === 'unknown');
}

/** Enough for the longest ID and ten links, also on file systems that allocate large blocks. */
const RESERVE_BYTES = 1 << 16;
const fileIn = (dir: string): string => path.join(dir, 'reserve');

/** Makes the reserve. If there is no room for it, this stays silent: the next write will fail and report it. */
function keepReserve(dir: string): void {
  // Random bytes, so that a file system cannot compress them.
  const bytes = crypto.randomBytes(RESERVE_BYTES);
  const options = { flag: 'wx', mode: 0o600, flush: true };
  if (!can(() => fs.writeFileSync(fileIn(dir), bytes, options))) giveUpReserve(dir);
}

/** Frees the reserved space; true if there was any. */
const giveUpReserve = (dir: string): boolean => can(() => fs.unlinkSync(fileIn(dir)));
