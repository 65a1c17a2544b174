import { type Context, gatewayName } from '../../context.ts';
import { originOfGateway } from '../../ledger/job-key.ts';
import type { OpenQueue } from './open.ts';

// What a queue knows of jobs that this machine has begun and another has gone on with.

/** Rows that are asked for in one go. */
const AT_ONCE = 500;

/** What other machines have saved of this ledger's jobs is not fetched here once more. */
export async function hearOfRows({ store }: Pick<OpenQueue, 'store'>, ctx: Context): Promise<void> {
  const ledger = await ctx.ledger();
  const origin = originOfGateway(gatewayName(await ctx.settings()));
  const jobs = await ledger.find({
    isOpen: true,
    where: ({ once, save, gateway }) =>
      once !== undefined && save.download && originOfGateway(gateway) === origin,
  });
  for (let at = 0; at < jobs.length; at += AT_ONCE) {
    const some = jobs.slice(at, at + AT_ONCE);
    const records = await store.read(some.map(({ once }) => once?.key ?? ''));
    for (const [place, { key, id, save }] of some.entries()) {
      const record = records[place];
      const isHome = record?.state === 'saved' && id !== undefined && record.id === id;
      if (isHome) ledger.append(key, { event: 'plan', save: { ...save, download: false } });
    }
  }
}

/** The same, where GW_REDIS_URL names a queue; one that does not answer is left out. */
export async function hearWherePossible(ctx: Context): Promise<void> {
  const { withQueue } = await import('./queue-status.ts');
  const heard = withQueue({}, ctx, (queue) => hearOfRows(queue, ctx).catch(() => {}));
  await heard.catch((error: unknown) => {
    ctx.signal.throwIfAborted();
    const why = error instanceof Error ? error.message : error;
    ctx.io.warn(`what other machines have saved is not known: ${why}`);
  });
}
