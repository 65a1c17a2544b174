import { defineCommand, type Outcome } from '../../command.ts';
import { commandFor } from '../../context.ts';
import { GwError } from '../../errors.ts';
import { saveFlags } from '../../flags/job-flags.ts';
import { loadTaskFamily } from '../../gateway/families.ts';
import { endOf } from '../../jobs/follow.ts';
import { lookAtTask, recordLook } from '../../jobs/look.ts';
import { showInstead } from '../show-instead.ts';
import { followDeps, type JobResult, jobLines, outcomeOf } from './follow-job.ts';
import { eachId, refuseSharedName, taskIds } from './task-ids.ts';
import { trackJob } from './tracked-job.ts';

/** `gw video FAMILY download ID…`: the second half of `create --wait`: saves what is finished, waits for nothing. */
export function videoDownload(familyName: string) {
  const { out, force } = saveFlags;
  const flags = { out, force };
  return defineCommand<typeof flags, JobResult>({
    args: { name: 'ID', summary: 'task ID', required: true, many: true },
    flags,
    examples: [
      `gw video ${familyName} download $(gw jobs list -q --status succeeded --limit 1) --sandbox`,
      `gw video ${familyName} download $(gw jobs list -q --status succeeded --limit 1) --sandbox -o "clips/{date}-{id}.{ext}"`,
    ],
    sends: 'query',
    human: (result, _, failed) => jobLines(result, failed),
    async *run({ args, flags }, ctx) {
      const family = await loadTaskFamily(familyName);
      const ids = taskIds(args);
      refuseSharedName(ids, flags.out, ctx.host.cwd);
      yield* eachId(ids, async (id): Promise<Outcome<JobResult>> => {
        const shown = await showInstead(family.query.endpoint, family.query.input([id]), ctx);
        if (shown !== undefined) return { value: shown };
        const { key, save } = await trackJob(id, family, flags, ctx);
        const deps = await followDeps(ctx);
        const look = await lookAtTask({
          id,
          family,
          client: deps.client,
          signal: ctx.signal,
          nowMs: ctx.clock.now,
        });
        recordLook(deps.ledger, key, look, undefined);
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
      });
    },
  });
}
