import type { Settings } from '../../config/settings.ts';
import type { Access, Context } from '../../context.ts';
import { type SaveFlags, sidecarBy } from '../../flags/job-flags.ts';
import type { TaskFamily } from '../../gateway/task.ts';
import { holdWhenFree } from '../../jobs/create/hold-job.ts';
import { planTarget } from '../../jobs/save/output-path.ts';
import type { TaskLook } from '../../jobs/watch/look.ts';
import type { Job, SavePlan } from '../../ledger/event.ts';
import { adoptedJobKey } from '../../ledger/job-key.ts';
import { jobsByName } from '../../ledger/ledger.ts';
import type { Followers } from './followers.ts';

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
export async function trackJobs(
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
