import { keysOf, placeText, type Row, readRows } from '../../batch/rows.ts';
import { schedule } from '../../batch/schedule.ts';
import { defineCommand, type Outcome } from '../../command.ts';
import { parseDuration } from '../../config/table.ts';
import type { Context } from '../../context.ts';
import {
  type ErrorKind,
  GwError,
  Interrupted,
  isUnknownOutcome,
  UnknownOutcome,
  usage,
} from '../../errors.ts';
import { type FlagValues, flagName, list, on, text, whole } from '../../flags/flag.ts';
import { budgetFlags, eventsFlag, redisFlags, saveFlags } from '../../flags/job-flags.ts';
import { nearest } from '../../flags/nearest.ts';
import { sleepAloud } from '../../host.ts';
import { keepYoungSpaceSmall } from '../../http/transport.ts';
import { reportError } from '../../io/error-lines.ts';
import { durationText } from '../../io/quantity-text.ts';
import { isUnanswered } from '../../jobs/create/standing.ts';
import { outputsBySize } from '../../jobs/save/saved.ts';
import { createTurns, SAVES_AT_ONCE } from '../../jobs/watch/turns.ts';
import { toldAs, unknownError } from '../../machines/row.ts';
import { Chains } from '../../shots/chains.ts';
import { NotReached, RowOutputs, warnOfStale } from '../../shots/row-outputs.ts';
import { askFirst, canAsk } from '../ask-first.ts';
import { refuseUnpriced } from '../estimate-cost.ts';
import { resultOf as resultOfJob } from '../jobs/task-job.ts';
import type { FollowedQueue } from '../machines/follow.ts';
import { lastOfKey } from '../once.ts';
import { endedBy, fileLines, type JobResult, resultIn, waitDeadlineMs } from '../video/follow-job.ts';
import { createFollowers } from '../video/followers.ts';
import { type Announced, announce } from './beside.ts';
import { checkRows, Tally, warningOnce, warnOfChanged } from './check.ts';
import {
  allowOutside,
  defaultFlags,
  defaultsNote,
  fileFlags,
  manifestArgs,
  nameFlags,
  type OpenRows,
  openRows,
  runCommand,
  soundRows,
} from './flags.ts';
import { isOpen, isWanted, type KnownRow, knownRows } from './known-rows.ts';
import { familyOf, placeOf } from './places.ts';
import { openReport, type RowResult, RowSums, rowResult } from './report.ts';
import { createRow, endsCreates, pauseOf, under } from './row-command.ts';

/** Rows that may run beyond the slots of a pool: some wait for the next slot, others save their outputs. */
const BESIDE_SLOTS = 4;

const runFlags = {
  concurrency: whole('N', 'at most so many rows at once', { min: 1 }),
  limit: whole('N', 'only the first N rows that are not done', { min: 1 }),
  stopOnError: on('begin no more rows once one has failed'),
  only: list('KEY', 'look at these rows alone (shots/7, or 7)'),
  redo: list('KEY', 'make these rows anew, whatever came of them (shots/7, or 7)'),
  following: on('with --redo: also the rows that follow them, made from their outputs'),
  retryFailed: on('create anew what ended badly; an unknown outcome is never sent again'),
  ...budgetFlags,
  report: text('FILE', 'write all rows and what came of them into this .csv or .jsonl', {
    completes: 'file',
  }),
  events: eventsFlag,
  exec: saveFlags.exec,
  ...redisFlags,
  detach: on('with --redis: hand the rows over and return'),
  refill: on('with --redis: send rows again that were handed over and that the queue has lost'),
} as const;
/** The flags of the run, with --yes and the --wait-timeout of its rows. */
type RunFlags = FlagValues<typeof runFlags> & { readonly waitTimeout?: string; readonly yes?: boolean };

/** The keys of rows that depend on those of --redo. Faulty rows are skipped here, as the check reports them. */
async function followersOf(
  input: Batch['input'],
  isFirst: (key: string) => boolean,
): Promise<ReadonlySet<string>> {
  const chains = new Chains(input.creates);
  for await (const row of readRows(input)) if (!('faults' in row)) chains.add(row);
  return chains.following(isFirst);
}

function refuseApart(flags: RunFlags): void {
  if (flags.following && !flags.redo)
    throw usage('--following: goes with --redo', 'name the row that others follow: --redo KEY --following');
  if (flags.redis === undefined) {
    const name = flags.detach ? '--detach' : flags.refill ? '--refill' : undefined;
    if (name) throw usage(`${name}: goes with --redis`, 'without it this run makes the rows alone');
    return;
  }
  for (const [name, hint] of Object.entries(apart))
    if (flags[name as keyof typeof apart]) throw usage(`${flagName(name)}: does not go with --redis`, hint);
}

