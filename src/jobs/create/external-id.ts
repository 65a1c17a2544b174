import { GwError } from '../../errors.ts';
import type { ExternalIds, TaskFamily } from '../../gateway/task.ts';
import type { Clock } from '../../host.ts';
import type { Client } from '../../http/client.ts';
import { newJobKey } from '../../ledger/job-key.ts';

/** A create body as it is sent, and the key of the job that it makes. */
export interface IdentifiedBody {
  readonly key: string;
  readonly body: Readonly<Record<string, unknown>>;
  /** The external ID that the body carries; undefined where it carries none. */
  readonly externalId: string | undefined;
}

/**
 * Gives a create body its external ID: the one that it carries, else `ownId`, as a rule the key of the job that it is going
 * to make.
 */
export function identifyBody(
  { externalIds }: Pick<TaskFamily, 'externalIds'>,
  body: Readonly<Record<string, unknown>>,
  key: string = newJobKey(),
  ownId: string = key,
): IdentifiedBody {
  if (!externalIds) return { key, body, externalId: undefined };
  const identified = externalIds.idOf(body) === undefined ? externalIds.withId(body, ownId) : body;
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

/** What a look-up came to. */
export interface LookedUp {
  /** Undefined: there certainly is none (HTTP 200, `code` 0, an empty list). */
  readonly found: FoundTask | undefined;
  /** The gateway's clock, Unix milliseconds, if it shows it. */
  readonly serverDateMs: number | undefined;
}

/** A look-up has pauses of its own: it fails rather than waits long for one answer. */
const LOOK_UP_SILENCE_MS = 15_000;
const PAUSES_MS = [2_000, 5_000, 15_000];
/** A gateway that asks for more patience than this is not waited for. */
const LONGEST_TOLD_PAUSE_MS = 120_000;

/**
 * Asks once for the task of an external ID. Throws what the client throws, and `unavailable` for a reply that neither
 * names it nor says that there is none. With `isRetried` as often as any other read.
 */
export async function lookUp(request: LookUp, { isRetried = false } = {}): Promise<LookedUp> {
  const { client, externalIds, externalId, signal } = request;
  const { json, serverDateMs } = await client.send(externalIds.endpoint, externalIds.input([externalId]), {
    signal,
    ...(!isRetried && { retries: 0 }),
    silenceMs: LOOK_UP_SILENCE_MS,
  });
  try {
    return { found: externalIds.find(json, externalId), serverDateMs };
  } catch {
    throw new GwError('unavailable', `the look-up of external ID ${externalId} cannot be read`);
  }
}

/**
 * Asks at once and after 2, 5 and 15 s, until it is found. That there is none counts only where the last answer said so: a
 * look-up that failed proves nothing, and its error says why. Throws the signal's reason.
 */
export async function lookUpPatiently(request: LookUp): Promise<LookedUp | { readonly failed: GwError }> {
  let answer: LookedUp | { readonly failed: GwError } | undefined;
  for (const pauseMs of [0, ...PAUSES_MS]) {
    const toldMs = answer && 'failed' in answer ? (answer.failed.facts.retryAtMs ?? 0) : 0;
    const waitMs = Math.max(pauseMs, toldMs - request.clock.now());
    if (answer && waitMs > LONGEST_TOLD_PAUSE_MS) return answer;
    if (waitMs > 0) await request.clock.sleep(waitMs, request.signal);
    try {
      answer = await lookUp(request);
      if (answer.found) return answer;
    } catch (error) {
      request.signal.throwIfAborted();
      if (!(error instanceof GwError)) throw error;
      answer = { failed: error };
    }
  }
  if (!answer) throw new Error('a look-up has an answer');
  return answer;
}
