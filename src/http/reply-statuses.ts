import type { ErrorKind } from '../errors.ts';
import type { FailureKind } from './retry.ts';

/** The meaning of a complete reply with a status other than 2xx. */
export interface StatusMeaning {
  /** The kind of failure, which decides whether the request may be sent again. */
  readonly failure: FailureKind;
  /** The kind of error, if the outcome is known. */
  readonly kind: ErrorKind;
  readonly sentence: string;
  readonly hint?: string;
}

const refusedWords = 'the gateway refused the request';
const troubleWords = 'the gateway is in trouble';
const refused = { failure: 'refused', kind: 'rejected', sentence: refusedWords } as const;

/**
 * The statuses that are refusals: only these prove that a create made nothing (promises, section 2). The meaning of 404
 * also applies to an endpoint's own status for "unknown task" ("Errors": a query of family C answers 400).
 */
const refusals: Readonly<Record<number, StatusMeaning>> = {
  400: refused,
  401: {
    failure: 'refused',
    kind: 'auth',
    sentence: 'the gateway does not accept the key',
    hint: 'check the key: GW_API_KEY, --api-key-file, or store another one with gw login',
  },
  402: {
    failure: 'refused',
    kind: 'balance',
    sentence: 'the balance or quota does not cover this',
    hint: 'gw balance shows what is left; top up the account in the console of the gateway',
  },
  403: {
    failure: 'refused',
    kind: 'auth',
    sentence: 'the key may not do this',
    hint: 'the key is valid but restricted by model, address or quota: gw models lists what it may call, the console of the gateway its settings',
  },
  404: {
    failure: 'not_found',
    kind: 'not_found',
    sentence: 'the gateway does not know this',
    hint: 'check the ID; if every call ends like this, check the path of the base URL (gw config list)',
  },
  405: refused,
  410: { failure: 'refused', kind: 'not_found', sentence: 'the gateway has this no longer' },
  413: { ...refused, sentence: 'the request is too large for the gateway' },
  415: refused,
  422: {
    ...refused,
    sentence: 'the content review refused the prompt or media',
    hint: 'change the prompt or the media that the message names',
  },
  429: { failure: 'rate_limited', kind: 'rate_limited', sentence: 'the gateway is asked too often' },
  451: { ...refused, sentence: 'the gateway may not do this for legal reasons' },
};

/** Statuses that leave the outcome open but have their own words; others use the words of their class. */
const unsettled: Readonly<Record<number, Pick<StatusMeaning, 'sentence' | 'hint'>>> = {
  304: { sentence: 'the gateway says that nothing has changed, and gw keeps nothing to compare with' },
  407: {
    sentence: 'a proxy asks for a user and password',
    hint: 'put the user into the address of the proxy: http://user:PASSWORD@host:port',
  },
  408: { sentence: 'the gateway waited too long for the request' },
  409: { sentence: 'the gateway says that this conflicts with something else' },
};

const classOf = (status: number): StatusMeaning => {
  if (status >= 300 && status < 400) {
    const sentence = 'the gateway redirects, and gw follows no redirect with a key';
    return { failure: 'redirect', kind: 'unavailable', sentence };
  }
  if (status >= 400 && status < 500 && status !== 408)
    return { failure: 'unsettled', kind: 'unavailable', sentence: refusedWords };
  return { failure: 'server_error', kind: 'unavailable', sentence: troubleWords };
};

/**
 * The meaning of an HTTP status; undefined for 2xx. A status outside the list of refusals leaves the outcome of a
 * create unknown. `notFoundStatus` is the endpoint's own status for "unknown task".
 */
export function meaningOfStatus(status: number, notFoundStatus?: number): StatusMeaning | undefined {
  if (status >= 200 && status < 300) return undefined;
  const listed = refusals[status === notFoundStatus ? 404 : status];
  return listed ?? { ...classOf(status), ...unsettled[status] };
}
