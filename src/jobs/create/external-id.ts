import { GwError } from '../../errors.ts';
import type { ExternalIds, TaskFamily } from '../../gateway/task.ts';
import type { Clock } from '../../host.ts';
import type { Client } from '../../http/client.ts';
import { isOwnExternalId, newJobKey } from '../../ledger/job-key.ts';
import type { Ledger } from '../../ledger/ledger.ts';

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
  const { json, status, serverDateMs } = await client.send(
    externalIds.endpoint,
    externalIds.input([externalId]),
    {
      signal,
      ...(!isRetried && { retries: 0 }),
      silenceMs: LOOK_UP_SILENCE_MS,
    },
  );
  let found: FoundTask | undefined;
  try {
    found = externalIds.find(json, externalId);
  } catch {
    throw new GwError('unavailable', `the look-up of external ID ${externalId} cannot be read`);
  }
  if (found || status === 200) return { found, serverDateMs };
  throw new GwError(
    'unavailable',
    `the look-up of external ID ${externalId} was answered with HTTP ${status}`,
  );
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

/** A create that was lost, and the task that stands under its external ID. */
export interface Claimed {
  readonly found: FoundTask;
  /** Of the job whose create was lost. */
  readonly key: string;
  readonly externalId: string;
  /** The job is one of --once, which gives its task an external ID of gw's own. */
  readonly once?: unknown;
  readonly gateway: string;
  readonly family: Pick<TaskFamily, 'query'>;
  readonly externalIds: Pick<ExternalIds, 'createdAtMs'>;
  /** When it was looked up, by the gateway's clock. */
  readonly serverNowMs: number;
  /** How long before that it was first sent. */
  readonly sinceSentMs: number;
}

/** Two clocks of one gateway, and the second that a `Date` is rounded to, may differ by as much. */
const CLOCK_MARGIN_MS = 60_000;

/**
 * Whether the task under a lost create's external ID is not the one that it made: it is older than the create, or another
 * job of the ledger made it. An ID that gw made can only be its own job's. Throws what the ledger throws.
 */
export async function belongsToAnother(claimed: Claimed, ledger: Ledger): Promise<boolean> {
  const { key, found, gateway, family } = claimed;
  if (isOwnExternalId(claimed)) return false;
  if (isOlder(claimed)) return true;
  const [owner] = await ledger.find({ ids: [found.id], gateway, limit: 1 });
  // A task that was only taken in, to be followed, was made by whoever has its external ID.
  return owner !== undefined && owner.key !== key && owner.endpoint !== family.query.endpoint.name;
}

/** What does not say when it was made is taken for the one that was asked for. */
function isOlder({ found, externalIds, serverNowMs, sinceSentMs }: Claimed): boolean {
  const madeMs = externalIds.createdAtMs(found.record);
  return madeMs !== undefined && madeMs < serverNowMs - Math.max(0, sinceSentMs) - CLOCK_MARGIN_MS;
}

/** What to say of an external ID that another task has. */
export const takenBy = ({ id }: Pick<FoundTask, 'id'>, externalId: string): { readonly hint: string } => ({
  hint: `external ID ${externalId} belongs to task ${id}; give another with --external-id, or none`,
});