/** Flags for runs on this machine only, each with the way to do the same with a queue. */
const apart = {
  concurrency: 'each gw worker has a --concurrency',
  maxCost: 'each worker keeps to the budget of its own machine',
  only: 'run those rows without it, or all of them with it',
  following: 'name each row with --redo, and those that follow it once it is saved',
  stopOnError: 'gw batch cancel takes rows out',
  exec: 'a file is saved by its worker: there gw config set after_save COMMAND runs one',
};

/** The command that follows the rows on a queue. */
const followCommand = (ctx: Context) => runCommand(['--redis'], ctx, Object.keys(apart).map(flagName));

/** `gw batch run` creates every row of a manifest once, waits for it and saves it. */
export const run = defineCommand({
  args: manifestArgs,
  flags: { ...defaultFlags, ...nameFlags, ...fileFlags, ...runFlags },
  examples: [
    `printf '%s\\n' command,id,prompt 'image create,boat,a paper boat' 'video beta,fox,a fox in the snow' > day.csv && gw batch run day.csv --sandbox -o out/`,
  ],
  notes: [
    'Run it again at will, also after Ctrl-C or a crash: what is saved is passed over, what was created is brought home, and ' +
      'what was never sent is sent. A row is created once for its key, NAME/id, or without id NAME/ and a digest of the row.',
    defaultsNote,
  ],
  human: (row: RowResult) => fileLines(row),
  async *run({ args, flags: typed }, own): AsyncGenerator<Outcome<RowResult>> {
    const flags = typed as RunFlags;
    const ctx = { ...own, io: warningOnce(own.io) };
    refuseApart(flags);
    const opened = await openRows(args, typed, ctx);
    const { named } = opened.manifest;
    const only = flags.only && keysOf(flags.only, opened.name);
    const redo = keysOf(flags.redo ?? [], opened.name);
    const input = only ? { ...opened, isWanted: only.has } : opened;
    const report = openReport(flags.report, ctx.host.cwd, ctx.io);
    let announced: Announced | undefined;
    let queue: FollowedQueue | undefined;
    let isOver = false;
    const letGrow = keepYoungSpaceSmall();
    try {
      const machines = flags.redis === undefined ? undefined : await import('../machines/follow.ts');
      announced = await announce(input.name, machines ? 'hand-over' : 'make', ctx);
      queue = await machines?.openFollower(flags, input.name, ctx);
      if (announced.isRefused && !machines)
        throw usage(
          `${named}: another gw batch run on this machine is handing its rows over to a queue, and nothing was sent`,
          `follow them with: ${followCommand(ctx)}`,
        );
      const lately = new Map<string, string>();
      const force = !machines && opened.defaults.force === true;
      const { known, elsewhere } = await knownRows(input.name, ctx, { lately, force });
      const following = flags.following ? await followersOf(input, redo.has) : new Set<string>();
      const isRedone = (key: string) => redo.has(key) || following.has(key);
      let tally: Tally;
      for (;;) {
        tally = new Tally(known, lately, elsewhere, isRedone, flags.retryFailed === true);
        for await (const { message, ...place } of checkRows(input, tally, ctx, { queue }))
          yield { error: usage(`${named}:${placeText(place)}: ${message}`) };
        if (input.files.outside.size === 0) break;
        await allowOutside(input, tally.faults === 0, ctx);
      }
      if (tally.faults > 0) {
        ctx.io.note(`${named}: nothing was sent`);
        return;
      }
      refuseUnmet('--only', only?.unmet, known, named);
      refuseUnmet('--redo', redo.unmet, known, named);
      if (tally.rows === 0) throw usage(`${named}: there is no row in it`);
      warnOfChanged(tally, named, flags.retryFailed === true, ctx);
      refuseUnsettled(tally);
      // On a queue, a job that --redo replaces counts as failed.
      for (const [key, row] of queue ? known : [])
        if (isRedone(key)) known.set(key, { ...row, state: 'failed' });
      await refuseUnpriced(tally, flags, ctx);
      const batch = { input, flags, tally, report, ctx, announced };
      // Without a queue this run needs the gateway, so a fault of it is reported once here.
      if (!queue) await ctx.gateway();
      if (tally.warnOfAlike(ctx) && !flags.yes && canAsk(ctx))
        await askFirst('Make them once more?', ctx, 'nothing was sent');
      yield* queue ? queue.run(batch) : new BatchRun(batch).outcomes();
      isOver = true;
    } finally {
      announced?.release();
      await queue?.close();
      letGrow();
      // The report is written however the run ends, even if its stdout was closed.
      const unread = await reportLeft({ input, flags, report, ctx }).catch((error: unknown) => error);
      input.close();
      const fault = report.write();
      if (fault && !isOver) ctx.io.warn(fault.message);
      if (isOver && (fault ?? unread)) yield { error: fault ?? unread };
    }
  },
});

