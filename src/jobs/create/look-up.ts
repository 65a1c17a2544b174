import { GwError, type UnknownOutcome } from '../../errors.ts';
import { type ExternalIds, type TaskFamily, taskIdOf, YOUNG_MS } from '../../gateway/task.ts';
import { sleepAloud } from '../../host.ts';
import type { Client, Reply } from '../../http/client.ts';
import { CALL_LIMIT_MS } from '../../http/retry.ts';
import type { Job } from '../../ledger/event.ts';
import { isOwnExternalId } from '../../ledger/job-key.ts';
import type { Ledger } from '../../ledger/ledger.ts';
import type { JobDeps } from '../watch/follow.ts';
import { readable, type TaskLook } from '../watch/look.ts';
import { LAST_LOOK_MS, waitOver, whileYoung } from '../watch/poll.ts';
import type { Accepted } from './make.ts';

// How a task is looked up if no reply named it: by the external ID of its create, or by the ID in a cut reply.

export interface LookUp extends Omit<ExternalLook, 'family'> {
  readonly externalId: string;
  /** Set if pauses may last until the deadline; otherwise the gateway may ask for two minutes at most. */
  readonly queue?: object | undefined;
}

/** A task that exists although the reply to its create was lost. */
export interface FoundTask {
  readonly id: string;
  readonly record: unknown;
}

export interface LookedUp {
  /** Undefined if the task certainly does not exist (HTTP 200, `code` 0, an empty list). */
  readonly found: FoundTask | undefined;
  /** The gateway's clock in Unix milliseconds, if the reply shows it. */
  readonly serverDateMs: number | undefined;
}

/** What a look-up answered, or how it failed, which proves nothing. */
export type Answer = LookedUp | { readonly failed: GwError };

const LOOK_UP = 'the look-up by external ID';

/** A look-up has its own pauses between tries, so one try fails early instead of waiting long. */
const LOOK_UP_SILENCE_MS = 13_000;
const PAUSES_MS = [2_000, 5_000, 15_000];
/** Pauses from here on are reported, so that no 30 s are silent even if each try takes its longest time. */
const REPORTED_MS = 5_000;

/**
 * Looks up the task of an external ID once, or with the usual retries if `isRetried`. Throws what the client throws,
 * and `unavailable` for a reply that neither names the task nor shows that there is none.
 */
export async function lookUp(request: LookUp, { isRetried = false } = {}): Promise<LookedUp> {
  const { client, clock, deadlineMs = Number.POSITIVE_INFINITY, externalIds, externalId, signal } = request;
  const silenceMs = Math.max(LAST_LOOK_MS, Math.min(LOOK_UP_SILENCE_MS, deadlineMs - clock.steady()));
  const { json, status, serverDateMs } = await client.send(
    externalIds.endpoint,
    externalIds.input([externalId]),
    { signal, ...(!isRetried && { retries: 0 }), silenceMs, deadlineMs },
  );
  const found = readable(() => externalIds.find(json, externalId), LOOK_UP);
  if (found || status === 200) return { found, serverDateMs };
  const what = `the look-up of external ID ${externalId} was answered with HTTP ${status}`;
  throw new GwError('unavailable', what);
}

/**
 * Looks up at once and after 2, 5 and 15 s, until the task is found, and never before the time that the gateway named,
 * also in the answer before (`last`). Only the last answer can prove that there is none: an earlier one and a failure
 * prove nothing, so a pause that would pass the deadline fails with `wait_timeout`. Throws the signal's reason.
 */
export async function lookUpPatiently(request: LookUp, last?: Answer): Promise<Answer> {
  const { clock, deadlineMs = Number.POSITIVE_INFINITY, externalId, note, queue, signal } = request;
  let answer = last;
  for (const pauseMs of [0, ...PAUSES_MS]) {
    const failed = answer && 'failed' in answer ? answer.failed : undefined;
    const toldMs = (failed?.facts.retryAtMs ?? 0) - clock.now();
    const waitMs = Math.max(pauseMs, toldMs);
    const endMs = queue ? deadlineMs : Math.min(deadlineMs, clock.steady() + CALL_LIMIT_MS);
    if (waitMs > 0 && clock.steady() + waitMs >= endMs)
      return {
        failed: waitOver(`the look-up of external ID ${externalId}`, externalId, failed?.facts.retryAtMs),
      };
    const when = toldMs > 0 ? `at ${new Date(clock.now() + toldMs).toISOString()}` : `in ${waitMs / 1000} s`;
    const said = `${failed ? `${failed.message}; ` : ''}looking for the task of a lost create again ${when}`;
    await sleepAloud(clock, waitMs, signal, () => (waitMs >= REPORTED_MS ? note?.(said) : undefined));
    try {
      answer = await lookUp(request);
      if (answer.found) return answer;
    } catch (error) {
      signal.throwIfAborted();
      if (!(error instanceof GwError)) throw error;
      answer = { failed: error };
    }
  }
  if (!answer) throw new Error('a look-up has an answer');
  return answer;
}

/** A create whose reply was lost; `once` is set for a --once job, whose task has an external ID made by gw. */
type LostCreate = Pick<Job, 'key' | 'gateway' | 'once'> & {
  readonly externalId: string;
  /** How long ago it was first sent. */
  readonly sinceSentMs: number;
};

/** The gateway's clocks may differ by this much, including the rounding of `Date` to seconds. */
const CLOCK_MARGIN_MS = 60_000;

/**
 * Returns the task under a lost create's external ID as that create's result. Undefined if it is another's: older, or
 * made by another job of the ledger. With an ID made by gw it is always this job's. Throws what the ledger throws.
 */
