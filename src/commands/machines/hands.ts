import * as fs from 'node:fs';
import * as path from 'node:path';
import type { Outcome } from '../../command.ts';
import type { Context } from '../../context.ts';
import { confinedPaths } from '../../disk/confined-path.ts';
import { faultReason } from '../../disk/disk-fault.ts';
import { GwError, Interrupted, isUnknownOutcome, UnknownOutcome, usage } from '../../errors.ts';
import { readImages } from '../../gateway/image/reply.ts';
import { once, quietly } from '../../host.ts';
import { reportError, safeReport } from '../../io/error-lines.ts';
import { oneLine } from '../../io/escape.ts';
import type { Made as JobMade } from '../../jobs/create/make.ts';
import { planTarget } from '../../jobs/save/output-path.ts';
import { type Job, mayExist } from '../../ledger/event.ts';
import { LEASE_MS } from '../../machines/engine.ts';
import {
  type CarriedJob,
  closingHint,
  type RowRecord,
  type ToldError,
  withoutLinks,
} from '../../machines/row.ts';
import { batchOf } from '../../machines/store.ts';
import {
  type Brought,
  type Followed,
  type Hands,
  type Made,
  type Saved,
  TakenAway,
} from '../../machines/work.ts';
import { isWanted } from '../batch/known-rows.ts';
import {
  createRow,
  endsCreates,
  flagsOf,
  ofRow,
  pauseOf,
  type RowFiles,
  type RowOutcome,
  under,
} from '../batch/row-command.ts';
import { withFamily } from '../jobs/find-jobs.ts';
import { endedOutcome, planToSave, taskJob, whileHeld } from '../jobs/task-job.ts';
import { goOnWith, lastOfKey } from '../once.ts';
import {
  followFromFlags,
  type JobResult,
  newSavePlan,
  resultIn,
  waitDeadlineMs,
} from '../video/follow-job.ts';
import { createFollowers } from '../video/followers.ts';
import { carriedJob, requestOf } from './carried.ts';
import { type Around, accessAround } from './observe.ts';
import { withRedis } from './open.ts';
import { badEnds } from './row-end.ts';
import type { WorkerRun } from './worker-run.ts';

// The work of a worker on one row: the row's create command, the wait and the download, with this machine's ledger and
// files.

/** Stands in for the checked request, which an older gw did not hand over. */
const noCheck: CarriedJob = { endpoint: '', settings: {}, media: [], fields: {}, files: {}, attempt: 1 };

/** How long a task is watched after its row's own wait has ended. */
const LONGEST_WAIT_MS = 86_400_000;

/** A request may leave this long after the queue was asked, well before the row's lease expires. */
const SEND_WITHIN_MS = LEASE_MS / 2;

type MadeOf<K extends JobMade['kind']> = Extract<JobMade, { kind: K }>;

/** Works on one row until the signal aborts; `turn` waits for a turn in the rate of the pool. */
export class RowHands implements Omit<Hands, 'onTakenAway'> {
  readonly #ctx: Context;
  /** The context for a row with an output path of its own, which must be below the worker's folder. */
  readonly #placing: Context;
  /** The folder of the rows' input files. */
  readonly #root: string;

  constructor(
    private readonly worker: WorkerRun,
    signal: AbortSignal,
    private readonly turn: () => Promise<void>,
  ) {
    const { host } = worker.rowCtx;
    this.#ctx = { ...worker.rowCtx, signal };
    this.#placing = { ...this.#ctx, host: { ...host, cwd: folderOf(worker.flags.out, host.cwd) } };
    this.#root = path.resolve(host.cwd, worker.flags.root ?? '.');
  }

