import { GwError, Interrupted } from '../../errors.ts';
import { readGatewayError } from '../../gateway/gateway-error.ts';
import { jsonIn } from '../../http/parse-json.ts';
import { UnknownOutcome } from '../../http/retry.ts';
import type { LedgerEvent } from '../../ledger/event.ts';
import type { CreateAttempt, CreateInput } from './create.ts';

/** Writes down how a create failed, and returns the error that says so, with the way on from there. */
export function recordFailure(
  error: unknown,
  { isSent, isLost, absent, unconfirmedId }: CreateAttempt,
  { key, ledger, family, externalId, queue }: CreateInput,
): unknown {
  const record = (event: LedgerEvent) => {
    try {
      ledger.append(key, event);
    } catch {
      // What happened to the request says more than that it could not be written down; sync calls the job unknown.
    }
  };
  const recordUnknown = (message: string) => {
    record({ event: 'unknown', message, unconfirmedId });
    if (absent) record({ event: 'absent', serverDateMs: absent.serverDateMs });
  };
  const canBeFound = family.externalIds !== undefined && externalId !== undefined;
  const goOn = unknownHint(key, family.name, canBeFound, unconfirmedId);
  if (error instanceof GwError && error.kind === 'unknown_outcome') {
    const message = lostMessage(error, unconfirmedId);
    recordUnknown(message);
    const what = canBeFound ? 'the job may exist' : 'the job may exist and was not sent again';
    return new GwError('unknown_outcome', message, {
      ...error.facts,
      taskId: key,
      hint: `${what}; ${goOn}`,
    });
  }
  if (error instanceof GwError) {
    record(refusedEvent(error, isSent));
    return ofJob(error.kind === 'rate_limited' && !queue ? withQueueHint(error) : error, key);
  }
  if (error instanceof Interrupted && isLost) {
    recordUnknown(`${error.message} while the lost answer was looked for`);
    return new Interrupted(error.signal, goOn, 'the job may exist');
  }
  if (error instanceof Interrupted) {
    record(interruptedEvent(error.message, isSent));
    return error;
  }
  // A 2xx reply that names no usable task: something was paid for, and we do not know what.
  if (isSent) {
    const message = `the ${family.name} create was answered, but the reply names no usable task`;
    recordUnknown(message);
    return new GwError('unknown_outcome', message, { hint: goOn, taskId: key });
  }
  return error;
}

/** An error that names the job it concerns, by the name that the ledger has for it. */
export const ofJob = (error: GwError, key: string): GwError =>
  new GwError(error.kind, error.message, { ...error.facts, taskId: error.facts.taskId ?? key });

/** Without --queue a 429 may only mean that no slot is free. */
function withQueueHint(error: GwError): GwError {
  const hint = [error.facts.hint, 'with --queue gw waits for a free slot before it sends'];
  return error.told({ hint: hint.filter((part) => part !== undefined).join('; ') });
}

/** What to say of an answer that was lost, with the task that it named before it was cut. */
export function lostMessage(error: GwError, unconfirmedId: string | undefined): string {
  const named =
    unconfirmedId === undefined
      ? ''
      : `; its answer named task ${unconfirmedId}, which the gateway has not confirmed`;
  return `${error.message}${wordsOf(error)}${named}`;
}

/** What a complete 2xx reply that names no task says of an error: no refusal by the document, but worth reading. */
function wordsOf(error: GwError): string {
  if (!(error instanceof UnknownOutcome) || error.partialText === undefined) return '';
  const { code, message } = readGatewayError(jsonIn(error.partialText));
  const said = [code, message].filter(Boolean).join(': ');
  return said === '' ? '' : `; it says "${said.slice(0, LONGEST_WORDS)}"`;
}

const LONGEST_WORDS = 300;

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

/**
 * What can be done about a job that may exist: where it is looked for, and how to say what became of it; with the task that
 * its cut reply named, which is looked at again.
 */
export function unknownHint(
  key: string,
  family: string,
  canBeFound: boolean,
  unconfirmedId?: string | undefined,
): string {
  const where = canBeFound
    ? 'gw jobs sync looks for it again'
    : unconfirmedId !== undefined
      ? `gw jobs sync looks at task ${unconfirmedId} again`
      : `look for it on the gateway's console or bill (gw jobs show ${key} tells what was asked for)`;
  // Images have no task that could be named.
  const [known, answer] =
    family === 'image'
      ? ['that nothing was made', 'none']
      : ['what became of it', `${unconfirmedId ?? 'ID'}|none`];
  const close = `once you know ${known}, close it with: gw jobs resolve ${key} --as ${answer}`;
  return `it stands in the ledger as ${key}: ${where}; ${close}`;
}
