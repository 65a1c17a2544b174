import { defineCommand } from '../../command.ts';
import { readVariable } from '../../config/environment.ts';
import { type Context, commandFor } from '../../context.ts';
import { GwError, shellQuote, usage } from '../../errors.ts';
import { parsed, withValue } from '../../flags/flag.ts';
import { redisFlags } from '../../flags/job-flags.ts';
import type { TaskFamily } from '../../gateway/task.ts';
import { taskIdPattern } from '../../gateway/task-state.ts';
import { explainOtherKey, isOtherKey } from '../../jobs/create/hold-job.ts';
import { isOpenImageJob } from '../../jobs/image/sync-image-job.ts';
import { type JobView, jobView } from '../../jobs/job-view.ts';
import { recordLook, type TaskLook } from '../../jobs/watch/look.ts';
import { type Job, mayExist } from '../../ledger/event.ts';
import type { Hold, Ledger } from '../../ledger/ledger.ts';
import type { ResolvedRow } from '../machines/queue-status.ts';
import { createFollowers } from '../video/followers.ts';
import { type KnownJob, readJobs } from './find-jobs.ts';
import { jobTable } from './job-table.ts';
import { jobIdSummary, knownJob } from './jobs-by-id.ts';
import { noTaskOfImage, showJobQueries, taskJob, unchanged, whileHeld } from './task-job.ts';

const flags = {
  as: parsed('ID|none', 'the task that it became, or none: it was never created', parseAnswer),
  ...redisFlags,
} as const;

function parseAnswer(raw: string, flag: string): string {
  if (taskIdPattern.test(raw)) return raw;
  throw usage(`${withValue(flag, raw)}: not a task ID`, "give the gateway's task ID, or none");
}

/** `gw jobs resolve ID --as ID|none` closes a job of unknown outcome with the outcome that the user found out. */
export const resolve = defineCommand<typeof flags, JobView | ResolvedRow>({
  args: { name: 'ID', summary: jobIdSummary, required: true, completes: 'task' },
  flags,
  examples: ['gw jobs list --status unknown', 'gw jobs resolve ID --as none # fill in ID'],
  notes: [
    'For a create whose answer was lost (exit 14), once you know from the console or the bill what came of it. --as ID ' +
      'looks that task up and takes it for this job; gw jobs sync or wait then goes on with it. --as none closes the job ' +
      'as never created: if it exists after all, it is paid for and not saved, and the same key or row pays again. Images have no task to look up: they can only be closed as none.',
    'With --redis, or GW_REDIS_URL for a row that is not known here, a row of a queue is closed by its key, from any ' +
      'machine: as none it waits again, as ID a worker goes on with that task.',
  ],
  sends: 'query',
  async *run({ args, flags, globals }, ctx) {
    if (flags.as === undefined)
      throw usage('--as is missing', 'say what became of the job: --as and the ID of its task, or --as none');
    const [typed = ''] = args;
    const hasQueue = readVariable(ctx.host.env, 'GW_REDIS_URL') !== undefined;
    const orQueue = (error: unknown) => {
      if (!hasQueue || !typed.includes('/')) throw error;
    };
    const known = flags.redis === undefined ? await knownJob(args, ctx).catch(orQueue) : undefined;
    if (!known) {
      const { resolveOnMachines } = await import('../machines/queue-status.ts');
      return yield { value: await resolveOnMachines(typed, flags.as, flags, ctx) };
    }
    const { key, once } = known.job;
    refuseKnown(known.job, key);
    const isNone = flags.as === 'none';
    if (!isNone && known.family?.name === 'image') throw noTaskOfImage(flags.as, `${key} --as none`);
    if (globals.dryRun || globals.curl) {
      if (isNone)
        throw usage(`--as none sends no request that could be shown`, 'leave --dry-run and --curl out');
      yield* showJobQueries([{ ...known, job: { ...known.job, id: flags.as } }], ctx);
      return;
    }
    if (isNone)
      await whileHeld(key, ctx, async (hold) => closeAsNone(hold, await ctx.ledger(), ctx.clock.now()));
    else await adopt(known, flags.as, ctx);
    if (hasQueue && once?.key.includes('/'))
      ctx.io.note(`tell its queue: gw jobs resolve ${shellQuote(once.key)} --as ${flags.as} --redis`);
    const [now = known] = await readJobs({ ids: [key] }, ctx);
    if (now.job.id !== undefined)
      ctx.io.note(`go on with it: ${commandFor(`gw jobs wait ${now.job.id}`, ctx)}`);
    yield { value: jobView(now.job, now.family) };
  },
  human: (view, ctx) => ('row_key' in view ? `${view.row_key}\t${view.state}\n` : jobTable([view], ctx)),
});

