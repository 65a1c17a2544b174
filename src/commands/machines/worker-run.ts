import { randomUUID } from 'node:crypto';
import type { Outcome } from '../../command.ts';
import type { Context } from '../../context.ts';
import { Ended, GwError, Interrupted, usage } from '../../errors.ts';
import { formatOf } from '../../formats.ts';
import { once } from '../../host.ts';
import { LIKELY_RUN_MS } from '../../jobs/create/slots.ts';
import { spedUp } from '../../jobs/watch/poll.ts';
import { createTurns, SAVES_AT_ONCE } from '../../jobs/watch/turns.ts';
import type { Job } from '../../ledger/event.ts';
import { BEAT_MS } from '../../machines/board.ts';
import { unlessAborted } from '../../machines/door.ts';
import type { Given, Put } from '../../machines/engine.ts';
import { PoolRate } from '../../machines/rates.ts';
import {
  type Changes,
  closingHint,
  type RowRecord,
  type Step,
  toldAs,
  unknownError,
} from '../../machines/row.ts';
import type { Actor } from '../../machines/store.ts';
import { type Desk, workOn } from '../../machines/work.ts';
import { endsCreates, silent, under } from '../batch/row-command.ts';
import type { JobResult } from '../video/follow-job.ts';
import { createFollowers } from '../video/followers.ts';
import { RowHands, toldError } from './hands.ts';
import { hearOfRows } from './heard.ts';
import { giveOutNext } from './next-rows.ts';
import { Counters, countedAccess } from './observe.ts';
import { type OpenQueue, type RedisWords, withRedis } from './open.ts';
import { endOf } from './row-end.ts';

// One worker: it takes rows from the queue and works on each separately, until it is told to end.

/** Longest time for handing rows back after a signal. */
const HAND_BACK_MS = 9_000;
const LOOK_MS = 250;
/** How often, and with which pause, a row that was given up is checked again. */
const FOUND_TRIES = 5;
const FOUND_PAUSE_MS = 500;
/** How often a row is handed back if a newer gw wrote it or its dependents cannot be queued, and the pause between. */
const MOST_TAKINGS = 3;
const LEFT_TO_OTHERS_MS = 2_000;
const KEPT_LOOK_MS = 2_000;
/** How long a row that this worker declined is left to other workers. */
const DECLINED_MS = 30_000;
/** How long a worker that creates no more rows waits for outputs to save. */
const LAST_SAVES_MS = 3_000;

export interface WorkerFlags extends RedisWords {
  readonly concurrency?: number;
  readonly out?: string | undefined;
  readonly root?: string;
}

export class WorkerRun {
  /** The context that all rows share, with their followers. */
  readonly rowCtx: Context;
  readonly #rates: ReadonlyMap<string, PoolRate>;
  readonly #outcomes: Outcome<JobResult>[] = [];
  readonly counters = new Counters();
  /** The rows that are worked on, by key, each with the controller that aborts this work. */
  readonly #underWay = new Map<
    string,
    { readonly ticket: string; readonly own: AbortController; readonly ended: Promise<unknown> }
  >();
  /** The number of rows whose work is not waiting for Redis. */
  #busy = 0;
  #stop: unknown;
  /** Why this worker creates no more tasks; it ends once it has saved the outputs of its rows. */
  #noCreates: GwError | undefined;
  /** What blocks this worker, one sentence each, with the monotonic time until which it is so. */
  readonly #stands = new Map<string, number>();
  #saidOfStands = new Set<string>();
  /** Rows that lack something on this worker, with the monotonic time until which others may take them. */
  readonly #declined = new Map<string, number>();
  #wake = () => {};