/** Adds missing rows to the report: those that were not begun, and those that --only leaves out. */
async function reportLeft({ input, flags, report, ctx }: Pick<Batch, 'input' | 'flags' | 'report' | 'ctx'>) {
  if (flags.report === undefined) return;
  const { known, elsewhere } = await knownRows(input.name, ctx);
  for await (const row of readRows({ ...input, isWanted: undefined })) {
    if ('faults' in row || !report.lacks(row.key)) continue;
    const made = known.get(row.key);
    const handed = { status: 'unknown', error: reportError(madeElsewhere(ctx)) };
    const left = made && resultOfKnown(row, made);
    report.add(elsewhere.has(row.key) ? rowResult(row, handed) : (left ?? rowResult(row)));
  }
}

/** A batch whose rows have been checked. */
export interface Batch {
  readonly input: OpenRows;
  readonly flags: RunFlags;
  readonly tally: Tally;
  readonly report: ReturnType<typeof openReport>;
  readonly ctx: Context;
  /** The announced activity of this run. */
  readonly announced: Announced;
}

/** Errors that end a row; after any other the next run sends the row or continues its job. */
const settles: ReadonlySet<string> = new Set<ErrorKind>([
  'rejected',
  'not_found',
  'task_failed',
  'incomplete',
  'partial',
]);

class BatchRun {
  readonly #between: RowOutputs;
  readonly #sums: RowSums;
  /** True if some of the open rows were sent. */
  #isSent = false;
  #isStopped = false;
  /** Lets waiting creates go on if urgent saves no longer begin, because the run stops. */
  #release = () => {};

  constructor(private readonly batch: Batch) {
    const { before, rows } = batch.tally;
    this.#between = new RowOutputs({ ...batch.input, before });
    this.#sums = new RowSums(rows);
  }

  async *outcomes(): AsyncGenerator<Outcome<RowResult>> {
    const { flags, tally, ctx, report } = this.batch;
    const account = (await ctx.settings()).account.value;
    const whole = ctx.io.progress();
    const turns = createTurns(SAVES_AT_ONCE);
    const followers = createFollowers(ctx, { turns });
    for (const [key, { jobKey, files, recorded = files }] of tally.known)
      if (!tally.isRedone(key)) (await followers.claims()).keep(jobKey, recorded);
    // Urgent saves of an earlier run are announced before the first new row asks for its turn.
    const urgent = new Map(
      [...tally.known].flatMap(([key, { urgentFromMs }]) =>
        urgentFromMs === undefined ? [] : [[key, turns.announce(urgentFromMs)] as const],
      ),
    );
    const startedMs = ctx.clock.steady();
    this.#sums.saved = tally.savedBefore;
    const total = Math.min(tally.rows, tally.savedBefore + tally.failedBefore + (flags.limit ?? tally.rows));
    const draw = () => {
      const { done } = this.#sums;
      const now = done - tally.savedBefore;
      const leftMs = now >= 3 ? ((ctx.clock.steady() - startedMs) / now) * (total - done) : undefined;
      this.#sums.draw(whole, total, leftMs);
    };
    this.#release = () => {
      for (const done of urgent.values()) done();
    };
    ctx.signal.addEventListener('abort', this.#release);
    draw();
    try {
      const results = schedule({
        rows: this.#rows(),
        placeOf: ({ command, flags: { resolution } }: Row) => {
          const task = { family: familyOf(command), settings: { resolution } };
          const { name: pool, atOnce, concurrentTasks } = placeOf(task, account);
          return { pool, most: concurrentTasks === undefined ? atOnce : atOnce + BESIDE_SLOTS };
        },
        keyOf: ({ key }) => key,
        waitsFor: (row) => this.#between.waitsFor(row),
        atOnce: flags.concurrency ?? Number.POSITIVE_INFINITY,
        work: (row) => this.#work(row, { ...ctx, followers }).finally(() => urgent.get(row.key)?.()),
        isStopped: () => this.#isStopped || ctx.signal.aborted,
      });
      // Rows saved by an earlier run are not printed, but count as a success in the exit code.
      if (tally.savedBefore > 0) yield {};
      for await (const { row, result, error: failed, ms } of results) {
        this.#count(row, result, failed, ms);
        report.add(result);
        draw();
        // Only errors of rows are prefixed with file and line.
        const error = failed && under(`${this.batch.input.manifest.named}:${placeText(row)}`, failed);
        if (!(error instanceof Interrupted)) yield { value: result, ...(error !== undefined && { error }) };
      }
    } finally {
      whole.stop();
      ctx.signal.removeEventListener('abort', this.#release);
    }
    const command = await this.#wayOn();
    this.#sums.say({ left: ctx.signal.aborted || this.#isSent ? 'done' : 'sent', command }, ctx);
    if (ctx.signal.aborted)
      throw endedBy(ctx.signal.reason, `go on with: ${command()}`, 'what was created is in the ledger');
  }

  /** Reports stale rows and returns the command that goes on; rows that --redo has made are left out of it. */
  async #wayOn(): Promise<(...added: string[]) => string> {
    const { input, tally, ctx, flags } = this.batch;
    const { known } = flags.redo ? await knownRows(input.name, ctx) : tally;
    const isBegun = (key: string) => known.get(key)?.attempt !== tally.known.get(key)?.attempt;
    const left = tally.redone.some(isBegun) ? tally.redone.filter((key) => !isBegun(key)) : undefined;
    const redo = ['--redo', '--following'];
    const makes = (keys: readonly string[]) => keys.flatMap((key) => ['--redo', key]);
    const anew = (keys: readonly string[]) =>
      runCommand([...makes(keys), '--following'], ctx, [...redo, '--only', '--limit', '--retry-failed']);
    warnOfStale(known, { named: input.manifest.named, anew }, ctx);
    return (...added) => runCommand([...added, ...makes(left ?? [])], ctx, left && redo);
  }

