import type { WireHead } from './exchange.ts';

/** A century: later than any deadline, and still a date. */
const LONGEST_MS = 100 * 365 * 24 * 3_600_000;

/**
 * Reads a `Retry-After` header: seconds, or an HTTP date, which is compared with `nowMs` (Unix milliseconds). Returns the
 * milliseconds to wait, 0 for a date gone by, at most a century; undefined for a value that says nothing (absent, negative,
 * garbage). Of several, joined by commas, the longest counts.
 */
export function parseRetryAfter(value: string | undefined, nowMs: number): number | undefined {
  // A date has a comma of its own, before its day.
  const told = (value ?? '').split(/,(?!\s*\d\d[ -])/).flatMap((part) => {
    const text = part.trim();
    if (/^\d+(\.\d+)?(e\d+)?$/i.test(text)) return Math.ceil(Number(text) * 1000);
    // Every HTTP date names a day; Date.parse alone would also take "-5" and "1".
    const atMs = /^(mon|tue|wed|thu|fri|sat|sun)/i.test(text) ? readDateMs(text) : undefined;
    return atMs === undefined ? [] : atMs - nowMs;
  });
  return told.length === 0 ? undefined : Math.min(Math.max(0, ...told), LONGEST_MS);
}

/**
 * How long the head of a reply asks to wait. Its dates are compared with the server's own clock where it shows it: ours may be
 * years off.
 */
export const retryAfterMs = (headers: WireHead['headers'] = {}, nowMs: number): number | undefined =>
  parseRetryAfter(headers['retry-after'], readDateMs(headers.date) ?? nowMs);

/** An HTTP date in Unix milliseconds, if it is a readable one; without a zone it is of Greenwich (RFC 9110, 5.6.7). */
export function readDateMs(value = ''): number | undefined {
  const atMs = Date.parse(/([a-z]|[+-]\d{4})\s*$/i.test(value) ? value : `${value} GMT`);
  return Number.isNaN(atMs) ? undefined : atMs;
}
