import * as fs from 'node:fs';
import type { Outcome } from '../../command.ts';
import type { Context } from '../../context.ts';
import { GwError, usage } from '../../errors.ts';
import type { SaveFlags } from '../../flags/job-flags.ts';
import { lostOutputs } from '../../jobs/job-view.ts';
import { isAsSaved } from '../../jobs/save/save-output.ts';
import { syncJobs } from '../../jobs/watch/sync.ts';
import { namesOutputs, taskOf } from '../../ledger/settled.ts';
import { type JobResult, outcomeOf } from '../video/follow-job.ts';
import type { Followers } from '../video/followers.ts';
import { ofTask } from '../video/task-ids.ts';
import { type KnownJob, type NamedJob, syncInput } from './find-jobs.ts';
import { endedOutcome, planToSave, resultOf } from './task-job.ts';

/**
 * What is to be said of a named job of which no task is looked at: it ended badly, it is saved already, or it is an image.
 * Undefined for one whose task is to be looked at; with the commands of one family, that is also one which the ledger calls
 * lost, and one of which --no-download wants the ID. Throws `usage` for flags that would save images once more.
 */
export function withoutTask(
  { known }: NamedJob,
  flags: SaveFlags,
  followers: Followers,
  ctx: Context,
  isOfFamily: boolean,
): Outcome<JobResult> | Promise<Outcome<JobResult>> | undefined {
  if (!known) return undefined;
  const isImage = known.family?.name === 'image';
  if (isImage) refuseSavingAnew(known, flags);
  const isLooked = isOfFamily && (known.job.state === 'lost' || flags.download !== undefined);
  const isAsBefore = flags.out === undefined && flags.force === undefined && !isLooked;
  const ended = isAsBefore ? endedOutcome(known, flags.download === undefined) : undefined;
  return isImage ? (ended ?? syncImage(known, followers, ctx, flags)) : ended;
}

/** The newest copy of each output of a job, where they are on disk as they were saved; undefined where one was changed. */
export async function savedOutcome(
  { id, known }: NamedJob,
  signal: AbortSignal,
): Promise<Outcome<JobResult> | undefined> {
  if (!known) return undefined;
  const files = [...new Map(known.job.files.map((file) => [file.role, file])).values()];
  for (const file of files) if (!(await isAsSaved(file, signal))) return undefined;
  return { value: resultOf({ ...known.job, files }, known.job.id ?? id) };
}

/** Image jobs are not waited for: what can still be fetched of one is, and where it stands is said. */
export async function syncImage(
  known: KnownJob,
  followers: Followers,
  ctx: Context,
  flags: SaveFlags = {},
): Promise<Outcome<JobResult>> {
  const { job } = known;
  try {
    // Whoever names a job wants its images on disk, whatever its create said.
    const { download: _download, ...where } = flags;
    if (hasOnlyLinks(known)) await planToSave(known, where, ctx);
    const input = await syncInput(known, followers, ctx);
    for await (const { synced } of syncJobs(input ? [input] : [], ctx.signal)) {
      const failed = synced.outcome === 'ended' && synced.followed.error !== undefined;
      if (failed) return outcomeOf(synced.followed, { family: job.family, id: synced.id }, ctx);
    }
    return await settledOutcome(known, ctx);
  } catch (error) {
    ctx.signal.throwIfAborted();
    return { error: ofTask(error, job.key) };
  }
}

/** Whether nothing of an image job was ever saved, and its record still has links: it was written to stdout, or was to be. */
function hasOnlyLinks({ job, family }: KnownJob): boolean {
  const { outputs } = taskOf(job, family) ?? {};
  return namesOutputs(job) && job.files.length === 0 && outputs !== undefined && outputs.length > 0;
}

/**
 * Throws GwError `usage` for flags that would save an image job once more: its images came with the reply and are where
 * they were saved. Links that were never fetched can go anywhere.
 */
function refuseSavingAnew(known: KnownJob, { out, force }: SaveFlags): void {
  const { job } = known;
  if ((out === undefined && !force) || hasOnlyLinks(known)) return;
  const [file] = job.files;
  throw usage(
    `${out === undefined ? '--force' : `--out ${out}`}: images of job ${job.key} are saved where its create said`,
    file ? `they are saved already: copy ${file.path}` : `leave it out: gw jobs download ${job.key}`,
  );
}

/** Where an image job stands once nothing more can be done for it. */
async function settledOutcome({ job: { key }, family }: KnownJob, ctx: Context): Promise<Outcome<JobResult>> {
  const [job] = await (await ctx.ledger()).find({ ids: [key] });
  const facts = { taskId: key, hint: `gw jobs show ${key}` };
  if (job?.state !== 'succeeded') {
    const saved = job?.files.length === 0 ? 'no image of it is saved' : 'what came whole is saved';
    const how =
      job && namesOutputs(job)
        ? `: its answer was cut, ${saved}, and more may have been made`
        : ' was not answered, or not yet';
    const error = new GwError('unknown_outcome', `image job ${key}${how}`, facts);
    return { ...(job && { value: resultOf(job, key) }), error };
  }
  const gone = job.files.find((file) => !fs.existsSync(file.path));
  const [lost] = family ? lostOutputs(job, family) : [];
  if (gone === undefined && lost === undefined && job.files.length > 0) return { value: resultOf(job, key) };
  const unsaved = job.files.length > 0 && lost ? `its ${lost} was not saved` : 'no image was saved';
  const what = gone ? `${gone.path} is gone` : unsaved;
  const error = new GwError(
    'download',
    `image job ${key}: ${what}, and the gateway keeps none to fetch again`,
    facts,
  );
  return { value: resultOf(job, key), error };
}
