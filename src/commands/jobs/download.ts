import { defineCommand, type Outcome } from '../../command.ts';
import type { Context } from '../../context.ts';
import type { SaveFlags } from '../../flags/job-flags.ts';
import { explainOtherKey } from '../../jobs/create/hold-job.ts';
import { recordLook, seenInLedger } from '../../jobs/watch/look.ts';
import { createTurns, SAVES_AT_ONCE, type Turns } from '../../jobs/watch/turns.ts';
import { type JobResult, jobLines } from '../video/follow-job.ts';
import { createFollowers, type Followers } from '../video/followers.ts';
import { eachId, refuseSharedName } from '../video/task-ids.ts';
import { saveEnded } from '../video/wait-and-download.ts';
import { refuseSavingAnew, syncImages } from './image-jobs.ts';
import { jobIdSummary, namedJobs, notInLedger } from './named-jobs.ts';
import type { KnownJob } from './read-jobs.ts';
import { endedOutcome, laterSaveFlags, savePlanOf, showJobQueries, taskJob } from './task-job.ts';

const { out, force, events } = laterSaveFlags;
const flags = { out, force, events } as const;
const latest = '$(gw jobs list -q --family alpha --status succeeded --limit 1)';

/** `gw jobs download ID…`: saves the outputs of finished jobs of any family and gateway; waits for nothing. */
export const download = defineCommand<typeof flags, JobResult>({
  args: {
    name: 'ID',
    summary: jobIdSummary,
    required: true,
    many: true,
    completes: 'output',
  },
  flags,
  examples: [
    `gw jobs download ${latest} --sandbox`,
    `gw jobs download ${latest} --sandbox -o "clips/{date}-{id}.{ext}"`,
  ],
  sends: 'query',
  human: (result, _, failed) => jobLines(result, failed),
  async *run({ args, flags, globals }, ctx) {
    const named = await namedJobs(args, ctx);
    const ids = named.map(({ id }) => id);
    refuseSharedName(ids, flags.out, ctx.host.cwd);
    if (globals.dryRun || globals.curl) {
      yield* showJobQueries(
        named.map(({ known }) => known).filter((known) => known !== undefined),
        ctx,
      );
      return;
    }
    const byId = new Map(named.map(({ id, known }) => [id, known]));
    const world = { flags, followers: createFollowers(ctx), turns: createTurns(SAVES_AT_ONCE), ctx };
    yield* eachId(ids, (id) => downloadOne(id, byId.get(id), world));
  },
});

interface DownloadWorld {
  readonly flags: SaveFlags;
  readonly followers: Followers;
  readonly turns: Turns;
  readonly ctx: Context;
}

async function downloadOne(
  id: string,
  known: KnownJob | undefined,
  { flags, followers, turns, ctx }: DownloadWorld,
): Promise<Outcome<JobResult>> {
  if (!known) throw notInLedger(id, ctx);
  if (known.family?.name === 'image') refuseSavingAnew(known, flags);
  const ended = flags.out === undefined && flags.force === undefined ? endedOutcome(known) : undefined;
  if (ended) return ended;
  if (known.family?.name === 'image') {
    for await (const outcome of syncImages([known], followers, ctx, flags)) return outcome;
  }
  const { job, family, access } = await taskJob(known, ctx);
  const pool = await followers.poolOf(job);
  const looker = await followers.looker(family, access);
  const deps = { ...(await followers.followDeps(family, access)), turns };
  const seen = seenInLedger(job, family, ctx.clock.now());
  const look =
    seen ??
    (await looker.look(job.id, { signal: ctx.signal, pool }).catch((error: unknown) => {
      throw explainOtherKey(error, job, access.keyId);
    }));
  if (!seen) await recordLook(deps.ledger, job.key, look, job.status);
  const save = savePlanOf(job, flags, ctx);
  return saveEnded({ key: job.key, id: job.id, family, save, pool }, look, 'gw jobs wait', deps, ctx);
}
