import { placeText, type Row } from '../../batch/rows.ts';
import type { Outcome } from '../../command.ts';
import type { Context } from '../../context.ts';
import { type ErrorKind, errorKinds, GwError, usage } from '../../errors.ts';
import { chunksOf } from '../../host.ts';
import { reportError } from '../../io/error-lines.ts';
import { oneLine } from '../../io/escape.ts';
import { counted } from '../../io/quantity-text.ts';
import {
  type Changes,
  closingHint,
  isEnd,
  isOver,
  nextAttempt,
  type RowRecord,
  type Step,
  type ToldError,
  tellsUnknown,
  toldAs,
  unknownError,
} from '../../machines/row.ts';
import { RowOutputs } from '../../shots/row-outputs.ts';
import { showingOnly, warnOfChanged } from '../batch/check.ts';
import { runCommand, soundRows } from '../batch/flags.ts';
import { digestOfFields, isOpen, type KnownRow } from '../batch/known-rows.ts';
import { familyOf, placeOf } from '../batch/places.ts';
import { namedBy, type RowResult, RowSums, rowResult } from '../batch/report.ts';
import { type RowFiles, rowChecker, under } from '../batch/row-command.ts';
import { type Batch, resultOfKnown } from '../batch/run.ts';
import { endedBy } from '../video/follow-job.ts';
import { carriedCheck, carriedJob, forOthers, rowForQueue } from './carried.ts';
import { toldError } from './hands.ts';
import { hearOfRows } from './heard.ts';
import { Memory } from './memory.ts';
import { giveOut, neededBy } from './next-rows.ts';
import { type OpenQueue, openQueue, type RedisWords, redisTyped, withRedis } from './open.ts';
import { AT_ONCE, standsOf, takeOut } from './queue-status.ts';
import { endOf, ends } from './row-end.ts';

// A batch on the queue, seen from the machine with the manifest: it hands rows over and follows them.

/** How often events are read, and how often all rows are read in case an event was missed. */
const EVENTS_MS = 500;
const RESCAN_MS = 10_000;

export type FollowedQueue = Awaited<ReturnType<typeof openFollower>>;

export async function openFollower(words: RedisWords, name: string, ctx: Context) {
  const memory = await Memory.open(name, ctx);
  const queue = await openQueue(words, 'follower', ctx);
  // An error of Redis is ignored here; reading the rows will report it.
  await hearOfRows(queue, ctx).catch(() => {});
  return {
    /** True if the queue has a row that it will not create again. */
    async isMade(key: string): Promise<boolean> {
      const [record] = await queue.store.read([key], true);
      return record !== undefined && !['waiting', 'failed', 'cancelled'].includes(record.state);
    },
    /** Hands the rows over and follows them, whichever machine works on them. */
    run: (batch: Batch) => new BatchOnQueue(batch, queue, memory).outcomes(),
    close: (): Promise<void> => queue.close().catch(() => {}),
  };
}

type RowEvent = Awaited<ReturnType<OpenQueue['store']['events']>>[number];

class BatchOnQueue {
  /** Unfinished rows, each with its record at the last read. */
  readonly #open = new Map<string, { readonly row: Row; readonly record: RowRecord }>();
  /** Rows that were finished when all rows were last read. */
  #over: readonly string[] = [];
  readonly #sums: RowSums;
  #handedOver = 0;
  /** Rows whose tasks have been reported as succeeded. */
  readonly #hasEnded = new Set<string>();
  readonly #settled: Outcome<RowResult>[] = [];
  /** Rows that were already open on the queue; --limit counts them. */
  #standing = 0;
  #saidOfWorkers: ReadonlySet<string> = new Set();
  readonly #check: ReturnType<typeof rowChecker>;
  /** The outcomes of rows that others wait for, known from the queue alone. */
  readonly #between: RowOutputs;
  /** The rows' files; outputs that rows name may not exist yet when the rows are handed over. */
  readonly #files: RowFiles;
  /** The number of rows that a worker has begun, and that this run would save elsewhere. */
  #keptPlaces = 0;
  /** Finished rows whose dependent rows are still to be checked. */
  #justOver: string[] = [];

  constructor(
    private readonly batch: Batch,
    private readonly queue: OpenQueue,
    private readonly memory: Memory,
  ) {
    const { input, tally, ctx } = batch;
    this.#sums = new RowSums(tally.rows);
    this.#between = new RowOutputs({ ...input, before: () => undefined });
    const here = new RowOutputs({ ...input, before: tally.before });
    this.#files = { ...input.files, outputs: here.door(ctx, true) };
    this.#check = rowChecker(this.#files, showingOnly(ctx));
  }

