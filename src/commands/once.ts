import type { Outcome } from '../command.ts';
import { type Access, type Context, gatewayName } from '../context.ts';
import { isUnknownOutcome, usage } from '../errors.ts';
import type { PollFlags, SaveFlags } from '../flags/job-flags.ts';
import type { Made } from '../jobs/create/make.ts';
import {
  fieldDigests,
  lastUnderKey,
  makeOnce,
  type OncePlace,
  type OnceRequest,
  otherField,
  pathOf,
  type Stands,
} from '../jobs/create/once.ts';
import { originOfGateway } from '../ledger/job-key.ts';
import { endedBeside, fromOtherHands, planToSave, resultOf, taskJob } from './jobs/task-job.ts';
import { type FollowRequest, followFromFlags, type JobResult, resultIn } from './video/follow-job.ts';
import { createFollowers } from './video/followers.ts';

// Creates a job under a key, or continues the existing one; loaded only with --once.

/** The current gateway as the scope of `--once` keys and of rows. */
export const currentOrigin = async ({ settings }: Pick<Context, 'settings'>): Promise<string> =>
  originOfGateway(gatewayName(await settings()));

/** The last job of a key at the current gateway in this machine's ledger, and the key for the next attempt. */
export async function lastOfKey(key: string, ctx: Context): ReturnType<typeof lastUnderKey> {
  const ledger = await ctx.ledger();
  return lastUnderKey(await currentOrigin(ctx), key, async (of) => (await ledger.find({ ids: [of] }))[0]);
}

/** Creates the job of --once, or finds the existing one of its key; throws as `makeOnce` does. */
export async function makeUnderKey<T>(
  request: OnceRequest,
  access: Access,
  deadlineMs: number,
  make: (place: OncePlace) => Promise<T>,
  ctx: Context,
) {
  const { how, flagOf } = request.request;
  const other = how.expects && otherField(how.expects, fieldDigests(request.asked));
  if (other !== undefined)
    throw usage(
      `${flagOf(pathOf(other)) ?? other} is not here what was checked where the row was handed over`,
      'run the batch again there to hand the row over as it now stands',
    );
  const deps = await createFollowers(ctx).jobDeps(access);
  return makeOnce(request, { ...deps, client: async () => access.client, deadlineMs }, make);
}

/**
 * Continues the existing job of a key: returns its error if it failed, its files if they are saved; otherwise with `wait`
 * it acts as `jobs wait`, without it returns the ID at once.
 */
export async function goOnWith(stands: Stands, flags: GoingOn, ctx: Context): Promise<Outcome<JobResult>> {
  const outcome = await pickUp(stands, flags, ctx);
  return { ...outcome, made: madeOf(stands, outcome) };
}

type GoingOn = PollFlags & SaveFlags & Pick<FollowRequest, 'deadlineMs'> & { readonly wait?: boolean };

function madeOf({ job, error }: Stands, outcome: Outcome<JobResult>): Made {
  if (error) return { kind: isUnknownOutcome(error) ? 'unknown' : 'refused', job, error };
  const { id = job.key, status, record, recordText } = job;
  if (job.family !== 'image') return { kind: 'accepted', job, id, status, reply: record, isOwnReply: false };
  const came = { status: job.state, record, recordText, files: resultIn(outcome)?.files ?? [], partials: [] };
  return { kind: 'images', job, came, error: outcome.error };
}

async function pickUp({ job, error }: Stands, flags: GoingOn, ctx: Context): Promise<Outcome<JobResult>> {
  const id = job.id ?? job.key;
  // A refused create has no job to print; a cut image reply may have delivered some images.
  if (error && !(isUnknownOutcome(error) && job.family === 'image'))
    return { ...(job.state !== 'refused' && { value: resultOf(job, []) }), error };
  const known = await (await import('./jobs/find-jobs.ts')).withFamily(job);
  if (job.family !== 'image' && !flags.wait) {
    await planToSave(known, flags, ctx);
    return { value: resultOf(job, []) };
  }
  const ended = await endedBeside(known, flags, ctx);
  if (ended && (ended.error || !flags.force || flags.download !== undefined)) return ended;
  if (job.family === 'image') {
    const { syncImage } = await import('./jobs/image-jobs.ts');
    const { known: left = known } = await fromOtherHands({ id, known }, ctx, flags.deadlineMs);
    return { ...(await syncImage(left, createFollowers(ctx), ctx, flags)), ...(error && { error }) };
  }
  ctx.io.note(`task ${id}`);
  try {
    const { family, access } = await taskJob(known, ctx);
    const save = await planToSave(known, flags, ctx);
    const { deadlineMs } = flags;
    const request = { key: job.key, id, family, flags, job, access, save, atOnce: true, deadlineMs };
    return await followFromFlags(request, createFollowers(ctx), ctx);
  } catch (error) {
    return { value: resultOf(job, []), error };
  }
}
