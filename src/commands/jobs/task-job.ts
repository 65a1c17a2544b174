import type { Outcome } from '../../command.ts';
import { type Access, type Context, commandFor } from '../../context.ts';
import { GwError, UnknownOutcome, usage } from '../../errors.ts';
import { type SaveFlags, saveFlags } from '../../flags/job-flags.ts';
import { findTaskFamily } from '../../gateway/families.ts';
import type { Family, TaskFamily } from '../../gateway/task.ts';
import { holdWhenFree, lostFacts } from '../../jobs/create/hold-job.ts';
import { answerOf, printableRecord, printedFiles } from '../../jobs/job-view.ts';
import { planTarget } from '../../jobs/save/output-path.ts';
import { addBeside } from '../../jobs/save/publish.ts';
import { savedOutputs } from '../../jobs/save/saved.ts';
import { sidecarOfJob } from '../../jobs/save/sidecar.ts';
import { taskFailed } from '../../jobs/watch/look.ts';
import { lookWithin, type TaskNow } from '../../jobs/watch/poll.ts';
import { type Job, mayExist, type SavedFile, type SavePlan } from '../../ledger/event.ts';
import { adoptedJobKey } from '../../ledger/job-key.ts';
import type { Hold, Ledger } from '../../ledger/ledger.ts';
import { lacksOutputs, taskOf } from '../../ledger/settled.ts';
import { withWayBack } from '../video/follow-job.ts';
import type { Followers } from '../video/followers.ts';
import { type JobResult, newSavePlan, outNamed, resultIn } from '../video/job-result.ts';
import { ofTask, refuseOddTarget, showQueries } from '../video/task-ids.ts';
import type { KnownJob } from './find-jobs.ts';
import { type NamedJob, notInLedger } from './jobs-by-id.ts';

interface TaskJob {
  readonly job: Job & { readonly id: string };
  readonly family: TaskFamily;
  readonly access: Access;
}

/**
 * Returns the task of a job that has to be looked up. Throws UnknownOutcome for a job without a task ID, `auth` if
 * its gateway cannot be reached from here, and `usage` for a family that this build does not know.
 */
export async function taskJob({ job, family: known }: KnownJob, ctx: Context): Promise<TaskJob> {
  const family = known && (await findTaskFamily(known.name));
  if (family === undefined)
    throw new GwError(
      'usage',
      `job ${job.id ?? job.key} is of family ${job.family}, whose tasks this gw cannot look at`,
      { taskId: job.id ?? job.key },
    );
  const { id } = job;
  if (id === undefined) throw await noTask({ job, family }, ctx);
  return { job: { ...job, id }, family, access: await ctx.gatewayOf(job) };
}

/** The error for a job without a task ID. */
export async function noTask({ job, family }: KnownJob, ctx: Context): Promise<GwError> {
  const { hintOfUnknown } = await import('../../jobs/create/lost.ts');
  const hint = mayExist(job) ? hintOfUnknown(job) : `look for it with: ${commandFor('gw jobs sync', ctx)}`;
  const what = `job ${job.key} has no task ID: it was not answered, or not yet`;
  return badEnd(job, family, job.key) ?? new UnknownOutcome(what, { taskId: job.key, hint });
}

/** A task to wait for or save: its gateway, and where its outputs go this time. */
interface NamedTask extends TaskNow {
  readonly access: Access;
  readonly save: SavePlan;
}

/**
 * Returns a function that gives the task of each named job. With a family, a task that the ledger does not know is
 * adopted, so that its downloads are counted and can be resumed; without one, that is `not_found`. Throws as `taskJob`.
 */
