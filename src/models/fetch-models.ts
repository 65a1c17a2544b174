import type { Context } from '../context.ts';
import { type ModelList, modelsList } from '../gateway/models.ts';
import type { Reply, SendOptions } from '../http/client.ts';
import { writeModelCache } from './model-cache.ts';

/**
 * Asks the gateway in force for its list of models ("Model list entry") and keeps the IDs. Throws GwError as Client.send.
 */
export async function fetchModels(
  ctx: Pick<Context, 'host' | 'clock' | 'signal' | 'gateway'>,
  options: Pick<SendOptions, 'retries' | 'silenceMs'> = {},
): Promise<Reply<ModelList>> {
  const { client, name } = await ctx.gateway();
  const reply = await client.send(modelsList, {}, { ...options, signal: ctx.signal });
  const ids = reply.value.data.map(({ id }) => id);
  writeModelCache(ctx.host, name, { fetchedAtMs: ctx.clock.now(), ids });
  return reply;
}
