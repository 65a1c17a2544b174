import type { Resend } from '../gateway/endpoint.ts';
import type { Clock } from '../host.ts';
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

/** A century: later than any deadline, and still a date. */
const LONGEST_MS = 100 * 365 * 24 * 3_600_000;

/**
 * Reads a `Retry-After` header: seconds, or an HTTP date, which is compared with `nowMs` (Unix milliseconds; the
 * server's own `Date` where it sent one). Returns the milliseconds to wait, 0 for a date gone by, at most a century;
 * undefined for a value that says nothing (absent, negative, garbage).
 */
export function parseRetryAfter(value: string | undefined, nowMs: number): number | undefined {
  const text = value?.trim() ?? '';
  if (/^\d+(\.\d+)?(e\d+)?$/i.test(text)) return Math.min(Math.ceil(Number(text) * 1000), LONGEST_MS);
  // Every HTTP date names a day; Date.parse alone would also take "-5" and "1".
  if (!/^(mon|tue|wed|thu|fri|sat|sun)/i.test(text)) return undefined;
  const atMs = Date.parse(text);
  return Number.isNaN(atMs) ? undefined : Math.min(Math.max(atMs - nowMs, 0), LONGEST_MS);
}

/** The server's `Date` in Unix milliseconds, if it sent a readable one. */
export function readDateMs(value: string | undefined): number | undefined {
  const atMs = value === undefined ? Number.NaN : Date.parse(value);
  return Number.isNaN(atMs) ? undefined : atMs;
}

/** Retries that all requests of a process share, so that a thousand rows cannot storm a sick gateway. */
export interface RetryBudget {
  /** Takes one retry; false when none is left. */
  take(): boolean;
  /** A request that went well earns half a retry. */
  earn(): void;
}

const CAPACITY = 60;
const PER_SECOND = 1;
const PER_SUCCESS = 0.5;

/** A full budget: 60 retries at once, one more each second and each two successes. Waits that the server asked for are free. */
export function createRetryBudget(clock: Pick<Clock, 'steady'>): RetryBudget {
  let left = CAPACITY;
  let lastMs = clock.steady();
  return {
    take() {
      const nowMs = clock.steady();
      left = Math.min(CAPACITY, left + (Math.max(0, nowMs - lastMs) / 1000) * PER_SECOND);
      lastMs = nowMs;
      if (left < 1) return false;
      left -= 1;
      return true;
    },
    earn() {
      left = Math.min(CAPACITY, left + PER_SUCCESS);
    },
  };
}
