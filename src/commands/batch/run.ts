import type { Row } from '../../batch/rows.ts';
import { schedule } from '../../batch/schedule.ts';
import { defineCommand, type Outcome } from '../../command.ts';
import type { Context } from '../../context.ts';
import { type ErrorKind, endsAll, GwError, Interrupted, usage } from '../../errors.ts';
import { type FlagValues, on, text, whole } from '../../flags/flag.ts';
import { budgetFlags, eventsFlag } from '../../flags/job-flags.ts';
import { reportError } from '../../io/error-lines.ts';
import { durationText } from '../../io/quantity-text.ts';
import { isUnanswered } from '../../jobs/create/settle-unanswered.ts';
import { createTurns, SAVES_AT_ONCE } from '../../jobs/watch/turns.ts';
import { refuseUnpriced } from '../before-create.ts';
import { resultOf as resultOfJob } from '../jobs/task-job.ts';
import { fileLines, type JobResult, resultIn } from '../video/follow-job.ts';
import { createFollowers } from '../video/followers.ts';
import { type Announced, announce } from './beside.ts';
import { checkRows, Tally } from './check.ts';
import {
  defaultFlags,
  defaultsNote,
  manifestArgs,
  nameFlags,
  noteSum,
  openRows,
  redisFlag,
  runCommand,
  soundRows,
} from './flags.ts';
import { type KnownRow, knownRows, lastOfRow, rowsElsewhere } from './known-rows.ts';
import { familyOf, placesOf } from './places.ts';
import { openReport } from './report.ts';
import { createRow } from './row-command.ts';

/** Beside those that hold a slot: rows that wait for the next one, and rows whose outputs are being saved. */
const BESIDE_SLOTS = 4;
/** Pause after a 429 that does not say when to ask again. */
const RATE_PAUSE_MS = 15_000;

const runFlags = {
  concurrency: whole('N', 'at most so many rows at once', { min: 1 }),
  limit: whole('N', 'only the first N rows that are not done', { min: 1 }),
  stopOnError: on('begin no more rows once one has failed'),
  retryFailed: on('create anew what ended badly; an unknown outcome is never sent again'),
  ...budgetFlags,
  report: text('FILE', 'write all rows and what came of them into this .csv or .jsonl', {
    completes: 'file',
  }),
  events: eventsFlag,
  redis: redisFlag,
  detach: on('with --redis: hand the rows over and return'),
  refill: on('with --redis: send rows again that were handed over and that the queue has lost'),
} as const;
type RunFlags = FlagValues<typeof runFlags>;

/** Throws `usage` for flags that do not go with each other. */
function refuseApart(flags: RunFlags): void {
  const { redis, detach, refill, concurrency, stopOnError, maxCost } = flags;
  if (redis === undefined) {
    const name = detach ? '--detach' : refill ? '--refill' : undefined;
    if (name)
      throw usage(`${name}: goes with --redis`, 'without it the rows are worked on by this run alone');
    return;
  }
  if (concurrency !== undefined) {
    throw usage(
      `--concurrency ${concurrency}: does not go with --redis`,
      'each gw worker has a --concurrency',
    );
  }
  if (maxCost !== undefined) {
    throw usage('--max-cost: does not go with --redis', 'each worker keeps to the budget of its own machine');
  }
  if (stopOnError) throw usage('--stop-on-error: does not go with --redis', 'gw batch cancel takes rows out');
}

/** What is printed of a row as it ends (the contract, section "batch"). */
export interface RowResult extends Pick<Row, 'row' | 'line' | 'key'>, Omit<JobResult, 'id'> {
  readonly id: string | null;
  /** As in the error line; null where the row is saved. */
  readonly error: unknown;
}

