import type { Context } from '../context.ts';
import { type ModelList, modelsList } from '../gateway/models.ts';
import type { Reply, SendOptions } from '../http/client.ts';
import { writeModelCache } from './model-cache.ts';

/**
 * Asks the gateway in force for its list of models ("Model list entry") and keeps the IDs. Throws GwError as Client.send.
 */
export async function fetchModels(
  ctx: Pick<Context, 'host' | 'clock' | 'signal' | 'gateway' | 'io'>,
  options: Pick<SendOptions, 'retries' | 'silenceMs' | 'deadlineMs' | 'onRefused'> = {},
): Promise<Reply<ModelList>> {
  const { client, name } = await ctx.gateway();
  const reply = await client.send(modelsList, {}, { ...options, signal: ctx.signal });
  // A gateway that echoes the key must not bring it into a file.
  const ids = reply.value.data.map(({ id }) => id).filter((id) => ctx.io.withoutSecrets(id) === id);
  writeModelCache(ctx.host, name, { fetchedAtMs: ctx.clock.now(), ids });
  return reply;
}
