import * as path from 'node:path';
import { unportable } from '../../batch/portable.ts';
import type { Outcome } from '../../command.ts';
import type { Access, Context } from '../../context.ts';
import { endsAll, GwError, Interrupted, usage } from '../../errors.ts';
import { once } from '../../host.ts';
import { reportError, safeReport } from '../../io/error-lines.ts';
import { holdWhenFree } from '../../jobs/create/hold-job.ts';
import { planTarget } from '../../jobs/save/output-path.ts';
import type { Job } from '../../ledger/event.ts';
import { type CarriedJob, type RowRecord, type ToldError, withoutLinks } from '../../machines/row.ts';
import { type Brought, type Followed, type Hands, type Made, TakenAway } from '../../machines/work.ts';
import { isWanted, lastOfRow } from '../batch/known-rows.ts';
import { createRow, creates, flagsOf } from '../batch/row-command.ts';
import { withFamilies } from '../jobs/find-jobs.ts';
import { endedOutcome, planToSave, taskJob } from '../jobs/task-job.ts';
import { followFromFlags, type JobResult, resultIn, waitDeadlineMs } from '../video/follow-job.ts';

// What a worker does with a row on its machine: the row's own create command, the wait and the download, with this machine's
// ledger and files.

/** What the hands are given beside the row. */
export interface HandsInput {
  /** Of the whole worker, with the followers of all its rows. */
  readonly ctx: Context;
  /** Where the rows' files are. */
  readonly root: string;
  /** Where outputs go of rows that do not say. */
  readonly out: string | undefined;
  /** Ends the work on this row. */
  readonly signal: AbortSignal;
  /** Waits for a turn in the rate of the row's pool. */
  readonly turn: () => Promise<void>;
  /** The gateway wants no request for so long. */
  readonly hold: (delayMs: number) => void;
  /** Shows what came of the row. */
  readonly show: (outcome: Outcome<JobResult>) => void;
  readonly onStop: (error: unknown) => void;
  readonly onTakenAway: Hands['onTakenAway'];
}

/** Pause after a create that made nothing, where nobody says how long. */
const NOTHING_MADE_MS = 15_000;

