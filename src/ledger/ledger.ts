import type { IntentEvent, Job, LedgerEvent } from './event.ts';

/** The record of every paid job of this user; several processes use it at once. */
export interface Ledger {
  /** The directory, for messages. */
  readonly dir: string;
  /**
   * Makes a job: its intent is durable when this returns. Throws GwError `usage` naming the path when it cannot be
   * written; then nothing may be sent. `key` where the job must be the same one however often it is begun.
   */
  begin(intent: IntentEvent, key?: string): string;
  /**
   * Appends one fact to a job, durable when this returns. Throws GwError naming the path: `usage` for `sent`, `download`
   * for `get`, `part` and `saved`, `internal` for the others; an ID that could not be recorded is in its `taskId`.
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
  /**
   * Takes the exclusive right to poll and download a job; undefined when another living process has it.
   * Losing it costs bandwidth, never data.
   */
  claim(key: string): Claim | undefined;
}

export interface Claim {
  release(): void;
}
