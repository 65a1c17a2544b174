import type { Family, TaskFamily } from '../gateway/task.ts';
import type { Clock } from '../host.ts';
import type { Client } from '../http/client.ts';
import type { Job, LedgerEvent } from '../ledger/event.ts';
import type { Ledger } from '../ledger/ledger.ts';
import { lookUp } from './external-id.ts';
import { YOUNG_MS } from './look.ts';

/** What became of a job that a process left between its intent and the gateway's answer. */
export type Settled =
  /** Its process still lives, or the gateway may still be about to show it; a later sync goes on. */
  | { readonly outcome: 'open' }
  /** Nothing was created. */
  | { readonly outcome: 'over' }
  /** It may exist, and there is nothing to look it up by. */
  | { readonly outcome: 'unknown' }
  /** It was found, and is a job like any other from here on. */
  | { readonly outcome: 'adopted'; readonly id: string };

/** Whether a lost create of this family can be looked up, now and by what it carried. */
export const canBeLookedUp = (job: Job, family: Family, nowMs: number): boolean =>
  job.externalId !== undefined &&
  externalIdsOf(family) !== undefined &&
  family.recordLifeMs !== undefined &&
  nowMs < job.createdAtMs + family.recordLifeMs;

const externalIdsOf = (family: Family): TaskFamily['externalIds'] =>
  'externalIds' in family ? (family as TaskFamily).externalIds : undefined;

export interface SettleDeps {
  readonly ledger: Ledger;
  readonly clock: Clock;
  readonly signal: AbortSignal;
  /** Of the job's gateway; asked for only where there is something to look up. */
  readonly client: () => Promise<Client>;
}

/**
 * Settles a job that has no answer: an intent that was never sent is over; what was sent is looked up where its family
 * has external IDs, and taken in or, once it is proven absent, over: it is never sent again from here. Elsewhere it may
 * exist and stays unknown. Throws what the look-up throws, and the ledger's errors.
 */
export async function settleUnanswered(job: Job, family: Family, deps: SettleDeps): Promise<Settled> {
  const { ledger, clock, signal } = deps;
  const claim = ledger.claim(job.key);
  if (!claim) return { outcome: 'open' };
  const settle = (event: LedgerEvent, settled: Settled): Settled => {
    ledger.append(job.key, event);
    return settled;
  };
  try {
    if (job.state === 'intent') {
      const message = 'gw ended before the request was sent';
      return settle({ event: 'refused', kind: 'interrupted', message }, { outcome: 'over' });
    }
    const externalIds = externalIdsOf(family);
    const { externalId } = job;
    if (!externalIds || externalId === undefined || !canBeLookedUp(job, family, clock.now())) {
      const message = 'gw ended before the gateway answered; the job may exist';
      return settle({ event: 'unknown', message }, { outcome: 'unknown' });
    }
    const found = await lookUp({ client: await deps.client(), externalIds, externalId, signal, clock });
    const owner = found && (await ledger.find(found.id, job.gateway));
    if (owner && owner.key !== job.key) {
      const message = `never created: its external ID was taken by task ${owner.id}`;
      return settle({ event: 'refused', kind: 'rejected', message }, { outcome: 'over' });
    }
    if (found) {
      const { status } = family.readTask(found.record, found.id);
      return settle({ event: 'accepted', id: found.id, status }, { outcome: 'adopted', id: found.id });
    }
    // A task just created may not be shown yet.
    if (clock.now() - (job.sentAtMs ?? job.createdAtMs) < YOUNG_MS) return { outcome: 'open' };
    const message = 'never created: the gateway has no task under its external ID';
    return settle({ event: 'refused', kind: 'absent', message }, { outcome: 'over' });
  } finally {
    claim.release();
  }
}
