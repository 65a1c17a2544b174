import type { IntentEvent, Job, JobState, LedgerEvent } from './event.ts';

/** Which jobs are looked for; each field that is there narrows it. */
export interface Wanted {
  /** gw's own keys and the gateway's task IDs, mixed. Two gateways may give out the same ID. */
  readonly ids?: readonly string[] | undefined;
  readonly externalId?: string | undefined;
  /** The digest of its body, by the external ID that it carried. Of a job with another one as a rule only the intent is read. */
  readonly bodySha256?: ((externalId: string | undefined) => string) | undefined;
  readonly states?: readonly JobState[] | undefined;
  readonly family?: string | undefined;
  readonly gateway?: string | undefined;
  /** Created at this Unix millisecond or later. */
  readonly sinceMs?: number | undefined;
  /** Leaves out what is settled: jobs that ended badly, or whose outputs are saved. Some that are settled may be left. */
  readonly isOpen?: boolean | undefined;
  /** At most this many, the newest. */
  readonly limit?: number | undefined;
  readonly where?: ((job: Job) => boolean) | undefined;
}

/** gw's own key of a job, and the gateway's ID of its task. */
export type JobNames = Pick<Job, 'key' | 'id'>;

/** A line of a journal that cannot be read, its number counted from 1. */
export interface UnreadableLine {
  readonly path: string;
  readonly line: number;
}

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
  /** The lock by which a process holds a job: it names that one, and shows that it lives. */
  lockOf(key: string): string;
  /** Whether a living process holds a job; asking takes nothing. */
  isHeld(key: string): boolean;
  /**
   * Appends one fact to a job, durable when this returns; what says where the job stands only while this ledger holds it,
   * and what may not follow what is known is not written (README.md). Throws GwError naming the path: `usage` for `sent`,
   * `download` for `get`, `part` and `saved`, `internal` for the others; an ID that could not be recorded is in its `taskId`.
   */
  append(key: string, event: LedgerEvent): void;
  /** The jobs that are wanted, newest first; all of them where nothing is said. Throws GwError `usage` naming the path. */
  find(wanted?: Wanted): Promise<Job[]>;
  /** The same jobs one after the other: however many there are, only the one that is looked at is in memory. */
  each(wanted?: Wanted): AsyncIterable<Job>;
  /** What `read` makes of the names of all jobs, in no order; no job is read for it. Called again where a prune came between. */
  names<T>(read: (names: Iterable<JobNames>) => T): Promise<T>;
  /** The lines that the last look could not read: each is lost, and no other with it. */
  readonly unreadable: readonly UnreadableLine[];
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
