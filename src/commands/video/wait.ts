import { defineCommand, type Outcome } from '../../command.ts';
import { pollFlags, saveFlags } from '../../flags/job-flags.ts';
import { loadTaskFamily } from '../../gateway/families.ts';
import { showInstead } from '../show-instead.ts';
import { followFromFlags, type JobResult, jobLines, waitDeadlineMs } from './follow-job.ts';
import { allIds, refuseSharedName, taskIds } from './task-ids.ts';
import { trackJob } from './tracked-job.ts';

/** `gw video FAMILY wait ID…`: the first half of `create --wait` later, on any machine; saves like it. */
export function videoWait(familyName: string) {
  const flags = { ...pollFlags, ...saveFlags };
  return defineCommand<typeof flags, JobResult>({
    args: { name: 'ID', summary: 'task ID', required: true, many: true },
    flags,
    examples: [
      `gw video ${familyName} wait $(gw jobs list -q --limit 1) --sandbox`,
      `gw video ${familyName} wait $(gw jobs list -q --limit 2) --sandbox --wait-timeout 20m -o clips/`,
    ],
    sends: 'query',
    human: (result, _, failed) => jobLines(result, failed),
    async *run({ args, flags }, ctx) {
      const family = await loadTaskFamily(familyName);
      const deadlineMs = waitDeadlineMs(flags, ctx);
      const ids = taskIds(args);
      refuseSharedName(ids, flags.out, ctx.host.cwd);
      yield* allIds(ids, async (id): Promise<Outcome<JobResult>> => {
        const shown = await showInstead(family.query.endpoint, family.query.input([id]), ctx);
        if (shown !== undefined) return { value: shown };
        const { key, save } = await trackJob(id, family, flags, ctx);
        return followFromFlags({ key, id, family, flags, save, deadlineMs, atOnce: true }, ctx);
      });
    },
  });
}
