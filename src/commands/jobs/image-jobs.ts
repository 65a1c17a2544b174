import type { Outcome } from '../../command.ts';
import { type Context, commandFor } from '../../context.ts';
import { GwError, UnknownOutcome } from '../../errors.ts';
import type { SaveFlags } from '../../flags/job-flags.ts';
import { copyImages } from '../../jobs/image/sync-image-job.ts';
import { savedOutputs } from '../../jobs/save/saved.ts';
import type { Followed } from '../../jobs/watch/follow.ts';
import { syncJobs } from '../../jobs/watch/sync.ts';
import { lacksOutputs, namesOutputs } from '../../ledger/settled.ts';
import { type JobResult, outcomeOf } from '../video/follow-job.ts';
import type { Followers } from '../video/followers.ts';
import { ofTask } from '../video/task-ids.ts';
import { type KnownJob, syncInput } from './find-jobs.ts';
import type { NamedJob } from './jobs-by-id.ts';
import { endedBeside, planToSave, resultOf } from './task-job.ts';

/**
 * Returns the outcome of a named job that needs no request for its task: the job failed, is saved already, or is an
 * image. Returns undefined if the task has to be looked up. The commands of one family also look up a job that the
 * ledger calls lost, and a job given with --no-download, whose result is its ID.
 */
export async function withoutTask(
  { known }: NamedJob,
  flags: SaveFlags,
  followers: Followers,
  ctx: Context,
  isOfFamily: boolean,
): Promise<Outcome<JobResult> | undefined> {
  if (!known) return undefined;
  const isImage = known.family?.name === 'image';
  const isLooked = isOfFamily && (known.job.state === 'lost' || flags.download !== undefined);
  const isMoved = flags.download === undefined && (flags.out !== undefined || flags.force !== undefined);
  const ended = isMoved || isLooked ? undefined : await endedBeside(known, flags, ctx);
  return isImage ? (ended ?? syncImage(known, followers, ctx, flags)) : ended;
}

/** Fetches the images of a job that can still be fetched, and says how the job stands. Image jobs are not waited for. */
export async function syncImage(
  known: KnownJob,
  followers: Followers,
  ctx: Context,
  flags: SaveFlags = {},
): Promise<Outcome<JobResult>> {
  const { job, family } = known;
  try {
    const of = { family: job.family, force: flags.force };
    // A named job is saved even if its create said --no-download.
    const { download: _download, ...where } = flags;
    const isElsewhere = flags.out !== undefined || flags.force === true;
    // The create printed its images to stdout, so its plan does not download them; a new plan saves their links.
    const isLeft = family !== undefined && lacksOutputs(job, family);
    const plan = isElsewhere || isLeft ? await planToSave(known, where, ctx) : undefined;
    const input = await syncInput({ family, job: { ...job, save: plan ?? job.save } }, followers, ctx);
    for await (const { synced } of syncJobs(input ? [input] : [], ctx.signal)) {
      const failed = synced.outcome === 'ended' && synced.followed.error !== undefined;
      if (failed) return outcomeOf(synced.followed, { ...of, id: synced.id }, ctx);
    }
    const isCopied = isElsewhere && plan && input && namesOutputs(job);
    const copied = isCopied ? await copyImages(job, plan, input.deps) : undefined;
    if (copied?.error) return outcomeOf(copied, { ...of, id: job.key }, ctx);
    return await settledOutcome(known, ctx, copied?.files);
  } catch (error) {
    ctx.signal.throwIfAborted();
    return { error: ofTask(error, job.key) };
  }
}

/** The facts of an error for an image that the gateway cannot send again; `file` is missing on disk, if it was saved. */
export const goneFacts = (key: string, file: string | undefined, ctx: Context) => ({
  taskId: key,
  hint: `${file ? 'mend its disk or put it back' : `gw jobs show ${key}`}, or pay for a new one`,
  anew: commandFor(`gw again ${key}`, ctx),
});

/** The outcome of an image job once nothing more can be fetched; `copied` are its files at another place. */
async function settledOutcome(
  { job: { key }, family }: KnownJob,
  ctx: Context,
  copied?: Followed['files'],
): Promise<Outcome<JobResult>> {
  const [job] = await (await ctx.ledger()).find({ ids: [key] });
  const { files, missing } = job ? await savedOutputs(job, family, ctx.signal) : { files: [], missing: [] };
  const value = job && { value: resultOf(job, copied ?? files) };
  if (job?.state !== 'succeeded') {
    const saved = files.length === 0 ? 'no image of it is saved' : 'what came whole is saved';
    const cut = `: its answer was cut, ${saved}, and more may have been made`;
    const isCut = job && namesOutputs(job);
    const { hintOfUnknown } = await import('../../jobs/create/lost.ts');
    const hint = job && !isCut ? hintOfUnknown(job) : `gw jobs show ${key}`;
    const how = isCut ? cut : ' was not answered, or not yet';
    return { ...value, error: new UnknownOutcome(`image job ${key}${how}`, { taskId: key, hint }) };
  }
  const [lost] = missing;
  if (lost === undefined && files.length > 0) return { ...value };
  const unsaved = files.length > 0 && lost ? `its ${lost.role} was not saved` : 'no image was saved';
  const what = lost?.path === undefined ? unsaved : `${lost.path} is gone, unreadable or not what was saved`;
  const message = `image job ${key}: ${what}, and the gateway keeps none to fetch again`;
  return { ...value, error: new GwError('download', message, goneFacts(key, lost?.path, ctx)) };
}
