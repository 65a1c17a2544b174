/** A century: later than any deadline, and still a date. */
const LONGEST_MS = 100 * 365 * 24 * 3_600_000;

/**
 * Reads a `Retry-After` header: seconds, or an HTTP date, which is compared with `nowMs` (Unix milliseconds; the
 * server's own `Date` where it sent one). Returns the milliseconds to wait, 0 for a date gone by, at most a century;
 * undefined for a value that says nothing (absent, negative, garbage). Of several, joined by commas, the longest counts.
 */
export function parseRetryAfter(value: string | undefined, nowMs: number): number | undefined {
  // A date has a comma of its own, before its day.
  const told = (value ?? '').split(/,(?!\s*\d\d[ -])/).flatMap((part) => {
    const text = part.trim();
    if (/^\d+(\.\d+)?(e\d+)?$/i.test(text)) return Math.ceil(Number(text) * 1000);
    // Every HTTP date names a day; Date.parse alone would also take "-5" and "1".
    const atMs = /^(mon|tue|wed|thu|fri|sat|sun)/i.test(text) ? Date.parse(text) : Number.NaN;
    return Number.isNaN(atMs) ? [] : atMs - nowMs;
  });
  return told.length === 0 ? undefined : Math.min(Math.max(0, ...told), LONGEST_MS);
}

/** The server's `Date` in Unix milliseconds, if it sent a readable one. */
export function readDateMs(value: string | undefined): number | undefined {
  const atMs = value === undefined ? Number.NaN : Date.parse(value);
  return Number.isNaN(atMs) ? undefined : atMs;
}