async function adopt(known: KnownJob, id: string, ctx: Context): Promise<void> {
  const { job, family, access } = await taskJob({ ...known, job: { ...known.job, id } }, ctx);
  const looker = await createFollowers(ctx, { ownRates: true }).looker(family, access);
  const look = await looker.look(id, { signal: ctx.signal, job }).catch((error: unknown) => {
    if (isOtherKey(job, access.keyId)) throw explainOtherKey(error, job, access.keyId);
    throw unchanged(error, id, `job ${job.key}`);
  });
  const ledger = await ctx.ledger();
  await whileHeld(job.key, ctx, (hold) => adoptTask(hold, { id, look, family }, ledger));
  await recordLook(ledger, job.key, look, look.view.status);
}

// The functions below close a job whose outcome the user found out; gw itself never guesses one.

/**
 * Closes the job as never created. The hold has read the job again under its lock. Throws `usage` if the outcome is
 * known, or if images are still in part files or behind links that a sync can save.
 */
function closeAsNone({ key, job }: Hold, ledger: Ledger, nowMs: number): void {
  refuseKnown(job, key);
  const hasLinks = job?.family === 'image' && job.state === 'unknown' && isOpenImageJob(job, nowMs);
  if (job && (hasLinks || Object.keys(job.parts).length > 0))
    throw usage(`job ${key}: what came of it is still to be saved`, 'first run: gw jobs sync');
  ledger.append(key, { event: 'refused', kind: 'absent', message: 'you said that it was never created' });
}

/**
 * Records a task that was looked up as the task of the held job. Throws `usage` if the job's outcome is known, or if
 * the task belongs to another job or has another external ID.
 */
async function adoptTask(
  { key, job }: Hold,
  { id, look, family }: { readonly id: string; readonly look: TaskLook; readonly family: TaskFamily },
  ledger: Ledger,
): Promise<void> {
  const open = refuseKnown(job, key);
  const owners = await ledger.find({ ids: [id], gateway: open.gateway });
  // A job that was only adopted to be followed does not own the task: this gw did not create it.
  const owner = owners.find((each) => each.key !== key && each.endpoint !== family.query.endpoint.name);
  if (owner) throw usage(`--as ${id}: that is the task of job ${owner.key}`, `gw jobs show ${owner.key}`);
  const other = externalIdOf(id, look, family);
  if (other !== undefined && other !== open.externalId)
    throw usage(
      `--as ${id}: that task was created with external ID ${other}, and job ${key} was not`,
      `gw jobs show ${key} tells what was asked for`,
    );
  ledger.append(key, { event: 'accepted', id, status: look.view.status });
}

function externalIdOf(id: string, { reply }: TaskLook, { externalIds }: TaskFamily): string | undefined {
  const records = externalIds?.findMany(reply.json).records ?? new Map<string, { id: string }>();
  return [...records].find(([, record]) => record.id === id)?.[0];
}

/** Returns the job if its outcome is unknown; throws otherwise. */
function refuseKnown(job: Job | undefined, key: string): Job {
  if (job && mayExist(job)) return job;
  if (job === undefined)
    throw new GwError('not_found', `job ${key} is no longer in the ledger`, { taskId: key });
  const what =
    job.state === 'intent'
      ? 'nothing of it was sent; gw jobs sync closes it'
      : `its outcome is known: it is ${job.state.replace('_', ' ')}`;
  throw usage(`job ${key} cannot be resolved: ${what}`, `gw jobs show ${key}`);
}
