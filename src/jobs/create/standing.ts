import type { Family, TaskFamily } from '../../gateway/task.ts';
import { type Job, mayExist } from '../../ledger/event.ts';

// What may be done about a create, by what is known of it (promises, section 2). The facts and how they add up are the
// ledger's (fold.ts); whoever sends, looks and waits asks here and decides nothing itself.

/** How often a create is sent at most, over all runs, while each look in between finds no task. */
export const MOST_SENDINGS = 5;

/**
 * How long after a look that found nothing another one must find nothing too before the task is taken for never created:
 * the gateway may take long to show what it has accepted.
 */
const PROOF_MS = 3_600_000;

export type Next =
  /** Nothing of it has left: it may be sent, or given up. */
  | 'send'
  /** Its task may exist: look for it by its external ID, and send it again under that ID where there certainly is none. */
  | 'look-and-send'
  | 'look'
  /** Ask for the task that a cut reply named. */
  | 'confirm'
  /** Nothing: it is settled, or there is nothing by which it can be found. */
  | 'tell';

/** `hasBody` is true for whoever was asked to make this very job, and holds its request. */
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

/** Whether a create may be sent once more where a look finds no task. */
export const maySendAgain = ({ resends }: Pick<Job, 'resends'>): boolean => resends + 1 < MOST_SENDINGS;

/** Whether a job has no answer yet, as far as the ledger knows. */
export const isUnanswered = (job: Job): boolean => job.state === 'intent' || mayExist(job);

/** The refusals that are kept: the same request would be refused again. */
export const isKeptRefusal = (kind: string | undefined): boolean =>
  kind === 'rejected' || kind === 'not_found';

/** Whether it is certain that a job made nothing, and asking again may: its key is free. */
export const madeNothing = ({ state, refusal }: Pick<Job, 'state' | 'refusal'>): boolean =>
  state === 'not_sent' || (state === 'refused' && !isKeptRefusal(refusal?.kind));

/**
 * Whether a lost create of this family can be looked up, now and by what it carried. However old it is by this machine's
 * clock, which may have been wrong when it was made, it is looked for: what is found is proof at any age.
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

/** The task that a cut reply named and that is still to be confirmed; undefined once the gateway has denied it for an hour. */
export const idToConfirm = ({ absentSince, unconfirmedId }: Job): string | undefined =>
  absentSince && absentSince.lastMs - absentSince.atMs >= PROOF_MS ? undefined : unconfirmedId;

/** Whether the gateway would still show the job's task: it forgets its records, and what it shows no more may have been made. */
export function showsAll({ createdAtMs }: Job, family: Family, nowMs: number): boolean {
  const { provesForMs = 0 } = externalIdsOf(family) ?? {};
  return nowMs < createdAtMs + provesForMs;
}

/**
 * Whether a look that finds nothing now proves that there is no task, after an earlier one that found nothing. By the
 * gateway's own clock, where it showed it both times: this machine's may have been set in between.
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
