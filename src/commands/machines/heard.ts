import type { Context } from '../../context.ts';
import { originOfGateway } from '../../ledger/job-key.ts';
import { currentOrigin } from '../once.ts';
import type { OpenQueue } from './open.ts';

// Reads from a queue which jobs of this machine another machine has continued.

/** Marks this ledger's jobs that other machines have saved, so that they are not downloaded again. */
export async function hearOfRows({ store, host }: OpenQueue, ctx: Context): Promise<void> {
  const ledger = await ctx.ledger();
  const origin = await currentOrigin(ctx);
  const jobs = await ledger.find({
    isOpen: true,
    where: ({ once, save, gateway }) =>
      once !== undefined && save.download && originOfGateway(gateway) === origin,
  });
  const records = await store.read(jobs.map(({ once }) => once?.key ?? ''));
  for (const [at, { key, id, save }] of jobs.entries()) {
    const record = records[at];
    const isHome = record?.state === 'saved' && record.host !== host && id !== undefined && record.id === id;
    if (isHome) ledger.append(key, { event: 'plan', save: { ...save, download: false } });
  }
}

/** As `hearOfRows`, if GW_REDIS_URL names a queue; a queue that does not answer is skipped. */
export async function hearWherePossible(ctx: Context): Promise<void> {
  const { withQueue } = await import('./queue-status.ts');
  const heard = withQueue({}, ctx, (queue) => hearOfRows(queue, ctx).catch(() => {}));
  await heard.catch((error: unknown) => {
    ctx.signal.throwIfAborted();
    const why = error instanceof Error ? error.message : error;
    ctx.io.warn(`what other machines have saved is not known: ${why}`);
  });
}