/** `gw batch run`: every row of a manifest made once, waited for and saved. */
export const run = defineCommand({
  args: manifestArgs,
  flags: { ...defaultFlags, ...nameFlags, ...runFlags },
  examples: [
    `printf '%s\\n' command,id,prompt 'image create,boat,a paper boat' 'video beta,fox,a fox in the snow' > day.csv && gw batch run day.csv --sandbox -o out/`,
  ],
  notes: [
    'Run it again at will, also after Ctrl-C or a crash: what is saved is passed over, what was created is brought home, and ' +
      'what was never sent is sent. A row is created once for its key, NAME/id, or without id NAME/ and a digest of the row.',
    defaultsNote,
  ],
  human: (row: RowResult) => fileLines(row),
  async *run({ args, flags: typed }, ctx): AsyncGenerator<Outcome<RowResult>> {
    const flags = typed as RunFlags;
    refuseApart(flags);
    const input = await openRows(args, typed, ctx);
    const { named } = input.manifest;
    const report = openReport(flags.report, ctx.host.cwd);
    let announced: Announced | undefined;
    try {
      const machines = flags.redis === undefined ? undefined : await import('../machines/follow.ts');
      await machines?.refuseUnportable(input, ctx);
      announced = await announce(input.name, machines ? 'hand-over' : 'make', ctx);
      if (announced.isRefused && !machines) throw beingHandedOver(input, ctx);
      const known = await knownRows(input.name, ctx);
      const elsewhere = machines ? new Set<string>() : await rowsElsewhere(input.name, known, ctx);
      const tally = new Tally(known);
      for await (const { line, message } of checkRows(input, tally, ctx)) {
        yield { error: usage(`${named}:${line}: ${message}`) };
      }
      if (tally.faults > 0) {
        ctx.io.note(`${named}: nothing was sent`);
        return;
      }
      if (tally.rows === 0) throw usage(`${named}: there is no row in it`);
      await refuseUnpriced(tally, flags, ctx);
      const batch = { input, flags, tally, report, ctx, elsewhere, announced };
      if (machines) return yield* machines.runOnMachines(batch);
      // Said once, and not for each row.
      await ctx.gateway();
      yield* new BatchRun(batch).outcomes();
    } finally {
      announced?.release();
      report.write();
      input.close();
    }
  },
});

/** A batch whose rows have been checked. */
export interface Batch {
  readonly input: Awaited<ReturnType<typeof openRows>>;
  readonly flags: RunFlags;
  readonly tally: Tally;
  readonly report: ReturnType<typeof openReport>;
  readonly ctx: Context;
  /** Keys of rows that were handed over to other machines: a run of this one alone makes none of them. */
  readonly elsewhere: ReadonlySet<string>;
  /** What this run says that it does. */
  readonly announced: Announced;
}

interface Ended {
  readonly row: Row;
  readonly outcome: Outcome<JobResult>;
  readonly ms: number;
}

/** Errors that a row keeps; after any other the next run sends it, or goes on with its job. */
const settles: ReadonlySet<string> = new Set<ErrorKind>([
  'rejected',
  'not_found',
  'unknown_outcome',
  'internal',
  'task_failed',
  'incomplete',
  'partial',
]);

class BatchRun {
  readonly #batch: Batch;
  readonly #counts = { saved: 0, failed: 0, unknown: 0, open: 0 };
  /** Whether some of the open rows were sent. */
  #isSent = false;
  #isStopped = false;
  /** Lets go of the creates that wait for what is urgent: it is not begun any more. */
  #release = () => {};

  constructor(batch: Batch) {
    this.#batch = batch;
  }

