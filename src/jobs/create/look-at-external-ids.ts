import { GwError } from '../../errors.ts';
import type { ExternalIds, TaskFamily } from '../../gateway/task.ts';
import type { Clock } from '../../host.ts';
import type { Client, Reply } from '../../http/client.ts';
import type { SeenTask, TaskLook } from '../watch/look.ts';
import type { FoundTask } from './external-id.ts';

/** What looks by external ID need. */
export interface ExternalLook {
  readonly client: Client;
  readonly family: TaskFamily;
  readonly externalIds: ExternalIds;
  readonly signal: AbortSignal;
  readonly clock: Clock;
}

export type ExternalLooked = TaskLook | { readonly error: GwError };

/** The longest part of one URL that IDs may fill: they are the user's own and bounded by nothing. */
const MAX_ID_CHARS = 2000;

/** Puts external IDs into requests, as many into each as one takes. */
export function externalBatches(ids: readonly string[], { query }: TaskFamily): string[][] {
  const batches: string[][] = [];
  let chars = 0;
  for (const id of ids) {
    const last = batches.at(-1);
    const length = encodeURIComponent(id).length + 3;
    if (!last || last.length >= query.maxIds || chars + length > MAX_ID_CHARS) {
      batches.push([id]);
      chars = length;
    } else {
      last.push(id);
      chars += length;
    }
  }
  return batches;
}

/**
 * Asks for the records of a batch of external IDs in one request; what a reply leaves open, because a record of it does
 * not say whose it is, is asked for alone. An ID that there is no task of has a `not_found`. Throws what the client
 * throws, and `unavailable` for a reply that cannot be read.
 */
export async function lookAtExternalIds(
  ids: readonly string[],
  look: ExternalLook,
): Promise<ReadonlyMap<string, ExternalLooked>> {
  const { client, externalIds, signal } = look;
  const { endpoint } = externalIds;
  const results = new Map<string, ExternalLooked>();
  const ask = (asked: readonly string[]) => client.send(endpoint, externalIds.input(asked), { signal });
  const [only, ...others] = ids;
  if (only !== undefined && others.length === 0) {
    const reply = await ask(ids);
    const found = parsed(() => externalIds.find(reply.json, only));
    return results.set(only, found ? lookOf(found, reply, look) : missing(only));
  }
  const reply = await ask(ids).catch((error: unknown) => {
    // Refused for one of them, perhaps: each is asked for alone.
    if (error instanceof GwError && (error.kind === 'rejected' || error.kind === 'not_found'))
      return undefined;
    throw error;
  });
  const named = reply && parsed(() => externalIds.findMany(reply.json));
  for (const id of ids) {
    const found = named?.records.get(id);
    if (reply && found) results.set(id, lookOf(found, reply, look));
    else if (named && !named.hasUnnamed) results.set(id, missing(id));
    else {
      const alone = await lookAtExternalIds([id], look).catch((error) => {
        signal.throwIfAborted();
        if (!(error instanceof GwError)) throw error;
        return new Map<string, ExternalLooked>([[id, { error }]]);
      });
      results.set(id, alone.get(id) ?? missing(id));
    }
  }
  return results;
}

const missing = (id: string): ExternalLooked => ({
  error: new GwError('not_found', `the gateway knows no task with the external ID ${id}`),
});

function parsed<T>(parse: () => T): T {
  try {
    return parse();
  } catch {
    throw new GwError('unavailable', 'the look-up by external ID cannot be read');
  }
}

function lookOf({ id, record }: FoundTask, reply: Reply, { family, clock }: ExternalLook): TaskLook {
  const seen: SeenTask = {
    view: parsed(() => family.readTask(record, id)),
    record,
    serverDateMs: reply.serverDateMs ?? clock.now(),
  };
  return { ...seen, reply };
}
