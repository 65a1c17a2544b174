import { defineCommand, type Outcome } from '../../command.ts';
import type { Context } from '../../context.ts';
import { GwError } from '../../errors.ts';
import { loadFamily, loadTaskFamily } from '../../gateway/families.ts';
import { isOpen, settleUnanswered, syncJob, tidyParts } from '../../jobs/sync.ts';
import type { Job } from '../../ledger/event.ts';
import { followDeps, type JobResult, outcomeOf } from '../video/follow-job.ts';

/** How many jobs are looked at and fetched at the same time. */
const AT_ONCE = 4;

/** `gw jobs sync`: looks at every unfinished job, saves every finished one, and exits. */
export const sync = defineCommand<Record<string, never>, JobResult>({
  flags: {},
  examples: ['gw jobs sync --sandbox', 'gw jobs sync --json'],
  notes: [
    'Safe to run from cron, twice at once, and after a crash. Without --profile, --base-url or --sandbox it serves ' +
      'every gateway that has jobs in the ledger and a stored key.',
  ],
  sends: 'nothing',
  human: (result) => result.files.map((file) => `${file.path}\n`).join(''),
  async *run(_, ctx) {
    const ledger = await ctx.ledger();
    const open: Job[] = [];
    for (const job of await ledger.list()) {
      if (isOpen(job, await loadFamily(job.family)) && (await ctx.ownsJob(job))) open.push(job);
    }
    const running = new Map<string, Promise<{ key: string; outcome: Outcome<JobResult> | undefined }>>();
    for (const job of open.toReversed()) {
      running.set(
        job.key,
        syncOne(job, ctx).then((outcome) => ({ key: job.key, outcome })),
      );
      if (running.size >= AT_ONCE) yield* nextOf(running);
    }
    while (running.size > 0) yield* nextOf(running);
    ctx.io.progress().stop();
  },
});

async function* nextOf(
  running: Map<string, Promise<{ key: string; outcome: Outcome<JobResult> | undefined }>>,
) {
  const { key, outcome } = await Promise.race(running.values());
  running.delete(key);
  if (outcome) yield outcome;
}

async function syncOne(job: Job, ctx: Context): Promise<Outcome<JobResult> | undefined> {
  const { io } = ctx;
  try {
    if (job.id === undefined) {
      if (settleUnanswered(job, await ctx.ledger()) && job.state === 'sent') {
        const message = `${job.key}: sent, but never answered; a task of family ${job.family} may exist that cannot be looked up`;
        return { error: new GwError('unknown_outcome', message, { hint: `gw jobs show ${job.key}` }) };
      }
      return undefined;
    }
    const family = await loadTaskFamily(job.family);
    if (tidyParts(job, family, await ctx.ledger())) return undefined;
    const deps = await followDeps(ctx, await ctx.gatewayOf(job));
    const followed = await syncJob({ ...job, id: job.id }, family, deps);
    if (followed) return outcomeOf(followed, { family: job.family, id: job.id }, ctx);
    io.note(`task ${job.id} is still ${job.status ?? 'running'}`);
    return undefined;
  } catch (error) {
    return { error };
  }
}
