import * as fs from 'node:fs';
import type { Outcome } from '../../command.ts';
import { type Access, type Context, commandFor } from '../../context.ts';
import { GwError } from '../../errors.ts';
import { type SaveFlags, saveFlags } from '../../flags/job-flags.ts';
import { findTaskFamily } from '../../gateway/families.ts';
import type { Family, TaskFamily } from '../../gateway/task.ts';
import { isUnsaved, printableRecord } from '../../jobs/job-view.ts';
import { planTarget } from '../../jobs/save/output-path.ts';
import type { Job, SavePlan } from '../../ledger/event.ts';
import { taskOf } from '../../ledger/settled.ts';
import type { JobResult } from '../video/follow-job.ts';
import { showQueries } from '../video/task-ids.ts';
import type { KnownJob } from './read-jobs.ts';

/** A job that is a task on a gateway, with the way there. */
interface TaskJob {
  readonly job: Job & { readonly id: string };
  readonly family: TaskFamily;
  readonly access: Access;
}

/**
 * The task of a job that is to be looked at. Throws where there is none: `unknown_outcome` for a job without an ID, `auth`
 * where its gateway cannot be reached from here, `usage` for a family that this build does not know.
 */
export async function taskJob({ job, family: known }: KnownJob, ctx: Context): Promise<TaskJob> {
  const family = known && (await findTaskFamily(known.name));
  if (family === undefined) {
    throw new GwError(
      'usage',
      `job ${job.id ?? job.key} is of family ${job.family}, whose tasks this gw cannot look at`,
      { taskId: job.id ?? job.key },
    );
  }
  const { id } = job;
  if (id === undefined) {
    throw new GwError('unknown_outcome', `job ${job.key} has no task ID: it was not answered, or not yet`, {
      taskId: job.key,
      hint: `look for it with: ${commandFor('gw jobs sync', ctx)}`,
    });
  }
  return { job: { ...job, id }, family, access: await ctx.gatewayOf(job) };
}

/**
 * What the ledger alone can answer of a job: it ended badly, or it is saved and its files are still there. Undefined for
 * a job that is to be looked at.
 */
export function endedOutcome({ job, family }: KnownJob): Outcome<JobResult> | undefined {
  const id = job.id ?? job.key;
  const error = badEnd(job, family, id);
  if (error !== undefined) return { value: resultOf(job, id), error };
  const isHome = family !== undefined && job.state === 'succeeded' && !isUnsaved(job, family);
  const isThere = job.files.every((file) => fs.existsSync(file.path));
  return isHome && job.files.length > 0 && isThere ? { value: resultOf(job, id) } : undefined;
}

function badEnd(job: Job, family: Family | undefined, id: string): GwError | undefined {
  const because = job.message === undefined ? '' : `: ${job.message}`;
  const what = job.family === 'image' ? 'image job' : 'task';
  switch (job.state) {
    case 'failed': {
      const { code, message } = taskOf(job, family)?.error ?? {};
      const reason = [code, message].filter(Boolean).join(': ');
      return new GwError(
        'task_failed',
        `${what} ${id} ended ${job.status ?? 'failed'}${reason ? `: ${reason}` : ''}`,
        {
          taskId: id,
          code,
        },
      );
    }
    case 'not_sent':
    case 'refused':
      return new GwError('task_failed', `job ${id} was never created${because}`, { taskId: id });
    case 'lost':
      return new GwError('not_found', `${what} ${id} is lost${because}`, { taskId: id });
    default:
      return undefined;
  }
}

/** The printed result of a job as the ledger has it. */
export const resultOf = (job: Job, id: string): JobResult => ({
  family: job.family,
  id,
  status: job.status ?? job.state,
  record: printableRecord(job) ?? null,
  files: job.files.map(({ path, bytes, sha256, type }) => ({ path, bytes, sha256, type })),
});

/** What was said at the create holds unless these flags say otherwise. */
export const savePlanOf = (job: Job, flags: SaveFlags, ctx: Context): SavePlan => ({
  target: flags.out === undefined ? job.save.target : planTarget(flags.out, ctx.host.cwd),
  force: flags.force ?? false,
  download: flags.download === undefined,
  sidecar: flags.sidecar === undefined ? job.save.sidecar : flags.sidecar ? ctx.host.version : undefined,
});

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

/** The flags of saving where a job exists already: what its create said holds unless they say otherwise. */
export const laterSaveFlags = {
  ...saveFlags,
  out: {
    ...saveFlags.out,
    summary: saveFlags.out.summary.replace(/\(default .*\)$/, '(default: as its create said)'),
  },
} as const;

/** Counts what many jobs come to, as one bar on a terminal and in the signs of life elsewhere; for one job nothing. */
export function wholeProgress(total: number, { io, clock }: Context) {
  const progress = total > 1 ? io.progress() : undefined;
  const startMs = clock.steady();
  let [done, failed] = [0, 0];
  const show = () => {
    const leftMs = done === 0 ? undefined : ((clock.steady() - startMs) / done) * (total - done);
    progress?.whole({ done, failed, total, leftMs });
  };
  show();
  return {
    /** One more is done with. */
    tell(isFailed: boolean): void {
      done += 1;
      if (isFailed) failed += 1;
      show();
    },
    stop: () => progress?.stop(),
  };
}
