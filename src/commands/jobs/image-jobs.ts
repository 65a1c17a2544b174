import * as fs from 'node:fs';
import type { Outcome } from '../../command.ts';
import type { Context } from '../../context.ts';
import { GwError, usage } from '../../errors.ts';
import type { SaveFlags } from '../../flags/job-flags.ts';
import { syncJobs } from '../../jobs/watch/sync.ts';
import type { Job } from '../../ledger/event.ts';
import { taskOf } from '../../ledger/settled.ts';
import { type JobResult, outcomeOf } from '../video/follow-job.ts';
import type { Followers } from '../video/followers.ts';
import { ofTask } from '../video/task-ids.ts';
import { type KnownJob, syncInput } from './read-jobs.ts';
import { resultOf, savePlanOf } from './task-job.ts';

/** Image jobs are not waited for: what can still be fetched of them is, and where they stand is said. */
export async function* syncImages(
  images: readonly KnownJob[],
  followers: Followers,
  ctx: Context,
  flags: SaveFlags = {},
): AsyncGenerator<Outcome<JobResult>> {
  for (const known of images) {
    try {
      if (hasOnlyLinks(known)) await planToSave(known.job, flags, ctx);
      const input = await syncInput(known, followers, ctx);
      if (!input) continue;
      for await (const { job, synced } of syncJobs([input], ctx.signal)) {
        const failed = synced.outcome === 'ended' && synced.followed.error !== undefined;
        if (failed) yield outcomeOf(synced.followed, { family: job.family, id: synced.id }, ctx);
        else yield await settledOutcome(job.key, ctx);
      }
    } catch (error) {
      ctx.signal.throwIfAborted();
      yield { error: ofTask(error, known.job.key) };
    }
  }
}

/** Whether nothing of an image job was ever saved, and its record still has links: it was written to stdout, or was to be. */
function hasOnlyLinks({ job, family }: KnownJob): boolean {
  const { outputs } = taskOf(job, family) ?? {};
  return job.state === 'succeeded' && job.files.length === 0 && outputs !== undefined && outputs.length > 0;
}

/** Whoever names a job wants its images on disk, whatever its create said. */
async function planToSave(job: Job, flags: SaveFlags, ctx: Context): Promise<void> {
  if (job.save.download && flags.out === undefined && !flags.force) return;
  (await ctx.ledger()).append(job.key, {
    event: 'plan',
    save: { ...savePlanOf(job, flags, ctx), download: true },
  });
}

/**
 * Throws GwError `usage` for flags that would save an image job once more: its images came with the reply and are where
 * they were saved. Links that were never fetched can go anywhere.
 */
export function refuseSavingAnew(known: KnownJob, { out, force }: SaveFlags): void {
  const { job } = known;
  if ((out === undefined && !force) || hasOnlyLinks(known)) return;
  const [file] = job.files;
  throw usage(
    `${out === undefined ? '--force' : `--out ${out}`}: images of job ${job.key} are saved where its create said`,
    file ? `they are saved already: copy ${file.path}` : `leave it out: gw jobs download ${job.key}`,
  );
}

/** Where an image job stands once nothing more can be done for it. */
async function settledOutcome(key: string, ctx: Context): Promise<Outcome<JobResult>> {
  const [job] = await (await ctx.ledger()).find({ ids: [key] });
  const facts = { taskId: key, hint: `gw jobs show ${key}` };
  if (job?.state !== 'succeeded') {
    const error = new GwError('unknown_outcome', `image job ${key} was not answered, or not yet`, facts);
    return { ...(job && { value: resultOf(job, key) }), error };
  }
  const gone = job.files.find((file) => !fs.existsSync(file.path));
  if (gone === undefined && job.files.length > 0) return { value: resultOf(job, key) };
  const what = gone ? `${gone.path} is gone` : 'no image was saved';
  const error = new GwError(
    'download',
    `image job ${key}: ${what}, and the gateway keeps none to fetch again`,
    facts,
  );
  return { value: resultOf(job, key), error };
}
