import { defineCommand, type Outcome } from '../../command.ts';
import { readVariable } from '../../config/environment.ts';
import { type Context, commandFor } from '../../context.ts';
import { GwError, UnknownOutcome } from '../../errors.ts';
import { saveFlags } from '../../flags/job-flags.ts';
import { quietly } from '../../host.ts';
import { sentAgainBy } from '../../jobs/create/lost.ts';
import { diesWithin, isUnsaved } from '../../jobs/job-view.ts';
import { lacksFile } from '../../jobs/save/saved.ts';
import { isOpen, type Synced, type SyncInput, syncJobs } from '../../jobs/watch/sync.ts';
import type { Job } from '../../ledger/event.ts';
import { endedBy, interruptedLast, noteUsage, outcomeOf } from '../video/follow-job.ts';
import { createFollowers, type Followers } from '../video/followers.ts';
import { fileLines, type JobResult } from '../video/job-result.ts';
import { eachJob, type OwnJob, readOwnJobs, syncInput, withoutForeign } from './find-jobs.ts';
import { resultOf, showJobQueries, wholeProgress } from './task-job.ts';

const flags = { events: saveFlags.events } as const;

/** The number of newest jobs whose saved files are checked; the limit keeps a sync fast with a long ledger. */
const LOOKED_AT_FOR_GONE = 100;

/** `gw jobs sync` looks at every unfinished job, saves every finished one, and exits. */
export const sync = defineCommand<typeof flags, JobResult>({
  flags,
  examples: ['gw jobs sync --sandbox', 'gw jobs sync --json'],
  notes: [
    'Safe to run from cron, twice at once, and after a crash. Without --profile, --base-url or --sandbox it serves ' +
      'every profile that has jobs in the ledger, each with its own stored key. ' +
      `A saved file that is gone or cut is fetched again while its link lives, of the ${LOOKED_AT_FOR_GONE} newest jobs; ` +
      'gw jobs download ID does it for any job.',
  ],
  sends: 'query',
  human: (result, { io }) => (io.mode.quiet ? '' : fileLines(result)),
  async *run({ globals }, ctx) {
    if (readVariable(ctx.host.env, 'GW_REDIS_URL') !== undefined && !globals.dryRun && !globals.curl)
      await (await import('../machines/heard.ts')).hearWherePossible(ctx);
    const { open, missed } = await openJobs(ctx);
    if (globals.dryRun || globals.curl) return yield* showJobQueries(open, ctx);
    const { inputs, unreachable } = await inputsOf(open, createFollowers(ctx), ctx);
    for (const error of unreachable) yield { error };
    for (const job of missed) yield missedOutcome(job, ctx);
    const running = new Map<string, string>();
    let elsewhere = 0;
    const whole = wholeProgress(inputs.length, ctx);
    for (const { job } of inputs) ctx.events?.about(job);
    const outcomes = async function* () {
      for await (const { job, synced } of syncJobs(inputs, ctx.signal)) {
        whole.tell(synced.outcome === 'ended' && synced.followed.error !== undefined);
        if (synced.outcome === 'running') running.set(synced.id, synced.status || 'running');
        if (synced.outcome === 'elsewhere') elsewhere += 1;
        const name = inputs.length > 1 ? (job.id ?? job.key) : undefined;
        if (synced.outcome === 'ended') await noteUsage(synced.followed, job.key, name, ctx);
        // An empty outcome still counts as a success in the exit code beside jobs that failed.
        yield outcomeOfSync(job, synced, ctx) ?? {};
      }
    };
    try {
      yield* interruptedLast(outcomes(), ctx);
    } catch (error) {
      throw endedBy(error, `go on with: ${commandFor('gw jobs sync', ctx)}`, 'the jobs go on');
    }
    whole.stop();
    if (elsewhere > 0) ctx.io.note(`another gw saves ${elsewhere} of the jobs`);
    tellOfRunning(running, ctx);
  },
});

/**
 * Returns the jobs that need work, oldest first, of the chosen profile or gateway. `missed` holds image jobs whose
 * links are too old to be tried unasked.
 */
