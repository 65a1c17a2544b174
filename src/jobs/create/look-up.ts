import { GwError, type UnknownOutcome } from '../../errors.ts';
import { type ExternalIds, type TaskFamily, taskIdOf, YOUNG_MS } from '../../gateway/task.ts';
import type { Client, Reply } from '../../http/client.ts';
import type { Job } from '../../ledger/event.ts';
import { isOwnExternalId } from '../../ledger/job-key.ts';
import type { Ledger } from '../../ledger/ledger.ts';
import type { JobDeps } from '../watch/follow.ts';
import type { SeenTask, TaskLook } from '../watch/look.ts';
import type { Accepted } from './make.ts';

// How a task is asked for that no answer named: by the external ID of its create, or by the ID in a cut reply.

export interface LookUp extends Omit<ExternalLook, 'family'> {
  readonly externalId: string;
}

/** A create that was lost and is there all the same. */
export interface FoundTask {
  readonly id: string;
  readonly record: unknown;
}

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
    { signal, ...(!isRetried && { retries: 0 }), silenceMs: LOOK_UP_SILENCE_MS },
  );
  let found: FoundTask | undefined;
  try {
    found = externalIds.find(json, externalId);
  } catch {
    throw new GwError('unavailable', `the look-up of external ID ${externalId} cannot be read`);
  }
  if (found || status === 200) return { found, serverDateMs };
  const what = `the look-up of external ID ${externalId} was answered with HTTP ${status}`;
  throw new GwError('unavailable', what);
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

/** A lost create; `once`: the job is one of --once, which gives its task an external ID of gw's own. */
type LostCreate = Pick<Job, 'key' | 'gateway' | 'once'> & {
  readonly externalId: string;
  /** How long ago it was first sent. */
  readonly sinceSentMs: number;
};

/** Two clocks of one gateway, and the second that a `Date` is rounded to, may differ by as much. */
const CLOCK_MARGIN_MS = 60_000;

/**
 * The task under a lost create's external ID as what that create made; undefined where it is another's: it is older than the
 * create, or another job of the ledger made it. An ID that gw made can only be its own job's. Throws what the ledger throws.
 */
export async function ownTask(
  found: FoundTask,
  lost: LostCreate,
  family: Pick<TaskFamily, 'query' | 'readTask'> & { readonly externalIds: Pick<ExternalIds, 'createdAtMs'> },
  { ledger, nowMs }: { readonly ledger: Ledger; readonly nowMs: number },
): Promise<Accepted | undefined> {
  if (!isOwnExternalId(lost)) {
    if (isOlder(found, lost, family, nowMs)) return undefined;
    const [owner] = await ledger.find({ ids: [found.id], gateway: lost.gateway, limit: 1 });
    // A task that was only taken in, to be followed, was made by whoever has its external ID.
    const isAnothers = owner && owner.key !== lost.key && owner.endpoint !== family.query.endpoint.name;
    if (isAnothers) return undefined;
  }
  const { status, error } = family.readTask(found.record, found.id);
  return { id: found.id, status, error, reply: found.record, isOwnReply: false };
}

/** What does not say when it was made is taken for the one that was asked for; `nowMs` is the gateway's clock. */
function isOlder(
  { record }: FoundTask,
  { sinceSentMs }: LostCreate,
  { externalIds }: { readonly externalIds: Pick<ExternalIds, 'createdAtMs'> },
  nowMs: number,
): boolean {
  const madeMs = externalIds.createdAtMs(record);
  return madeMs !== undefined && madeMs < nowMs - Math.max(0, sinceSentMs) - CLOCK_MARGIN_MS;
}

export const takenBy = ({ id }: Pick<FoundTask, 'id'>, externalId: string): { readonly hint: string } => ({
  hint: `external ID ${externalId} belongs to task ${id}; give another with --external-id, or none`,
});

// By the ID in a cut reply.

/** The task that a cut 2xx reply names, as far as it came; undefined where it names none. */
export const idInCutReply = ({ partialText }: UnknownOutcome): string | undefined =>
  taskIdOf(partialText?.match(/"(?:task_id|id)"\s*:\s*"([^"\\]+)"/)?.[1]);

/**
 * Asks the gateway for the task that a cut reply named: one that was just made may not be known everywhere yet. Undefined
 * where a complete answer says that there is none, or that it has another external ID than was sent: it is another's.
 * Throws what the client throws, and `unavailable` for a record that cannot be read: that leaves it open.
 */
export async function confirmId(
  id: string,
  {
    client,
    clock,
    externalId,
    family,
    signal,
  }: Omit<ExternalLook, 'externalIds'> & {
    /** What the create carried. */
    readonly externalId: string | undefined;
  },
): Promise<Accepted | undefined> {
  const { query } = family;
  // After an interrupt it is asked for once, which denies nothing: it may be too young.
  const isPatient = !signal.aborted;
  const young = { signal, retryNotFoundUntilMs: clock.now() + YOUNG_MS };
  let reply: Awaited<ReturnType<Client['send']>>;
  try {
    reply = await client.send(query.endpoint, query.input([id]), isPatient ? young : {});
  } catch (error) {
    if (isPatient && error instanceof GwError && error.kind === 'not_found') return undefined;
    throw error;
  }
  try {
    const record = query.records(reply.json, [id]).get(id);
    const named = [...(family.externalIds?.findMany(reply.json).records ?? [])];
    const own = named.find(([, task]) => task.id === id)?.[0] ?? externalId;
    if (record === undefined || own !== externalId) return undefined;
    const { status, error } = family.readTask(record, id);
    return { id, status, error, reply: record, isOwnReply: false };
  } catch {
    throw new GwError('unavailable', `the record of task ${id} cannot be read`);
  }
}

// Many at once.

/** What looks by external ID need. */
export interface ExternalLook extends Pick<JobDeps, 'client' | 'signal' | 'clock'> {
  readonly family: TaskFamily;
  readonly externalIds: ExternalIds;
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
