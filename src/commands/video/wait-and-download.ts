import { defineCommand, type Outcome } from '../../command.ts';
import type { Settings } from '../../config/settings.ts';
import { type Access, type Context, commandFor } from '../../context.ts';
import { GwError } from '../../errors.ts';
import { pollFlags, type SaveFlags, saveFlags, sidecarBy } from '../../flags/job-flags.ts';
import { loadTaskFamily } from '../../gateway/families.ts';
import type { TaskFamily } from '../../gateway/task.ts';
import { explainOtherKey, holdWhenFree } from '../../jobs/create/hold-job.ts';
import { planTarget } from '../../jobs/save/output-path.ts';
import type { SaveJobInput } from '../../jobs/save/save-outputs.ts';
import { endOf, type FollowDeps } from '../../jobs/watch/follow.ts';
import { recordLook, type SeenTask, type TaskLook } from '../../jobs/watch/look.ts';
import { createTurns, SAVES_AT_ONCE } from '../../jobs/watch/turns.ts';
import type { Job, SavePlan } from '../../ledger/event.ts';
import { adoptedJobKey } from '../../ledger/job-key.ts';
import { jobsByName } from '../../ledger/ledger.ts';
import { fullIds, taskIdSummary } from '../jobs/named-jobs.ts';
import {
  type FollowRequest,
  followAll,
  type JobResult,
  jobLines,
  outcomeOf,
  waitDeadlineMs,
} from './follow-job.ts';
import { createFollowers, type Followers } from './followers.ts';
import { eachId, ofTask, refuseSharedName, showQueries } from './task-ids.ts';

/** `gw video FAMILY wait ID…`: the first half of `create --wait` later, on any machine; saves like it. */
export function videoWait(familyName: string) {
  const flags = { ...pollFlags, ...saveFlags };
  return defineCommand<typeof flags, JobResult>({
    args: { name: 'ID', summary: taskIdSummary, required: true, many: true, completes: `task:${familyName}` },
    flags,
    examples: [
      `gw video ${familyName} wait $(gw jobs list -q --family ${familyName} --limit 1) --sandbox`,
      `gw video ${familyName} wait $(gw jobs list -q --family ${familyName} --limit 2) --sandbox --wait-timeout 20m -o clips/`,
    ],
    sends: 'query',
    human: (result, _, failed) => jobLines(result, failed),
    async *run({ args, flags, globals }, ctx) {
      const family = await loadTaskFamily(familyName);
      const deadlineMs = waitDeadlineMs(flags, ctx);
      const ids = await fullIds(args, ctx, familyName);
      refuseSharedName(ids, flags.out, ctx.host.cwd);
      if (globals.dryRun || globals.curl) {
        yield* showQueries(family, ids, ctx);
        return;
      }
      const followers = createFollowers(ctx);
      const requests: FollowRequest[] = [];
      for (const [id, tracking] of await trackJobs(ids, family, flags, followers, ctx)) {
        try {
          requests.push({ id, ...(await tracking), family, flags, deadlineMs, atOnce: true });
        } catch (error) {
          ctx.signal.throwIfAborted();
          if (ids.length === 1) throw error;
          yield { error: ofTask(error, id) };
        }
      }
      yield* followAll(requests, followers, ctx);
    },
  });
}

/** `gw video FAMILY download ID…`: the second half of `create --wait`: saves what is finished, waits for nothing. */
export function videoDownload(familyName: string) {
  const { out, force, events } = saveFlags;
  const flags = { out, force, events };
  const latest = `$(gw jobs list -q --family ${familyName} --status succeeded --limit 1)`;
  return defineCommand<typeof flags, JobResult>({
    args: {
      name: 'ID',
      summary: taskIdSummary,
      required: true,
      many: true,
      completes: `output:${familyName}`,
    },
    flags,
    examples: [
      `gw video ${familyName} download ${latest} --sandbox`,
      `gw video ${familyName} download ${latest} --sandbox -o "clips/{date}-{id}.{ext}"`,
    ],
    sends: 'query',
    human: (result, _, failed) => jobLines(result, failed),
    async *run({ args, flags, globals }, ctx) {
      const family = await loadTaskFamily(familyName);
      const ids = await fullIds(args, ctx, familyName);
      refuseSharedName(ids, flags.out, ctx.host.cwd);
      if (globals.dryRun || globals.curl) {
        yield* showQueries(family, ids, ctx);
        return;
      }
      const followers = createFollowers(ctx);
      const turns = createTurns(SAVES_AT_ONCE);
      const tracked = await trackJobs(ids, family, flags, followers, ctx);
      const download = async (id: string): Promise<Outcome<JobResult>> => {
        const { key, save, job, access, look: first } = (await tracked.get(id)) ?? {};
        if (key === undefined || save === undefined) throw new Error(`${id} is not tracked`);
        const deps = { ...(await followers.followDeps(family, access)), turns };
        const look =
          first ??
          (await deps.looker
            .look(id, { signal: ctx.signal, ...(job && { pool: await followers.poolOf(job) }) })
            .catch((error: unknown) => {
              throw job ? explainOtherKey(error, job, deps.keyId) : error;
            }));
        await recordLook(deps.ledger, key, look, undefined);
        return saveEnded({ key, id, family, save }, look, `gw video ${familyName} wait`, deps, ctx);
      };
      yield* eachId(ids, download);
    },
  });
}

