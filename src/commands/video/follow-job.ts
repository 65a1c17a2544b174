import type { Outcome } from '../../command.ts';
import { type Access, type Context, commandFor } from '../../context.ts';
import { endsAll, GwError, Interrupted } from '../../errors.ts';
import type { PollFlags } from '../../flags/job-flags.ts';
import { findFamily } from '../../gateway/families.ts';
import { YOUNG_MS } from '../../gateway/task.ts';
import type { Cost } from '../../jobs/cost.ts';
import { explainOtherKey } from '../../jobs/create/hold-job.ts';
import { answerOf, printableRecord, printedFiles, statusWord } from '../../jobs/job-view.ts';
import type { Followed, FollowInput } from '../../jobs/watch/follow.ts';
import { seenInLedger, youngUntilMs } from '../../jobs/watch/look.ts';
import type { TaskNow } from '../../jobs/watch/poll.ts';
import { estimateMs } from '../../ledger/estimate.ts';
import type { Job, SavePlan } from '../../ledger/event.ts';
import type { Followers } from './followers.ts';
import type { JobResult } from './job-result.ts';

export * from './job-result.ts';

/** A task to wait for. A `look` that was just made serves as the first one. */
export interface FollowRequest extends TaskNow {
  readonly flags: PollFlags;
  readonly save: SavePlan;
  readonly deadlineMs: number;
  readonly settings?: Job['settings'] | undefined;
  /** The job's gateway; the current one if absent. */
  readonly access?: Access | undefined;
  /** Look at once, because the job is not new. */
  readonly atOnce?: boolean;
  /** The result that is known before the first lookup. */
  readonly accepted?: JobResult | undefined;
}

/** Waits for one job as the flags say and saves its outputs. The result is returned even if the wait fails. */
export async function followFromFlags(
  request: FollowRequest,
  followers: Followers,
  ctx: Context,
): Promise<Outcome<JobResult>> {
  for await (const outcome of followAll([request], followers, ctx)) return outcome;
  throw new Error('a followed job has an outcome');
}

/** Waits for many jobs at once and saves their outputs; yields one outcome per job, as each ends. */
export async function* followAll(
  requests: readonly FollowRequest[],
  followers: Followers,
  ctx: Context,
): AsyncGenerator<Outcome<JobResult>> {
  const estimateOf = await estimates(requests, ctx);
  const { intervalMs: asSet } = await ctx.settings();
  const inputs: (FollowInput & { readonly request: FollowRequest })[] = [];
  for (const request of requests) {
    const { family, flags, job, save, accepted, deadlineMs, id, key } = request;
    const interval = flags.interval ?? asSet.value;
    ctx.events?.about({ key, id, family: family.name, status: accepted?.status ?? job?.status });
    const { client } = request.access ?? (await ctx.gateway());
    const own = { request, key, id, family, save, deadlineMs };
    inputs.push({
      ...own,
      intervalMs: interval === undefined ? family.pollIntervalMs : { min: interval, max: interval },
      ...(interval === undefined && { speed: client.speed }),
      ...(request.atOnce && { firstDelayMs: 0 }),
      status: accepted?.status ?? job?.status,
      youngUntilMs: accepted ? ctx.clock.steady() + YOUNG_MS : job && youngUntilMs(job, ctx.clock),
      estimateMs: estimateOf(key),
      firstLook: request.look,
      ...(job?.state === 'succeeded' && { succeeded: { seen: seenInLedger(job, family, ctx.clock.now()) } }),
      pool: await followers.poolOf(job ?? { family: family.name, settings: request.settings ?? {} }),
    });
  }
  const { followMany } = await import('../../jobs/watch/follow.ts');
  const depsOf = ({ family, request }: (typeof inputs)[number]) =>
    followers.followDeps(family, request.access);
  for await (const { input, followed } of followMany(inputs, depsOf, ctx.signal)) {
    const { family, id, accepted, job, access, save } = input.request;
    const { keyId } = access ?? (await ctx.gateway());
    const explained = job
      ? { ...followed, error: explainOtherKey(followed.error, { ...job, id }, keyId) }
      : followed;
    const name = requests.length > 1 || followers.turns ? id : undefined;
    await noteUsage(followed, input.request.key, name, ctx);
    yield outcomeOf(explained, { family: family.name, id, accepted, job, force: save.force }, ctx);
  }
}

/**
 * Prints in one line what a job used; nothing if it failed, or if neither its record nor the price file gives a figure.
 * `key` is gw's own key of the job, `name` distinguishes the job from others in the message.
 */
export async function noteUsage(
  { error, usage: used = {} }: Pick<Followed, 'error' | 'usage'>,
  key: string,
  name: string | undefined,
  ctx: Context,
): Promise<void> {
  if (error !== undefined || ctx.io.mode.quiet) return;
  const { usageText } = await import('../../jobs/stats.ts');
  const text = usageText(used, used.charges ? undefined : await priceOf(key, ctx));
  if (text !== '') ctx.io.note(name === undefined ? text : `task ${name}: ${text}`);
}