  constructor(
    readonly queue: OpenQueue,
    readonly flags: WorkerFlags,
    private readonly ctx: Context,
  ) {
    const { io } = ctx;
    const { door, prefix } = queue.store;
    this.#rates = new Map(queue.pools.map((pool) => [pool.name, new PoolRate(door, prefix, pool)]));
    // Without bars, a row prints one line for its task and one for its end.
    const quiet = { ...io, note: () => {}, progress: () => (io.mode.bars ? io.progress() : silent) };
    // The account type of the queue decides the limits, not this machine's setting.
    const settings = once(async () => {
      const own = await ctx.settings();
      return { ...own, account: { ...own.account, value: queue.account } };
    });
    const gateway = once(async () => countedAccess(await ctx.gateway(), this.counters, ctx.clock));
    const gatewayOf = async (job: Job) => countedAccess(await ctx.gatewayOf(job), this.counters, ctx.clock);
    const own = { ...ctx, io: quiet, settings, gateway, gatewayOf };
    const shared = { turns: createTurns(SAVES_AT_ONCE), rateOf: (pool: string) => this.#rate(pool) };
    this.rowCtx = { ...own, followers: createFollowers(own, shared) };
    ctx.signal.addEventListener('abort', () => this.#wake(), { once: true });
  }

  reason(): unknown {
    return this.#stop ?? this.ctx.signal.reason;
  }

  #isOver(): boolean {
    return this.ctx.signal.aborted || this.#stop !== undefined;
  }

  #rate(pool: string): PoolRate {
    const rate = this.#rates.get(pool);
    if (!rate) throw new Error(`no pool ${pool}`);
    return rate;
  }

