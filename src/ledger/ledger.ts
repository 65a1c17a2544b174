import type { IntentEvent, Job, LedgerEvent } from './event.ts';

/** The record of every paid job of this user; several processes use it at once. */
export interface Ledger {
  /** The directory, for messages. */
  readonly dir: string;
  /**
   * Makes a job and holds it: the claim is taken first, then the intent is written, durable when this returns. `key` where
   * the job must be the same one however often it is begun. Throws GwError `usage` where the ledger cannot be written or
   * another gw holds a job of that key; then nothing may be sent.
   */
  begin(intent: IntentEvent, key?: string): Hold;
  /**
   * Takes the exclusive right to say where a job stands, and reads the job under it; undefined while another living process
   * has it. Throws GwError naming the path where the claim cannot be made or the ledger cannot be read.
   */
  hold(key: string): Promise<Hold | undefined>;
  /** As `hold` for many at once: those that nobody else has, read once for all of them. */
  holdMany(keys: Iterable<string>): Promise<Hold[]>;
  /** Whether a living process holds a job; asking takes nothing. */
  isHeld(key: string): boolean;
  /**
   * Appends one fact to a job, durable when this returns; what says where the job stands only while this ledger holds it,
   * and what may not follow what is known is not written (README.md). Throws GwError naming the path: `usage` for `sent`,
   * `download` for `get`, `part` and `saved`, `internal` for the others; an ID that could not be recorded is in its `taskId`.
   */
  append(key: string, event: LedgerEvent): void;
  /**
   * One job by the gateway's task ID or gw's own, the newest first where an ID stands twice. Two gateways may give out
   * the same ID: with `gateway`, only a job of that one is found by it.
   */
  find(idOrKey: string, gateway?: string): Promise<Job | undefined>;
  /** As `find` for many at once, by what each was asked for under; the journals are read once for all of them. */
  findMany(idsOrKeys: Iterable<string>, gateway?: string): Promise<ReadonlyMap<string, Job>>;
  /** Jobs, newest first. */
  list(filter?: {
    readonly sinceMs?: number | undefined;
    readonly family?: string | undefined;
  }): Promise<Job[]>;
  /** How many unreadable lines the last read skipped. */
  readonly skippedLines: number;
  /**
   * Forgets jobs for good; other processes may go on appending. Throws GwError `usage` while another process removes
   * jobs, and where a journal cannot be rewritten; then nothing is lost.
   */
  remove(keys: ReadonlySet<string>): Promise<void>;
}

/** A job that this process alone may bring further, until it lets go of it. */
export interface Hold {
  readonly key: string;
  /** The job as it stood when the claim had been taken; undefined for one that was just begun, or that the ledger lacks. */
  readonly job: Job | undefined;
  /** Lets go of it; a second time does nothing. */
  release(): void;
}
