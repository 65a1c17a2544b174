import { GwError } from '../../errors.ts';
import type { TaskFamily } from '../../gateway/task.ts';
import type { Reply } from '../../http/client.ts';
import type { TaskLook } from './look.ts';
import type { LookOptions } from './looker.ts';

/** One who asks for a task and waits for the answer. */
export interface Ask {
  readonly id: string;
  readonly options: LookOptions;
  /** Steady milliseconds until when it waits for others. */
  readonly dueMs: number;
  /** How many tasks its request may ask for: fewer where a larger request was refused. */
  maxIds: number;
  /** Set while its request is under way. */
  leave?: () => void;
  readonly settle: (outcome: LookOutcome) => void;
}

/** Longest sum of the IDs in one request: addresses beyond some kilobytes are refused along the way. */
const MAX_ID_CHARS = 4_000;

/** Those who wait for a look in the order in which they asked, and whom of them the next request asks for. */
export class LookBatch {
  readonly #waiting = new Set<Ask>();
  /** Tasks that the gateway refused when they were asked for alone; they must not spoil a request again. */
  readonly #loners = new Set<string>();

  /** `maxIds` is how many tasks one request may ask for, `followed` the tasks that are going to be looked at. */
  constructor(
    private readonly maxIds: number,
    private readonly followed: ReadonlyMap<string, number>,
  ) {}

  get isEmpty(): boolean {
    return this.#waiting.size === 0;
  }

  /** Whether nobody is to be waited for any more: a request is full, or all who are followed are here. */
  get isEnough(): boolean {
    return this.#waiting.size >= Math.min(this.maxIds, this.followed.size);
  }

  add(given: Omit<Ask, 'maxIds' | 'leave'>): Ask {
    const ask: Ask = { ...given, maxIds: this.#loners.has(given.id) ? 1 : this.maxIds };
    this.#waiting.add(ask);
    return ask;
  }

  withdraw(ask: Ask): void {
    this.#waiting.delete(ask);
  }

  /** How long the first in line still waits for others. */
  gatherMs(nowMs: number): number {
    if (this.isEnough) return 0;
    const [first] = this.#waiting;
    return first === undefined || first.maxIds === 1 ? 0 : first.dueMs - nowMs;
  }

  /** The next request's share of those who wait, the longest waiting first. */
  take(): Ask[] {
    const taken: Ask[] = [];
    const ids = new Set<string>();
    let room = Number.POSITIVE_INFINITY;
    let chars = 0;
    for (const ask of this.#waiting) {
      const isNew = !ids.has(ask.id);
      if (isNew && ids.size > 0 && (ids.size >= room || chars + ask.id.length > MAX_ID_CHARS)) break;
      // One that must go with fewer waits for its turn.
      if (isNew && ids.size >= ask.maxIds) continue;
      if (isNew) chars += ask.id.length;
      room = Math.min(room, ask.maxIds);
      ids.add(ask.id);
      taken.push(ask);
      this.#waiting.delete(ask);
    }
    return taken;
  }

  /** Ends the waiting of each for whom `refusalOf` its deadline has an error. */
  refuse(refusalOf: (deadlineMs: number | undefined) => GwError | undefined): void {
    for (const ask of [...this.#waiting]) {
      const error = refusalOf(ask.options.deadlineMs);
      if (!error) continue;
      this.#waiting.delete(ask);
      ask.settle({ error });
    }
  }

  /**
   * A request for `ids` fails for all whom it asked for; one that was refused is halved, to find out whom it was refused
   * for: they wait once more.
   */
  fail(present: ReadonlySet<Ask>, ids: readonly string[], error: unknown): void {
    const isRefused = error instanceof GwError && (error.kind === 'rejected' || error.kind === 'not_found');
    for (const ask of present) {
      if (isRefused && ids.length > 1) {
        ask.maxIds = Math.ceil(ids.length / 2);
        delete ask.leave;
        this.#waiting.add(ask);
      } else {
        if (isRefused && this.maxIds > 1) this.#loners.add(ask.id);
        ask.settle({ error });
      }
    }
  }
}

export type LookOutcome = { readonly look: TaskLook } | { readonly error: unknown };

/** A reply, and what it holds of one task; no record where it does not name the task. */
interface Came {
  readonly record: unknown;
  readonly recordText?: string | undefined;
  readonly reply: Reply;
  readonly serverDateMs: number;
}

/** Reads one task's record of a reply: `not_found` where there is none, `unavailable` where it cannot be read. */
export function readLook(family: TaskFamily, id: string, came: Came): LookOutcome {
  if (came.record === undefined)
    return { error: new GwError('not_found', `the gateway does not know task ${id}`, { taskId: id }) };
  try {
    const view = readable(() => family.readTask(came.record, id), `the record of task ${id}`);
    return { look: { ...came, view } };
  } catch (error) {
    return { error };
  }
}

/** What a parser makes of it. Throws `unavailable` where it cannot be read, with the parser's own words where it has any. */
export function readable<T>(parse: () => T, what: string): T {
  try {
    return parse();
  } catch (error) {
    const why = error instanceof Error && error.constructor === Error ? `: ${error.message}` : '';
    throw new GwError('unavailable', `${what} cannot be read${why}`);
  }
}