export async function tasksOf(
  named: readonly NamedJob[],
  family: TaskFamily | undefined,
  flags: SaveFlags & { readonly deadlineMs?: number },
  followers: Followers,
  ctx: Context,
): Promise<(job: NamedJob) => Promise<NamedTask>> {
  const claims = await followers.claims();
  // No output that --force fetches again replaces a saved output of the same command.
  for (const { known } of flags.force ? named : [])
    if (known) claims.keep(known.job.key, (await savedOutputs(known.job, known.family, ctx.signal)).files);
  const foreign = family ? named.filter(({ known }) => !known) : [];
  const take = family && foreign.length > 0 ? await takeIn(family, flags, followers, ctx) : undefined;
  // All lookups start together because one request can ask for many tasks.
  const taken = new Map(foreign.map(({ id }) => [id, take?.(id)]));
  for (const each of taken.values()) each?.catch(() => {});
  // A named profile supplies the API key for every request.
  const way = ctx.globals.profile === undefined ? ctx : { ...ctx, gatewayOf: ctx.gateway };
  return async ({ id, known }) => {
    if (known) {
      const task = await taskJob(known, way);
      return { ...task, key: task.job.key, id: task.job.id, save: await planToSave(task, flags, ctx) };
    }
    const task = await taken.get(id);
    if (task) return task;
    throw notInLedger(id, ctx);
  };
}

/** Adopts tasks that were made on another machine, each after the gateway has confirmed it. */
async function takeIn(
  family: TaskFamily,
  flags: SaveFlags & { readonly deadlineMs?: number },
  followers: Followers,
  ctx: Context,
): Promise<(id: string) => Promise<NamedTask>> {
  const { clock, signal, host } = ctx;
  const ledger = await ctx.ledger();
  const settings = await ctx.settings();
  const access = await ctx.gateway();
  const looker = await followers.looker(family);
  const { name: gateway, keyId } = access;
  const save = newSavePlan(flags, settings, host);
  if (save.download) refuseOddTarget(save.target, outNamed(flags, settings));
  const { deadlineMs = Number.POSITIVE_INFINITY } = flags;
  return async (id) => {
    // The lookup comes first because a mistyped ID must not become a job.
    const asked = (own: AbortSignal) => looker.look(id, { signal: own, deadlineMs: flags.deadlineMs });
    const look = await lookWithin({ taskId: id, clock, deadlineMs, signal, look: asked });
    const key = adoptedJobKey(gateway, id);
    const task = { key, id, family, access, save, look };
    const adopt = async ({ job: there }: Hold): Promise<NamedTask> => {
      // Another gw may have adopted the task in the meantime.
      if (there?.id !== undefined)
        return { ...task, job: there, save: await planToSave({ job: there, family }, flags, ctx) };
      ledger.append(key, {
        event: 'intent',
        family: family.name,
        endpoint: family.query.endpoint.name,
        model: undefined,
        settings: {},
        media: [],
        bodySha256: '',
        profile: settings.profile.value,
        keyId,
        gateway,
        save,
      });
      ledger.append(key, { event: 'accepted', id, status: look.view.status });
      return task;
    };
    return whileHeld(key, ctx, adopt, deadlineMs);
  };
}

/**
 * The outcome that ledger and disk give without a request: the job failed, or all its outputs are saved. Undefined if
 * the task has to be looked up. All outputs have to be there, even if the create said --no-download.
 */
export async function endedOutcome(
  { job, family }: KnownJob,
  signal: AbortSignal,
): Promise<Outcome<JobResult> | undefined> {
  const error = badEnd(job, family, job.id ?? job.key);
  if (error === undefined && job.state !== 'succeeded') return undefined;
  const { files, missing } = await savedOutputs(job, family, signal);
  if (error !== undefined) return { value: resultOf(job, files), error };
  return files.length > 0 && missing.length === 0 ? { value: resultOf(job, files) } : undefined;
}

/** As {@link endedOutcome}; with --sidecar it also writes the sidecar of each output that is saved already. */
export async function endedBeside(known: KnownJob, flags: SaveFlags, ctx: Context) {
  const ended = await endedOutcome(known, ctx.signal);
  const { job, family } = known;
  const save = { ...job.save, sidecar: flags.sidecar ? ctx.host.version : undefined };
  const textOf = ended && sidecarOfJob(job, family, save);
  for (const { path, sha256 } of (textOf && resultIn(ended)?.files) || [])
    await addBeside(path, textOf?.(sha256), (text) => ctx.io.warn(text));
  return ended;
}

