import { unportable } from '../../batch/portable.ts';
import { askedDigest, type Row, readRows } from '../../batch/rows.ts';
import type { Outcome } from '../../command.ts';
import type { Context } from '../../context.ts';
import { type ErrorKind, errorKinds, GwError, Interrupted, usage } from '../../errors.ts';
import { counted } from '../../io/quantity-text.ts';
import { attemptOf } from '../../jobs/create/once.ts';
import { isOver, type LogEntry, type RowRecord, type ToldError } from '../../machines/row.ts';
import { noteSum, rowsLeft, runCommand, soundRows } from '../batch/flags.ts';
import { isWanted, type KnownRow, lastOfRow } from '../batch/known-rows.ts';
import { familyOf, placesOf } from '../batch/places.ts';
import { creates } from '../batch/row-command.ts';
import type { Batch, RowResult } from '../batch/run.ts';
import { withFamilies } from '../jobs/find-jobs.ts';
import { endedOutcome } from '../jobs/task-job.ts';
import { resultIn } from '../video/follow-job.ts';
import { Memory } from './memory.ts';
import { type OpenQueue, openQueue } from './open.ts';

// A batch on the queue, from the machine that has the manifest: its rows are handed over and followed.

/** Rows that are handed over in one go. */
const AT_ONCE = 200;
/** How long one look for events lasts, and how often all rows are looked at, in case some were missed. */
const BLOCK_MS = 1_000;
const RESCAN_MS = 10_000;

/** `gw batch run --redis`: hands the rows over and follows them, wherever they are worked on. */
export async function* runOnMachines(batch: Batch): AsyncGenerator<Outcome<RowResult>> {
  const queue = await openQueue(batch.flags.redis ?? '', batch.ctx);
  try {
    const memory = await Memory.open(batch.input.name, batch.ctx);
    yield* new BatchOnQueue(batch, queue, memory).outcomes();
  } finally {
    await queue.close().catch(() => {});
  }
}

/** Throws `usage` for the first row that must not, or cannot, be worked on elsewhere. */
export async function refuseUnportable(input: Batch['input'], ctx: Context): Promise<void> {
  for await (const row of readRows(input)) {
    // What is wrong with the row itself is told with all that is wrong with others.
    if ('faults' in row) continue;
    const [fault] = unportable(row, creates, (text) => ctx.io.withoutSecrets(text));
    if (fault !== undefined) throw usage(`${input.manifest.named}:${row.line}: ${fault}`);
  }
}

class BatchOnQueue {
  readonly #batch: Batch;
  readonly #queue: OpenQueue;
  readonly #memory: Memory;
  /** Rows that are not over, by their keys. */
  readonly #open = new Map<string, Row>();
  /** `open`: ended for this run, and the next one goes on with them. */
  readonly #counts = { saved: 0, failed: 0, unknown: 0, open: 0, cancelled: 0, before: 0, handedOver: 0 };
  readonly #settled: Outcome<RowResult>[] = [];

  constructor(batch: Batch, queue: OpenQueue, memory: Memory) {
    this.#batch = batch;
    this.#queue = queue;
    this.#memory = memory;
  }