  /** Yields the outcome of each row until the worker is told to end; running rows are then handed back. */
  async *outcomes(): AsyncGenerator<Outcome<JobResult>> {
    const { engine, host } = this.queue;
    const { clock } = this.ctx;
    engine.start({
      host,
      atOnce: this.flags.concurrency,
      savesAtOnce: SAVES_AT_ONCE,
      work: (given) => this.#work(given),
      onLost: (tickets) => {
        for (const { ticket, own } of this.#underWay.values())
          if (tickets.includes(ticket)) own.abort(new Error('the queue has given the row to another'));
      },
      onForeign: (error) => this.stopFor(error, 'creates'),
    });
    const { timeoutMs } = await this.ctx.settings();
    void this.#beat();
    await hearOfRows(this.queue, this.ctx).catch(() => {});
    const { door } = this.queue.store;
    let busyAtMs = clock.steady();
    try {
      while (!this.#isOver()) {
        yield* this.#outcomes.splice(0);
        if (this.#underWay.size > 0) busyAtMs = clock.steady();
        const isIdle = clock.steady() - busyAtMs > LAST_SAVES_MS;
        if (door.awayMs() > timeoutMs.value && this.#busy === 0) this.#stop = door.gone();
        else if (this.#noCreates && isIdle) this.#stop = this.#noCreates;
        else await Promise.race([clock.sleep(LOOK_MS), new Promise<void>((wake) => (this.#wake = wake))]);
      }
    } finally {
      // If stdout was closed, the worker ends as after a signal.
      if (!this.#isOver()) this.#stop = new Ended('SIGTERM');
      for (const { own } of this.#underWay.values()) own.abort(this.reason());
      await this.#handBack();
    }
    yield* this.#outcomes.splice(0);
  }

  /** Sends heartbeats until Redis is given up or this worker ends. */
  async #beat(): Promise<void> {
    const { board, host, account, engine } = this.queue;
    const mine = (await this.ctx.settings()).account.value;
    while (!this.#isOver()) {
      const nowMs = this.ctx.clock.steady();
      for (const times of [this.#stands, this.#declined])
        for (const [of, untilMs] of times) if (untilMs < nowMs) times.delete(of);
      const stands = [...this.#stands.keys()];
      if (this.counters.isGatewayAway)
        stands.push('the gateway does not answer: nothing is made until it does');
      for (const what of stands)
        if (!this.#saidOfStands.has(what)) this.ctx.io.note(withRedis(what, this.flags));
      this.#saidOfStands = new Set(stands);
      await board.say(host, { account, stands }).catch(() => {});
      // The machine that hands rows over may have another account type.
      const now = (await engine.account().catch(() => account)) ?? account;
      const again = now === account ? '' : ': start this worker again to use them';
      const what = `it is set to a ${mine} account, and the limits of ${now} hold${again}`;
      if (now !== mine || now !== account) this.#stands.set(what, this.ctx.clock.steady() + 2 * BEAT_MS);
      await this.ctx.clock.sleep(BEAT_MS);
    }
  }

  /** Stops creates of a pool for the time that the gateway asked for. */
  holdCreates(pool: string, ms: number): void {
    this.#rate(pool).holdCreates(ms);
    const until = new Date(this.ctx.clock.now() + ms).toISOString();
    const what = `no ${pool} task is made until ${until}: the gateway answered HTTP 429`;
    this.#stands.set(what, this.ctx.clock.steady() + ms);
  }

  /** Stops creates, or all work, after an error that every further one would get too. */
  stopFor(error: unknown, what: 'creates' | 'all'): void {
    if (what === 'all' || !(error instanceof GwError)) this.#stop ??= error;
    else if (!this.#noCreates) {
      this.#noCreates = error;
      this.queue.engine.closeRoom();
      const says = `no more rows are begun here, and what runs is brought home: ${error.message}`;
      this.#stands.set(says, Number.POSITIVE_INFINITY);
    }
    this.#wake();
  }

  async #handBack(): Promise<void> {
    const { engine, store, board, account } = this.queue;
    const { clock, host } = this.ctx;
    let told: Promise<void>;
    if (this.#stop instanceof GwError) {
      const { message, hint } = toldError(this.#stop, this.ctx);
      const what = [`it has ended: ${message}`, hint].filter(Boolean).join('; ').slice(0, 1_000);
      told = board.say(this.queue.host, { account, stands: [what], ended: true });
    } else told = board.leave(this.queue.host);
    let isDone = false;
    const stopped = Promise.all([engine.stop(), told.catch(() => {})]).then(() => {
      isDone = true;
    });
    const isAway = () => store.door.awayMs() > 0 && this.#busy === 0;
    // Nobody hurries a worker whose stdout closed, so it waits for the answers to its creates.
    const isAwaited = () => this.reason() instanceof Ended && this.#busy > 0;
    const endMs = clock.steady() + HAND_BACK_MS;
    while (!isDone && (isAwaited() || (clock.steady() < endMs && !isAway())))
      await Promise.race([stopped, clock.sleep(LOOK_MS)]);
    store.door.end();
    if (isDone) return;
    // An unanswered request or an unreachable Redis must not keep the process alive.
    const { io } = this.ctx;
    if (this.#busy > 0)
      io.warn('a create was not answered in time: its row ends as an unknown outcome', 'urgent');
    const reason = this.reason();
    io.error(reason);
    await io.drain().catch(() => {});
    host.endNow(reason instanceof GwError || reason instanceof Interrupted ? reason.exitCode : 1);
  }

  /** If this process still works on a row that the queue had given up, that work ends first: it knows what was sent. */
  async #work(given: Given): Promise<Put> {
    const { key } = given;
    await this.#underWay.get(key)?.ended;
    const own = new AbortController();
    if (this.#isOver()) own.abort(this.reason());
    const entry = { ticket: given.ticket, own, ended: this.#workOn(given, own.signal) };
    this.#underWay.set(key, entry);
    try {
      if ((await entry.ended) === 'back') return 'back';
      // The row stays on its queue until its dependents are queued, so that after a kill another worker queues them.
      return await giveOutNext(key, this.queue).then(
        () => 'done',
        () => (given.attempt < MOST_TAKINGS ? 'back' : 'done'),
      );
    } finally {
      if (this.#underWay.get(key) === entry) this.#underWay.delete(key);
    }
  }

  async #workOn(given: Given, signal: AbortSignal): Promise<Put> {
    const { store, host } = this.queue;
    const { clock } = this.ctx;
    const { key, stage, fence, attempt } = given;
    const actor = { host, fence, attempt, announced: randomUUID() };
    let desk: Desk | undefined;
    let isAnnounced = false;
    const atWork =
      <A extends unknown[], T>(step: string, work: (...args: A) => Promise<T>) =>
      async (...args: A) => {
        const begunMs = clock.steady();
        this.#busy += 1;
        try {
          return await work(...args);
        } finally {
          this.#busy -= 1;
          this.counters.steps.add(step, (clock.steady() - begunMs) / 1000);
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
      if (this.#declined.has(key)) {
        await clock.sleep(LEFT_TO_OTHERS_MS, signal);
        return 'back';
      }
      const { result, record } = await store.take(key, actor);
      if (result === 'newer') return await this.#leaveToNewer(key, attempt);
      if ((result !== 'ok' && result !== 'over') || !record) return 'done';
      this.ctx.events?.ofRow(record.row);
      desk = this.#desk(record, given, actor);
      isAnnounced = record.state === 'sending';
      if (record.fault) {
        // A row that this gw cannot read fails with its reason.
        const why = record.error?.message ?? 'it cannot be read';
        if (result === 'ok') await desk.step('failed', { error: record.error });
        if (result === 'ok') this.show({ error: under(key, usage(why)) });
        return 'done';
      }
      const turn = () => this.#rate(record.pool).turn((ms) => clock.sleep(ms, signal));
      const hands = new RowHands(this, signal, () => waiting(turn()));
      const put = await workOn(stage, record, desk, {
        ...hands,
        onTakenAway: (_, why) => this.ctx.io.warn(`${key}: ${why === 'gone' ? forgotten : passedOn}`),
        create: atWork('create', (row, beforeSend) =>
          hands.create(row, (job) => {
            isAnnounced = true;
            return waiting(unlessAborted(beforeSend(job), signal));
          }),
        ),
        follow: atWork('follow', hands.follow),
        save: atWork('save', hands.save),
      });
      return put === 'done' && stage === 'task' ? await this.#keepSlot(given, hands, signal) : put;
    } catch (error) {
      if (!signal.aborted) this.show({ error: under(key, error) });
      if (!signal.aborted && desk) return await this.#endUndone(desk, isAnnounced, error);
      await clock.sleep(LOOK_MS);
      return 'back';
    }
  }

  /** Keeps the slot of a task until it has ended or has probably ended, whatever the row's outcome. */
  async #keepSlot({ key, round }: Given, { hasEnded }: RowHands, signal: AbortSignal): Promise<Put> {
    const { store, pools } = this.queue;
    let looking: Promise<boolean> | undefined;
    let text = '';
    try {
      for (;;) {
        const [record] = await store.read([key]);
        // A worker with a --concurrency would have no place left for other rows.
        const isOurs =
          record?.round === round && endOf(record)?.mayRun && this.flags.concurrency === undefined;
        if (!isOurs || !pools.find(({ name }) => name === record.pool)?.concurrentTasks) return 'done';
        let leftMs = Number.POSITIVE_INFINITY;
        if (record.state === 'unknown') {
          const { client } = await this.rowCtx.gateway();
          leftMs = spedUp(LIKELY_RUN_MS, client.speed()) - (await store.restedMs(key));
        } else looking ??= hasEnded(record);
        if (leftMs <= 0) return 'done';
        if (signal.aborted || this.#noCreates) return 'back';
        const why = record.state === 'unknown' ? closingHint(record) : 'its task may still run';
        text = `a slot of ${record.pool} is kept for ${key}: ${why}`;
        this.#stands.set(text, Number.POSITIVE_INFINITY);
        const pause = this.ctx.clock.sleep(KEPT_LOOK_MS, signal);
        const isEnded = await Promise.race(looking ? [looking, pause] : [pause]);
        pause.catch(() => {});
        if (isEnded === true) return 'done';
        if (isEnded === false) looking = undefined;
      }
    } catch (error) {
      if (signal.aborted) return 'back';
      throw error;
    } finally {
      this.#stands.delete(text);
    }
  }

  /** A fault of this machine stops a row, and perhaps this worker: another gets it, or it fails with the reason. */
  async #endUndone(desk: Desk, isAnnounced: boolean, error: unknown): Promise<Put> {
    if (isAnnounced) {
      const told = toldError(error, this.ctx);
      const lost = await desk.step('lost', { error: { ...told, ...unknownError(told.message) } });
      // The queue knows the task of this sending already, so the row can be continued.
      if (lost !== 'over') return 'done';
    }
    if (endsCreates(error)) this.stopFor(error, 'all');
    else if (!(await desk.mayDoElsewhere())) {
      await desk.step('failed', { error: toldError(error, this.ctx) });
      return 'done';
    }
    return 'back';
  }

  /** Leaves a row that a newer gw wrote to newer workers, if there are any, without holding a slot for long. */
  async #leaveToNewer(key: string, attempt: number): Promise<Put> {
    const words = await this.queue.board.heard();
    if (attempt < MOST_TAKINGS && words.some(({ format, ended }) => !ended && format > formatOf('rows'))) {
      await this.ctx.clock.sleep(LEFT_TO_OTHERS_MS);
      return 'back';
    }
    const hint = 'upgrade gw here, or start a newer gw worker and run the batch again';
    this.show({ error: usage(`${key}: its row was written by a newer gw, and is left as it is`, hint) });
    return 'done';
  }

  #desk(record: RowRecord, { key, keep }: Given, actor: Actor): Desk {
    const { store, engine, host } = this.queue;
    const { clock } = this.ctx;
    return {
      step: async (step, changes) => {
        // Renews the lease, so that no other worker gets the row while this request may leave.
        if (step === 'sending' && !(await keep())) return 'fenced';
        const result = await store.step(key, step, actor, changes);
        if (result === 'ok') this.#tell(key, step, changes);
        return result;
      },
      toSave: () => engine.add([{ key, round: record.round, queue: 'save' }]),
      isAwayBefore: (step) => store.door.isAwayBefore(step),
      found: (made) => this.#found(record, made),
      mayDoElsewhere: async () => {
        const declined = [...new Set([...(record.declined ?? []), host])];
        const others = (await this.queue.board.heard()).filter(
          ({ host: of, ended }) => !ended && !declined.includes(of),
        );
        if (others.length === 0) return false;
        await store.step(key, 'handed_back', actor, { declined });
        this.#declined.set(key, clock.steady() + DECLINED_MS);
        await clock.sleep(LEFT_TO_OTHERS_MS);
        return true;
      },
      neverSent: async (error) => {
        if ((await store.step(key, 'nothing_made', actor, { error })) === 'ok') return;
        const { announced } = actor;
        if (await this.#clears(key, 'never_sent', { host, announced }, { error: neverSent }))
          this.ctx.io.note(`${key}: it was never sent; gw batch run with --redis puts it back`);
      },
    };
  }

  async #found({ row: { key }, round, pool }: RowRecord, made: Parameters<Desk['found']>[0]) {
    const { engine, host } = this.queue;
    const { id, status } = made;
    const changes = { id, status, round: round + 1 };
    const [step, more] =
      made.kind === 'saved'
        ? (['brought', { files: made.files, host }] as const)
        : (['cleared', { job: made.job }] as const);
    if (!(await this.#clears(key, step, { host }, { ...changes, ...more }))) return false;
    if (made.kind === 'accepted') await engine.add([{ key, round: changes.round, queue: pool }]);
    this.ctx.io.note(`${key}: ${id ?? 'it'} was made after all`);
    return true;
  }

  /** Applies a step to a row that its worker may be about to call unknown, so it retries a few times. */
  async #clears(key: string, step: Step, actor: Actor, changes: Changes): Promise<boolean> {
    for (let tries = 0; tries < FOUND_TRIES; tries += 1) {
      if ((await this.queue.store.step(key, step, actor, changes)) === 'ok') return true;
      await this.ctx.clock.sleep(FOUND_PAUSE_MS);
    }
    return false;
  }

  #tell(key: string, step: Step, { id, files = [] }: Changes = {}): void {
    if (step === 'accepted') this.ctx.io.note(`${key}: task ${id}`);
    if (step === 'saved') this.counters.downloads += files.length;
    if (step === 'saved') this.ctx.io.note(`${key}: saved ${files.map(({ path: file }) => file).join(', ')}`);
    if (step === 'handed_back') this.ctx.io.note(`${key}: handed back`);
  }

  show(outcome: Outcome<JobResult>): void {
    this.#outcomes.push(outcome);
    this.#wake();
  }
}

const forgotten = 'the queue does not know this row any more; it is finished on this machine alone';
const passedOn = 'another worker has gone on with this row; what this one knows is in its ledger';
const neverSent = toldAs(
  'partial',
  'it was called unknown, and its worker has said since that it was never sent',
);