function badEnd(job: Job, family: Family | undefined, id: string): GwError | undefined {
  const because = job.message === undefined ? '' : `: ${job.message}`;
  const what = job.family === 'image' ? 'image job' : 'task';
  switch (job.state) {
    case 'failed':
      return taskFailed({ id, status: job.status ?? 'failed', error: taskOf(job, family)?.error }, { what });
    case 'not_sent':
    case 'refused':
      return new GwError('task_failed', `job ${id} was never created${because}`, { taskId: id });
    case 'lost':
      return new GwError('not_found', `${what} ${id} is lost${because}`, lostFacts(id));
    default:
      return undefined;
  }
}

/** The printed result of a job from the ledger, with those of its files that exist. */
export const resultOf = (job: Job, files: readonly SavedFile[], status = job.status): JobResult => ({
  family: job.family,
  id: job.id ?? job.key,
  status: status ?? (job.state === 'sent' ? 'unknown' : job.state),
  record: printableRecord(job) ?? answerOf(job) ?? null,
  files: printedFiles(files),
});

export const isTimeout = (error: unknown): error is GwError =>
  error instanceof GwError && error.kind === 'wait_timeout';

/**
 * The outcome of a named job whose lookup failed: its error names the command that continues it. A job that another gw
 * holds is reported as running. `family` is that of a task which the ledger does not know.
 */
export const failedOutcome = (
  { id, known }: NamedJob,
  error: unknown,
  { family = known?.job.family, force }: { family: string | undefined; force?: boolean | undefined },
  ctx: Context,
): Outcome<JobResult> => ({
  ...(known && { value: resultOf(known.job, [], isTimeout(error) ? 'running' : undefined) }),
  error: ofTask(withWayBack(error, { family, id, force }, ctx), id),
});

/** Plans where the outputs go. A new plan is stored, so that a later sync follows it; a copy is not. */
export async function planToSave(
  { job, family }: KnownJob,
  flags: SaveFlags,
  ctx: Context,
): Promise<SavePlan> {
  const save = savePlanOf(job, flags, ctx);
  if (flags.out !== undefined) refuseOddTarget(save.target);
  const isElsewhere = save.target !== job.save.target || save.sidecar !== job.save.sidecar;
  const isHome = job.state === 'succeeded' && family !== undefined && !lacksOutputs(job, family);
  const isNews = !job.save.download || (isElsewhere && !isHome);
  if (save.download && isNews) (await ctx.ledger()).append(job.key, { event: 'plan', save });
  return save;
}

/** The create's choices hold unless these flags change them, but for --force, which each command has to be given. */
const savePlanOf = (job: Job, flags: SaveFlags, ctx: Context): SavePlan => ({
  target:
    flags.out === undefined
      ? job.save.target
      : planTarget(flags.out, ctx.host.cwd, job.family === 'image' ? Number(job.settings.n ?? 1) : 1),
  force: flags.force ?? false,
  download: flags.download === undefined,
  sidecar: flags.sidecar === undefined ? job.save.sidecar : flags.sidecar ? ctx.host.version : undefined,
});

/** For --dry-run and --curl: the requests that would ask for the named jobs; with a family, at the current gateway. */
export const showNamed = (
  named: readonly NamedJob[],
  family: TaskFamily | undefined,
  ctx: Context,
): AsyncGenerator<Outcome<never>> => {
  const jobs = named.flatMap(({ known }) => known ?? []);
  for (const { job } of jobs)
    if (job.id === undefined) ctx.io.note(`job ${job.key} has no task, and no request can ask for one`);
  const ids = named.flatMap(({ id, known }) => (known && known.job.id === undefined ? [] : id));
  return family ? showQueries(family, ids, ctx) : showJobQueries(jobs, ctx);
};