/** The hands of one row. */
export function handsOf(input: HandsInput): Hands {
  const ctx: Context = { ...input.ctx, signal: input.signal };
  const rowOf = ({ row }: RowRecord) => ({
    ...row,
    flags: { ...(input.out && { out: input.out }), ...row.flags },
  });

  /** The last job of the row in this machine's ledger, as it stands. */
  const known = ({ row }: RowRecord) => lastOfRow(row.key, ctx);

  /** The row's job in this machine's ledger; one that another machine made is taken in with what it carried. */
  const jobOf = async (record: RowRecord, id: string): Promise<Job> => {
    const ledger = await ctx.ledger();
    const { key, attempt, current } = await known(record);
    if (current?.id === id) return current;
    const isLost = isWanted(current, record) && current.id === undefined;
    const hold = isLost
      ? await holdWhenFree(current.key, { ledger, clock: ctx.clock, signal: ctx.signal }, () => {})
      : ledger.begin(await carriedIntent(record, attempt), key);
    try {
      ledger.append(isLost ? current.key : key, { event: 'accepted', id, status: record.status });
    } finally {
      hold.release();
    }
    const [job] = await ledger.find({ ids: [isLost ? current.key : key] });
    if (!job) throw new Error('a job that was begun is in the ledger');
    return job;
  };

  const carriedIntent = async (record: RowRecord, attempt: number) => {
    const [settings, access] = [await ctx.settings(), await ctx.gateway()];
    const row = rowOf(record);
    const flags = await flagsOf(row, record.rows, ctx);
    const { job, family } = record;
    return {
      event: 'intent' as const,
      family,
      endpoint: job?.endpoint ?? '',
      model: job?.model,
      prompt: job?.prompt,
      settings: job?.settings ?? {},
      media: job?.media ?? [],
      // Empty: it was made elsewhere, and is no news here.
      bodySha256: '',
      externalId: job?.externalId,
      once: {
        key: row.key,
        attempt: Math.max(job?.attempt ?? attempt, record.wanted ?? 1),
        fields: job?.fields ?? {},
      },
      profile: settings.profile.value,
      keyId: access.keyId,
      gateway: access.name,
      save: {
        target: planTarget(typeof flags.out === 'string' ? flags.out : undefined, ctx.host.cwd),
        force: flags.force === true,
        download: flags.download !== false,
        sidecar: (flags.sidecar ?? settings.sidecar.value) ? ctx.host.version : undefined,
      },
    };
  };

  const follow = async (record: RowRecord, id: string, download: boolean): Promise<Outcome<JobResult>> => {
    const [entry] = await withFamilies([await jobOf(record, id)]);
    if (!entry) throw new Error('a job has an entry');
    const ended = endedOutcome(entry, download);
    if (ended) return ended;
    const { family, job } = await taskJob(entry, ctx);
    const { flags } = record.row;
    const outcome = await followFromFlags(
      {
        ...{ key: job.key, id, family, flags, job },
        atOnce: job.state === 'running' && record.state === 'running',
        // A row wants its outputs, whatever was said where its job was made.
        save: download ? await planToSave(entry, { force: job.save.force }, ctx) : { ...job.save, download },
        deadlineMs: waitDeadlineMs(flags, ctx),
      },
      followersOf(ctx),
      ctx,
    );
    const isSaved = (resultIn(outcome)?.files ?? []).length > 0;
    if (!download || outcome.error !== undefined || isSaved) return outcome;
    // Another gw of this machine may have saved it meanwhile.
    const [now] = await withFamilies(await (await ctx.ledger()).find({ ids: [job.key] }));
    return (now && endedOutcome(now, download)) ?? outcome;
  };

  return {
    looksUp: ({ family }) => family === 'beta',
    async knows(record) {
      const { current } = await known(record);
      if (!isWanted(current, record)) return false;
      return current.id !== undefined || (current.family === 'image' && current.state === 'succeeded');
    },
    async create(record, beforeSend): Promise<Made> {
      // What stands on a queue is believed as little as anything from outside.
      const [fault] = unportable(record.row, creates, (text) => ctx.io.withoutSecrets(text));
      if (fault !== undefined) return failed(record, usage(fault), false);
      const guarded = guardedGateway(ctx, async () => {
        await input.turn();
        await beforeSend();
      });
      const { rows, again: isAgain, wanted: again = isAgain, named } = record;
      const options = { rows, again, named, wait: false };
      const file = path.join(input.root, '-');
      const own = { ...ctx, gateway: guarded };
      const outcome: Outcome<JobResult> = await createRow(rowOf(record), file, options, own).catch(
        (error: unknown) => ({ error }),
      );
      const { error } = outcome;
      const value = resultIn(outcome);
      if (error instanceof TakenAway) throw error;
      const { current: last } = await known(record);
      const current = isWanted(last, record) ? last : undefined;
      if (record.family !== 'image' && current?.id !== undefined) {
        const goesOn = current.id === value?.id && /^(running|succeeded)$/.test(current.state);
        if (error === undefined || goesOn) {
          return { kind: 'accepted', id: current.id, status: current.status, job: carriedOf(current) };
        }
      } else if (record.family !== 'image' && current && value && isUnrecorded(value, error, current)) {
        // A ledger that takes nothing knows no further task either.
        if (error instanceof GwError) input.onStop(error);
        return { kind: 'accepted', id: value.id, status: value.status, job: carriedOf(current) };
      }
      if (error === undefined && value) return savedAs(outcome, value);
      if (record.family === 'image' && [value?.status, current?.state].includes('succeeded')) {
        return imagesMade(record, outcome, current);
      }
      return madeOf(record, outcome, current);
    },
    async follow(record, id): Promise<Followed> {
      const outcome = await follow(record, id, false).catch(orStopped);
      if (outcome.error !== undefined) return endedBadly(record, outcome);
      return { kind: 'ended', status: resultIn(outcome)?.status ?? '' };
    },
    async save(record, id): Promise<Brought> {
      const outcome = await follow(record, id, true).catch(orStopped);
      if (outcome.error !== undefined) return endedBadly(record, outcome);
      input.show(outcome);
      const { files = [], status = '' } = resultIn(outcome) ?? {};
      return { kind: 'saved', files, status };
    },
    async pause(waitMs) {
      await ctx.clock.sleep(waitMs, ctx.signal).catch(() => {});
    },
    onTakenAway: input.onTakenAway,
  };

  function endedBadly(record: RowRecord, outcome: Outcome<JobResult>): Followed & Brought {
    const { error } = outcome;
    const isInterrupted = ctx.signal.aborted || error instanceof Interrupted;
    if (isInterrupted || isStopped(error)) return { kind: 'interrupted' };
    return { ...failed(record, error), status: resultIn(outcome)?.status ?? '' };
  }

  function savedAs(outcome: Outcome<JobResult>, { files, status, id }: JobResult) {
    input.show(outcome);
    return { kind: 'saved', files, status, id } as const;
  }

  /** Images that were made are paid for: whatever else went wrong, their row is saved or lacks its download. */
  async function imagesMade(
    record: RowRecord,
    outcome: Outcome<JobResult>,
    current: Job | undefined,
  ): Promise<Made> {
    const { error } = outcome;
    const value = resultIn(outcome);
    const [entry] = await withFamilies(current ? [current] : []);
    // The ledger may be what could not be written.
    const task = entry?.family && value?.record ? entry.family.readTask(value.record, value.id) : undefined;
    const came = task && task.outputs.length + (task.cameAlong?.length ?? 0);
    const isHome =
      (entry !== undefined && endedOutcome(entry, true) !== undefined) ||
      (value !== undefined && came !== undefined && value.files.length >= Math.max(1, came));
    if (value && isHome) {
      if (error instanceof GwError) ctx.io.warn(`${record.row.key}: ${error.message}`);
      return savedAs({ value }, value);
    }
    if (error instanceof GwError && error.kind === 'download') return failed(record, error);
    const why = error instanceof Error ? error.message : String(error);
    const { host = 'its worker' } = record;
    return failed(
      record,
      new GwError('download', `its images were made, and are not all saved: ${why}`, {
        taskId: value?.id ?? current?.key,
        hint: `they are made nowhere else: on ${host}, gw jobs sync saves what can still be had, and gw batch run --redis then tells the queue`,
      }),
    );
  }

  /** What came of a create that gave no task and no file. */
  function madeOf(record: RowRecord, outcome: Outcome<JobResult>, current: Job | undefined): Made {
    const { error } = outcome;
    const isOpen = current !== undefined && (current.state === 'sent' || current.state === 'unknown');
    const isUnknown = error instanceof GwError && error.kind === 'unknown_outcome';
    const isInterrupted = error instanceof Interrupted || ctx.signal.aborted;
    if (isUnknown || (isInterrupted && isOpen)) {
      input.show({ error: underKey(record, error) });
      return {
        kind: 'unknown',
        error: isUnknown ? tell(error) : { ...tell(error), kind: 'unknown_outcome', exit_code: 14 },
      };
    }
    if (isInterrupted) return { kind: 'nothing_made', waitMs: 0 };
    if (error instanceof GwError && (error.kind === 'rate_limited' || error.kind === 'unavailable')) {
      const { retryAtMs } = error.facts;
      const toldMs = retryAtMs === undefined ? undefined : Math.max(1_000, retryAtMs - ctx.clock.now());
      if (error.kind === 'rate_limited' && toldMs !== undefined) input.hold(toldMs);
      return { kind: 'nothing_made', waitMs: toldMs ?? NOTHING_MADE_MS };
    }
    if (isStopped(error)) return { kind: 'stop' };
    const job = current && carriedOf(current);
    return { ...failed(record, error, resultIn(outcome) !== undefined), job };
  }

  /** Whether every further row would meet an error too; then the worker ends. */
  function isStopped(error: unknown): boolean {
    const isOver = error instanceof GwError && endsAll.has(error.kind);
    if (isOver) input.onStop(error);
    return isOver;
  }

  function failed(record: RowRecord, error: unknown, isOfJob = true) {
    input.show({ error: underKey(record, error) });
    return { kind: 'failed', error: tell(error), isOfJob } as const;
  }

  function tell(error: unknown): ToldError {
    const report = reportError(error) ?? { kind: 'internal', message: 'ended', exit_code: 1 };
    const safe = safeReport(report, (text) => withoutLinks(ctx.io.withoutSecrets(text)));
    return Object.fromEntries(Object.entries(safe).filter(([, value]) => value !== undefined)) as ToldError;
  }
}

