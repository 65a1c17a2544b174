import { GwError } from '../../errors.ts';
import type { TaskFamily } from '../../gateway/task.ts';
import { readable, type TaskLook } from './look.ts';
import type { LookOptions } from './looker.ts';
import type { Pace } from './rate.ts';

/** A caller that asks for a task and waits for the answer. */
export interface Ask {
  readonly id: string;
  readonly options: LookOptions & { readonly deadlineMs: number };
  /** Steady time in ms until which it waits for others. */
  readonly dueMs: number;
  /** Maximum number of tasks in its request: smaller after a larger request was refused. */
  maxIds: number;
  /** Set while its request is in progress. */
  leave?: () => void;
  readonly settle: (outcome: LookOutcome) => void;
}

/** Longest sum of the IDs in one request: servers and proxies refuse URLs of more than a few kilobytes. */
const MAX_ID_CHARS = 4_000;

/** The waiting queries in order of arrival, and which of them go into the next request. */
export class LookBatch {
  readonly #waiting = new Set<Ask>();
  /** Tasks whose query was refused even alone; they must not spoil a shared request again. */
  readonly #loners = new Set<string>();

  /** `maxIds` is the maximum of tasks in one request; `followed` are the tasks that will be queried. */
  constructor(
    private readonly maxIds: number,
    private readonly followed: ReadonlyMap<string, number>,
  ) {}

  get isEmpty(): boolean {
    return this.#waiting.size === 0;
  }

  /** True if the request need not wait for more: it is full, or all followed tasks are here. */
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

  /** How long the first query still waits for others. */
  gatherMs(nowMs: number): number {
    if (this.isEnough) return 0;
    const [first] = this.#waiting;
    return first === undefined || first.maxIds === 1 ? 0 : first.dueMs - nowMs;
  }

  /** Removes the queries for the next request, the longest waiting first. */
  take(): Ask[] {
    const taken: Ask[] = [];
    const ids = new Set<string>();
    let room = Number.POSITIVE_INFINITY;
    let chars = 0;
    for (const ask of this.#waiting) {
      const isNew = !ids.has(ask.id);
      if (isNew && ids.size > 0 && (ids.size >= room || chars + ask.id.length > MAX_ID_CHARS)) break;
      // A query that must share with fewer tasks waits for its own turn.
      if (isNew && ids.size >= ask.maxIds) continue;
      if (isNew) chars += ask.id.length;
      room = Math.min(room, ask.maxIds);
      ids.add(ask.id);
      taken.push(ask);
      this.#waiting.delete(ask);
    }
    return taken;
  }

  /** Ends each query whose deadline is before the end of a pause. */
  refuse(pace: Pick<Pace, 'refusal'>): void {
    for (const ask of [...this.#waiting]) {
      const error = pace.refusal(ask.options.deadlineMs);
      if (!error) continue;
      this.#waiting.delete(ask);
      ask.settle({ error });
    }
  }

  /**
   * Fails all queries of a request for `ids`. After a refusal, the request is halved instead, to find the task that
   * caused it: its queries wait once more.
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

type LookOutcome = { readonly look: TaskLook } | { readonly error: unknown };

/**
 * Reads one task's record in a reply: `not_found` if it is undefined, because the reply does not name the task, and
 * `unavailable` if it cannot be read.
 */
export function readLook(family: TaskFamily, id: string, came: Omit<TaskLook, 'view'>): LookOutcome {
  if (came.record === undefined)
    return { error: new GwError('not_found', `the gateway does not know task ${id}`, { taskId: id }) };
  try {
    const view = readable(() => family.readTask(came.record, id), `the record of task ${id}`);
    return { look: { ...came, view } };
  } catch (error) {
    return { error };
  }
}