/**
 * Saves the outputs of a task that has ended, as a look says. Throws GwError `wait_timeout` for one that runs, with the
 * command that waits for it.
 */
export async function saveEnded(
  job: SaveJobInput,
  look: SeenTask,
  waitCommand: string,
  deps: FollowDeps,
  ctx: Context,
): Promise<Outcome<JobResult>> {
  const { id, family } = job;
  if (look.view.state === 'running') {
    throw new GwError(
      'wait_timeout',
      `task ${id} is ${look.view.status || 'not finished'}; there is nothing to save yet`,
      { taskId: id, hint: `wait for it with: ${commandFor(`${waitCommand} ${id}`, ctx)}` },
    );
  }
  const followed = await endOf(look, job, deps);
  deps.progress.stop();
  return outcomeOf(followed, { family: family.name, id }, ctx);
}

/** A job that is in the ledger, and where its outputs are to go this time. */
export interface TrackedJob {
  readonly key: string;
  readonly save: SavePlan;
  /** As the ledger knew it; absent where it did not. */
  readonly job?: Job | undefined;
  /** The way to the job where that is not the gateway in force: the key of another profile. */
  readonly access?: Access | undefined;
  /** The look that confirmed a task which was taken in. */
  readonly look?: TaskLook | undefined;
}

/**
 * Finds tasks in the ledger, or takes them in: one made on another machine has its downloads counted and its parts
 * remembered from here on like any other. The ledger is read once for all; each ID has a result of its own, which
 * fails with what asking for its task failed with.
 */
async function trackJobs(
  ids: readonly string[],
  family: TaskFamily,
  flags: SaveFlags,
  followers: Followers,
  ctx: Context,
): Promise<ReadonlyMap<string, Promise<TrackedJob>>> {
  const ledger = await ctx.ledger();
  const settings = await ctx.settings();
  const { name: gateway, keyId } = await ctx.gateway();
  const looker = await followers.looker(family);
  const known = jobsByName(await ledger.find({ ids }), gateway);
  const takeIn = async (id: string): Promise<TrackedJob> => {
    const save = savePlan(flags, undefined, settings, ctx);
    // A mistyped ID must not become a job: the gateway confirms the task first.
    const look = await looker.look(id, { signal: ctx.signal });
    const key = adoptedJobKey(gateway, id);
    const { clock, signal } = ctx;
    const hold = await holdWhenFree(key, { ledger, clock, signal }, () => {});
    try {
      // Another gw may have taken it in meanwhile.
      if (hold.job?.id !== undefined) return { key, save, job: hold.job, look };
      ledger.append(key, {
        event: 'intent',
        family: family.name,
        endpoint: family.query.endpoint.name,
        model: undefined,
        settings: {},
        media: [],
        bodySha256: '',
        profile: settings.profile.value,
        keyId,
        gateway,
        save,
      });
      ledger.append(key, { event: 'accepted', id, status: look.view.status });
      return { key, save, look };
    } finally {
      hold.release();
    }
  };
  const track = async (id: string): Promise<TrackedJob> => {
    const job = known(id);
    if (!job) return takeIn(id);
    const access = ctx.globals.profile === undefined ? await ctx.gatewayOf(job) : undefined;
    return { key: job.key, save: savePlan(flags, job, settings, ctx), job, access };
  };
  return new Map(
    ids.map((id) => {
      const tracked = track(id);
      // Whoever asks for it hears of a failure; nobody may have asked yet when it happens.
      tracked.catch(() => {});
      return [id, tracked];
    }),
  );
}

/** What was said at the create holds unless this command says otherwise. */
function savePlan(flags: SaveFlags, known: Job | undefined, settings: Settings, ctx: Context): SavePlan {
  const before = known?.save.target;
  const target =
    flags.out === undefined && before !== undefined
      ? before
      : planTarget(flags.out ?? settings.out.value, ctx.host.cwd);
  const isAsBefore = flags.sidecar === undefined && known !== undefined;
  const sidecar = isAsBefore ? known.save.sidecar : sidecarBy(flags, settings, ctx.host.version);
  return { target, force: flags.force ?? false, download: flags.download === undefined, sidecar };
}