/** For --dry-run and --curl: the requests that would ask for these jobs, each to its own gateway. */
export async function* showJobQueries(
  jobs: readonly KnownJob[],
  ctx: Context,
): AsyncGenerator<Outcome<never>> {
  const groups = new Map<string, TaskJob[]>();
  for (const known of jobs) {
    if (known.job.id === undefined || known.family?.name === 'image') continue;
    const task = await taskJob(known, ctx);
    const name = `${task.family.name} ${task.access.name}`;
    groups.set(name, [...(groups.get(name) ?? []), task]);
  }
  for (const [first, ...rest] of groups.values()) {
    if (first === undefined) continue;
    const ids = [first, ...rest].map(({ job }) => job.id);
    yield* showQueries(first.family, ids, { ...ctx, gateway: async () => first.access });
  }
}

/** The save flags for a job that exists already; a flag that is not given keeps the create's choice. */
export const laterSaveFlags = {
  ...saveFlags,
  out: {
    ...saveFlags.out,
    summary: saveFlags.out.summary.replace(/\(default .*$/, '(default: as its create said)'),
  },
} as const;

/** Shows the progress of several jobs: a bar on a terminal, progress lines elsewhere. */
export function wholeProgress(total: number, { io, clock }: Context) {
  const progress = total > 1 ? io.progress() : undefined;
  const startMs = clock.steady();
  let [done, failed] = [0, 0];
  const show = () => {
    const leftMs = done === 0 ? undefined : ((clock.steady() - startMs) / done) * (total - done);
    progress?.whole({ done, failed, total, leftMs });
  };
  show();
  return {
    tell(isFailed: boolean): void {
      done += 1;
      if (isFailed) failed += 1;
      show();
    },
    stop: () => progress?.stop(),
  };
}

/**
 * True if another gw is creating or saving a job that has no task ID; it cannot be looked up until that gw is done.
 */
export const isInOtherHands = ({ known }: NamedJob, ledger: Ledger): boolean =>
  known !== undefined && known.job.id === undefined && ledger.isHeld(known.job.key);

/** Waits until another gw has released the job, and reads it again, also if it is released. Throws as `waitForOther`. */
export async function fromOtherHands(named: NamedJob, ctx: Context, deadlineMs?: number): Promise<NamedJob> {
  const ledger = await ctx.ledger();
  const { known } = named;
  if (!known || known.job.id !== undefined) return named;
  const { key } = known.job;
  if (isInOtherHands(named, ledger)) await whileHeld(key, ctx, async () => {}, deadlineMs);
  const [job = known.job] = await ledger.find({ ids: [key] });
  return { id: job.id ?? key, known: { ...known, job } };
}

/** Runs `act` with a hold on the job, after waiting for another gw that may be creating it or looking for it. */
export async function whileHeld<T>(
  key: string,
  { ledger, clock, settings, signal, io }: Context,
  act: (hold: Hold) => Promise<T>,
  deadlineMs?: number,
): Promise<T> {
  const wait = (who: string) => io.note(`${who} is working on job ${key}; waiting for it`);
  const silenceMs = (await settings()).timeoutMs.value;
  const patience = { ledger: await ledger(), clock, signal, silenceMs, deadlineMs };
  const hold = await holdWhenFree(key, patience, wait);
  try {
    return await act(hold);
  } finally {
    hold.release();
  }
}

/** The error of a look at task `id`, for which `what` was to be resolved: a `not_found` says that nothing changed. */
export const unchanged = (error: unknown, id: string, what: string): unknown =>
  error instanceof GwError && error.kind === 'not_found'
    ? error.told({ taskId: id, hint: `check the ID; ${what} stays as it was` })
    : ofTask(error, id);

export const noTaskOfImage = (as: string, closing: string): GwError =>
  usage(
    `--as ${as}: image jobs have no task that could be looked up`,
    `close it, if nothing was made, with: gw jobs resolve ${closing}`,
  );
