import * as fs from 'node:fs';
import * as path from 'node:path';
import { type AppendCalls, appendLine, FailedSync } from '../disk/append-line.ts';
import { ensureDirectory } from '../disk/durable-directory.ts';
import { tryLock } from '../disk/lock-file.ts';
import type { Clock } from '../host.ts';
import type { IntentEvent, Job, LedgerEvent } from './event.ts';
import { isJobKey, newJobKey, type RandomBytes } from './job-key.ts';
import { currentJournal } from './journal-files.ts';
import type { Claim, Ledger } from './ledger.ts';
import { LiveJobs } from './live-jobs.ts';
import { refuseNewerJournal } from './newer-journal.ts';
import { findJob, findJobs, readJobs, type Skips } from './read-jobs.ts';
import { removeJobs } from './remove-jobs.ts';
import { serialize } from './serialize.ts';
import { readError, writeError } from './write-error.ts';

export interface LedgerOptions {
  /** The state directory; journals are kept in `ledger/` below it and locks in `locks/`. */
  readonly dir: string;
  readonly clock: Pick<Clock, 'now'>;
  /** Leaves prompts out of what is written when false (GW_LEDGER_PROMPTS=off). */
  readonly keepPrompts: boolean;
  /** Replaces the exact key in a text before it is written. */
  readonly hideSecret?: ((text: string) => string) | undefined;
  readonly randomBytes?: RandomBytes | undefined;
  readonly calls?: AppendCalls | undefined;
}

/**
 * How often a line is appended whose journal was rewritten under it; on a file system that numbers its files anew at each
 * look a line stands there as often, which says no more than once.
 */
const MAX_APPENDS = 3;

/** How many look-ups search the journals before they are kept in memory. */
const MAX_SEARCHES = 2;

/** Opens the ledger of a state directory. Nothing is touched on the disk before the first read or write. */
export function openLedger(options: LedgerOptions): Ledger {
  const { clock, calls = fs } = options;
  const dir = path.join(options.dir, 'ledger');
  const locks = path.join(options.dir, 'locks');
  const serializing = {
    hideSecret: options.hideSecret ?? ((text: string) => text),
    keepPrompts: options.keepPrompts,
  };
  let skips: Skips = { lines: 0 };
  let poison: FailedSync | undefined;

  // Who looks up one job reads little; who goes on asking reads the journals once and from then on what is new.
  const live = new LiveJobs(dir);
  let searches = 0;
  const isAskedOften = () => {
    searches += 1;
    return searches > MAX_SEARCHES;
  };

  const append = (key: string, event: LedgerEvent): void => {
    const now = clock.now();
    const json = serialize(key, now, event, serializing);
    let file = dir;
    try {
      if (poison) throw poison;
      ensureDirectory(dir);
      for (let tries = 0; tries < MAX_APPENDS; tries += 1) {
        file = currentJournal(dir, now);
        if (event.event === 'intent') refuseNewerJournal(file);
        if (isStill(file, appendLine(file, json, calls))) return;
      }
    } catch (error) {
      if (error instanceof FailedSync) poison = error;
      throw writeError(error, file, event);
    }
  };

  const reading = async <T>(read: (skips: Skips) => T): Promise<T> => {
    skips = { lines: 0 };
    try {
      return read(skips);
    } catch (error) {
      throw readError(error, dir);
    }
  };

  return {
    dir,
    begin(intent: IntentEvent, key: string = newJobKey(options.randomBytes)): string {
      append(key, intent);
      return key;
    },
    append,
    find: (idOrKey, gateway) =>
      reading((counted) =>
        isAskedOften()
          ? live.findMany([idOrKey], counted, gateway).get(idOrKey)
          : findJob(dir, idOrKey, counted, gateway),
      ),
    findMany: (idsOrKeys, gateway) =>
      reading((counted) =>
        isAskedOften()
          ? live.findMany(idsOrKeys, counted, gateway)
          : findJobs(dir, idsOrKeys, counted, gateway),
      ),
    list: (filter = {}) =>
      reading((counted) => {
        const { sinceMs, family } = filter;
        const wanted = (job: Job) =>
          (sinceMs === undefined || job.createdAtMs >= sinceMs) &&
          (family === undefined || job.family === family);
        return readJobs(dir, counted, sinceMs).filter(wanted);
      }),
    get skippedLines() {
      return skips.lines;
    },
    remove: (keys) => reading(() => removeJobs(dir, locks, keys, clock.now())),
    claim: (key) => claim(locks, key, clock.now()),
  };
}

/** Whether a name still belongs to the file of that number; where that cannot be told, it does. */
function isStill(file: string, number: number): boolean {
  try {
    return fs.statSync(file, { throwIfNoEntry: false })?.ino === number;
  } catch {
    return true;
  }
}

/** A lock that cannot be made counts as taken: two pollers cost bandwidth, a job nobody may finish costs money. */
function claim(locks: string, key: string, nowMs: number): Claim | undefined {
  try {
    if (!isJobKey(key)) return { release() {} };
    ensureDirectory(locks);
    return tryLock(path.join(locks, `${key}.lock`), nowMs);
  } catch {
    return { release() {} };
  }
}