  async *outcomes(): AsyncGenerator<Outcome<RowResult>> {
    const { input, ctx, flags } = this.batch;
    const since = await this.queue.store.lastEvent(input.name);
    const settings = await ctx.settings();
    if (settings.budget.jobs.value ?? settings.budget.amount.value)
      ctx.io.warn('the budget of this machine does not hold for what others make: each worker keeps its own');
    for await (const rows of chunksOf(soundRows(input), AT_ONCE)) {
      ctx.signal.throwIfAborted();
      await this.#handOver(rows.map((row) => forOthers(row, settings, ctx)));
    }
    await this.#takeOutUnwanted();
    await this.#beginChains();
    const kept = counted(this.#keptPlaces, 'row');
    if (this.#keptPlaces > 0) ctx.io.note(`the new -o does not hold for ${kept} that a worker has begun`);
    // From here on this run only follows, so other runs may create rows.
    this.batch.announced.release();
    // Rows saved by an earlier run are not printed, but count as a success in the exit code.
    if (this.#sums.saved > 0) yield {};
    yield* this.#settled.splice(0);
    if (flags.detach) {
      this.#reportOpen();
      const what = `${counted(this.#handedOver, 'row')} handed over, ${this.#open.size} not done yet`;
      const more = 'gw batch status looks at them; for each that is done this hands over another one';
      ctx.io.note(`${what}; ${flags.limit ? more : 'follow them with'}: ${this.#commandLine()}`);
      yield {};
      return;
    }
    yield* this.#follow(since);
    this.#sums.say({ left: 'done', redis: true, command: this.#commandLine }, ctx);
  }

  /** Adds the open rows to the report, in the state of the last read. */
  #reportOpen(): void {
    for (const { row, record } of this.#open.values()) this.batch.report.add(this.#resultOf(row, record));
  }

  /** Puts missing rows on the queue; finished ones are settled. */
  async #handOver(rows: readonly Row[]): Promise<void> {
    const { tally, flags } = this.batch;
    const { store, host } = this.queue;
    const keys = rows.map(({ key }) => key);
    const records = await store.read(keys, true);
    const fresh: Row[] = [];
    const there: (readonly [row: Row, record: RowRecord, isToMake: boolean])[] = [];
    const arrived: Row[] = [];
    const isFull = () => this.#standing + this.#handedOver >= (flags.limit ?? Number.POSITIVE_INFINITY);
    for (const [at, row] of rows.entries()) {
      const record = records[at];
      const local = tally.known.get(row.key);
      const told = this.memory.rows.get(row.key);
      const isRedone = tally.isRedone(row.key);
      const isHere = local !== undefined && local.state !== 'failed';
      const end = record && endOf(record);
      const makes = isRedone && end ? 'always' : end?.makes;
      // A row that was taken out or never sent may have been created on this machine since.
      if (record && !(makes && isHere && !this.#inReach(record))) {
        if (isRedone) refuseRedo(record, flags);
        const isToMake = !isHere && (makes === 'always' || (makes !== undefined && flags[makes] === true));
        const isLeft = isToMake && isFull();
        if (isLeft) this.batch.report.add(this.#resultOf(row, record, toldOf(record)));
        if (isLeft) continue;
        if (isToMake) this.#handedOver += 1;
        // An unreadable record that was never sent is replaced.
        if (isToMake && record.fault) {
          await store.forget(row.key);
          fresh.push(row);
        } else there.push([row, record, isToMake]);
        if (!isOver(record.state)) this.#standing += 1;
        if (told?.isOnItsWay) arrived.push(row);
      } else if (local?.state === 'saved') {
        this.#countBefore(resultOfKnown(row, local));
        // Other followers make no row again that this machine has saved by itself, and other rows need its output.
        const home = this.#homeHere(local);
        if (home)
          await store.handOver({ ...(await this.#recordOf(row, local)), state: 'saved', ...home }, host);
      } else if (local?.state === 'unknown') this.#settle(row, undefined, unknownHere, local);
      // No worker could continue this job: it has no task, or one of another family.
      else if (isHere && (record || local.id === local.jobKey || local.family !== familyOf(row.command)))
        this.#settle(row, undefined, unsavedHere, local);
      else if (told && !told.isOnItsWay && !told.saved && !flags.refill && !isOpen(local))
        this.#settle(row, undefined);
      else if (local?.state === 'failed' && !flags.retryFailed && !isRedone)
        this.#settle(row, undefined, failedHere, local);
      else if (!isFull()) {
        this.#handedOver += 1;
        fresh.push(row);
      }
    }
    // This may refuse, so it comes before anything is put back.
    this.#remember(fresh, 'handing');
    try {
      for (const [row, record, isToMake] of there) await this.#takeUp(row, record, isToMake);
      for (const row of fresh) {
        const record = await this.#recordOf(row, tally.known.get(row.key));
        await store.follows(row.key, neededBy(row));
        await store.handOver(record, host);
        this.#open.set(row.key, { row, record });
        arrived.push(row);
      }
    } finally {
      this.memory.handed(arrived, 'keys');
      // Rows on the queue get their tickets even if an error stopped the rest.
      const open = keys.filter((key) => this.#open.has(key));
      await giveOut(open, this.queue);
    }
  }

  /** Gives out the rows whose sources are saved, and settles those whose sources failed. */
  async #beginChains(): Promise<void> {
    const { chains } = this.batch.tally;
    if (!chains.hasAny) return;
    const waiting = [...this.#open.keys()].filter((key) => chains.needs(key).length > 0);
    await giveOut(waiting, this.queue);
    const beside = waiting.flatMap((key) =>
      chains.needs(key).flatMap((need) => (this.#open.has(need.key) ? [] : need.key)),
    );
    for (const [at, record] of (await this.queue.store.read(beside)).entries()) {
      const key = beside[at] ?? '';
      if (record?.state === 'saved') this.#between.end(key, undefined);
      this.#justOver.push(key);
    }
    await this.#endChains();
  }

  /** Settles rows whose source is finished but not saved, and the rows after them; the next run continues them. */
  async #endChains(): Promise<void> {
    const { chains } = this.batch.tally;
    for (let key = this.#justOver.pop(); key !== undefined; key = this.#justOver.pop()) {
      const next = chains.followers(key).flatMap((each) => this.#open.get(each)?.row ?? []);
      const whole = next.filter((row) => chains.needs(row.key).every((need) => !this.#open.has(need.key)));
      const records = await this.queue.store.read(whole.map((row) => row.key));
      for (const [at, row] of whole.entries()) {
        const hindrance = this.#between.hindrance(row);
        if (records[at]?.state !== 'waiting' || !hindrance) continue;
        this.#settle(row, undefined, toldError(hindrance, this.batch.ctx));
        this.#between.end(row.key, hindrance);
        if (hindrance.leftOut) this.#sums.stuck += 1;
      }
    }
  }

  #countBefore(result: RowResult): void {
    this.#sums.saved += 1;
    this.batch.report.add(result);
  }

  /**
   * Records that rows are about to be handed over, so that a queue which loses them is noticed. Throws `usage` if a run
   * on this machine may be creating them.
   */
  #remember(rows: readonly Row[], as: 'handing' | 'keys'): void {
    if (rows.length === 0) return;
    const { announced, input } = this.batch;
    if (announced.isRefused)
      throw usage(
        `${input.manifest.named}: a gw batch run without --redis is making its rows on this machine, and nothing was handed over`,
        `wait until it ends, or end it with Ctrl-C; then: ${runCommand(['--redis'], this.batch.ctx)}`,
      );
    this.memory.handed(rows, as);
  }

  /** Takes rows that were not sent yet and are no longer in the manifest out of the queue. */
  async #takeOutUnwanted(): Promise<void> {
    const { input, tally, ctx } = this.batch;
    const { store } = this.queue;
    const strange = (await store.rowsOf(input.name)).filter((key) => !tally.chains.has(key));
    const waiting = (await store.read(strange)).flatMap((record) =>
      record?.state === 'waiting' && !record.fault ? record : [],
    );
    const own = waiting.filter(
      ({ row, named }) => named === input.manifest.named && this.memory.rows.get(row.key) !== undefined,
    );
    const keys = own.map(({ row }) => row.key);
    const out = await takeOut(keys, this.queue, this.memory);
    const others = waiting.length - own.length;
    if (out > 0) ctx.io.note(`${counted(out, 'row')} that the manifest does not hold any more taken out`);
    if (others > 0) {
      const hint = 'give one of the batches another name with --name';
      ctx.io.warn(`${counted(others, 'row')} of another batch named ${input.name} on this queue; ${hint}`);
    }
  }

  /** Reports what blocks workers, and why; each message once as long as it lasts. */
  async #tellStanding(): Promise<void> {
    const { ctx, flags } = this.batch;
    const said = (await standsOf(this.queue, flags)).map(({ host, what }) => `${host}: ${what}`);
    if ((await this.queue.engine.workers())?.length === 0)
      said.push(`no worker is connected: start one on each machine with gw worker ${redisTyped(flags)}`);
    for (const each of said) if (!this.#saidOfWorkers.has(each)) ctx.io.note(each);
    this.#saidOfWorkers = new Set(said);
  }

  /** Puts a row on the queue back if its outcome calls for it; then it is followed or settled. */
  async #takeUp(row: Row, record: RowRecord, isToMake: boolean): Promise<void> {
    const { store, host } = this.queue;
    if (record.fault) return this.#found(row, record);
    const put = async (step: Step, changes: Changes) => {
      if (this.memory.rows.get(row.key) === undefined || isToMake) this.#remember([row], 'keys');
      // The ticket of the previous round would stay on the queue for good.
      if (record.state === 'waiting')
        await this.queue.engine.remove([{ key: row.key, round: record.round, queue: record.pool }]);
      // If another run was faster, the record stays as that run has set it.
      await store.step(row.key, step, { host }, { declined: [], ...changes, round: record.round + 1 });
      const [now] = await store.read([row.key]);
      return this.#found(row, now);
    };
    const known = isToMake ? undefined : this.#inReach(record);
    if (known) return put(...known);
    const end = endOf(record);
    const { known: before, isRedone } = this.batch.tally;
    const wanted = Math.max(nextAttempt(record), (before.get(row.key)?.attempt ?? 0) + 1);
    const isNext = end === ends.failed || isRedone(row.key);
    const another = isNext ? { again: true, wanted, id: '', files: [] } : {};
    const changed = await this.#changedTo(row, record, isToMake || record.state === 'waiting');
    if (changed) return put('changed', { ...changed, ...another });
    if (isToMake) return put('again', another);
    return end?.goesOn ? put(end.goesOn, {}) : this.#found(row, record);
  }

  /**
   * The changed request of a row that is still to be created; a change of another row is only reported. Where its inputs
   * cannot be read here, the row stays as it was handed over.
   */
  async #changedTo(row: Row, record: RowRecord, isToBeMade: boolean): Promise<Changes | undefined> {
    const { tally, input, flags, ctx } = this.batch;
    const asked = tally.asked.get(row.key);
    // An older gw stored no fields.
    const { fields, endpoint } = record.job ?? {};
    const isSame = !asked || !fields || asked === digestOfFields(fields, endpoint);
    const isOwn = this.memory.rows.has(row.key);
    // Where a row is saved, and how long it is waited for, is no part of its request.
    const how = ['out', 'waitTimeout', 'interval'] as const;
    const moved = how.filter((key) => isOwn && record.row.flags[key] !== row.flags[key]);
    if (isSame && !isToBeMade && moved.includes('out') && !isOver(record.state)) this.#keptPlaces += 1;
    if (isSame && !(isToBeMade && asked && moved.length > 0)) return undefined;
    // Two users may have given their batches the same name; the settings of one user may differ by machine.
    if (!isSame && !isOwn && (await this.#requestOf(row, undefined)).job.prompt !== record.job?.prompt)
      throw usage(
        `${input.manifest.named}:${placeText(row)}: the row has changed since it was handed over (${row.key})`,
        'another batch may have this name: give one of them another with --name, or the row another id',
      );
    if (isToBeMade && (isOwn || isOver(record.state))) {
      const { row: own, family, job, pool } = await this.#recordOf(row, undefined);
      return { row: own, family, job, pool };
    }
    const known = { family: record.family, fields: fields && JSON.stringify(fields) };
    const { changed: field = 'command' } = await this.#check(row, known);
    const changed = [{ ...row, field, state: record.state }];
    warnOfChanged({ changed }, input.manifest.named, flags.retryFailed === true, ctx);
    return undefined;
  }

  /** Follows an open row, and settles any other. */
  #found(row: Row, record: RowRecord | undefined): void {
    const isHome = this.batch.tally.known.get(row.key)?.state === 'saved';
    if (record && !isOver(record.state)) this.#open.set(row.key, { row, record });
    else if (record?.state === 'saved' && (isHome || this.memory.rows.get(row.key)?.saved))
      this.#countBefore(this.#resultOf(row, record));
    else this.#settle(row, record);
  }

  /**
   * What this machine's ledger knows of a row that is not made on the queue, or not saved: a task, or saved files; or
   * that files which a worker here has saved are gone.
   */
  #inReach(record: RowRecord): [step: Step, changes: Changes] | undefined {
    const local = this.batch.tally.known.get(record.row.key);
    const end = endOf(record);
    const isGone = end === ends.saved && record.host === this.queue.host && local?.state === 'unsaved';
    if (!local?.jobKey || local.family !== record.family || local.attempt < (record.wanted ?? 1))
      return undefined;
    if (isGone) return ['unsaved', {}];
    const isOut = record.state === 'waiting' || record.state === 'cancelled' || end === ends.unknown;
    const home = isOut || record.state === 'failed' ? this.#homeHere(local) : undefined;
    if (home) return ['brought', home];
    const hasTask = record.family !== 'image' && local.id !== local.jobKey;
    return isOut && hasTask ? ['cleared', { id: local.id }] : undefined;
  }

  /** The outputs of a row that this machine has saved by itself. */
  #homeHere({ state, files, status, id, jobKey }: KnownRow): Changes | undefined {
    const isHome = state === 'saved' && files.length > 0 && jobKey !== undefined;
    return isHome ? { files, status, id, host: this.queue.host } : undefined;
  }

  /** A new record; a row that this machine has already created continues with its task. */
  async #recordOf(row: Row, local: KnownRow | undefined): Promise<RowRecord> {
    const { flags, tally, input } = this.batch;
    const family = familyOf(row.command);
    // Other machines' ledgers cannot be read here.
    const wanted = local && local.attempt + (local.state === 'failed' ? 1 : 0);
    const { job, kept } = await this.#requestOf(row, local);
    // The pool depends on the sent body: 4k may come from `set`, `body` or the model's default.
    const { name: pool } = placeOf({ family, settings: job.settings }, this.queue.account);
    return {
      state: isOpen(local) ? 'running' : 'waiting',
      ...(isOpen(local) && { id: local.id, status: local.status }),
      round: 0,
      row: rowForQueue(row, kept),
      rows: tally.lastRow,
      family,
      named: input.manifest.named,
      again: flags.retryFailed === true,
      ...(wanted !== undefined && { wanted }),
      pool,
      job,
      files: [],
    };
  }

  /** The request of a row: as its job of this machine was made, or as it is checked here. */
  async #requestOf(row: Row, local: KnownRow | undefined) {
    const { ctx } = this.batch;
    const ids = local && local.state !== 'failed' && local.jobKey ? [local.jobKey] : [];
    const [made] = await (await ctx.ledger()).find({ ids });
    if (made) return { job: carriedJob(made, {}), kept: made.request };
    const checked = await this.#check(row);
    const job = await carriedCheck(row, checked, this.#files, ctx);
    return { job, kept: checked.request.intent.request };
  }

  async *#follow(from: string): AsyncGenerator<Outcome<RowResult>> {
    const { ctx, input } = this.batch;
    const { store } = this.queue;
    const bars = ctx.io.progress();
    let [since, scannedMs] = [from, Number.NEGATIVE_INFINITY];
    try {
      while (this.#open.size > 0) {
        this.#sums.draw(bars, this.batch.tally.rows);
        if (ctx.clock.steady() - scannedMs > RESCAN_MS) {
          scannedMs = ctx.clock.steady();
          await this.#look([...this.#open.keys()]);
          await this.#putBack();
          await this.#tellStanding();
        }
        const events = await store.events(input.name, since);
        since = events.at(-1)?.at ?? since;
        await this.#look(
          events.map(({ key }) => key).filter((key) => this.#open.has(key)),
          events,
        );
        yield* this.#settled.splice(0);
        if (events.length === 0) await ctx.clock.sleep(EVENTS_MS, ctx.signal);
      }
      ctx.signal.throwIfAborted();
    } catch (error) {
      if (ctx.signal.aborted)
        throw endedBy(ctx.signal.reason, `follow them with: ${this.#commandLine()}`, 'the workers go on');
      const hint = `the workers finish what they run; follow the batch again with: ${this.#commandLine()}`;
      throw error instanceof GwError && store.door.awayMs() > 0 ? store.door.gone({ hint }) : error;
    } finally {
      bars.stop();
      this.#reportOpen();
    }
  }

  /** Puts open rows without a ticket on the queue again; existing tickets stay. */
  async #putBack(): Promise<void> {
    const counts = await this.queue.engine.counts();
    let there = 0;
    for (const { taken, waiting } of [...counts.pools, counts.save]) there += taken + waiting;
    if (there < this.#open.size) await giveOut([...this.#open.keys()], this.queue);
  }

  /** Reports events; settles a finished row at its last event, or at the second full read without one. */
  async #look(keys: readonly string[], events?: readonly RowEvent[]): Promise<void> {
    const wanted = [...new Set(keys)];
    const records = await this.queue.store.read(wanted);
    for (const event of events ?? []) this.#tell(event, records[wanted.indexOf(event.key)]);
    const ended = events?.flatMap(({ key, entry }) => (entry && isEnd(entry.step) ? key : [])) ?? this.#over;
    if (!events) this.#over = wanted.filter((_, at) => isOver(records[at]?.state ?? 'waiting'));
    for (const [at, record] of records.entries()) {
      const row = this.#open.get(wanted[at] ?? '')?.row;
      if (!row) continue;
      const isOpen = record && !(isOver(record.state) && (record.fault || ended.includes(row.key)));
      if (isOpen) this.#open.set(row.key, { row, record });
      else this.#settle(row, record);
    }
    await this.#endChains();
  }

  /** Reports a step of a row's worker, with --events. */
  #tell({ at, key, entry }: RowEvent, record: RowRecord | undefined): void {
    const row = this.#open.get(key)?.row;
    if (!row || !entry || !record) return;
    const { step, host, id } = entry;
    const told = { t: new Date(Number(at.split('-')[0])).toISOString(), host };
    if (step === 'sending') this.#say('intent', row, record, { ...told, model: record.job?.model });
    if (step === 'accepted') this.#say('accepted', row, record, { ...told, id });
    if (step !== 'ended') return;
    this.#hasEnded.add(key);
    this.#say('status', row, record, { ...told, id: record.id, status: record.status });
  }

  #say(event: string, row: Row, record: RowRecord, more: object): void {
    const { family, key: _, ...of } = namedBy(row);
    this.batch.ctx.events?.tell(event, { family, key: keyOf(record) ?? null, of }, more);
  }

  /** Reports events that have no step: a failed task, saved files, and one download, as there is at most one a second. */
  #sayEnd(row: Row, record: RowRecord, result: RowResult): void {
    const { state, status, family, error } = record;
    const isImage = family === 'image';
    // An image has no task; it arrives with the reply.
    const id = isImage ? undefined : result.id;
    const files = state === 'saved' ? result.files : [];
    // If Redis answers late, a worker may save an output without the `ended` step.
    const hasEnded = state === 'saved' || (!isImage && error?.kind === 'task_failed');
    if (hasEnded && !this.#hasEnded.has(row.key)) this.#say('status', row, record, { id, status });
    for (const { bytes } of isImage ? [] : files.slice(0, 1))
      this.#say('download', row, record, { id, bytes, total: bytes });
    for (const file of files) this.#say('saved', row, record, { id, ...file });
  }

  /** Prints and counts a row's result; `error` says why the queue does not know it, `local` is its job on this machine. */
  #settle(row: Row, record: RowRecord | undefined, error?: ToldError, local?: KnownRow): void {
    const { input, report } = this.batch;
    const told = error ?? (record ? toldOf(record) : forgotten);
    const onQueue = this.#resultOf(row, record, told);
    const result = local ? { ...resultOfKnown(row, local), error: onQueue.error } : onQueue;
    this.#open.delete(row.key);
    report.add(result);
    const failure = told && under(`${input.manifest.named}:${placeText(row)}`, this.#errorOf(told));
    this.#between.end(row.key, failure);
    this.#justOver.push(row.key);
    if (record) this.#sayEnd(row, record, result);
    const beside = { state: 'failed', family: result.family, id: local?.id, error: told } as const;
    const end = endOf(record ?? beside);
    this.#sums[end?.sum ?? 'failed'] += 1;
    // A job of this machine's own goes on without --redis.
    if (end?.isStuck || (end?.sum === 'open' && (local || told?.isStuck))) this.#sums.stuck += 1;
    if (record?.state === 'saved') this.memory.saved(result, record);
    this.#settled.push({ value: result, ...(failure !== undefined && { error: failure }) });
  }

  #resultOf(row: Row, record: RowRecord | undefined, error?: ToldError): RowResult {
    const isRefused = error?.kind === 'rejected' || error?.kind === 'not_found';
    const isUnknown =
      tellsUnknown(error) || record?.fault?.isSent || (record && endOf(record) === ends.doubtful);
    const word = isUnknown ? 'unknown' : isRefused ? 'refused' : undefined;
    const key = keyOf(record) ?? null;
    const isMade = record?.state === 'saved' || record?.id !== undefined;
    const place = record?.host === this.queue.host ? '' : `${oneLine(record?.host ?? '?')}:`;
    return rowResult(row, {
      key,
      // A refused or unknown job has gw's key but no task ID.
      id: record?.id ?? (word ? key : null),
      status: record?.status || (word ?? (isMade ? (record?.state ?? '') : 'not_sent')),
      // Paths from Redis are untrusted and kept on one line.
      files: (record?.files ?? []).map((file) => ({ ...file, path: `${place}${oneLine(file.path, 4_096)}` })),
      error: (error && reportError(this.#errorOf(error))) ?? null,
    });
  }

  /** The error of a row, whose hint names the queue as it was typed. */
  #errorOf(told: ToldError): GwError {
    const text = (name: string) => (typeof told[name] === 'string' ? told[name] : undefined);
    const kind = Object.hasOwn(errorKinds, told.kind) ? (told.kind as ErrorKind) : 'internal';
    return new GwError(kind, told.message, {
      hint: withRedis(text('hint') ?? '', this.batch.flags) || undefined,
      code: text('code'),
      type: text('type'),
      requestId: text('request_id'),
      taskId: text('task_id'),
      retryAtMs: Date.parse(text('retry_at') ?? '') || undefined,
      ...(typeof told.status === 'number' && { status: told.status }),
    });
  }

  /** The command that goes on with what was handed over; the rows of --redo are made anew once. */
  readonly #commandLine = (...added: string[]): string =>
    runCommand(['--redis', ...added], this.batch.ctx, ['--redo']);
}

/** Throws `usage` for a row of --redo that a worker works on, or whose outcome is not known. */
function refuseRedo(record: RowRecord, redis: RedisWords): void {
  const end = endOf(record);
  const isUnknown = end?.sum === 'unknown' || end?.isStuck;
  if (end ? !isUnknown : record.state === 'waiting') return;
  const why = isUnknown ? 'it is not known what became of its job' : 'a worker works on it';
  const hint = isUnknown ? withRedis(closingHint(record), redis) : 'follow it without --redo first';
  throw usage(`--redo ${record.row.key}: ${why}`, hint);
}

const keyOf = (record: RowRecord | undefined): string | undefined =>
  record?.job?.key ?? (record?.family === 'image' ? record.id : undefined);

const forgotten = unknownError(
  'the queue does not know this row any more, which was handed over: it may have been created, and was not sent again',
  'the ledgers of the workers may know it; --refill sends such rows again',
);
const unknownHere = unknownError(
  'it is not known what became of its job on this machine',
  'gw jobs sync looks for it; gw batch run without --redis goes on with it on this machine',
);
const takenOut = toldAs(
  'partial',
  'it was taken out of the queue, and nothing was sent',
  'the next run with --redis puts it back',
);
const doubtful = (record: RowRecord) =>
  toldAs(
    'partial',
    'it was taken out of the queue while nobody knew what became of it: it may have been created',
    `${closingHint(record)}; --refill sends it again`,
  );
/** Why a finished row is not saved; a saved row may keep the error of an earlier round. */
const toldOf = (record: RowRecord): ToldError | undefined => {
  if (record.state === 'cancelled') return endOf(record) === ends.doubtful ? doubtful(record) : takenOut;
  if (record.state === 'unknown')
    return record.error ?? unknownError('it is not known what became of it', closingHint(record));
  return record.state === 'saved' ? undefined : record.error;
};
const unsavedHere = toldAs(
  'download',
  'its job was made on this machine, and its output is not saved yet',
  'gw batch run without --redis waits for it and saves it here; gw jobs sync saves it once it has ended',
);
const failedHere = toldAs('task_failed', 'its job on this machine failed', '--retry-failed makes a new one');
