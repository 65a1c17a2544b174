import type { IntentEvent, Job, JobState, LedgerEvent } from './event.ts';

/** Which jobs to find; each field that is set narrows the search. */
export interface Wanted {
  /** gw's own keys and the gateway's task IDs, mixed. Two gateways may use the same task ID. */
  readonly ids?: readonly string[] | undefined;
  readonly externalId?: string | undefined;
  /** The digest of the body with a given external ID. For other bodies usually only the intent is read. */
  readonly bodySha256?: ((externalId: string | undefined) => string) | undefined;
  readonly states?: readonly JobState[] | undefined;
  readonly family?: string | undefined;
  readonly gateway?: string | undefined;
  /** Created at this Unix time in ms or later. */
  readonly sinceMs?: number | undefined;
  /** Leaves out settled jobs (failed, or with all outputs saved), though a few of them may remain. */
  readonly isOpen?: boolean | undefined;
  /** Maximum number of jobs; the newest are returned. */
  readonly limit?: number | undefined;
  readonly where?: ((job: Job) => boolean) | undefined;
}

/** gw's own key of a job, and the gateway's ID of its task. */
export type JobNames = Pick<Job, 'key' | 'id'>;

/** An unreadable line of a journal; its number counts from 1. */
export interface UnreadableLine {
  readonly path: string;
  readonly line: number;
}

/** The record of every paid job of this user; several processes use it at once. */
export interface Ledger {
  /** The directory, for messages. */
  readonly dir: string;
  /**
   * Creates a job and holds it: the claim is taken first, then the intent is written durably. Give `key` if the job
   * must be the same one however often it is begun. Throws GwError `usage` if the ledger cannot be written or another
   * gw holds a job with that key; then nothing may be sent.
   */
  begin(intent: IntentEvent, key?: string): Hold;
  /**
   * Claims the exclusive right to write a job's state, then reads the job; undefined while another living process has
   * it. Throws GwError with the path if the claim cannot be made or the ledger cannot be read.
   */
  hold(key: string): Promise<Hold | undefined>;
  /** Like `hold` for many jobs: those that no other process holds, with a single read for all. */
  holdMany(keys: Iterable<string>): Promise<Hold[]>;
  /** The lock file of a job's holder: it names the process and shows that it lives. */
  lockOf(key: string): string;
  /** True if a living process holds a job; this takes no claim. */
  isHeld(key: string): boolean;
  /**
   * Appends one event to a job, durable when this returns. One about the state needs a hold of this ledger; one that
   * may not follow the known events is not written (README.md). Throws GwError with the path: `usage` for `sent`,
   * `download` for `get`, `part` and `saved`, `internal` for others; an ID that could not be recorded is in `taskId`.
   */
  append(key: string, event: LedgerEvent): void;
  /** The matching jobs, newest first; by default all jobs. Throws GwError `usage` with the path. */
  find(wanted?: Wanted): Promise<Job[]>;
  /** The matching jobs one by one: only the current one is in memory. */
  each(wanted?: Wanted): AsyncIterable<Job>;
  /** Returns what `read` makes of all job names, unordered, without reading jobs. A prune in between calls it again. */
  names<T>(read: (names: Iterable<JobNames>) => T): Promise<T>;
  /** The lines that the last search could not read; only these lines are lost. */
  readonly unreadable: readonly UnreadableLine[];
  /**
   * Removes jobs permanently; other processes may keep appending. Throws GwError `usage` while another process removes
   * jobs, or if a journal cannot be rewritten; then nothing is lost.
   */
  remove(keys: ReadonlySet<string>): Promise<void>;
}

/** A job that only this process may move to another state, until it releases it. */
export interface Hold {
  readonly key: string;
  /** The job when the claim was taken; undefined if it was just begun, or if the ledger does not have it. */
  readonly job: Job | undefined;
  /** Releases the job; a second call does nothing. */
  release(): void;
}
