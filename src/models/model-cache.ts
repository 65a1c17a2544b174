import * as path from 'node:path';
import { crc32 } from 'node:zlib';
import { cacheDir, type DirHost } from '../config/dirs.ts';
import type { Context } from '../context.ts';
import { ensureDirectory, replaceFile } from '../disk/durable-directory.ts';
import { readRegular } from '../disk/small-file.ts';
import { formats } from '../formats.ts';
import { type ModelList, modelsList } from '../gateway/models.ts';
import type { Reply, SendOptions } from '../http/client.ts';

// The last list of models of each gateway, for completions and suggestions. It can be fetched again, so no problem with
// it is an error.

const VERSION = formats.models.format;
/** No list of models is this large. */
const MAX_BYTES = 16 << 20;

interface CachedModels {
  /** Unix milliseconds. */
  readonly fetchedAtMs: number;
  readonly ids: readonly string[];
}

/** The cached models of a gateway (`gateway` as in Access.name); undefined if there are none. Reads one small file. */
export function readModelCache(host: DirHost, gateway: string): CachedModels | undefined {
  try {
    const kept: unknown = JSON.parse(readRegular(fileOf(host, gateway), MAX_BYTES).toString());
    if (typeof kept !== 'object' || kept === null) return undefined;
    const { version, gateway: of, fetched_at_ms: fetchedAtMs, ids } = kept as Record<string, unknown>;
    if (version !== VERSION || of !== gateway || typeof fetchedAtMs !== 'number' || !Array.isArray(ids)) {
      return undefined;
    }
    return { fetchedAtMs, ids: ids.filter((id) => typeof id === 'string') };
  } catch {
    return undefined;
  }
}

/** Caches a gateway's list atomically, readable by this user only. */
export function writeModelCache(host: DirHost, gateway: string, { fetchedAtMs, ids }: CachedModels): void {
  try {
    const file = fileOf(host, gateway);
    ensureDirectory(path.dirname(file));
    const text = JSON.stringify({ version: VERSION, gateway, fetched_at_ms: fetchedAtMs, ids });
    replaceFile(file, `${text}\n`);
  } catch {
    // The next run fetches the list again.
  }
}

/** The file of a gateway, named by a checksum of its address. If two collide, each replaces the other's file. */
const fileOf = (host: DirHost, gateway: string): string =>
  path.join(cacheDir(host), 'models', `${crc32(gateway).toString(16)}.json`);

/** Fetches the current gateway's list of models ("Model list entry") and caches the IDs. Throws as Client.send does. */
export async function fetchModels(
  ctx: Pick<Context, 'host' | 'clock' | 'signal' | 'gateway' | 'io'>,
  options: Pick<SendOptions, 'retries' | 'silenceMs' | 'deadlineMs' | 'onRefused'> = {},
): Promise<Reply<ModelList>> {
  const { client, name } = await ctx.gateway();
  const reply = await client.send(modelsList, {}, { ...options, signal: ctx.signal });
  // The cache must not hold the API key, even if a gateway puts it into an ID.
  const ids = reply.value.data.map(({ id }) => id).filter((id) => ctx.io.withoutSecrets(id) === id);
  writeModelCache(ctx.host, name, { fetchedAtMs: ctx.clock.now(), ids });
  return reply;
}
