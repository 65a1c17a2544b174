import { GwError } from '../../errors.ts';
import type { Family, TaskFamily } from '../../gateway/task.ts';
import type { Clock } from '../../host.ts';
import type { Client } from '../../http/client.ts';
import type { Job, LedgerEvent } from '../../ledger/event.ts';
import { isOwnExternalId } from '../../ledger/job-key.ts';
import type { Ledger } from '../../ledger/ledger.ts';
import type { Accepted } from './create.ts';
import { confirmId } from './cut-reply.ts';
import { belongsToAnother, type LookedUp, lookUpPatiently, takenBy } from './external-id.ts';
import { isOtherKey } from './hold-job.ts';

/** Whether a job has no answer yet, as far as the ledger knows. */
export const isUnanswered = ({ state }: Job): boolean =>
  state === 'intent' || state === 'sent' || state === 'unknown';

/** What became of a job that a process left between its intent and the gateway's answer. */
export type Settled =
  /** Its process still lives. */
  | { readonly outcome: 'held' }
  /** It may exist, and a later sync looks for it again; why it is not known, as a sentence. */
  | { readonly outcome: 'open'; readonly message: string }
  /** Nothing was created; the error says so where anything had been sent. */
  | { readonly outcome: 'over'; readonly error?: GwError }
  /** It may exist, and there is nothing to look it up by; or not any more, as the sentence says. */
  | { readonly outcome: 'unknown'; readonly message?: string }
  /** It was found, and is a job like any other from here on. */
  | { readonly outcome: 'adopted'; readonly id: string };

/**
 * Whether a lost create of this family can be looked up, now and by what it carried. However old it is by this machine's
 * clock, which may have been wrong when it was made, it is looked for: what is found is proof at any age.
 */
export const canBeLookedUp = (
  { absentSince, createdAtMs, externalId }: Job,
  family: Family,
  nowMs: number,
): boolean => {
  const externalIds = externalIdsOf(family);
  if (!externalIds || externalId === undefined) return false;
  return !absentSince || nowMs < Math.max(createdAtMs, absentSince.atMs) + externalIds.provesForMs;
};

/** The task that a cut reply named and that is still to be confirmed; undefined once the gateway has denied it for an hour. */
export const idToConfirm = ({ absentSince, unconfirmedId }: Job): string | undefined =>
  absentSince && absentSince.lastMs - absentSince.atMs >= PROOF_MS ? undefined : unconfirmedId;

const externalIdsOf = (family: Family): TaskFamily['externalIds'] =>
  'externalIds' in family ? (family as TaskFamily).externalIds : undefined;

export interface SettleDeps {
  readonly ledger: Ledger;
  readonly clock: Clock;
  readonly signal: AbortSignal;
  /** Of the key that the client uses; absent where it needs none. */
  readonly keyId?: string | undefined;
  /** Of the job's gateway; asked for only where there is something to look up. */
  readonly client: () => Promise<Client>;
}

/**
 * How long after a look-up that found nothing another one must find nothing too before the task is taken for never
 * created: the gateway may take long to show what it has accepted.
 */
const PROOF_MS = 3_600_000;

/**
 * Settles a job that has no answer: an intent that was never sent is over; what was sent is looked up where its family
 * has external IDs, and taken in or, once it is proven absent, over: it is never sent again from here, because its body
 * is kept as a digest only. Elsewhere the task that a cut reply named is taken in once the gateway confirms it; without one
 * it may exist and stays unknown. Throws `auth`, and the ledger's errors.
 */
export async function settleUnanswered(listed: Job, family: Family, deps: SettleDeps): Promise<Settled> {
  const { ledger, clock } = deps;
  const hold = await ledger.hold(listed.key);
  if (!hold) return { outcome: 'held' };
  try {
    // As it stands now: its process may have come further since the job was listed.
    const job = hold.job ?? listed;
    if (job.id !== undefined) return { outcome: 'adopted', id: job.id };
    if (!isUnanswered(job)) return { outcome: 'over' };
    if (job.state === 'intent') {
      const message = 'gw ended before the request was sent';
      ledger.append(job.key, { event: 'refused', kind: 'interrupted', message });
      return { outcome: 'over' };
    }
    const externalIds = externalIdsOf(family);
    const { externalId } = job;
    if (job.state === 'sent') {
      const message = 'gw ended before the gateway answered; the job may exist';
      ledger.append(job.key, { event: 'unknown', message });
    }
    if (!externalIds || externalId === undefined || !canBeLookedUp(job, family, clock.now())) {
      const id = idToConfirm(job);
      if (id === undefined) return { outcome: 'unknown' };
      return await settleByCutReply({ job, id, family: family as TaskFamily }, deps);
    }
    const taskFamily = { ...(family as TaskFamily), externalIds };
    return await settleByExternalId({ job, externalId, family: taskFamily }, deps);
  } finally {
    hold.release();
  }
}

const OTHER_KEY = 'it was made with another key, and only that one can look for it';

