import * as path from 'node:path';
import type { Outcome } from '../../command.ts';
import type { Context } from '../../context.ts';
import { GwError } from '../../errors.ts';
import { once } from '../../host.ts';
import { createTurns, SAVES_AT_ONCE } from '../../jobs/watch/turns.ts';
import type { Given, Put } from '../../machines/engine.ts';
import { PoolRate } from '../../machines/rates.ts';
import type { Changes, RowRecord, Step } from '../../machines/row.ts';
import { type Desk, workOn } from '../../machines/work.ts';
import { silent } from '../batch/row-command.ts';
import type { JobResult } from '../video/follow-job.ts';
import { createFollowers } from '../video/followers.ts';
import { handsOf } from './hands.ts';
import { type OpenQueue, ratePoolOf } from './open.ts';

// One worker: rows as the queue gives them out, each worked on by hands of its own, until it is told to end.

/** Longest time for handing back what runs, once a signal came. */
const HAND_BACK_MS = 9_000;
const LOOK_MS = 250;
/** How often, and how soon, a row that was given up is looked at again. */
const FOUND_TRIES = 5;
const FOUND_PAUSE_MS = 500;

type Found = Parameters<Desk['found']>[0];

interface WorkerFlags {
  readonly concurrency?: number;
  readonly out?: string;
  readonly root?: string;
}

/** A worker at work. */
export class WorkerRun {
  readonly #queue: OpenQueue;
  readonly #flags: WorkerFlags;
  readonly #ctx: Context;
  /** For the rows. */
  readonly #rowCtx: Context;
  readonly #rates = new Map<string, PoolRate>();
  readonly #outcomes: Outcome<JobResult>[] = [];
  /** What ends the work on a row, by its key. */
  readonly #underWay = new Map<string, AbortController>();
  /** Rows whose work here does not wait for Redis. */
  #busy = 0;
  #stop: unknown;
  #wake = () => {};

  constructor(queue: OpenQueue, flags: WorkerFlags, ctx: Context) {
    this.#queue = queue;
    this.#flags = flags;
    this.#ctx = ctx;
    const { io } = ctx;
    // Without bars a row is told in a line for its task and one for its end.
    const quiet = { ...io, note: () => {}, progress: () => (io.mode.bars ? io.progress() : silent) };
    // The limits that hold are those of the queue's account, whatever this machine is set to.
    const settings = once(async () => {
      const own = await ctx.settings();
      return { ...own, account: { ...own.account, value: queue.account } };
    });
    const own = { ...ctx, io: quiet, settings };
    const shared = { turns: createTurns(SAVES_AT_ONCE), rateOf: (pool: string) => this.#rate(pool) };
    this.#rowCtx = { ...own, followers: createFollowers(own, shared) };
    ctx.signal.addEventListener('abort', () => this.#wake(), { once: true });
  }

  /** Why it ended. */
  reason(): unknown {
    return this.#stop ?? this.#ctx.signal.reason;
  }

  #isOver(): boolean {
    return this.#ctx.signal.aborted || this.#stop !== undefined;
  }

  #rate(pool: string): PoolRate {
    const { store, account } = this.#queue;
    const known = this.#rates.get(pool);
    if (known) return known;
    const made = new PoolRate(store.redis, store.prefix, ratePoolOf(pool, account));
    this.#rates.set(pool, made);
    return made;
  }

