import { defineCommand, type Outcome } from '../../command.ts';
import type { Context } from '../../context.ts';
import { GwError } from '../../errors.ts';
import { isOpen, type Synced, type SyncInput, syncJobs } from '../../jobs/sync.ts';
import type { Job } from '../../ledger/event.ts';
import { type JobResult, outcomeOf } from '../video/follow-job.ts';
import { createFollowers, type Followers } from '../video/followers.ts';
import { type KnownJob, readJobs } from './read-jobs.ts';
import { showJobQueries } from './show-queries.ts';
import { syncInput } from './sync-inputs.ts';

/** `gw jobs sync`: looks at every unfinished job, saves every finished one, and exits. */
export const sync = defineCommand<Record<string, never>, JobResult>({
  flags: {},
  examples: ['gw jobs sync --sandbox', 'gw jobs sync --json'],
  notes: [
    'Safe to run from cron, twice at once, and after a crash. Without --profile, --base-url or --sandbox it serves ' +
      'every gateway that has jobs in the ledger and a stored key.',
  ],
  sends: 'query',
  human: (result) => result.files.map((file) => `${file.path}\n`).join(''),
  async *run({ globals }, ctx) {
    const open = await openJobs(ctx);
    if (globals.dryRun || globals.curl) {
      yield* showJobQueries(open, ctx);
      return;
    }
    const { inputs, unreachable } = await inputsOf(open, createFollowers(ctx), ctx);
    for (const error of unreachable) yield { error };
    const running = new Map<string, string>();
    for await (const { job, synced } of syncJobs(inputs, ctx.signal)) {
      if (synced.outcome === 'running') running.set(synced.id, synced.status);
      const outcome = outcomeOfSync(job, synced, ctx);
      if (outcome) yield outcome;
    }
    tellOfRunning(running, ctx);
  },
});

/** The jobs that need something, oldest first, of the gateways that are meant. */
async function openJobs(ctx: Context): Promise<KnownJob[]> {
  const nowMs = ctx.clock.now();
  const foreign = new Map<string, number>();
  const open: KnownJob[] = [];
  for (const known of (await readJobs({}, ctx)).reverse()) {
    const { job, family } = known;
    if (family === undefined) foreign.set(job.family, (foreign.get(job.family) ?? 0) + 1);
    else if (needsSync(known, nowMs) && (await ctx.ownsJob(job))) open.push(known);
  }
  for (const [family, count] of foreign) {
    ctx.io.warn(
      `${count === 1 ? '1 job' : `${count} jobs`} of family ${family} left alone: this gw does not know it`,
    );
  }
  return open;
}

/** A record that cannot be read is looked at again. */
function needsSync({ job, family }: KnownJob, nowMs: number): boolean {
  try {
    return family !== undefined && isOpen(job, family, nowMs);
  } catch {
    return true;
  }
}

/** What each job needs; a gateway that cannot be reached from here is told of once, not for each of its jobs. */
async function inputsOf(open: readonly KnownJob[], followers: Followers, ctx: Context) {
  const inputs: SyncInput[] = [];
  const unreachable = new Map<string, unknown>();
  for (const known of open) {
    const { gateway, profile } = known.job;
    const place = `${profile} ${gateway}`;
    if (unreachable.has(place)) continue;
    try {
      const input = await syncInput(known, followers, ctx);
      if (input) inputs.push(input);
    } catch (error) {
      ctx.signal.throwIfAborted();
      unreachable.set(place, error);
    }
  }
  return { inputs, unreachable: [...unreachable.values()] };
}

function outcomeOfSync(job: Job, synced: Synced, ctx: Context): Outcome<JobResult> | undefined {
  if (synced.outcome === 'ended') {
    return outcomeOf(synced.followed, { family: job.family, id: synced.id }, ctx);
  }
  if (synced.outcome !== 'unknown') return undefined;
  const message = `${job.key}: sent, but never answered; a task of family ${job.family} may exist that cannot be looked up`;
  return { error: new GwError('unknown_outcome', message, { hint: `gw jobs show ${job.key}` }) };
}

/** One line, however many there are. */
function tellOfRunning(running: ReadonlyMap<string, string>, { io }: Context): void {
  const [first] = running;
  if (first === undefined) return;
  if (running.size === 1) {
    io.note(`task ${first[0]} is still ${first[1] || 'running'}`);
    return;
  }
  const counts = new Map<string, number>();
  for (const status of running.values())
    counts.set(status || 'running', (counts.get(status || 'running') ?? 0) + 1);
  io.note(
    `${running.size} tasks go on: ${[...counts].map(([status, count]) => `${count} ${status}`).join(', ')}`,
  );
}
