import { defineCommand, type Outcome } from '../../command.ts';
import { commandFor } from '../../context.ts';
import { GwError } from '../../errors.ts';
import { saveFlags } from '../../flags/job-flags.ts';
import { loadTaskFamily } from '../../gateway/families.ts';
import { explainOtherKey } from '../../jobs/create/hold-job.ts';
import { endOf } from '../../jobs/watch/follow.ts';
import { recordLook } from '../../jobs/watch/look.ts';
import { createTurns, SAVES_AT_ONCE } from '../../jobs/watch/turns.ts';
import { fullIds, taskIdSummary } from '../jobs/named-jobs.ts';
import { type JobResult, jobLines, outcomeOf } from './follow-job.ts';
import { createFollowers } from './followers.ts';
import { eachId, refuseSharedName, showQueries } from './task-ids.ts';
import { trackJobs } from './tracked-job.ts';

/** `gw video FAMILY download ID…`: the second half of `create --wait`: saves what is finished, waits for nothing. */
export function videoDownload(familyName: string) {
  const { out, force, events } = saveFlags;
  const flags = { out, force, events };
  const latest = `$(gw jobs list -q --family ${familyName} --status succeeded --limit 1)`;
  return defineCommand<typeof flags, JobResult>({
    args: {
      name: 'ID',
      summary: taskIdSummary,
      required: true,
      many: true,
      completes: `output:${familyName}`,
    },
    flags,
    examples: [
      `gw video ${familyName} download ${latest} --sandbox`,
      `gw video ${familyName} download ${latest} --sandbox -o "clips/{date}-{id}.{ext}"`,
    ],
    sends: 'query',
    human: (result, _, failed) => jobLines(result, failed),
    async *run({ args, flags, globals }, ctx) {
      const family = await loadTaskFamily(familyName);
      const ids = await fullIds(args, ctx, familyName);
      refuseSharedName(ids, flags.out, ctx.host.cwd);
      if (globals.dryRun || globals.curl) {
        yield* showQueries(family, ids, ctx);
        return;
      }
      const followers = createFollowers(ctx);
      const turns = createTurns(SAVES_AT_ONCE);
      const tracked = await trackJobs(ids, family, flags, followers, ctx);
      const download = async (id: string): Promise<Outcome<JobResult>> => {
        const { key, save, job, access, look: first } = (await tracked.get(id)) ?? {};
        if (key === undefined || save === undefined) throw new Error(`${id} is not tracked`);
        const deps = { ...(await followers.followDeps(family, access)), turns };
        const look =
          first ??
          (await deps.looker
            .look(id, { signal: ctx.signal, ...(job && { pool: await followers.poolOf(job) }) })
            .catch((error: unknown) => {
              throw job ? explainOtherKey(error, job, deps.keyId) : error;
            }));
        await recordLook(deps.ledger, key, look, undefined);
        if (look.view.state === 'running') {
          throw new GwError(
            'wait_timeout',
            `task ${id} is ${look.view.status || 'not finished'}; there is nothing to save yet`,
            {
              taskId: id,
              hint: `wait for it with: ${commandFor(`gw video ${familyName} wait ${id}`, ctx)}`,
            },
          );
        }
        const followed = await endOf(look, { key, id, family, save }, deps);
        deps.progress.stop();
        return outcomeOf(followed, { family: familyName, id }, ctx);
      };
      yield* eachId(ids, download);
    },
  });
}