  /** Running and unsaved jobs come first, so that paid outputs are saved before new money is spent. */
  async *#rows(): AsyncGenerator<Row> {
    const { input, tally, flags } = this.batch;
    let left = flags.limit ?? Number.POSITIVE_INFINITY;
    for (const pass of ['open', 'rest'] as const) {
      for await (const row of soundRows(input)) {
        const before = tally.before(row.key);
        if (before?.state === 'saved' || isOpen(before) !== (pass === 'open')) continue;
        const isKept = before?.state === 'failed' && !flags.retryFailed;
        this.#isSent ||= left === 0 && pass === 'open';
        if (left === 0) return;
        if (!isKept) left -= 1;
        yield row;
      }
    }
  }

  async #work(row: Row, ctx: Context) {
    const { input, flags, tally } = this.batch;
    const startedMs = ctx.clock.steady();
    ctx.events?.ofRow(row);
    // Images have no --wait-timeout of their own; this bounds their wait after a 429 too.
    const waitTimeout = flags.waitTimeout && parseDuration(flags.waitTimeout, '--wait-timeout');
    const deadlineMs = waitDeadlineMs({ ...(waitTimeout && { waitTimeout }), ...row.flags }, ctx);
    const { maxCost, unpriced, retryFailed } = flags;
    const anew = tally.isRedone(row.key) ? (tally.known.get(row.key)?.attempt ?? 0) + 1 : retryFailed;
    const options = {
      rows: tally.lastRow,
      named: input.manifest.named,
      // The check has already compared the rows with their jobs.
      keepsOther: true,
      deadlineMs,
      ...(anew && { again: anew }),
      ...(maxCost && { maxCost }),
      ...(unpriced && { unpriced }),
    };
    const ended = async (outcome: Outcome<JobResult>) => {
      const { error } = outcome;
      this.#between.end(row.key, error);
      const result = await resultOf(row, outcome, typeof anew === 'number' ? anew : 1, ctx);
      return { row, result, error, ms: ctx.clock.steady() - startedMs };
    };
    const hindrance = this.#between.hindrance(row);
    if (hindrance) return ended({ error: hindrance });
    if (tally.handed.has(row.key)) return ended({ error: madeElsewhere(ctx) });
    try {
      for (;;) {
        const files = { ...input.files, outputs: this.#between.door(ctx, false) };
        const outcome = await createRow(row, files, options, ctx);
        const { error } = outcome;
        const isLimited = error instanceof GwError && error.kind === 'rate_limited';
        if (!isLimited || this.#isStopped || ctx.signal.aborted) return await ended(outcome);
        const waitMs = pauseOf(error, ctx);
        if (ctx.clock.steady() + waitMs >= deadlineMs) return await ended(outcome);
        const again = new Date(ctx.clock.now() + waitMs).toISOString();
        const said = `${error.message}; it is sent again at ${again} (--wait-timeout limits the wait)`;
        await sleepAloud(ctx.clock, waitMs, ctx.signal, () => ctx.followers?.tellAll(said, 'rate'));
      }
    } catch (error) {
      return await ended({ error });
    }
  }

  #count(row: Row, { id, files }: RowResult, error: unknown, ms: number): void {
    const { ctx, flags, tally } = this.batch;
    const { kind, facts } = error instanceof GwError ? error : {};
    if (error === undefined) {
      this.#sums.saved += 1;
      if (!ctx.io.mode.bars) {
        const saved = files.map(({ path }) => path).join(', ');
        ctx.io.note(
          `row ${row.row} of ${tally.lastRow} (${row.key}): saved ${saved} after ${durationText(ms)}`,
        );
      }
    } else if (!(error instanceof Interrupted)) {
      const isWaiting = error instanceof NotReached;
      const isOpen = isWaiting || !(kind === undefined || settles.has(kind) || isUnknownOutcome(error));
      if (isWaiting ? error.leftOut : isOpen && facts?.anew) this.#sums.stuck += 1;
      this.#isSent ||= isOpen && id !== null;
      this.#sums[isUnknownOutcome(error) ? 'unknown' : isOpen ? 'open' : 'failed'] += 1;
      // An example is a missing API key of the account that made the task.
      const isOfItsTask = endsCreates(error) && error.facts.taskId === (id ?? '');
      if (flags.stopOnError || (endsCreates(error) && !isOfItsTask)) {
        this.#isStopped = true;
        this.#release();
      }
    }
  }
}