interface Lost {
  readonly job: Job;
  readonly externalId: string;
  readonly family: TaskFamily & { readonly externalIds: NonNullable<TaskFamily['externalIds']> };
}

async function settleByExternalId({ job, externalId, family }: Lost, deps: SettleDeps): Promise<Settled> {
  const { ledger, clock, signal } = deps;
  const { externalIds } = family;
  // The gateway forgets its records: what it shows no more may have been made.
  const isKept = clock.now() < job.createdAtMs + externalIds.provesForMs;
  const isOther = isOtherKey(job, deps.keyId);
  if (isOther && !isKept) return { outcome: 'unknown' };
  const answer = await lookUpPatiently({
    client: await deps.client(),
    externalIds,
    externalId,
    signal,
    clock,
  });
  if ('failed' in answer) {
    if (answer.failed.kind === 'auth') throw answer.failed;
    return { outcome: 'open', message: `the look-up of its external ID failed: ${answer.failed.message}` };
  }
  const { found, serverDateMs } = answer;
  // An ID that gw made is this job's alone; the user's own may belong to another account, or to an older task.
  const isOwnId = isOwnExternalId(job);
  if (isOther && !(found && isOwnId)) return { outcome: 'open', message: OTHER_KEY };
  if (!found) return settleAbsent({ job, serverDateMs, isProof: isKept }, deps);
  const claimed = {
    ...{ found, externalId, family, externalIds, key: job.key, once: job.once, gateway: job.gateway },
    serverNowMs: serverDateMs ?? clock.now(),
    sinceSentMs: clock.now() - (job.sentAtMs ?? job.createdAtMs),
  };
  if (await belongsToAnother(claimed, ledger)) {
    const message = `its external ID ${externalId} was taken by task ${found.id}`;
    return closed(job, 'rejected', message, deps, takenBy(found, externalId).hint);
  }
  const { status } = family.readTask(found.record, found.id);
  ledger.append(job.key, { event: 'accepted', id: found.id, status });
  return { outcome: 'adopted', id: found.id };
}

interface Named {
  readonly job: Job;
  readonly id: string;
  readonly family: TaskFamily;
}

/** Asks once more for the task that the cut reply named, by the rule of the create. */
async function settleByCutReply({ job, id, family }: Named, deps: SettleDeps): Promise<Settled> {
  const { ledger, clock, signal } = deps;
  const isOther = isOtherKey(job, deps.keyId);
  const lifeMs = family.recordLifeMs ?? family.linkLifeMs;
  if (isOther && clock.now() >= job.createdAtMs + lifeMs) return { outcome: 'unknown' };
  const client = await deps.client();
  let accepted: Accepted | undefined;
  try {
    accepted = await confirmId(id, { client, clock, externalId: job.externalId, family, signal });
  } catch (error) {
    signal.throwIfAborted();
    if (!(error instanceof GwError) || error.kind === 'auth') throw error;
    return { outcome: 'open', message: `the look at task ${id} failed: ${error.message}` };
  }
  if (accepted) {
    ledger.append(job.key, { event: 'accepted', id, status: accepted.status });
    return { outcome: 'adopted', id };
  }
  if (isOther) return { outcome: 'open', message: OTHER_KEY };
  const { absentSince } = job;
  const isDenied = absentSince !== undefined && clock.now() - absentSince.atMs >= PROOF_MS;
  if (!absentSince || isDenied) ledger.append(job.key, { event: 'absent' });
  const message = `the gateway has no task ${id}, which the cut answer named`;
  return isDenied ? { outcome: 'unknown', message } : { outcome: 'open', message: `${message}, so far` };
}

/** Nothing was found. By the gateway's own clock, where it shows it: this machine's may have been set in between. */
function settleAbsent(
  { job, serverDateMs, isProof }: Pick<LookedUp, 'serverDateMs'> & { job: Job; isProof: boolean },
  deps: SettleDeps,
): Settled {
  const { ledger, clock } = deps;
  const since = job.absentSince;
  const passedMs =
    since === undefined
      ? 0
      : since.serverDateMs !== undefined && serverDateMs !== undefined
        ? serverDateMs - since.serverDateMs
        : clock.now() - since.atMs;
  if (isProof && since !== undefined && passedMs >= PROOF_MS) {
    return closed(job, 'unavailable', 'the gateway has no task under its external ID', deps);
  }
  if (since === undefined) ledger.append(job.key, { event: 'absent', serverDateMs });
  return { outcome: 'open', message: 'the gateway shows no task under its external ID so far' };
}

function closed(
  job: Job,
  kind: 'rejected' | 'unavailable',
  message: string,
  { ledger }: SettleDeps,
  hint = `nothing was made or charged; what was asked for: gw jobs show ${job.key}`,
): Settled {
  const event: LedgerEvent = { event: 'refused', kind: kind === 'rejected' ? kind : 'absent', message };
  ledger.append(job.key, event);
  return {
    outcome: 'over',
    error: new GwError(kind, `${job.key} was never created: ${message}`, { hint, taskId: job.key }),
  };
}