  async *outcomes(): AsyncGenerator<Outcome<RowResult>> {
    const { flags, tally, ctx, report } = this.#batch;
    const account = (await ctx.settings()).account.value;
    const whole = ctx.io.progress();
    const turns = createTurns(SAVES_AT_ONCE);
    const shared = { ...ctx, followers: createFollowers(ctx, { turns }) };
    // What an earlier run left to be saved is open before the first new row asks.
    const urgent = new Map(
      [...tally.known].flatMap(([key, { urgentFromMs }]) =>
        urgentFromMs === undefined ? [] : [[key, turns.announce(urgentFromMs)] as const],
      ),
    );
    const startedMs = ctx.clock.steady();
    this.#counts.saved = tally.savedBefore;
    const draw = () => {
      const { saved, failed, unknown, open } = this.#counts;
      const done = saved + failed + unknown + open;
      const now = done - tally.savedBefore;
      const leftMs = now >= 3 ? ((ctx.clock.steady() - startedMs) / now) * (tally.rows - done) : undefined;
      whole.whole({ done, failed: failed + unknown, total: tally.rows, leftMs });
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
          const { pool, atOnce, isDocumented } = placesOf(task, account);
          return { pool, most: isDocumented ? atOnce + BESIDE_SLOTS : atOnce };
        },
        atOnce: flags.concurrency ?? Number.POSITIVE_INFINITY,
        work: (row) => this.#work(row, shared).finally(() => urgent.get(row.key)?.()),
        isStopped: () => this.#isStopped || ctx.signal.aborted,
      });
      // Rows that an earlier run has saved are not printed, and count for the exit code.
      if (tally.savedBefore > 0) yield {};
      for await (const { row, outcome, ms } of results) {
        const result = resultOf(row, outcome);
        this.#count(row, outcome, ms);
        report.add(result);
        draw();
        if (!(outcome.error instanceof Interrupted)) yield this.#printed(row, result, outcome);
      }
    } finally {
      whole.stop();
      ctx.signal.removeEventListener('abort', this.#release);
    }
    const left = ctx.signal.aborted || this.#isSent ? 'done' : 'sent';
    noteSum(this.#batch.input, tally.rows, this.#counts, { left }, ctx);
    if (ctx.signal.aborted) throw this.#interrupted();
  }

  /** Jobs that run or wait to be saved come first: what is paid for is brought home before new money is spent. */
  async *#rows(): AsyncGenerator<Row> {
    const { input, tally, flags, report } = this.#batch;
    const isOpen = (state?: string) => state === 'running' || state === 'unsaved';
    let left = flags.limit ?? Number.POSITIVE_INFINITY;
    for (const pass of ['open', 'rest'] as const) {
      for await (const row of soundRows(input)) {
        const before = tally.known.get(row.key);
        if (pass === 'rest' && before?.state === 'saved') report.add(resultOfKnown(row, before));
        if (before?.state === 'saved' || isOpen(before?.state) !== (pass === 'open')) continue;
        if (left === 0) return;
        left -= 1;
        yield row;
      }
    }
  }

  async #work(row: Row, ctx: Context): Promise<Ended> {
    const { input, flags, tally } = this.#batch;
    const startedMs = ctx.clock.steady();
    const { maxCost, unpriced, retryFailed } = flags;
    const options = {
      ...{ rows: tally.lastRow, named: input.manifest.named },
      ...(retryFailed && { again: true }),
      ...(maxCost && { maxCost }),
      ...(unpriced && { unpriced }),
    };
    const ended = async (outcome: Outcome<JobResult>): Promise<Ended> => ({
      ...{ row, outcome: await withJob(row, outcome, ctx) },
      ms: ctx.clock.steady() - startedMs,
    });
    if (this.#batch.elsewhere.has(row.key)) return ended({ error: madeElsewhere(input, ctx) });
    try {
      for (;;) {
        const outcome: Outcome<JobResult> = await createRow(row, input.manifest.file, options, ctx).catch(
          (error: unknown) => ({ error }),
        );
        const { error } = outcome;
        const isLimited = error instanceof GwError && error.kind === 'rate_limited';
        const isOver = this.#isStopped || ctx.signal.aborted;
        if (!isLimited || isOver) return await ended(outcome);
        const untilMs = error.facts.retryAtMs;
        const waitMs = untilMs === undefined ? RATE_PAUSE_MS : Math.max(1_000, untilMs - ctx.clock.now());
        await ctx.clock.sleep(waitMs, ctx.signal);
      }
    } catch (error) {
      return await ended({ error });
    }
  }

  #count(row: Row, outcome: Outcome<JobResult>, ms: number): void {
    const { error, value } = outcome;
    const { ctx, flags, tally } = this.#batch;
    const kind = error instanceof GwError ? error.kind : undefined;
    if (error === undefined) {
      this.#counts.saved += 1;
      if (!ctx.io.mode.bars) {
        const files = (resultIn(outcome)?.files ?? []).map(({ path }) => path).join(', ');
        ctx.io.note(
          `row ${row.row} of ${tally.lastRow} (${row.key}): saved ${files} after ${durationText(ms)}`,
        );
      }
    } else if (!(error instanceof Interrupted)) {
      const isOpen = kind !== undefined && !settles.has(kind);
      this.#isSent ||= isOpen && value !== undefined;
      this.#counts[kind === 'unknown_outcome' ? 'unknown' : isOpen ? 'open' : 'failed'] += 1;
      if (flags.stopOnError || (kind !== undefined && endsAll.has(kind) && !isOfItsTask(outcome))) {
        this.#isStopped = true;
        this.#release();
      }
    }
  }

  /** A failure is told with file and line, which no other message has. */
  #printed(row: Row, result: RowResult, { error }: Outcome<JobResult>): Outcome<RowResult> {
    if (error === undefined) return { value: result };
    const where = `${this.#batch.input.manifest.named}:${row.line}`;
    const told = error instanceof GwError ? error.told({}, `${where}: ${error.message}`) : error;
    return { value: result, error: told };
  }

  #interrupted(): unknown {
    const { ctx } = this.#batch;
    const { reason } = ctx.signal;
    return reason instanceof Interrupted
      ? new Interrupted(reason.signal, 'run the command again to go on', 'what was created is in the ledger')
      : reason;
  }
}