  /** What came of each row, until it is told to end; then what runs is handed back. */
  async *outcomes(): AsyncGenerator<Outcome<JobResult>> {
    const { engine, pools, host } = this.#queue;
    const { clock } = this.#ctx;
    engine.start({
      ...{ pools, host, atOnce: this.#flags.concurrency, savesAtOnce: SAVES_AT_ONCE },
      work: (given) => this.#work(given),
      onLost: (key) => this.#underWay.get(key)?.abort(new LostRow()),
    });
    const { timeoutMs } = await this.#ctx.settings();
    while (!this.#isOver()) {
      yield* this.#outcomes.splice(0);
      const awayMs = this.#queue.store.awayMs();
      if (awayMs > timeoutMs.value && this.#busy === 0) {
        this.#stop = new GwError('unavailable', `Redis has been away for ${Math.round(awayMs / 1000)} s`, {
          hint: 'what was created is in the ledger, and its rows go on when a worker finds Redis again',
        });
      } else await Promise.race([clock.sleep(LOOK_MS), new Promise<void>((wake) => (this.#wake = wake))]);
    }
    for (const row of this.#underWay.values()) row.abort(this.reason());
    await this.#handBack();
    yield* this.#outcomes.splice(0);
  }

  async #handBack(): Promise<void> {
    const { engine, store } = this.#queue;
    const { clock, host } = this.#ctx;
    let isDone = false;
    const stopped = engine.stop().then(() => {
      isDone = true;
    });
    const isAway = () => store.awayMs() > 0 && this.#busy === 0;
    for (const endMs = clock.steady() + HAND_BACK_MS; !isDone && clock.steady() < endMs && !isAway(); ) {
      await Promise.race([stopped, clock.sleep(LOOK_MS)]);
    }
    store.redis.disconnect();
    if (isDone) return;
    // A request that is not answered in time, or a Redis that is not there, holds the process no longer.
    const { io } = this.#ctx;
    if (this.#busy > 0)
      io.warn('a create was not answered in time: its row ends as an unknown outcome', 'urgent');
    this.#ctx.io.error(this.reason());
    await io.drain().catch(() => {});
    const reason = this.reason();
    host.endNow(
      typeof reason === 'object' && reason !== null && 'exitCode' in reason ? Number(reason.exitCode) : 1,
    );
  }

  async #work(given: Given): Promise<Put> {
    const { store, engine, host } = this.#queue;
    const { key, stage, fence, attempt } = given;
    const actor = { host, fence, attempt };
    // Work of this process on the row that the queue has given up is ended first.
    this.#underWay.get(key)?.abort(new LostRow());
    const own = new AbortController();
    this.#underWay.set(key, own);
    const { signal } = own;
    if (this.#isOver()) own.abort(this.reason());
    const atWork =
      <A extends unknown[], T>(work: (...args: A) => Promise<T>) =>
      async (...args: A) => {
        this.#busy += 1;
        try {
          return await work(...args);
        } finally {
          this.#busy -= 1;
        }
      };
    const waiting = async <T>(asked: Promise<T>): Promise<T> => {
      this.#busy -= 1;
      try {
        return await asked;
      } finally {
        this.#busy += 1;
      }
    };
    try {
      const { result, record } = await store.take(key, actor);
      if (result !== 'ok' || !record) return 'done';
      const desk: Desk = {
        step: async (step, changes) => {
          const result = await store.step(key, step, actor, changes);
          if (result === 'ok') this.#tell(key, step, changes);
          return result;
        },
        toSave: () => engine.addToSave(key, record.round),
        isAway: () => store.awayMs() > 0,
        found: (made) => this.#found(record, made),
      };
      const hands = handsOf({
        ctx: this.#rowCtx,
        root: path.resolve(this.#ctx.host.cwd, this.#flags.root ?? '.'),
        out: this.#flags.out,
        signal,
        turn: () => waiting(this.#rate(record.pool).turn((ms) => this.#ctx.clock.sleep(ms, signal))),
        hold: (ms) => this.#rate(record.pool).hold(ms),
        show: (outcome) => this.#show(outcome),
        onStop: (error) => {
          this.#stop ??= error;
          this.#wake();
        },
        onTakenAway: (row, why) => this.#takenAway(row, why),
      });
      return await workOn(stage, record, desk, {
        ...hands,
        create: atWork((row, beforeSend) =>
          hands.create(row, () => waiting(unlessAborted(beforeSend(), signal))),
        ),
        follow: atWork(hands.follow),
        save: atWork(hands.save),
      });
    } catch (error) {
      if (!signal.aborted) this.#show({ error });
      await this.#ctx.clock.sleep(LOOK_MS);
      return 'back';
    } finally {
      if (this.#underWay.get(key) === own) this.#underWay.delete(key);
    }
  }

  /** The row may just be about to be called unknown, by the worker that was given it. */
  async #found({ row, round, pool }: RowRecord, made: Found): Promise<boolean> {
    const { store, engine, host } = this.#queue;
    for (let tries = 0; tries < FOUND_TRIES; tries += 1) {
      const { id, status } = made;
      const next = round + 1;
      const result =
        made.kind === 'saved'
          ? await store.step(
              row.key,
              'brought',
              { host },
              { files: made.files, status, id, host, round: next },
            )
          : await store.step(row.key, 'cleared', { host }, { id, status, job: made.job, round: next });
      if (result === 'ok') {
        if (made.kind === 'accepted') await engine.add([{ key: row.key, round: next, queue: pool }]);
        this.#ctx.io.note(`${row.key}: ${id ?? 'it'} was made after all`);
        return true;
      }
      await this.#ctx.clock.sleep(FOUND_PAUSE_MS);
    }
    return false;
  }

  #tell(key: string, step: Step, { id, files = [] }: Changes = {}): void {
    if (step === 'accepted') this.#ctx.io.note(`${key}: task ${id}`);
    if (step === 'saved')
      this.#ctx.io.note(`${key}: saved ${files.map(({ path: file }) => file).join(', ')}`);
    if (step === 'handed_back') this.#ctx.io.note(`${key}: handed back`);
  }

  #takenAway({ row }: RowRecord, why: string): void {
    const text =
      why === 'gone'
        ? `${row.key}: the queue does not know this row any more; it is finished on this machine alone`
        : `${row.key}: another worker has gone on with this row; what this one knows is in its ledger`;
    this.#ctx.io.warn(text);
  }

  #show(outcome: Outcome<JobResult>): void {
    this.#outcomes.push(outcome);
    this.#wake();
  }
}

/** The queue has given the row to another, because this worker did not answer in time. */
class LostRow extends Error {
  override readonly name = 'LostRow';
}

/** Rejects with the signal's reason as soon as it is aborted; the step itself may still be made. */
function unlessAborted(step: Promise<void>, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const abort = () => reject(signal.reason);
    if (signal.aborted) abort();
    signal.addEventListener('abort', abort, { once: true });
    step.then(resolve, reject).finally(() => signal.removeEventListener('abort', abort));
  });
}
