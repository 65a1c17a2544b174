import type { Outcome } from '../command.ts';
import { type Access, type Context, originOfGateway } from '../context.ts';
import type { OnceFlags, PollFlags, SaveFlags } from '../flags/job-flags.ts';
import { type FoundOnce, makeOnce, type OncePlace, type OnceRequest } from '../jobs/create/once.ts';
import type { KnownJob } from './jobs/find-jobs.ts';
import { endedOutcome, planToSave, resultOf, taskJob } from './jobs/task-job.ts';
import { followFromFlags, type JobResult, waitDeadlineMs } from './video/follow-job.ts';
import { createFollowers } from './video/followers.ts';

// How a command makes a job under a key, and goes on with one that stands under it; loaded only with --once.

interface AskedOnce extends Omit<OnceRequest, 'name' | 'again' | 'origin'> {
  readonly flags: OnceFlags;
}

/** Makes the job of --once, or finds the one that stands under its key; throws as `makeOnce` does. */
export async function makeUnderKey<T>(
  { flags: { once: name = '', again = false }, ...asked }: AskedOnce,
  { client, keyId, name: gateway }: Access,
  make: (place: OncePlace) => Promise<T>,
  { clock, io, ledger, signal }: Context,
) {
  const deps = { ledger: await ledger(), clock, signal, keyId, client: async () => client };
  const request = { ...asked, name, again, origin: originOfGateway(gateway) };
  return makeOnce(request, { ...deps, note: (text) => io.note(text) }, make);
}

/**
 * Goes on with the job that stands under a key: its error again where it ended badly, its files where they are home, else
 * with `wait` as `jobs wait` does; without it the ID at once.
 */
export async function goOnWith(
  { job, error }: FoundOnce,
  flags: PollFlags & SaveFlags & { readonly wait?: boolean },
  ctx: Context,
): Promise<Outcome<JobResult>> {
  const id = job.id ?? job.key;
  if (error) return { value: resultOf(job, id), error };
  const [known] = await (await import('./jobs/find-jobs.ts')).withFamilies([job]);
  if (!known) throw new Error('a job has an entry');
  const ended = endedOutcome(known, flags.download === undefined);
  if (job.family === 'image') {
    if (ended) return ended;
    const { syncImage } = await import('./jobs/image-jobs.ts');
    return syncImage(known, createFollowers(ctx), ctx);
  }
  if (!flags.wait) return { value: { ...resultOf(job, id), files: [] } };
  if (ended) return ended;
  ctx.io.note(`task ${id}`);
  const task = await taskToSave(known, flags, ctx).catch((error: unknown) => ({ error }));
  if ('error' in task) return { value: resultOf(job, id), error: task.error };
  const { family, access, save } = task;
  return followFromFlags(
    {
      ...{ key: job.key, id, family, flags, job, access, save, atOnce: true },
      deadlineMs: waitDeadlineMs(flags, ctx),
    },
    createFollowers(ctx),
    ctx,
  );
}

const taskToSave = async (known: KnownJob, flags: SaveFlags, ctx: Context) => ({
  ...(await taskJob(known, ctx)),
  save: await planToSave(known, flags, ctx),
});