/**
 * What came of a row, with the job that the ledger has for it where its create gave back none: what is paid for is never
 * told as not sent, whatever hindered going on with it.
 */
async function withJob(row: Row, outcome: Outcome<JobResult>, ctx: Context): Promise<Outcome<JobResult>> {
  if (outcome.value !== undefined) return outcome;
  // A ledger that cannot be read leaves what the error itself says.
  const { current: job } = await lastOfRow(row.key, ctx).catch(() => ({ current: undefined }));
  if (!job) return outcome;
  const value = resultOfJob(job, job.id ?? job.key);
  return { ...outcome, value: isUnanswered(job) ? { ...value, status: 'unknown' } : value };
}

const beingHandedOver = (input: Batch['input'], ctx: Context): GwError =>
  usage(
    `${input.manifest.named}: another gw batch run on this machine is handing its rows over to a queue, and nothing was sent`,
    `follow them with: ${runCommand(input, ' --redis', ctx)}`,
  );

const madeElsewhere = (input: Batch['input'], ctx: Context): GwError =>
  new GwError('unknown_outcome', 'it was handed over to other machines, and nothing was sent by this one', {
    hint: `follow it with: ${runCommand(input, ' --redis', ctx)}`,
  });

/** Whether an error concerns the task of its row alone, such as a lost key of the account that made it. */
const isOfItsTask = (outcome: Outcome<JobResult>): boolean =>
  outcome.error instanceof GwError && outcome.error.facts.taskId === (resultIn(outcome)?.id ?? '');

/** What a row is that has a job and no task. */
const endedAs: Readonly<Partial<Record<ErrorKind, string>>> = {
  unknown_outcome: 'unknown',
  rejected: 'refused',
  not_found: 'refused',
};

function resultOf({ row, line, key, command }: Row, outcome: Outcome<JobResult>): RowResult {
  const { error } = outcome;
  const result = resultIn(outcome);
  const { kind, facts } = error instanceof GwError ? error : { kind: undefined, facts: {} };
  const job = kind && endedAs[kind] && facts.taskId;
  const word = job || kind === 'unknown_outcome' ? endedAs[kind] : undefined;
  return {
    ...{ row, line, key },
    id: result?.id ?? job ?? null,
    family: result?.family ?? familyOf(command),
    status: result?.status ?? word ?? 'not_sent',
    files: result?.files ?? [],
    record: result?.record ?? null,
    error: error === undefined ? null : (reportError(error) ?? null),
  };
}

const resultOfKnown = (
  { row, line, key, command }: Row,
  { id, family, status, files }: KnownRow,
): Omit<RowResult, 'files'> & { files: readonly { readonly path: string }[] } => ({
  ...{ row, line, key, id, family: family || familyOf(command), status },
  files: files.map((path) => ({ path })),
  record: null,
  error: null,
});