  async *outcomes(): AsyncGenerator<Outcome<RowResult>> {
    const { input, ctx, flags } = this.#batch;
    const since = await this.#queue.store.lastEvent(input.name);
    let chunk: Row[] = [];
    for await (const row of soundRows(input)) {
      ctx.signal.throwIfAborted();
      chunk.push(row);
      if (chunk.length < AT_ONCE) continue;
      await this.#handOver(chunk);
      chunk = [];
    }
    await this.#handOver(chunk);
    // From here on it only follows, whoever makes rows beside it.
    this.#batch.announced.release();
    // Rows that an earlier run has saved are not printed, and count for the exit code.
    if (this.#counts.before > 0) yield {};
    yield* this.#settled.splice(0);
    if (flags.detach) {
      const { handedOver } = this.#counts;
      const open = this.#open.size;
      ctx.io.note(
        `${handedOver} rows handed over, ${open} not done yet; follow them with: ${this.#commandLine()}`,
      );
      yield {};
      return;
    }
    yield* this.#follow(since);
    const { rows } = this.#batch.tally;
    const left = rowsLeft(rows, this.#counts) - this.#counts.open;
    noteSum(input, rows, this.#counts, { left: 'done', redis: ' --redis' }, ctx);
    // Every row that is not passed over on purpose is told of above; this is for a way that nobody thought of.
    if (left > 0 && flags.limit === undefined) yield { error: notDone(left, this.#commandLine()) };
  }

  /** Puts those of some rows on the queue that are not there; what is over is settled. */
  async #handOver(rows: readonly Row[]): Promise<void> {
    const { tally, flags, input } = this.#batch;
    const { store, engine } = this.#queue;
    const records = await store.read(rows.map(({ key }) => key));
    const fresh: Row[] = [];
    const tickets: { key: string; round: number; queue: string }[] = [];
    const there: [row: Row, record: RowRecord][] = [];
    for (const [at, row] of rows.entries()) {
      const record = records[at];
      const local = tally.known.get(row.key);
      const told = this.#memory.of(row.key);
      const isHere = local !== undefined && local.state !== 'not_sent' && local.state !== 'failed';
      // What was taken out may have been made here since.
      if (record && !(record.state === 'cancelled' && isHere)) {
        there.push([row, record]);
      } else if (told?.saved || local?.state === 'saved') {
        if (local?.state !== 'saved' && (told?.asked ?? askedDigest(row)) !== askedDigest(row))
          throw changedSince(row, input.manifest.named);
        this.#counts.saved += 1;
        this.#counts.before += 1;
        this.#batch.report.add({ ...this.#resultOf(row, undefined), ...(told?.saved ?? fromLedger(local)) });
      } else if (local?.state === 'unknown') this.#settle(row, undefined, unknownHere);
      // Nobody else could go on with it: it would be made and paid for once more.
      else if (isHere && (record !== undefined || familyOf(row.command) === 'image'))
        this.#settle(row, undefined, unsavedHere);
      else if (told && !flags.refill && local?.state !== 'running' && local?.state !== 'unsaved') {
        this.#settle(row, undefined, forgotten);
      } else if (local?.state === 'failed' && !flags.retryFailed) this.#settle(row, undefined, failedHere);
      else if (this.#counts.handedOver + fresh.length < (flags.limit ?? Number.POSITIVE_INFINITY))
        fresh.push(row);
    }
    // Refused before anything is put back.
    this.#remember(fresh);
    try {
      for (const [row, record] of there) {
        const now = await this.#takeUp(row, record);
        const queue = now?.state === 'ended' ? 'save' : now?.pool;
        if (now && queue) tickets.push({ key: row.key, round: now.round, queue });
      }
      for (const row of fresh) {
        const record = await this.#recordOf(row, tally.known.get(row.key));
        await store.handOver(record, this.#queue.host);
        tickets.push({ key: row.key, round: record.round, queue: record.pool });
        this.#open.set(row.key, row);
      }
    } finally {
      // What stands on the queue is given out, whatever hindered the rest.
      await engine.add(tickets);
    }
    this.#counts.handedOver += fresh.length;
  }

  /**
   * Writes down that rows are handed over, before they are: a queue that forgets them is then found out. Throws `usage`
   * where a run on this machine may be making them.
   */
  #remember(rows: readonly Row[]): void {
    if (rows.length === 0) return;
    const { announced, flags, input } = this.#batch;
    if (announced.isRefused) {
      const again = flags.retryFailed ? ' --retry-failed' : '';
      throw madeHere(input.manifest.named, `${this.#commandLine()}${again}`);
    }
    this.#memory.handedOver(rows);
  }

  /** A row that the queue has: what is over and wanted again is put back; undefined where nothing is left to do. */
  async #takeUp(row: Row, record: RowRecord): Promise<RowRecord | undefined> {
    const { flags, input } = this.#batch;
    const { store, host } = this.#queue;
    const asked = ({ command, flags, set, body }: Row) => JSON.stringify([command, flags, set, body]);
    if (asked(record.row) !== asked(row)) throw changedSince(row, input.manifest.named);
    const round = record.round + 1;
    const put = async (step: 'again' | 'resumed' | 'cleared' | 'brought', changes: object) => {
      if (this.#memory.of(row.key) === undefined) this.#remember([row]);
      // Where another run was faster, the row is wherever that one has put it.
      await store.step(row.key, step, { host }, { ...changes, round });
      const [now] = await store.read([row.key]);
      return this.#found(row, now);
    };
    if (record.state === 'cancelled') return put('again', {});
    if (goesOn(record)) return put('resumed', {});
    const brought = await this.#imagesInReach(record);
    if (brought) return put('brought', brought);
    if (record.state === 'failed' && flags.retryFailed && !lacksImages(record)) {
      const wanted = Math.max(record.job?.attempt ?? 1, record.wanted ?? 1) + 1;
      return put('again', { again: true, wanted, id: '' });
    }
    if (record.state === 'unknown') {
      const id = await this.#idInReach(record);
      if (id !== undefined) return put('cleared', { id });
    }
    return this.#found(row, record);
  }

  /** A row as the queue has it: followed while it is open, else settled, and then undefined. */
  #found(row: Row, record: RowRecord | undefined): RowRecord | undefined {
    if (record && !isOver(record.state)) {
      this.#open.set(row.key, row);
      return record;
    }
    if (record?.state === 'saved' && this.#memory.of(row.key)?.saved) {
      this.#counts.before += 1;
      this.#counts.saved += 1;
      this.#batch.report.add(this.#resultOf(row, record));
    } else this.#settle(row, record, record ? undefined : forgotten);
    return undefined;
  }

  /** The task that this machine's ledger knows of a row. */
  async #idInReach(record: RowRecord): Promise<string | undefined> {
    const { current } = await lastOfRow(record.row.key, this.#batch.ctx);
    return isWanted(current, record) && current.family !== 'image' ? current.id : undefined;
  }

  /** The images of a row that this machine has made and, by its ledger, has saved meanwhile. */
  async #imagesInReach(record: RowRecord): Promise<object | undefined> {
    if (record.state !== 'unknown' && !lacksImages(record)) return undefined;
    const { current } = await lastOfRow(record.row.key, this.#batch.ctx);
    if (!isWanted(current, record) || current.family !== 'image') return undefined;
    const [entry] = await withFamilies([current]);
    const ended = entry && endedOutcome(entry, true);
    const value = ended && resultIn(ended);
    if (!value || ended.error !== undefined) return undefined;
    const { files, status, id } = value;
    return { files, status, id, host: this.#queue.host };
  }

  /** A new row; one that this machine has created before goes on with its task. */
  async #recordOf(row: Row, local: KnownRow | undefined): Promise<RowRecord> {
    const { flags, tally, input, ctx } = this.#batch;
    const family = familyOf(row.command);
    // What other ledgers know of it is left to them.
    const last = local && (await lastOfRow(row.key, ctx));
    const wanted = local?.state === 'failed' ? last?.attempt : last?.current && attemptOf(last.current);
    const task = { family, settings: { resolution: row.flags.resolution } };
    const isMade = (local?.state === 'running' || local?.state === 'unsaved') && family !== 'image';
    return {
      state: isMade ? 'running' : 'waiting',
      ...(isMade && { id: local.id, status: local.status }),
      round: 0,
      ...{ row, rows: tally.rows, family, named: input.manifest.named },
      again: flags.retryFailed === true,
      ...(wanted !== undefined && { wanted }),
      pool: placesOf(task, this.#queue.account).pool,
      files: [],
    };
  }

  async *#follow(from: string): AsyncGenerator<Outcome<RowResult>> {
    const { ctx, input } = this.#batch;
    const { store, engine } = this.#queue;
    const { timeoutMs } = await ctx.settings();
    if (this.#open.size > 0 && (await engine.workers())?.length === 0) {
      ctx.io.note('no worker is connected: start one on each machine with gw worker --redis');
    }
    const connection = this.#queue.duplicate();
    const end = () => connection.disconnect();
    ctx.signal.addEventListener('abort', end, { once: true });
    const bars = ctx.io.progress();
    let since = from;
    let scannedMs = Number.NEGATIVE_INFINITY;
    let looking: ReturnType<typeof store.events> | undefined;
    try {
      while (this.#open.size > 0 && !ctx.signal.aborted) {
        this.#draw(bars);
        if (ctx.clock.steady() - scannedMs > RESCAN_MS && store.awayMs() === 0) {
          scannedMs = ctx.clock.steady();
          await this.#look([...this.#open.keys()]);
        }
        looking ??= store.events(connection, input.name, since, BLOCK_MS);
        looking.catch(() => {});
        const events = await Promise.race([looking, ctx.clock.sleep(BLOCK_MS)]).catch(() => undefined);
        if (store.awayMs() > timeoutMs.value) throw away(store.awayMs(), this.#commandLine());
        if (events !== undefined) {
          looking = undefined;
          for (const event of events) await this.#tell(event);
          since = events.at(-1)?.at ?? since;
          await this.#look(events.map(({ key }) => key).filter((key) => this.#open.has(key)));
        }
        yield* this.#settled.splice(0);
      }
      if (ctx.signal.aborted) throw this.#interrupted();
    } finally {
      ctx.signal.removeEventListener('abort', end);
      connection.disconnect();
      bars.stop();
    }
  }

  #draw(bars: ReturnType<Context['io']['progress']>): void {
    const { saved, failed, unknown, open, cancelled } = this.#counts;
    bars.whole({
      done: saved + failed + unknown + open + cancelled,
      failed: failed + unknown,
      total: this.#batch.tally.rows,
    });
  }

  /** Settles those of some rows that are over. */
  async #look(keys: readonly string[]): Promise<void> {
    const wanted = [...new Set(keys)];
    for (const [at, record] of (await this.#queue.store.read(wanted)).entries()) {
      const row = this.#open.get(wanted[at] ?? '');
      if (!row) continue;
      if (!record) this.#settle(row, undefined, forgotten);
      else if (isOver(record.state)) this.#settle(row, record);
    }
  }

  /** A step as an event, with --events. */
  async #tell({ at, key, entry }: { at: string; key: string; entry: Omit<LogEntry, 't'> }): Promise<void> {
    const { ctx } = this.#batch;
    const row = this.#open.get(key);
    if (!ctx.events || !row) return;
    const words: Partial<Record<LogEntry['step'], string>> = {
      sending: 'intent',
      accepted: 'accepted',
      ended: 'status',
    };
    const event = words[entry.step];
    if (event === undefined) return;
    await ctx.io.outJson({
      event,
      t: new Date(Number(at.split('-')[0])).toISOString(),
      family: familyOf(row.command),
      key,
      id: entry.id,
      host: entry.host,
      ...(event === 'status' && { status: 'succeeded' }),
    });
  }

  /** What came of a row is printed and counted; `error` where the queue does not know it. */
  #settle(row: Row, record: RowRecord | undefined, error?: ToldError): void {
    const { ctx, input, report } = this.#batch;
    const isTakenOut = record?.state === 'cancelled';
    // That of an earlier round stays on the row.
    const last = record?.state === 'saved' ? undefined : record?.error;
    const told = error ?? (isTakenOut ? takenOut : last);
    const result = { ...this.#resultOf(row, record), error: told ?? null };
    this.#open.delete(row.key);
    report.add(result);
    if (record?.state === 'saved') {
      this.#counts.saved += 1;
      this.#memory.saved(row, result);
      if (ctx.events)
        for (const file of result.files) void ctx.io.outJson(this.#savedEvent(row, result, file));
      this.#settled.push({ value: result });
      return;
    }
    if (isTakenOut) this.#counts.cancelled += 1;
    else if (told?.kind === 'unknown_outcome') this.#counts.unknown += 1;
    else if (record && (goesOn(record) || lacksImages(record))) this.#counts.open += 1;
    else this.#counts.failed += 1;
    this.#settled.push({ value: result, error: errorOf(told, `${input.manifest.named}:${row.line}`) });
  }

  #savedEvent(row: Row, { id, family }: RowResult, file: object): object {
    return {
      event: 'saved',
      t: new Date(this.#batch.ctx.clock.now()).toISOString(),
      family,
      key: row.key,
      id,
      ...file,
    };
  }

  #resultOf({ row, line, key, command }: Row, record: RowRecord | undefined): RowResult {
    const here = record?.host === undefined || record.host === this.#queue.host;
    return {
      ...{ row, line, key },
      id: record?.id ?? null,
      family: familyOf(command),
      status: record?.status ?? record?.state ?? 'unknown',
      files: (record?.files ?? []).map((file) =>
        here ? file : { ...file, path: `${record?.host}:${file.path}` },
      ),
      // It holds links, and none of them is ever on the queue.
      record: null,
      error: null,
    };
  }

  #commandLine(): string {
    return runCommand(this.#batch.input, ' --redis', this.#batch.ctx);
  }

  #interrupted(): unknown {
    const { reason } = this.#batch.ctx.signal;
    return reason instanceof Interrupted
      ? new Interrupted(reason.signal, `follow them with: ${this.#commandLine()}`, 'the workers go on')
      : reason;
  }
}

const away = (awayMs: number, next: string): GwError =>
  new GwError('unavailable', `Redis has been away for ${Math.round(awayMs / 1000)} s`, {
    hint: `the workers finish what they run; follow the batch again with: ${next}`,
  });

const notDone = (left: number, next: string): GwError =>
  new GwError('partial', `${counted(left, 'row')} of the batch ${left === 1 ? 'is' : 'are'} not done`, {
    hint: `go on with: ${next}`,
  });

/** How the task of a row itself ends badly, or is lost at the gateway. */
const badEnds: ReadonlySet<string> = new Set<ErrorKind>(['task_failed', 'not_found']);

/** Whether a row failed on its way home, and its task, which is paid for, did not: it is never made anew. */
const goesOn = ({ state, family, id, error }: RowRecord): boolean =>
  state === 'failed' && family !== 'image' && id !== undefined && !badEnds.has(error?.kind ?? '');

/** Whether images were made and are not saved: another machine would make and pay for them once more. */
const lacksImages = ({ state, family, error }: RowRecord): boolean =>
  state === 'failed' && family === 'image' && error?.kind === 'download';

const unknownError = (message: string, hint: string): ToldError => ({
  kind: 'unknown_outcome',
  message,
  hint,
  exit_code: errorKinds.unknown_outcome.exitCode,
});
const forgotten = unknownError(
  'the queue does not know this row any more, which was handed over: it may have been created, and was not sent again',
  'the workers’ ledgers may know it; --refill sends such rows again',
);
const unknownHere = unknownError(
  'it is not known what became of its job on this machine',
  'gw jobs sync looks for it',
);
const takenOut: ToldError = {
  kind: 'partial',
  message: 'it was taken out of the queue, and nothing was sent',
  hint: 'the next run with --redis puts it back',
  exit_code: errorKinds.partial.exitCode,
};
const madeHere = (named: string, next: string): GwError =>
  usage(
    `${named}: a gw batch run without --redis is making its rows on this machine, and nothing was handed over`,
    `wait until it ends, or end it with Ctrl-C; then: ${next}`,
  );
const changedSince = (row: Row, named: string): GwError =>
  usage(
    `${named}:${row.line}: the row has changed since it was handed over (${row.key})`,
    'give the row another id to make a new job, or write it as it was',
  );
const unsavedHere: ToldError = {
  kind: 'download',
  message: 'its job was made by this machine, and what came of it is not saved yet',
  hint: 'gw jobs sync brings it home here, as far as that can be done',
  exit_code: errorKinds.download.exitCode,
};
const failedHere: ToldError = {
  kind: 'task_failed',
  message: 'its job on this machine ended badly',
  hint: '--retry-failed makes a new one',
  exit_code: errorKinds.task_failed.exitCode,
};

function errorOf(told: ToldError | undefined, where: string): GwError {
  const text = (name: string) => (typeof told?.[name] === 'string' ? String(told[name]) : undefined);
  const kind = told && Object.hasOwn(errorKinds, told.kind) ? (told.kind as ErrorKind) : 'internal';
  return new GwError(kind, `${where}: ${told?.message ?? 'failed'}`, {
    ...{ hint: text('hint'), code: text('code'), type: text('type') },
    ...{ requestId: text('request_id'), taskId: text('task_id') },
    ...(typeof told?.status === 'number' && { status: told.status }),
  });
}

const fromLedger = (local: KnownRow | undefined) => ({
  id: local?.id ?? null,
  status: local?.status ?? '',
  files: (local?.files ?? []).map((file) => ({ path: file })),
});
