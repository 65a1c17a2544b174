import type { Context } from '../../context.ts';
import type { SaveFlags } from '../../flags/job-flags.ts';
import type { TaskFamily } from '../../gateway/task.ts';
import { planTarget } from '../../jobs/download/plan-target.ts';
import { lookAtTask } from '../../jobs/look.ts';
import type { Job, SavePlan } from '../../ledger/event.ts';
import { adoptedJobKey } from '../../ledger/job-key.ts';

/** A job that is in the ledger, and where its outputs are to go this time. */
export interface TrackedJob {
  readonly key: string;
  readonly save: SavePlan;
}

/**
 * Finds a task in the ledger, or takes it in: one made on another machine has its downloads counted and its parts
 * remembered from here on like any other.
 */
export async function trackJob(
  id: string,
  family: TaskFamily,
  flags: SaveFlags,
  ctx: Context,
): Promise<TrackedJob> {
  const ledger = await ctx.ledger();
  const settings = await ctx.settings();
  const { client, name: gateway } = await ctx.gateway();
  const known = await ledger.find(id, gateway);
  const save = savePlan(flags, known, settings.out.value, ctx);
  if (known) return { key: known.key, save };
  // A mistyped ID must not become a job: the gateway confirms the task first.
  const look = await lookAtTask({ id, family, client, signal: ctx.signal, nowMs: ctx.clock.now });
  const key = ledger.begin(
    {
      event: 'intent',
      family: family.name,
      endpoint: family.query.endpoint.name,
      model: undefined,
      settings: {},
      media: [],
      bodySha256: '',
      profile: settings.profile.value,
      gateway,
      save,
    },
    adoptedJobKey(gateway, id),
  );
  ledger.append(key, { event: 'accepted', id, status: look.view.status });
  return { key, save };
}

/** What was said at the create holds unless this command says otherwise. */
function savePlan(
  flags: SaveFlags,
  known: Job | undefined,
  profileOut: string | undefined,
  ctx: Context,
): SavePlan {
  const before = known?.save.target;
  const target =
    flags.out === undefined && before !== undefined
      ? before
      : planTarget(flags.out ?? profileOut, ctx.host.cwd);
  return { target, force: flags.force ?? false, download: flags.download === undefined };
}