/** The job's cost by the price file; undefined on an error, which must not fail a paid job. */
async function priceOf(key: string, ctx: Context): Promise<Cost | undefined> {
  try {
    if ((await ctx.settings()).prices.value === undefined) return undefined;
    const [job] = await (await ctx.ledger()).find({ ids: [key] });
    return job && (await ctx.pricing()).costOf(job, await findFamily(job.family));
  } catch {
    return undefined;
  }
}

/** The number of a family's newest jobs that are searched for similar ones. */
const JUDGED_BY = 200;

/** How long similar jobs took, by job key; empty if the ledger cannot be read, because a wait must not fail for that. */
async function estimates(
  requests: readonly FollowRequest[],
  ctx: Context,
): Promise<(key: string) => number | undefined> {
  if (!ctx.io.mode.bars) return () => undefined;
  try {
    const ledger = await ctx.ledger();
    const found = new Map<string, number | undefined>();
    const before = new Map<string, readonly Job[]>();
    // Jobs with the same settings share one estimate.
    const byKind = new Map<string, number | undefined>();
    for (const job of await ledger.find({ ids: requests.map(({ key }) => key) })) {
      const { family, gateway, model, settings } = job;
      const pace = JSON.stringify([family, gateway]);
      const ended =
        before.get(pace) ?? (await ledger.find({ family, gateway, states: ['succeeded'], limit: JUDGED_BY }));
      before.set(pace, ended);
      const kind = JSON.stringify([pace, model, settings.resolution, settings.duration]);
      if (!byKind.has(kind)) byKind.set(kind, estimateMs(ended, job));
      found.set(job.key, byKind.get(kind));
    }
    return (key) => found.get(key);
  } catch {
    return () => undefined;
  }
}

/**
 * The printed result of a followed job; an error that leaves the job running names the command that continues it, with
 * the --force of this one.
 */
export function outcomeOf(
  followed: Followed,
  of: Pick<FollowRequest, 'id' | 'accepted' | 'job'> & { family: string; force?: boolean | undefined },
  ctx: Context,
): Outcome<JobResult> {
  const { family, id, accepted, job } = of;
  const files = printedFiles(followed.files);
  const record =
    followed.record ?? accepted?.record ?? (job && (printableRecord(job) ?? answerOf(job))) ?? null;
  const status = followed.status || accepted?.status || (job ? statusWord(job) : '');
  return {
    value: { family, id, status, record, files },
    ...(followed.error !== undefined && { error: withWayBack(followed.error, of, ctx) }),
  };
}

/** The reason why a run ends before its jobs; an interrupt says what goes on, how to continue, and the task's ID. */
export const endedBy = (reason: unknown, hint: string, goesOn: string, taskId?: string): unknown =>
  reason instanceof Interrupted ? new Interrupted(reason.signal, { hint, taskId }, goesOn) : reason;

/** Yields outcomes as they come; jobs that an interrupt left behind share one message, except with --json. */
export async function* interruptedLast(
  outcomes: AsyncIterable<Outcome<JobResult>>,
  ctx: Context,
  isPrinted = ctx.io.mode.json || ctx.events !== undefined,
): AsyncGenerator<Outcome<JobResult>> {
  const interrupted: Outcome<JobResult>[] = [];
  for await (const outcome of outcomes) {
    if (outcome.error instanceof Interrupted) interrupted.push(outcome);
    else yield outcome;
  }
  const made = interrupted.filter(({ value }) => value !== undefined);
  if (isPrinted) for (const { value } of made) yield { ...(value && { value }) };
  const { error } = made[0] ?? interrupted[0] ?? {};
  const next = `pick them up with: ${commandFor('gw jobs wait --all', ctx)}`;
  if (error !== undefined) throw made.length > 1 ? endedBy(error, next, `${made.length} jobs go on`) : error;
}

/** The error or interrupt of a job's wait, which names the job and the command that continues it. */
export function withWayBack(
  error: unknown,
  { family, id, force }: { family: string | undefined; id: string; force?: boolean | undefined },
  ctx: Context,
): unknown {
  const isOfFamily = family !== undefined && family !== 'image';
  const words = isOfFamily ? `gw video ${family} wait ${id}` : `gw jobs wait ${id}`;
  const pickUp = `pick it up with: ${commandFor(words + (force ? ' --force' : ''), ctx)}`;
  return withNext(error, pickUp, 'the job goes on', id);
}

/** As `endedBy`, also for an error that leaves the work running: its own hint stays. */
export function withNext(error: unknown, way: string, goesOn: string, taskId: string | undefined): unknown {
  if (!(error instanceof GwError)) return endedBy(error, way, goesOn, taskId);
  if (error.kind === 'task_failed' || error.kind === 'usage') return error;
  const next = error.kind === 'download' ? 'gw jobs sync tries again' : `${goesOn}; ${way}`;
  const { hint = next } = error.facts;
  const isCured = endsAll.has(error.kind) && hint !== next;
  return error.told({ taskId, hint: isCured ? `${hint}; ${next}` : hint });
}
