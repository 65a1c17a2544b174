import type { WireHead } from './exchange.ts';

/** A century: later than any deadline, but still a valid date. */
const LONGEST_MS = 100 * 365 * 24 * 3_600_000;

/**
 * Parses a `Retry-After` header: seconds, or an HTTP date, which is compared with `nowMs` (Unix milliseconds). Returns
 * the milliseconds to wait: 0 for a past date, at most a century; undefined if the value is absent, negative or invalid.
 * Of several values joined by commas, the longest counts.
 */
export function parseRetryAfter(value: string | undefined, nowMs: number): number | undefined {
  // An HTTP date itself has a comma after the day's name; do not split there.
  const told = (value ?? '').split(/,(?!\s*\d\d[ -])/).flatMap((part) => {
    const text = part.trim();
    if (/^\d+(\.\d+)?(e\d+)?$/i.test(text)) return Math.ceil(Number(text) * 1000);
    // Every HTTP date begins with a day's name; Date.parse alone would also accept "-5" and "1".
    const atMs = /^(mon|tue|wed|thu|fri|sat|sun)/i.test(text) ? readDateMs(text) : undefined;
    return atMs === undefined ? [] : atMs - nowMs;
  });
  return told.length === 0 ? undefined : Math.min(Math.max(0, ...told), LONGEST_MS);
}

/**
 * How long the head of a reply asks to wait, in milliseconds. Its dates are compared with the server's own `Date`, if it
 * sent one, because our clock may be wrong.
 */
export const retryAfterMs = (headers: WireHead['headers'] = {}, nowMs: number): number | undefined =>
  parseRetryAfter(headers['retry-after'], readDateMs(headers.date) ?? nowMs);

/** An HTTP date in Unix milliseconds; undefined if it is invalid. Without a zone it is in GMT (RFC 9110, 5.6.7). */
export function readDateMs(value = ''): number | undefined {
  const atMs = Date.parse(/([a-z]|[+-]\d{4})\s*$/i.test(value) ? value : `${value} GMT`);
  return Number.isNaN(atMs) ? undefined : atMs;
}
