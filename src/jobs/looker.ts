import { GwError } from '../errors.ts';
import { type AccountType, poolOf, type RatePool } from '../gateway/limits.ts';
import type { TaskFamily } from '../gateway/task.ts';
import type { Clock } from '../host.ts';
import type { Client } from '../http/client.ts';
import type { TaskLook } from './look.ts';
import { LookLane } from './look-lane.ts';
import type { SharedRate } from './rate-file.ts';

/** Looks at tasks of one family on one gateway for everybody in this process: requests are shared and paced. */
export interface Looker {
  /**
   * Says that a task will be looked at; returns the function that takes it back (once). A request waits for the others that
   * are followed, as far as its patience goes, so that tasks are asked for together.
   */
  follow(id: string): () => void;
  /**
   * Asks for one task's record. Throws what the client throws, `not_found` for a task that the reply does not name,
   * `unavailable` for a record that cannot be read, or the signal's reason.
   */
  look(id: string, options: LookOptions): Promise<TaskLook>;
}

export interface LookOptions {
  readonly signal: AbortSignal;
  /** The client's own number when absent; a poll judges failures itself and takes 0. */
  readonly retries?: number;
  /** The rate that the look counts against; the account's ordinary one when absent. */
  readonly pool?: RatePool | undefined;
  /** Steady milliseconds by which an answer is of use; a gateway that asks to wait longer ends the look at once. Two minutes when absent. */
  readonly deadlineMs?: number | undefined;
  /** How long the look may wait for others to share its request, in milliseconds. */
  readonly patienceMs?: number;
  /** Until when "not found" may only mean "not known yet", Unix milliseconds. */
  readonly retryNotFoundUntilMs?: number | undefined;
}

export interface LookerOptions {
  readonly client: Client;
  readonly family: TaskFamily;
  readonly clock: Clock;
  readonly account: AccountType;
  /** Uniform in [0, 1). */
  readonly random: () => number;
  /** A pool's rate as all processes keep it; each process keeps its own when absent. */
  readonly rateOf?: ((pool: string) => SharedRate) | undefined;
}

/** How long to wait before a task that is not known yet is asked for again. */
const YOUNG_PAUSE_MS = 2_000;

/** Makes a looker: one for each family and gateway in a process, or the rates are not shared. */
export function createLooker(options: LookerOptions): Looker {
  const { client, family, clock, account, random } = options;
  const ordinary = poolOf({ family: family.name, settings: {} }, account);
  const followed = new Map<string, number>();
  const lanes = new Map<string, LookLane>();
  const laneOf = (pool: RatePool): LookLane => {
    const known = lanes.get(pool.name);
    if (known) return known;
    const { requestsPerMinute } = pool;
    const shared = options.rateOf?.(pool.name);
    const made = new LookLane({ client, family, clock, random, requestsPerMinute, followed, shared });
    lanes.set(pool.name, made);
    return made;
  };
  return {
    follow(id) {
      followed.set(id, (followed.get(id) ?? 0) + 1);
      let isFollowed = true;
      return () => {
        if (!isFollowed) return;
        isFollowed = false;
        const left = (followed.get(id) ?? 1) - 1;
        if (left > 0) followed.set(id, left);
        else followed.delete(id);
        for (const lane of lanes.values()) lane.wake();
      };
    },
    async look(id, options) {
      const lane = laneOf(options.pool ?? ordinary);
      // A single task's own endpoint says 404, which the client waits out; a list leaves the task out.
      const untilMs = family.query.maxIds > 1 ? options.retryNotFoundUntilMs : undefined;
      const youngUntilMs = untilMs === undefined ? 0 : clock.steady() + (untilMs - clock.now());
      for (;;) {
        try {
          return await lane.look(id, options);
        } catch (error) {
          const isYoung = clock.steady() + YOUNG_PAUSE_MS < youngUntilMs;
          if (!isYoung || !(error instanceof GwError) || error.kind !== 'not_found') throw error;
          await clock.sleep(YOUNG_PAUSE_MS, options.signal);
        }
      }
    },
  };
}
