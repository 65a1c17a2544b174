import type { Outcome } from '../../command.ts';
import type { Context } from '../../context.ts';
import { GwError } from '../../errors.ts';
import { createJob } from '../../jobs/create.ts';
import { checkTarget } from '../../jobs/download/check-target.ts';
import { planTarget } from '../../jobs/download/plan-target.ts';
import { intentOf } from './create-intent.ts';
import type { ReadyCreate } from './create-spec.ts';
import { followFromFlags, type JobResult, outcomeOf, waitDeadlineMs } from './follow-job.ts';
import { createFollowers } from './followers.ts';

/** Job on disk -> reply, and with --wait the outputs on disk. Throws what `createJob` throws, but for a lost outcome. */
export async function sendAndFollow(ready: ReadyCreate, ctx: Context): Promise<Outcome<JobResult>> {
  const { spec, endpoint, key, body, externalId, flags, settings } = ready;
  const { family } = spec;
  const save = {
    target: planTarget(flags.out ?? settings.out.value, ctx.host.cwd),
    force: flags.force ?? false,
    download: flags.download === undefined,
  };
  const access = await ctx.gateway();
  const { client } = access;
  if (save.download) {
    checkTarget(save, {
      family: family.name,
      model: String(body.model ?? ready.model),
      now: ctx.clock.now(),
      outputsExpected: 1,
    });
  }
  await ready.checkFirst();
  const ledger = await ctx.ledger();
  const deadlineMs = waitDeadlineMs(flags, ctx);
  const followers = createFollowers(ctx);
  const intent = intentOf(ready, access, save);
  const underWay = { now: false };
  const stopTelling = tellIfInterrupted(underWay, ctx);
  const making = createJob({
    family,
    endpoint,
    key,
    body,
    externalId,
    intent,
    client,
    ledger,
    clock: ctx.clock,
    signal: ctx.signal,
    note: (text) => ctx.io.note(text),
    onExchange: (isUnderWay) => {
      underWay.now = isUnderWay;
    },
    ...(flags.queue && {
      queue: {
        deadlineMs,
        random: ctx.host.random,
        onQueued: (text) => ctx.io.note(text),
        pool: await followers.poolOf(intent),
        looker: await followers.looker(family),
      },
    }),
  }).finally(stopTelling);
  const job = await making.catch((error: unknown) => {
    if (error instanceof GwError && error.kind === 'unknown_outcome') return { error };
    throw error;
  });
  if ('error' in job) return lostOutcome(job.error, family.name, key);
  const odd = job.isOwnReply ? spec.replyWarning?.(job.reply) : undefined;
  if (odd !== undefined) ctx.io.warn(odd);
  const accepted: JobResult = {
    family: family.name,
    id: job.id,
    status: job.status ?? '',
    record: job.reply,
    files: [],
  };
  if (!flags.wait) {
    if (!ctx.signal.aborted) return { value: accepted };
    const followed = { ...accepted, files: [], error: ctx.signal.reason };
    return outcomeOf(followed, { family: family.name, id: job.id, accepted }, ctx);
  }
  ctx.io.note(`task ${job.id}`);
  return followFromFlags(
    { id: job.id, key: job.key, family, flags, save, deadlineMs, accepted },
    followers,
    ctx,
  );
}

/** A job that may exist without an ID is printed under gw's own. */
const lostOutcome = (error: GwError, family: string, key: string): Outcome<JobResult> => ({
  value: { family, id: error.facts.taskId ?? key, status: 'unknown', record: null, files: [] },
  error,
});

/** A paid request under way is not dropped: its reply holds the ID of what was paid for. */
function tellIfInterrupted(underWay: { readonly now: boolean }, { io, signal }: Context): () => void {
  const tell = () => {
    if (underWay.now) io.note('waiting for the answer to a paid request; interrupt again to end at once');
  };
  signal.addEventListener('abort', tell);
  return () => signal.removeEventListener('abort', tell);
}
