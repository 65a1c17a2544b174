import { defineCommand } from '../../command.ts';
import { pollFlags, saveFlags } from '../../flags/job-flags.ts';
import { loadTaskFamily } from '../../gateway/families.ts';
import { fullIds, taskIdSummary } from '../jobs/named-jobs.ts';
import { type FollowRequest, followAll, type JobResult, jobLines, waitDeadlineMs } from './follow-job.ts';
import { createFollowers } from './followers.ts';
import { ofTask, refuseSharedName, showQueries } from './task-ids.ts';
import { trackJobs } from './tracked-job.ts';

/** `gw video FAMILY wait ID…`: the first half of `create --wait` later, on any machine; saves like it. */
export function videoWait(familyName: string) {
  const flags = { ...pollFlags, ...saveFlags };
  return defineCommand<typeof flags, JobResult>({
    args: { name: 'ID', summary: taskIdSummary, required: true, many: true, completes: `task:${familyName}` },
    flags,
    examples: [
      `gw video ${familyName} wait $(gw jobs list -q --family ${familyName} --limit 1) --sandbox`,
      `gw video ${familyName} wait $(gw jobs list -q --family ${familyName} --limit 2) --sandbox --wait-timeout 20m -o clips/`,
    ],
    sends: 'query',
    human: (result, _, failed) => jobLines(result, failed),
    async *run({ args, flags, globals }, ctx) {
      const family = await loadTaskFamily(familyName);
      const deadlineMs = waitDeadlineMs(flags, ctx);
      const ids = await fullIds(args, ctx, familyName);
      refuseSharedName(ids, flags.out, ctx.host.cwd);
      if (globals.dryRun || globals.curl) {
        yield* showQueries(family, ids, ctx);
        return;
      }
      const followers = createFollowers(ctx);
      const requests: FollowRequest[] = [];
      for (const [id, tracking] of await trackJobs(ids, family, flags, followers, ctx)) {
        try {
          requests.push({ id, ...(await tracking), family, flags, deadlineMs, atOnce: true });
        } catch (error) {
          ctx.signal.throwIfAborted();
          if (ids.length === 1) throw error;
          yield { error: ofTask(error, id) };
        }
      }
      yield* followAll(requests, followers, ctx);
    },
  });
}
