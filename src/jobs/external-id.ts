import { GwError } from '../errors.ts';
import type { ExternalIds, TaskFamily } from '../gateway/task.ts';
import type { Clock } from '../host.ts';
import type { Client, Reply } from '../http/client.ts';
import { newJobKey } from '../ledger/job-key.ts';
import type { TaskLook } from './look.ts';

/** A create body as it is sent, and the key of the job that it makes. */
export interface IdentifiedBody {
  readonly key: string;
  readonly body: Readonly<Record<string, unknown>>;
  /** The external ID that the body carries; undefined where it carries none. */
  readonly externalId: string | undefined;
}

/** Gives a create body its external ID: the one that it carries, else the key of the job that it is going to make. */
export function identifyBody(
  { externalIds }: Pick<TaskFamily, 'externalIds'>,
  body: Readonly<Record<string, unknown>>,
  key: string = newJobKey(),
): IdentifiedBody {
  if (!externalIds) return { key, body, externalId: undefined };
  const identified = externalIds.idOf(body) === undefined ? externalIds.withId(body, key) : body;
  return { key, body: identified, externalId: externalIds.idOf(identified) };
}

/** What a look-up needs. */
export interface LookUp {
  readonly client: Client;
  readonly externalIds: ExternalIds;
  readonly externalId: string;
  readonly signal: AbortSignal;
  readonly clock: Clock;
}

/** A create that was lost and is there all the same. */
export interface FoundTask {
  readonly id: string;
  readonly record: unknown;
}

/** A look-up has pauses of its own: it fails rather than waits long for one answer. */
const LOOK_UP_SILENCE_MS = 15_000;
const PAUSES_MS = [2_000, 5_000, 15_000];
/** A gateway that asks for more patience than this is not waited for. */
const LONGEST_TOLD_PAUSE_MS = 120_000;

/**
 * Asks once for the task of an external ID. Undefined: there certainly is none (HTTP 200, `code` 0, an empty list).
 * Throws what the client throws, and `unavailable` for a reply that says neither.
 */
export async function lookUp(request: LookUp): Promise<FoundTask | undefined> {
  const { client, externalIds, externalId, signal } = request;
  const reply = await client.send(externalIds.endpoint, externalIds.input(externalId), {
    signal,
    retries: 0,
    silenceMs: LOOK_UP_SILENCE_MS,
  });
  return findIn(reply, request);
}

/** Asks for the record of a task by its external ID, as `get` does. Throws what the client throws, and `not_found`. */
export async function lookAtExternalId(request: LookUp, family: TaskFamily): Promise<TaskLook> {
  const { client, externalIds, externalId, signal, clock } = request;
  const reply = await client.send(externalIds.endpoint, externalIds.input(externalId), { signal });
  const found = findIn(reply, request);
  if (!found) throw new GwError('not_found', `the gateway knows no task with the external ID ${externalId}`);
  const { id, record } = found;
  return {
    view: family.readTask(record, id),
    reply,
    record,
    serverDateMs: reply.serverDateMs ?? clock.now(),
  };
}

function findIn({ json }: Reply, { externalIds, externalId }: LookUp): FoundTask | undefined {
  try {
    return externalIds.find(json, externalId);
  } catch {
    throw new GwError('unavailable', `the look-up of external ID ${externalId} cannot be read`);
  }
}

/**
 * Asks at once and after 2, 5 and 15 s. `absent` only where the last answer said so: a look-up that failed proves
 * nothing, and its error says why. Throws the signal's reason.
 */
export async function lookUpPatiently(
  request: LookUp,
): Promise<{ readonly found: FoundTask } | 'absent' | { readonly failed: GwError }> {
  let answer: Awaited<ReturnType<typeof lookUpPatiently>> = 'absent';
  for (const pauseMs of [0, ...PAUSES_MS]) {
    const toldMs =
      typeof answer === 'object' && 'failed' in answer ? (answer.failed.facts.retryAtMs ?? 0) : 0;
    const waitMs = Math.max(pauseMs, toldMs - request.clock.now());
    if (waitMs > LONGEST_TOLD_PAUSE_MS) return answer;
    if (waitMs > 0) await request.clock.sleep(waitMs, request.signal);
    try {
      const found = await lookUp(request);
      if (found) return { found };
      answer = 'absent';
    } catch (error) {
      request.signal.throwIfAborted();
      if (!(error instanceof GwError)) throw error;
      answer = { failed: error };
    }
  }
  return answer;
}
