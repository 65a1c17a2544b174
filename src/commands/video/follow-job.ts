import type { Outcome } from '../../command.ts';
import { DEFAULT_WAIT_TIMEOUT } from '../../config/defaults.ts';
import { parseDuration } from '../../config/duration.ts';
import { type Access, type Context, commandFor } from '../../context.ts';
import { GwError, Interrupted } from '../../errors.ts';
import type { PollFlags } from '../../flags/job-flags.ts';
import type { TaskFamily } from '../../gateway/task.ts';
import { type FollowDeps, type Followed, followJob } from '../../jobs/follow.ts';
import { estimateMs } from '../../ledger/estimate.ts';
import type { SavedFile, SavePlan } from '../../ledger/event.ts';

/** The one object that a command prints which creates, waits or saves (the contract, section 1). */
export interface JobResult {
  readonly family: string;
  readonly id: string;
  readonly status: string;
  /** The gateway's last record as it came. */
  readonly record: unknown;
  readonly files: readonly Pick<SavedFile, 'path' | 'bytes' | 'sha256' | 'type'>[];
}

/** For people and `$(…)`: the saved paths, one a line, or the task ID where nothing was saved. */
export const jobLines = (result: JobResult, failed: boolean): string =>
  result.files.length > 0 || failed
    ? result.files.map((file) => `${file.path}\n`).join('')
    : `${result.id}\n`;

/** The steady moment at which a wait ends. */
export const waitDeadlineMs = (flags: PollFlags, ctx: Context): number =>
  ctx.clock.steady() + (flags.waitTimeout ?? parseDuration(DEFAULT_WAIT_TIMEOUT, '--wait-timeout'));

/** What following and saving need, from the context. */
export async function followDeps(ctx: Context, access?: Access): Promise<FollowDeps> {
  const { client, transport } = access ?? (await ctx.gateway());
  return {
    client,
    transport,
    ledger: await ctx.ledger(),
    clock: ctx.clock,
    random: ctx.host.random,
    signal: ctx.signal,
    progress: ctx.io.progress(),
    warn: (text) => ctx.io.warn(text),
    silenceMs: (await ctx.settings()).timeoutMs.value,
  };
}

export interface FollowRequest {
  readonly key: string;
  readonly id: string;
  readonly family: TaskFamily;
  readonly flags: PollFlags;
  readonly save: SavePlan;
  readonly deadlineMs: number;
  /** Look at once: the job is not a new one. */
  readonly atOnce?: boolean;
  /** What is known before the first look. */
  readonly accepted?: JobResult;
}

/** Waits for one job as the flags say, and saves its outputs. The result is there also where the wait failed. */
export async function followFromFlags(request: FollowRequest, ctx: Context): Promise<Outcome<JobResult>> {
  const { family, id, key, flags, save } = request;
  const deps = await followDeps(ctx);
  const interval = flags.interval;
  const followed = await followJob(
    {
      key,
      id,
      family,
      save,
      deadlineMs: request.deadlineMs,
      intervalMs: interval === undefined ? family.pollIntervalMs : { min: interval, max: interval },
      ...(request.atOnce && { firstDelayMs: 0 }),
      status: request.accepted?.status,
      estimateMs: await estimateOf(key, ctx),
    },
    deps,
  );
  return outcomeOf(followed, { family: family.name, id, accepted: request.accepted }, ctx);
}

/** How long jobs like this one took; an estimate must never cost a wait, so a ledger that cannot be read gives none. */
async function estimateOf(key: string, ctx: Context): Promise<number | undefined> {
  if (!ctx.io.mode.bars) return undefined;
  try {
    const ledger = await ctx.ledger();
    const job = await ledger.find(key);
    return job && estimateMs(await ledger.list({ family: job.family }), job);
  } catch {
    return undefined;
  }
}

/** The printed result of a followed job; an error that leaves the job behind names the command that goes on. */
export function outcomeOf(
  followed: Followed,
  { family, id, accepted }: { family: string; id: string; accepted?: JobResult | undefined },
  ctx: Context,
): Outcome<JobResult> {
  const files = followed.files.map(({ path, bytes, sha256, type }) => ({ path, bytes, sha256, type }));
  const value: JobResult = {
    family,
    id,
    status: followed.status || accepted?.status || '',
    record: followed.record ?? accepted?.record ?? null,
    files,
  };
  return {
    value,
    ...(followed.error !== undefined && { error: withWayBack(followed.error, family, id, ctx) }),
  };
}

function withWayBack(error: unknown, family: string, id: string, ctx: Context): unknown {
  const hint = `the job goes on; pick it up with: ${commandFor(`gw video ${family} wait ${id}`, ctx)}`;
  if (error instanceof Interrupted) return new Interrupted(error.signal, hint);
  if (!(error instanceof GwError) || error.kind === 'task_failed') return error;
  const next = error.kind === 'download' ? 'gw jobs sync tries again' : hint;
  return new GwError(error.kind, error.message, {
    ...error.facts,
    taskId: id,
    hint: error.facts.hint ?? next,
  });
}