  readonly knows = async (record: RowRecord) => {
    const job = await this.#own(record);
    if (job?.family === 'image') return job.state === 'succeeded';
    // A job that has ended badly may be of an earlier round, where another machine was the last to send.
    const isOn = job?.state === 'running' || job?.state === 'succeeded';
    return job?.id !== undefined && (isOn || record.sender === this.worker.queue.host);
  };
  readonly create: Hands['create'] = async (record, beforeSend) => {
    const keepsOther = (await this.#own(record))?.family === record.family;
    const guarded = guardedGateway(this.#ctx, async () => {
      await this.turn();
      const { last } = await lastOfKey(record.row.key, this.#ctx);
      const askedMs = this.#ctx.clock.steady();
      await beforeSend(last && carriedJob(last, record));
      return () => this.#ctx.clock.steady() - askedMs < SEND_WITHIN_MS;
    });
    const { rows, state, named, wanted = record.again, job: { fields: expects, attempt = 1 } = {} } = record;
    // A create that was being sent is continued, and not made anew.
    const again = state === 'sending' ? attempt : wanted;
    const options = { rows, again, named, expects, keepsOther, wait: false };
    const dir = this.#root;
    const confined = confinedPaths({ dir, what: '--root', hint: 'a worker reads no other files' });
    const own = { ...this.#placeOf(record), gateway: guarded };
    const files = { dir, confined, outputs: this.#outputsOf(record) };
    const outcome = await createRow(this.#rowOf(record), files, options, own);
    const { error, made } = outcome;
    if (error instanceof TakenAway) throw error;
    if (made.kind === 'images') return this.#imagesMade(record, outcome, made);
    if (made.kind === 'accepted') {
      const { id, status, job, unrecorded } = made;
      // If the ledger cannot be written, no further task could be recorded either.
      if (unrecorded instanceof GwError) this.worker.stopFor(unrecorded, 'all');
      return { kind: 'accepted', id, status, job: carriedJob(job, record) };
    }
    if (this.#isStopped(error, 'creates'))
      return { kind: 'nothing_made', waitMs: 0, error: toldError(error, this.#ctx) };
    if (made.kind === 'unknown') return this.#lostAs(record, error, made.job);
    return this.#notMade(record, error, made);
  };
  readonly follow = async (record: RowRecord, id: string): Promise<Followed> => {
    const outcome = await this.#follow(record, id, false).catch(orStopped);
    if (outcome.error !== undefined) return this.#endedBadly(record, outcome);
    return { kind: 'ended', status: resultIn(outcome)?.status ?? '' };
  };
  /** Waits for the task of a row whose own wait is over; true if the task has ended. */
  readonly hasEnded = async (record: RowRecord) => {
    const { row, id = '' } = record;
    const patient = { ...record, row: { ...row, flags: { ...row.flags, waitTimeout: LONGEST_WAIT_MS } } };
    const { error } = await this.#follow(patient, id, false).catch((error: unknown) => ({ error }));
    return error === undefined || (error instanceof GwError && badEnds.has(error.kind));
  };
  readonly save = async (record: RowRecord, id: string): Promise<Brought> => {
    const image = record.family === 'image' ? await this.#own(record) : undefined;
    if (record.family === 'image' && !image) {
      const error =
        record.error ?? toldError(new GwError('download', 'its images lie on another machine'), this.#ctx);
      return { kind: 'failed', error, isElsewhere: true };
    }
    const saving = image
      ? goOnWith({ kind: 'stands', job: image }, { deadlineMs: waitDeadlineMs({}, this.#ctx) }, this.#ctx)
      : this.#follow(record, id, true);
    const outcome = await saving.catch(orStopped);
    return outcome.error === undefined ? this.#savedAs(outcome) : this.#endedBadly(record, outcome);
  };
  readonly pause = (waitMs: number) => this.#ctx.clock.sleep(waitMs, this.#ctx.signal).catch(() => {});

  /** The outputs that a row may use: those of its batch, found in this ledger or by looking up their tasks. */
  #outputsOf({ row, job }: RowRecord): NonNullable<RowFiles['outputs']> {
    return {
      isOwn: ({ once }) => once?.key.startsWith(`${batchOf(row.key)}/`) === true,
      meant: job?.outputs,
      rowJob: async (id, named) => {
        const key = `${batchOf(row.key)}/${id}`;
        const [of] = await this.worker.queue.store.read([key]);
        if (of?.state !== 'saved') throw usage(`${named}: ${key} is not saved, and nothing was sent`);
        if (of.family === 'image') {
          const own = await this.#own(of);
          if (own) return own;
          const there = of.files.map((file) => oneLine(`${of.host}:${file.path}`)).join(', ');
          const hint = 'start a gw worker there, and run the batch again';
          throw usage(`${named}: its image lies on another machine: ${there}`, hint);
        }
        const { error } = await this.#follow(of, of.id ?? '', true);
        if (error !== undefined) throw error;
        return (await lastOfKey(key, this.#ctx)).current;
      },
    };
  }

  #placeOf({ row }: RowRecord): Context {
    return row.flags.out === undefined ? this.#ctx : this.#placing;
  }

  #rowOf({ row }: RowRecord) {
    const { out } = this.worker.flags;
    return { ...row, flags: { ...(out && { out }), ...row.flags } };
  }

  /** The job of the row's attempt in this machine's ledger. */
  async #own(record: RowRecord): Promise<Job | undefined> {
    const { current } = await lastOfKey(record.row.key, this.#ctx);
    return isWanted(current, record) ? current : undefined;
  }

  /** The row's job in this machine's ledger; a job made elsewhere is adopted with the data from the queue. */
  async #jobOf(record: RowRecord, id: string): Promise<Job> {
    const ledger = await this.#ctx.ledger();
    const { key, attempt, current } = await lastOfKey(record.row.key, this.#ctx);
    if (current?.id === id) return current;
    const lost = isWanted(current, record) && current.id === undefined ? current : undefined;
    const jobKey = lost?.key ?? key;
    await whileHeld(jobKey, this.#ctx, async ({ job: there }) => {
      if (!there) ledger.append(jobKey, await this.#carriedIntent(record, attempt));
      if (there?.id !== id) ledger.append(jobKey, { event: 'accepted', id, status: record.status });
    });
    const [job] = await ledger.find({ ids: [jobKey] });
    if (!job) throw new Error('a job that was begun is in the ledger');
    return job;
  }

  async #carriedIntent(record: RowRecord, attempt: number) {
    const [settings, access] = [await this.#ctx.settings(), await this.#ctx.gateway()];
    const row = this.#rowOf(record);
    const flags = await flagsOf(row, record.rows, this.#placeOf(record));
    const job = record.job ?? noCheck;
    const { attempt: made, fields, files: _, key: _key, ownPrompt: _own, ...asked } = job;
    return {
      event: 'intent' as const,
      family: record.family,
      ...asked,
      model: job.model,
      request: record.job && requestOf(record.row, record.job, this.#root),
      // Empty marks a job made elsewhere, which `stats` does not count.
      bodySha256: '',
      once: { key: row.key, attempt: Math.max(made, attempt, record.wanted ?? 1), fields },
      profile: settings.profile.value,
      keyId: access.keyId,
      gateway: access.name,
      save: newSavePlan({ ...flags, force: false }, settings, this.#ctx.host),
    };
  }

  async #follow(record: RowRecord, id: string, download: boolean): Promise<Outcome<JobResult>> {
    const entry = await withFamily(await this.#jobOf(record, id));
    const ended = await endedOutcome(entry, this.#ctx.signal);
    if (ended) return ended;
    const { family, job } = await taskJob(entry, this.#ctx);
    const { flags } = record.row;
    const { out } = await flagsOf(this.#rowOf(record), record.rows, this.#placeOf(record));
    return followFromFlags(
      {
        key: job.key,
        id,
        family,
        flags,
        job,
        atOnce: job.state === 'running' && record.state === 'running',
        // A row always wants its outputs, even if the original job had --no-download.
        save: download ? await planToSave(entry, { out: String(out) }, this.#ctx) : { ...job.save, download },
        deadlineMs: waitDeadlineMs(flags, this.#ctx),
      },
      createFollowers(this.#ctx),
      this.#ctx,
    );
  }

  #endedBadly(record: RowRecord, outcome: Outcome<JobResult>): Followed & Brought {
    const { error } = outcome;
    const isInterrupted = this.#ctx.signal.aborted || error instanceof Interrupted;
    if (isInterrupted || this.#isStopped(error, 'all')) return { kind: 'interrupted' };
    return { ...this.#failed(record, error), status: resultIn(outcome)?.status ?? '' };
  }

  #savedAs(outcome: Outcome<JobResult>): Saved {
    this.worker.show(outcome);
    const { files = [], status = '', id } = resultIn(outcome) ?? {};
    return { kind: 'saved', files, status, id };
  }

  /** Created images are paid for: whatever else failed, the row is saved or lacks its download. */
  #imagesMade(record: RowRecord, outcome: RowOutcome, { job, came }: MadeOf<'images'>): Made {
    const { error } = outcome;
    const value = resultIn(outcome);
    const ofReply = readImages(came.record).filter(({ kind, url }) => kind === 'base64' || url);
    const isHome = error === undefined || came.files.length >= Math.max(1, ofReply.length);
    // Saved images are reported even by a worker that was stopped meanwhile.
    if (value && isHome) {
      if (error instanceof GwError) this.#ctx.io.warn(`${record.row.key}: ${error.message}`);
      return this.#savedAs({ value });
    }
    if (error instanceof GwError && error.kind === 'download') return this.#failed(record, error);
    return this.#failed(
      record,
      new GwError('download', `its images were made, and are not all saved: ${faultReason(error)}`, {
        taskId: job.key,
        hint: `they are made nowhere else: on ${record.host ?? 'its worker'}, gw jobs sync saves what can still be had, and gw batch run --redis then tells the queue`,
      }),
    );
  }

  /** The outcome of a create whose job may exist, which only this machine can find out. */
  #lostAs(record: RowRecord, error: unknown, { key }: Pick<Job, 'key'>): Made {
    const lost = isUnknownOutcome(error) ? error : new UnknownOutcome(faultReason(error));
    const hint = `it stands in the ledger of ${record.host} as ${key}; ${closingHint(record)}`;
    const own = lost.told({ hint: withRedis(hint, this.worker.flags) });
    this.worker.show({ error: under(record.row.key, own) });
    return { kind: 'unknown', error: { ...toldError(lost, this.#ctx), hint } };
  }

  /** The outcome of a create that gave neither a task nor a file. */
  async #notMade(record: RowRecord, error: unknown, made: MadeOf<'refused' | 'nothing'>): Promise<Made> {
    // A job of an earlier run on this machine that this run could not continue.
    const earlier = made.job ? undefined : await this.#own(record);
    if (error instanceof Interrupted || this.#ctx.signal.aborted)
      return earlier && mayExist(earlier)
        ? this.#lostAs(record, error, earlier)
        : { kind: 'nothing_made', waitMs: 0 };
    if (error instanceof GwError && (error.kind === 'rate_limited' || error.kind === 'unavailable')) {
      const waitMs = pauseOf(error, this.#ctx);
      if (error.kind === 'rate_limited') this.worker.holdCreates(record.pool, waitMs);
      return { kind: 'nothing_made', waitMs, error: toldError(error, this.#ctx) };
    }
    const job = made.job ?? earlier;
    // A missing input output is not the job's own failure: another machine may have it.
    const isLacking =
      error instanceof GwError &&
      (error.kind === 'download' || (error.kind === 'not_found' && error.facts.status === undefined));
    if (!job && isLacking) return this.#failed(record, usage(error.message, error.hint), false);
    return { ...this.#failed(record, error, made.kind === 'refused'), job: job && carriedJob(job, record) };
  }

  /** True if every further row would get this error too; then the worker is stopped. */
  #isStopped(error: unknown, what: 'creates' | 'all'): boolean {
    const isOver = endsCreates(error);
    if (isOver) this.worker.stopFor(error, what);
    return isOver;
  }

  #failed(record: RowRecord, error: unknown, isOfJob = true) {
    this.worker.show({ error: under(record.row.key, error) });
    return { kind: 'failed', error: toldError(ofRow(error, record.row), this.#ctx), isOfJob } as const;
  }
}

/** An error in the form for the queue; `isStuck` is true if only another job brings the output. */
export function toldError(error: unknown, { io }: Pick<Context, 'io'>): ToldError {
  const report = reportError(error) ?? { kind: 'internal', message: 'ended', exit_code: 1 };
  const isStuck = (error instanceof GwError && error.facts.anew !== undefined) || undefined;
  return { ...safeReport(report, (text) => withoutLinks(io.withoutSecrets(text))), isStuck };
}

/** Turns an error that ends the worker into an outcome, and rethrows others as faults. */
function orStopped(error: unknown): Outcome<never> {
  if (endsCreates(error)) return { error };
  throw error;
}

/** The folder in which a worker saves; it is created so that paths leading out of it can be detected. */
function folderOf(out: string | undefined, cwd: string): string {
  if (out === undefined) return cwd;
  const fixed = out.split('{')[0] || './';
  const isFolder = planTarget(fixed, cwd).endsWith(path.sep);
  const dir = path.resolve(cwd, isFolder ? fixed : path.dirname(fixed));
  // An error will be reported when an output is saved.
  quietly(() => fs.mkdirSync(dir, { recursive: true }));
  return dir;
}

/** The row's lease has expired since the queue was asked, after a pause of this machine or a slow connection. */
const leaseOver = new Error('the lease of the row is over');

/**
 * A gateway that calls `before` ahead of each paid request and never retries one, because the queue decides on retries.
 * `before` returns a test whether the request may still leave; if it may not, `before` is called again.
 */
function guardedGateway(ctx: Context, before: () => Promise<() => boolean>): Context['gateway'] {
  const guarded: Around = async (endpoint, options, send) => {
    if (endpoint.resend !== 'paid') return send(options);
    for (;;) {
      const isInTime = await before();
      const mayLeave = () => {
        if (!isInTime()) throw leaseOver;
      };
      const onSend = () => {
        mayLeave();
        options.onSend?.();
      };
      try {
        return await send({ ...options, retries: 0, onSend, onConnected: mayLeave });
      } catch (error) {
        if (error !== leaseOver) throw error;
      }
    }
  };
  return once(async () => accessAround(await ctx.gateway(), guarded));
}