async function openJobs(ctx: Context): Promise<{ open: OwnJob[]; missed: Job[] }> {
  const nowMs = ctx.clock.now();
  const open: OwnJob[] = [];
  const missed: Job[] = [];
  for (const known of withoutForeign((await readOwnJobs({ isOpen: true }, ctx)).reverse(), ctx)) {
    if (needsSync(known, nowMs)) open.push(known);
    else if (isUnsaved(known.job, known.family)) missed.push(known.job);
  }
  const keys = new Set(open.map(({ job }) => job.key));
  for (const known of await goneJobs(ctx)) if (!keys.has(known.job.key)) open.push(known);
  return { open, missed };
}

/** Returns those of the newest jobs whose saved files are missing and can still be downloaded. */
export async function goneJobs(ctx: Context): Promise<OwnJob[]> {
  const nowMs = ctx.clock.now();
  const gone: OwnJob[] = [];
  for await (const { job, family } of eachJob({ limit: LOOKED_AT_FOR_GONE }, ctx))
    if (family && job.save.download && lacksFile(job) && diesWithin(job, family, nowMs))
      gone.push({ job, family });
  return gone;
}

function missedOutcome(job: Job, ctx: Context): Outcome<JobResult> {
  const { family, key, record = null, status = '' } = job;
  const error = new GwError(
    'download',
    `image job ${key}: its image was not saved while its link lived, and is not asked for any more`,
    { taskId: key, hint: `try the link once more with: ${commandFor(`gw jobs download ${key}`, ctx)}` },
  );
  return outcomeOf({ status, record, files: [], error }, { family, id: key }, ctx);
}

/** True if a sync has to work on the job; a record that cannot be read is looked up again. */
export const needsSync = ({ job, family }: OwnJob, nowMs: number): boolean =>
  quietly(() => isOpen(job, family, nowMs)) ?? true;

/** Prepares each job for the sync. A gateway that cannot be reached is reported once, not once per job. */
async function inputsOf(open: readonly OwnJob[], followers: Followers, ctx: Context) {
  const inputs: SyncInput[] = [];
  const unreachable = new Map<string, unknown>();
  for (const known of open) {
    const { gateway, profile } = known.job;
    const place = `${profile} ${gateway}`;
    try {
      const input = await syncInput(known, followers, ctx);
      if (input) inputs.push(input);
    } catch (error) {
      ctx.signal.throwIfAborted();
      if (!unreachable.has(place)) unreachable.set(place, error);
    }
  }
  return { inputs, unreachable: [...unreachable.values()] };
}

/** The printed outcome of a synced job; undefined if there is nothing to print. */
export function outcomeOfSync(job: Job, synced: Synced, ctx: Context): Outcome<JobResult> | undefined {
  if (synced.outcome === 'ended')
    return outcomeOf(synced.followed, { family: job.family, id: synced.id, job }, ctx);
  if (synced.outcome !== 'unknown') return undefined;
  const { message, isLookedForAgain } = synced;
  const next = isLookedForAgain ? 'gw jobs sync looks for it again' : 'it was not sent again';
  const again = isLookedForAgain ? sentAgainBy(job) : undefined;
  return {
    value: resultOf(job, []),
    error: new UnknownOutcome(`${job.key}: its answer is not known yet: ${message}`, {
      hint: `the job may exist; ${next}: ${commandFor(`gw jobs ${isLookedForAgain ? 'sync' : `show ${job.key}`}`, ctx)}${again ? `; ${again}` : ''}`,
      taskId: job.key,
    }),
  };
}

/** Prints one line for all running jobs. */
function tellOfRunning(running: ReadonlyMap<string, string>, { io }: Context): void {
  const [first] = running;
  if (first === undefined) return;
  const counts = new Map<string, number>();
  for (const status of running.values()) counts.set(status, (counts.get(status) ?? 0) + 1);
  const { size } = running;
  const all = [...counts].map(([status, count]) => `${count} ${status}`).join(', ');
  io.note(size === 1 ? `task ${first[0]} is still ${first[1]}` : `${size} tasks go on: ${all}`);
}
