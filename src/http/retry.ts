import type { Resend } from '../gateway/endpoint.ts';
import { type ExchangeError, isPermanent } from './exchange.ts';

/** The ways in which an attempt can fail, as the resend table distinguishes them. */
export type FailureKind =
  /** No byte of the request left for the gateway. */
  | 'not_sent'
  /** As `not_sent`, but a retry cannot help: an untrusted certificate, or a refusing proxy. */
  | 'barred'
  /** HTTP 429. */
  | 'rate_limited'
  /** A complete reply with 5xx or 408. */
  | 'server_error'
  /** Some bytes left, and no complete reply came. */
  | 'lost'
  /** A complete 2xx reply that is not what the endpoint should answer. */
  | 'unreadable'
  /** A 3xx: the outcome of a redirected request is unknown. */
  | 'redirect'
  /** A 4xx outside the list of refusals: 409, 425, 499, … */
  | 'unsettled'
  | 'not_found'
  /** Another 4xx in the list of refusals, or a 2xx whose body is a refusal. */
  | 'refused';

export type Action =
  /** Send again after a random delay, or after the server's delay if it gave one. */
  | 'retry'
  | 'stop'
  /** Never send again; the outcome is unknown. */
  | 'unknown';

const always = { barred: 'stop', refused: 'stop', not_sent: 'retry', rate_limited: 'retry' } as const;

/** A request that creates something is never sent twice on a guess. */
const creates = {
  ...always,
  server_error: 'unknown',
  lost: 'unknown',
  unreadable: 'unknown',
  redirect: 'unknown',
  unsettled: 'unknown',
  not_found: 'stop',
} as const;

const reads = {
  ...always,
  server_error: 'retry',
  lost: 'retry',
  unreadable: 'retry',
  redirect: 'stop',
  unsettled: 'retry',
  not_found: 'stop',
} as const;

/** Which requests may be sent again: a row for each kind of call, a column for each kind of failure. */
export const resendTable: Readonly<Record<Resend, Readonly<Record<FailureKind, Action>>>> = {
  read: reads,
  paid: creates,
  // These actions hold before the first byte of the answer; after it nothing is sent again.
  chat: {
    ...always,
    server_error: 'retry',
    lost: 'stop',
    unreadable: 'stop',
    redirect: 'stop',
    unsettled: 'stop',
    not_found: 'stop',
  },
  upload: creates,
  change: reads,
};

/** One failed attempt. */
export interface Failure {
  readonly kind: FailureKind;
  /** The delay that the server asked for, in milliseconds from now. */
  readonly retryAfterMs?: number | undefined;
}

/** The state of a call after a failed attempt. Times are in milliseconds of the steady clock. */
export interface Attempt {
  /** Number of retries already made. */
  readonly retriesDone: number;
  readonly retries: number;
  readonly nowMs: number;
  readonly deadlineMs: number;
  /** Returns a random number in [0, 1). */
  readonly random: () => number;
}

type Decision =
  /** `told` is true for a delay that the server told, so that the retry is free of the budget. */
  | { readonly action: 'retry'; readonly delayMs: number; readonly told: boolean }
  | { readonly action: 'stop' | 'unknown' };

/** True if the failed request may have taken effect: the table calls this failure of a paid call unknown. */
export const mayHaveWorked = (kind: FailureKind): boolean => resendTable.paid[kind] === 'unknown';

/** How long one call may go on with its retries, whatever deadline it has. */
export const CALL_LIMIT_MS = 120_000;

const BASE_MS = 500;
const CAP_MS = 20_000;

/** Full jitter: a random delay between 0 and the doubled base, at most 20 s. */
export function backoffMs(retriesDone: number, random: () => number): number {
  return random() * Math.min(CAP_MS, BASE_MS * 2 ** Math.min(retriesDone, 30));
}

/**
 * Decides what to do after a failed attempt: the table's action, limited by the number of retries and the deadline. The
 * server's `Retry-After` is obeyed exactly; if it passes the deadline, the call stops at once.
 */
export function decide(resend: Resend, failure: Failure, attempt: Attempt): Decision {
  const action = resendTable[resend][failure.kind];
  if (action === 'stop' || action === 'unknown') return { action };
  const { retriesDone, retries, nowMs, deadlineMs } = attempt;
  if (retriesDone >= retries) return { action: 'stop' };
  const told = failure.retryAfterMs !== undefined && failure.retryAfterMs > 0;
  const delayMs = told ? Number(failure.retryAfterMs) : backoffMs(retriesDone, attempt.random);
  if (nowMs + delayMs > deadlineMs) return { action: 'stop' };
  return { action: 'retry', delayMs, told };
}

export function failureOfExchange(error: ExchangeError): FailureKind {
  if (error.sent === 'maybe') return 'lost';
  return isPermanent(error.code) ? 'barred' : 'not_sent';
}