/** What ends a worker is told like any other end of a wait; what else is thrown is a fault. */
function orStopped(error: unknown): Outcome<never> {
  if (error instanceof GwError && endsAll.has(error.kind)) return { error };
  throw error;
}

/** Whether a task was accepted whose ID the ledger could not take: nothing but this outcome knows it. */
const isUnrecorded = ({ id }: JobResult, error: unknown, { key }: Job): boolean =>
  id !== key && !(error instanceof GwError && error.kind === 'unknown_outcome');

const underKey = ({ row }: RowRecord, error: unknown): unknown =>
  error instanceof GwError ? error.told({}, `${row.key}: ${error.message}`) : error;

function followersOf(ctx: Context): NonNullable<Context['followers']> {
  if (!ctx.followers) throw new Error('the rows of a worker share their followers');
  return ctx.followers;
}

/** A gateway that asks before each paid request, and sends none of them again by itself: the queue decides that. */
function guardedGateway(ctx: Context, before: () => Promise<void>): Context['gateway'] {
  return once(async (): Promise<Access> => {
    const access = await ctx.gateway();
    const { client } = access;
    return {
      ...access,
      client: {
        ...client,
        async send(endpoint, request, options = {}) {
          if (endpoint.resend !== 'paid') return client.send(endpoint, request, options);
          await before();
          return client.send(endpoint, request, { ...options, retries: 0 });
        },
        async receive(endpoint, request, taker, options = {}) {
          if (endpoint.resend !== 'paid') return client.receive(endpoint, request, taker, options);
          await before();
          return client.receive(endpoint, request, taker, { ...options, retries: 0 });
        },
      },
    };
  });
}

/** Longest value of a setting that is carried: a longer one is no setting but content. */
const LONGEST_SETTING = 200;

/** What another machine needs of a job to go on with it; nothing that holds a link or a credential. */
function carriedOf({ endpoint, model, prompt, settings, media, once: made, externalId }: Job): CarriedJob {
  const isPlain = (value: unknown) =>
    typeof value !== 'string' || (value.length <= LONGEST_SETTING && !/https?:/i.test(value));
  return {
    endpoint,
    model,
    prompt,
    settings: Object.fromEntries(Object.entries(settings).filter(([, value]) => isPlain(value))),
    media: media.map(withoutLinks),
    attempt: made?.attempt ?? 1,
    fields: made?.fields ?? {},
    externalId,
  };
}
