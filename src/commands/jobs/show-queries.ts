import type { Outcome } from '../../command.ts';
import type { Context } from '../../context.ts';
import { showQueries } from '../video/task-ids.ts';
import type { KnownJob } from './read-jobs.ts';
import { type TaskJob, taskJob } from './task-job.ts';

/** With --dry-run or --curl: the requests that would ask for these jobs, each to the gateway of its own. */
export async function* showJobQueries(
  jobs: readonly KnownJob[],
  ctx: Context,
): AsyncGenerator<Outcome<never>> {
  const groups = new Map<string, TaskJob[]>();
  for (const known of jobs) {
    if (known.job.id === undefined || known.family?.name === 'image') continue;
    const task = await taskJob(known, ctx);
    const name = `${task.family.name} ${task.access.name}`;
    const group = groups.get(name) ?? [];
    group.push(task);
    groups.set(name, group);
  }
  for (const [first, ...rest] of groups.values()) {
    if (first === undefined) continue;
    const ids = [first, ...rest].map(({ job }) => job.id);
    yield* showQueries(first.family, ids, { ...ctx, gateway: async () => first.access });
  }
}