/**
 * The result of a row, with the job of an earlier run if the create returned none: a paid job is never reported as not
 * sent, whatever error occurred. A job that --redo is to replace is not used.
 */
async function resultOf(
  row: Row,
  outcome: Outcome<JobResult>,
  wanted: number,
  ctx: Context,
): Promise<RowResult> {
  const { error, made } = outcome;
  const value = resultIn(outcome);
  const told = {
    status: isUnknownOutcome(error) ? 'unknown' : 'not_sent',
    error: (error && reportError(error)) ?? null,
  };
  // If the ledger cannot be read, the error alone is reported.
  const { current, last } = (await lastOfKey(row.key, ctx).catch(() => undefined)) ?? {};
  const key = made?.job?.key ?? last?.key ?? null;
  if (value || !isWanted(current, { wanted })) return rowResult(row, { ...told, ...value, key });
  const stands = resultOfJob(current, outputsBySize(current, undefined).files);
  const status = isUnanswered(current) ? 'unknown' : stands.status;
  return rowResult(row, { ...told, ...stands, status, key });
}

function refuseUnmet(flag: string, unmet: Iterable<string> = [], known: Tally['known'], named: string): void {
  const [key] = unmet;
  if (key === undefined) return;
  const [near] = known.has(key) ? [] : nearest(key, [...known.keys()]);
  const hint = near ? `did you mean ${near}?` : 'gw batch status lists the rows by their keys';
  throw usage(`${flag} ${key}: ${named} has no row of this key, or leaves it out`, hint);
}

function refuseUnsettled({ known, isRedone }: Tally): void {
  for (const [key, { state, id, jobKey }] of known)
    if ((state === 'unknown' || (state === 'running' && id === jobKey)) && isRedone(key))
      throw usage(
        `--redo ${key}: it is not known what became of its job ${id}`,
        `find out first, and say it: gw jobs resolve ${id} --as ID (or --as none)`,
      );
}

const madeElsewhere = (ctx: Context): GwError =>
  new UnknownOutcome('it was handed over to other machines, and nothing was sent by this one', {
    hint: `follow it with: ${followCommand(ctx)}`,
  });

export function resultOfKnown(row: Row, known: KnownRow): RowResult {
  const { jobKey: key = null, id, family, state, status, files, reason = status } = known;
  const failed = toldAs(status === 'refused' ? 'rejected' : 'task_failed', reason);
  const error = state === 'failed' ? failed : state === 'unknown' ? unknownError(reason) : null;
  return rowResult(row, { key, id, family: family || familyOf(row.command), status, files, error });
}
