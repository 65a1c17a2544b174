import type { Family, TaskFamily } from '../../gateway/task.ts';
import { type Job, mayExist } from '../../ledger/event.ts';

// What may be done about a create, given what is known of it (promises, section 2). The ledger combines the facts
// (fold.ts); code that sends, queries and waits asks here and decides nothing itself.

/** How often a create is sent at most over all runs, if each look-up in between finds no task. */
export const MOST_SENDINGS = 5;

/**
 * How long after an empty look-up another one must be empty too before the task counts as never created: the gateway
 * may take long to show an accepted task.
 */
const PROOF_MS = 3_600_000;

export type Next =
  /** Nothing has left: it may be sent, or given up. */
  | 'send'
  /** The task may exist: look it up by its external ID, and send again under that ID if it certainly does not exist. */
  | 'look-and-send'
  | 'look'
  /** Query the task that a cut reply named. */
  | 'confirm'
  /** Nothing can be done: it is settled, or it cannot be looked up. */
  | 'tell';

/** Decides the next step; `hasBody` is true for a caller that was asked to make this very job and has its request. */
export function nextFor(
  job: Job,
  family: Family,
  { hasBody, nowMs }: { readonly hasBody: boolean; readonly nowMs: number },
): Next {
  if (!isUnanswered(job)) return 'tell';
  if (job.state === 'intent') return 'send';
  if (!canBeLookedUp(job, family, nowMs)) return idToConfirm(job) === undefined ? 'tell' : 'confirm';
  return hasBody && maySendAgain(job) && showsAll(job, family, nowMs) ? 'look-and-send' : 'look';
}

/** True if a create may be sent again after a look-up found no task. */
export const maySendAgain = ({ resends }: Pick<Job, 'resends'>): boolean => resends + 1 < MOST_SENDINGS;

/** True if the ledger has no answer for a job. */
export const isUnanswered = (job: Job): boolean => job.state === 'intent' || mayExist(job);

/** Refusals that are final: the same request would be refused again. */
export const isKeptRefusal = (kind: string | undefined): boolean =>
  kind === 'rejected' || kind === 'not_found';

/** True if a job certainly made nothing and trying again may help: its key is free. */
export const madeNothing = ({ state, refusal }: Pick<Job, 'state' | 'refusal'>): boolean =>
  state === 'not_sent' || (state === 'refused' && !isKeptRefusal(refusal?.kind));

/**
 * True if a lost create of this family can be looked up by its external ID now. Its age does not matter, because this
 * machine's clock may have been wrong; a task that is found is proof at any age.
 */
export function canBeLookedUp(
  { absentSince, createdAtMs, externalId }: Job,
  family: Family,
  nowMs: number,
): boolean {
  const externalIds = externalIdsOf(family);
  if (!externalIds || externalId === undefined) return false;
  return !absentSince || nowMs < Math.max(createdAtMs, absentSince.atMs) + externalIds.provesForMs;
}

/** The task ID in a cut reply, while unconfirmed; undefined once the gateway has denied the task for an hour. */
export const idToConfirm = ({ absentSince, unconfirmedId }: Partial<Job>): string | undefined =>
  absentSince && absentSince.lastMs - absentSince.atMs >= PROOF_MS ? undefined : unconfirmedId;

/** True while the gateway must still show the job's task; later its record may simply be forgotten. */
export function showsAll({ createdAtMs }: Job, family: Family, nowMs: number): boolean {
  const { provesForMs = 0 } = externalIdsOf(family) ?? {};
  return nowMs < createdAtMs + provesForMs;
}

/**
 * True if an empty look-up now, after an earlier empty one, proves that there is no task. It uses the gateway's clock
 * if both look-ups showed it, because this machine's may have been changed in between.
 */
export function isProvenAbsent(
  { absentSince: since }: Pick<Job, 'absentSince'>,
  now: { readonly nowMs: number; readonly serverDateMs?: number | undefined },
): boolean {
  if (since === undefined) return false;
  const isByGateway = since.serverDateMs !== undefined && now.serverDateMs !== undefined;
  const passedMs = isByGateway
    ? Number(now.serverDateMs) - Number(since.serverDateMs)
    : now.nowMs - since.atMs;
  return passedMs >= PROOF_MS;
}

export const externalIdsOf = (family: Family): TaskFamily['externalIds'] =>
  'externalIds' in family ? (family as TaskFamily).externalIds : undefined;