export async function ownTask(
  found: FoundTask,
  lost: LostCreate,
  family: Pick<TaskFamily, 'query' | 'readTask'> & { readonly externalIds: Pick<ExternalIds, 'createdAtMs'> },
  { ledger, nowMs }: { readonly ledger: Ledger; readonly nowMs: number },
): Promise<Accepted | undefined> {
  if (!isOwnExternalId(lost)) {
    if (isOlder(family.externalIds.createdAtMs(found.record), lost, nowMs)) return undefined;
    const [owner] = await ledger.find({ ids: [found.id], gateway: lost.gateway, limit: 1 });
    // An adopted job does not own the task: the task was made by the create with its external ID.
    const isAnothers = owner && owner.key !== lost.key && owner.endpoint !== family.query.endpoint.name;
    if (isAnothers) return undefined;
  }
  const { status, error } = family.readTask(found.record, found.id);
  return { id: found.id, status, error, reply: found.record, isOwnReply: false };
}

/**
 * True if a task made at `madeMs` is older than the create. False if its time is unknown, or if the clock was set back since
 * the create was sent. Times are in Unix milliseconds by the gateway's clock.
 */
function isOlder(madeMs: number | undefined, { sinceSentMs }: LostCreate, nowMs: number): boolean {
  const isTold = madeMs !== undefined && sinceSentMs > -CLOCK_MARGIN_MS;
  return isTold && madeMs < nowMs - Math.max(0, sinceSentMs) - CLOCK_MARGIN_MS;
}

export const takenBy = ({ id }: Pick<FoundTask, 'id'>, externalId: string): { readonly hint: string } => ({
  hint: `external ID ${externalId} belongs to task ${id}; give another with --external-id, or none`,
});

// Look-ups by the ID in a cut reply.

/** The task ID in the received part of a cut 2xx reply; undefined if there is none. */
export const idInCutReply = ({ partialText }: UnknownOutcome): string | undefined =>
  taskIdOf(partialText?.match(/"(?:task_id|id)"\s*:\s*"([^"\\]+)"/)?.[1]);

/**
 * Queries the task that a cut reply named, with retries because a new task may not be known everywhere yet. Undefined
 * if a complete answer shows that it does not exist, or that its external ID differs from ours, so that it is not this
 * job's. Throws what the client throws, and `unavailable` for an unreadable record: then the outcome stays open.
 */
export async function confirmId(
  id: string,
  look: Omit<ExternalLook, 'externalIds'> & {
    /** The external ID that the create sent. */
    readonly externalId: string | undefined;
  },
): Promise<Accepted | undefined> {
  const { client, clock, deadlineMs, externalId, family, signal } = look;
  // After an interrupt there is one query only, whose "not found" proves nothing: the task may be too new.
  const isPatient = !signal.aborted;
  const options = isPatient ? { signal, deadlineMs } : { retries: 0 };
  const query = () => client.send(family.query.endpoint, family.query.input([id]), options);
  const youngUntilMs = isPatient ? clock.steady() + YOUNG_MS : 0;
  let reply: Awaited<ReturnType<Client['send']>>;
  try {
    reply = await whileYoung(query, { ...look, youngUntilMs });
  } catch (error) {
    if (isPatient && error instanceof GwError && error.kind === 'not_found') return undefined;
    throw error;
  }
  return readable(() => {
    const record = family.query.records(reply.json, [id]).get(id);
    const named = [...(family.externalIds?.findMany(reply.json).records ?? [])];
    const own = named.find(([, task]) => task.id === id)?.[0] ?? externalId;
    if (record === undefined || own !== externalId) return undefined;
    const { status, error } = family.readTask(record, id);
    return { id, status, error, reply: record, isOwnReply: false };
  }, `the record of task ${id}`);
}

// Look-ups of many tasks at once.

/** What a look-up by external ID needs. */
export interface ExternalLook extends Pick<JobDeps, 'client' | 'signal' | 'clock'> {
  readonly family: TaskFamily;
  readonly externalIds: ExternalIds;
  /** Steady time in ms until which an answer is of use; a longer pause ends the look-up. */
  readonly deadlineMs?: number | undefined;
  /** Reports a pause of several seconds, and a longer one repeatedly. */
  readonly note?: ((text: string) => void) | undefined;
}

export type ExternalLooked = TaskLook | { readonly error: GwError };

/** The longest part of a URL for IDs: users choose external IDs, whose length has no limit. */
const MAX_ID_CHARS = 2000;

/** Divides external IDs into requests, with as many in each as one allows. */
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
 * Queries a batch of external IDs in one request. If a record does not state its external ID, the missing ones are
 * queried alone. An ID without a task gets a `not_found`. Throws what the client throws, and `unavailable` for a reply
 * that cannot be read.
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
    const found = readable(() => externalIds.find(reply.json, only), LOOK_UP);
    return results.set(only, found ? lookOf(found, reply, look) : missing(only));
  }
  const reply = await ask(ids).catch((error: unknown) => {
    // The request may have been refused because of one ID, so each is queried alone.
    if (error instanceof GwError && (error.kind === 'rejected' || error.kind === 'not_found'))
      return undefined;
    throw error;
  });
  const named = reply && readable(() => externalIds.findMany(reply.json), LOOK_UP);
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

function lookOf({ id, record }: FoundTask, reply: Reply, { family, clock }: ExternalLook): TaskLook {
  const view = readable(() => family.readTask(record, id), LOOK_UP);
  return { view, record, serverDateMs: reply.serverDateMs ?? clock.now(), reply };
}
