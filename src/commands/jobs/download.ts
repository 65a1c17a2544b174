import { defineCommand, type Outcome } from '../../command.ts';
import { GwError } from '../../errors.ts';
import { loadTaskFamily } from '../../gateway/families.ts';
import { explainOtherKey } from '../../jobs/create/hold-job.ts';
import { printableRecord } from '../../jobs/job-view.ts';
import { endOf, type Followed } from '../../jobs/watch/follow.ts';
import { lookNow } from '../../jobs/watch/poll.ts';
import { createTurns, SAVES_AT_ONCE } from '../../jobs/watch/turns.ts';
import { interruptedLast, type JobResult, jobLines, noteUsage, outcomeOf } from '../video/follow-job.ts';
import { createFollowers } from '../video/followers.ts';
import { checkLaterOut, eachTask, exampleCreate } from '../video/task-ids.ts';
import { withoutTask } from './image-jobs.ts';
import { idArgs, type NamedJob, namedJobs } from './jobs-by-id.ts';
import { failedOutcome, fromOtherHands, laterSaveFlags, showNamed, tasksOf } from './task-job.ts';

const { download: _, ...flags } = laterSaveFlags;

/**
 * `gw jobs download ID…` saves the outputs of finished jobs of any family and gateway, without waiting for a task to
 * finish. With a family it is `gw video FAMILY download ID…`, as `wait` is.
 */
export function download(familyName?: string) {
  const words = familyName ? `gw video ${familyName}` : 'gw jobs';
  return defineCommand<typeof flags, JobResult>({
    args: idArgs('output', familyName),
    flags,
    examples: [
      `${exampleCreate(familyName ?? 'alpha')} --wait --no-download && ${words} download last --sandbox`,
      `${words} download last --sandbox -o "clips/{date}-{id}.{ext}"`,
    ],
    sends: 'query',
    human: jobLines,
    async *run({ args, flags, globals }, ctx) {
      const family = familyName === undefined ? undefined : await loadTaskFamily(familyName);
      const named = await namedJobs(args, ctx, family);
      checkLaterOut(named.length, flags, ctx);
      if (globals.dryRun || globals.curl) return yield* showNamed(named, family, ctx);
      const followers = createFollowers(ctx, { turns: createTurns(SAVES_AT_ONCE) });
      const reads = createTurns(SAVES_AT_ONCE);
      const taskOf = await tasksOf(named, family, flags, followers, ctx);
      const downloadOne = async (asNamed: NamedJob): Promise<Outcome<JobResult>> => {
        const job = await fromOtherHands(asNamed, ctx);
        // Checking a job reads its saved files, so the number of checks at once is bounded like downloads.
        const over = await reads.take(0, () => withoutTask(job, flags, followers, ctx, !!familyName));
        if (over) return over;
        const task = await taskOf(job);
        const { id, key, family, access } = task;
        ctx.events?.about({ key, id, family: family.name, status: task.job?.status });
        const deps = await followers.followDeps(family, access);
        const pool = task.job && (await followers.poolOf(task.job));
        const look = await lookNow(task, { pool }, deps).catch((error) => {
          throw task.job ? explainOtherKey(error, task.job, access.keyId) : error;
        });
        const { status, state } = look.view;
        const text = `task ${id} is ${status || 'not finished'}; there is nothing to save yet`;
        const error = new GwError('wait_timeout', text);
        const followed: Followed =
          state === 'running'
            ? { status, record: printableRecord(look), files: [], error }
            : await endOf(look, { ...task, pool }, deps);
        deps.progress.stop();
        await noteUsage(followed, key, named.length > 1 ? id : undefined, ctx);
        return outcomeOf(followed, { family: family.name, id, force: flags.force }, ctx);
      };
      const of = { family: familyName, force: flags.force };
      const tellOne = (job: NamedJob) =>
        downloadOne(job).catch((error) => failedOutcome(job, error, of, ctx));
      yield* interruptedLast(eachTask(named, tellOne), ctx);
    },
  });
}
