import * as fs from 'node:fs';
import type { Outcome } from '../../command.ts';
import { type Access, type Context, commandFor } from '../../context.ts';
import { GwError } from '../../errors.ts';
import type { SaveFlags } from '../../flags/job-flags.ts';
import { findTaskFamily } from '../../gateway/families.ts';
import type { Family, TaskFamily } from '../../gateway/task.ts';
import { isUnsaved, printableRecord } from '../../jobs/job-view.ts';
import { planTarget } from '../../jobs/save/output-path.ts';
import type { Job, SavePlan } from '../../ledger/event.ts';
import { taskOf } from '../../ledger/settled.ts';
import type { JobResult } from '../video/follow-job.ts';
import type { KnownJob } from './read-jobs.ts';

/** A job that is a task on a gateway, with the way there. */
export interface TaskJob {
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
