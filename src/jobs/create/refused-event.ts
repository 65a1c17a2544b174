import type { GwError } from '../../errors.ts';
import type { LedgerEvent } from '../../ledger/event.ts';

/**
 * What the ledger keeps of a create that certainly made nothing: refused by the gateway, or never sent, because gw itself
 * refused it or no attempt got a byte through.
 */
export function refusedEvent({ kind, message, facts }: GwError, wasSent: boolean): LedgerEvent {
  const wasAnswered = wasSent && (facts.status !== undefined || kind === 'rejected');
  return { event: 'refused', kind: wasAnswered ? kind : 'not_sent', message, status: facts.status };
}

/** Interrupted between attempts: the last one was refused, or none was made. */
export const interruptedEvent = (message: string, wasSent: boolean): LedgerEvent => ({
  event: 'refused',
  kind: wasSent ? 'rate_limited' : 'not_sent',
  message,
});

/** What can be done about a job that may exist: how it is looked for, and how to say what became of it. */
export const unknownHint = (key: string, canBeFound: boolean): string =>
  `it stands in the ledger as ${key}: ` +
  `${canBeFound ? 'gw jobs sync looks for it again' : `gw jobs show ${key} tells what was asked for`}; ` +
  `once you know what became of it, close it with: gw jobs resolve ${key} --as ID|none`;
