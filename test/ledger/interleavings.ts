import { EventEmitter, once } from 'node:events';
import * as path from 'node:path';
import { Worker } from 'node:worker_threads';
import { bundle } from './bundle.ts';
import { AT_A_STEP, isLeft, RUNNING, tell } from './turns.ts';

// Two actors use one ledger, each in a thread that stops before every step of a lock, an append, a rewrite or a claim. This
// file decides who takes the next step, so that it can try all orders of the steps and leaves none to chance.

const LONGEST_STEP_MS = 10_000;
/** Index in `shared` at which an actor records that it threw an error. */
const FAILED = 3;

export interface Orders {
  readonly scenes: readonly [string, string];
  /** Prepares a run before its first step. Returns the directory and the job that both actors use. */
  readonly setUp: () => { readonly dir: string; readonly key: string };
  /** Checks what must hold after each run. */
  readonly check: (
    place: { readonly dir: string; readonly key: string },
    shared: Int32Array,
  ) => Promise<void>;
  /** How often a run may switch away from an actor that has not ended. */
  readonly switches: number;
}

/** Tries all orders of the steps of two actors with at most this many switches. Returns the number of runs. */
export async function goThrough({ scenes, setUp, check, switches }: Orders): Promise<number> {
  const state = new Int32Array(new SharedArrayBuffer(8));
  const shared = new Int32Array(new SharedArrayBuffer(16));
  const file = bundle(path.join(import.meta.dirname, 'scripts', 'actor.ts'));
  const actors = scenes.map((_, at) => new Worker(file, { workerData: { state, shared, at } }));
  await Promise.all(actors.map((actor) => new Promise((online) => actor.once('online', online))));
  const failed = new EventEmitter();
  for (const actor of actors) actor.on('message', (problem) => failed.emit('problem', problem));
  const waiting: (readonly number[])[] = [[]];
  let runs = 0;
  try {
    for (let first = waiting.pop(); first !== undefined; first = waiting.pop()) {
      shared.fill(0);
      const place = setUp();
      const { chosen, others } = run({ actors, scenes, state, place, first });
      if (shared[FAILED] !== 0) {
        const [problem] = await once(failed, 'problem');
        throw new Error(`in the order ${chosen.join('')}: ${problem}`);
      }
      runs += 1;
      try {
        await check(place, shared);
      } catch (error) {
        throw new Error(`in the order ${chosen.join('')}: ${String(error)}`, { cause: error });
      }
      // Queue each point after the given beginning at which the other actor could have gone on.
      for (const { at, other } of others) {
        const next = [...chosen.slice(0, at), other];
        if (at >= first.length && switchesIn(next) <= switches + 1) waiting.push(next);
      }
    }
  } finally {
    await Promise.all(actors.map((actor) => actor.terminate()));
  }
  return runs;
}

interface RunInput {
  readonly actors: readonly Worker[];
  readonly scenes: readonly string[];
  readonly state: Int32Array;
  readonly place: { readonly dir: string; readonly key: string };
  /** The actor of each of the first steps. */
  readonly first: readonly number[];
}

function run({ actors, scenes, state, place, first }: RunInput) {
  const chosen: number[] = [];
  const others: { readonly at: number; readonly other: number }[] = [];
  for (const [at, actor] of actors.entries()) {
    Atomics.store(state, at, RUNNING);
    actor.postMessage({ scene: scenes[at], ...place });
    settle(state, at);
  }
  for (;;) {
    const ready = [0, 1].filter((at) => Atomics.load(state, at) === AT_A_STEP);
    if (ready.length === 0) return { chosen, others };
    const wanted = first[chosen.length] ?? chosen.at(-1) ?? 0;
    const now = ready.includes(wanted) ? wanted : 1 - wanted;
    if (ready.length === 2) others.push({ at: chosen.length, other: 1 - now });
    chosen.push(now);
    tell(state, now, RUNNING);
    settle(state, now);
  }
}

/** Waits until an actor stops before its next step or has ended. */
function settle(state: Int32Array, at: number): void {
  if (!isLeft(state, at, RUNNING, LONGEST_STEP_MS)) throw new Error(`actor ${at} neither steps nor ends`);
}

const switchesIn = (order: readonly number[]): number =>
  order.filter((actor, at) => at > 0 && actor !== order[at - 1]).length;
