import type { Resend } from '../gateway/endpoint.ts';
import { type ExchangeError, isPermanent } from './exchange.ts';

/** The ways an attempt can fail, as far as sending again is concerned. */
export type FailureKind =
  /** No byte of the request left for the gateway. */
  | 'not_sent'
  /** The same, and no second try mends it: an untrusted certificate, a proxy that refuses. */
  | 'barred'
  /** 429. */
  | 'rate_limited'
  /** A complete 5xx or 408. */
  | 'server_error'
  /** Something left, and no complete reply came. */
  | 'lost'
  /** A complete 2xx that is not what the endpoint answers. */
  | 'unreadable'
  /** A 3xx: nobody knows what became of a request that is sent elsewhere. */
  | 'redirect'
  /** A 4xx that is none of the refusals: 409, 425, 499, … */
  | 'unsettled'
  | 'not_found'
  /** Another 4xx of the list of refusals, or a 2xx that refuses in its body. */
  | 'refused';

export type Action =
  /** After a spread-out delay, or the server's if it gave one. */
  | 'retry'
  /** As `retry`, while the thing asked for may still be too young to be known everywhere. */
  | 'retry_young'
  | 'stop'
  /** Never again; the outcome is not known. */
  | 'unknown';

const always = { barred: 'stop', refused: 'stop', not_sent: 'retry', rate_limited: 'retry' } as const;

/** What makes something is not made twice on a guess. */
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
  not_found: 'retry_young',
} as const;

/** What may be sent again: a row a kind of call, a column a kind of failure. */
export const resendTable: Readonly<Record<Resend, Readonly<Record<FailureKind, Action>>>> = {
  read: reads,
  paid: creates,
  // Before the first byte of the answer; after it nothing is sent again.
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
  change: { ...reads, not_found: 'stop' },
};

/** One failed attempt. */
export interface Failure {
  readonly kind: FailureKind;
  /** The server's word on waiting, in milliseconds from now. */
  readonly retryAfterMs?: number | undefined;
}

/** Where a call stands when an attempt has failed. Times are of the steady clock, in milliseconds. */
export interface Attempt {
  /** How often it was sent again before. */
  readonly retriesDone: number;
  readonly retries: number;
  readonly nowMs: number;
  readonly deadlineMs: number;
  /** Until when a 404 may only mean "not known yet". */
  readonly youngUntilMs?: number | undefined;
  /** Uniform in [0, 1). */
  readonly random: () => number;
}

export type Decision =
  | {
      readonly action: 'retry';
      readonly delayMs: number /** Told by the server, so free of the budget. */;
      readonly told: boolean;
    }
  | {
      readonly action: 'stop' /** Why a failure that may be retried is not. */;
      readonly because?: 'retries' | 'deadline';
    }
  | { readonly action: 'unknown' };

/** Whether a request that failed so may have done its work all the same: what is unknown of a paid one. */
export const mayHaveWorked = (kind: FailureKind): boolean => resendTable.paid[kind] === 'unknown';

/** How long a call goes on where nobody set a deadline. */
export const DEFAULT_DEADLINE_MS = 120_000;

const BASE_MS = 500;
const CAP_MS = 20_000;

/** Full jitter: anything from nothing to the doubled base, at most 20 s. */
export function backoffMs(retriesDone: number, random: () => number): number {
  return random() * Math.min(CAP_MS, BASE_MS * 2 ** Math.min(retriesDone, 30));
}

/**
 * What to do after a failed attempt: the table's action, bounded by the number of retries and the deadline. The server's
 * `Retry-After` is obeyed exactly; where it passes the deadline the call stops at once.
 */
export function decide(resend: Resend, failure: Failure, attempt: Attempt): Decision {
  const action = resendTable[resend][failure.kind];
  if (action === 'stop' || action === 'unknown') return { action };
  const { retriesDone, retries, nowMs, deadlineMs, youngUntilMs } = attempt;
  const told = failure.retryAfterMs !== undefined && failure.retryAfterMs > 0;
  const delayMs = told ? Number(failure.retryAfterMs) : backoffMs(retriesDone, attempt.random);
  if (action === 'retry_young') {
    // Bounded by age, not by number; --retries 0 switches it off like any other.
    if (retries === 0 || youngUntilMs === undefined || nowMs + delayMs > youngUntilMs)
      return { action: 'stop' };
  } else if (retriesDone >= retries) {
    return { action: 'stop', because: 'retries' };
  }
  if (nowMs + delayMs > deadlineMs) return { action: 'stop', because: 'deadline' };
  return { action: 'retry', delayMs, told: told || action === 'retry_young' };
}

export function failureOfExchange(error: ExchangeError): FailureKind {
  if (error.sent === 'maybe') return 'lost';
  return isPermanent(error.code) ? 'barred' : 'not_sent';
}
