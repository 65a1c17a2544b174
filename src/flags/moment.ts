import { parseDuration } from '../config/duration.ts';
import { usage } from '../errors.ts';

/** A moment as it is typed: a length of time before now, or a date. */
export type Moment = (nowMs: number) => number;

const dateForm = /^\d{4}-\d{2}-\d{2}(T\d{2}:\d{2}(:\d{2}(\.\d+)?)?(Z|[+-]\d{2}:\d{2}))?$/;

/**
 * Reads `24h`, `7d` (so long ago), `2026-11-01` (its begin in UTC) or an ISO time with its zone. Throws GwError `usage` that
 * names the flag for anything else.
 */
export function parseMoment(raw: string, flag: string): Moment {
  if (dateForm.test(raw)) {
    const atMs = Date.parse(raw);
    // A day that the month does not have is read as one of the next month, or not at all.
    const isReal =
      !Number.isNaN(atMs) &&
      new Date(Date.parse(raw.slice(0, 10))).toISOString().startsWith(raw.slice(0, 10));
    if (!isReal) throw usage(`${flag} ${raw}: there is no such date`);
    return () => atMs;
  }
  if (!/^\d/.test(raw) || raw.includes('-')) {
    throw usage(
      `${flag} ${JSON.stringify(raw)} is neither a length of time nor a date`,
      'Write a length such as 24h or 7d, or a date such as 2026-11-01.',
    );
  }
  const spanMs = parseDuration(raw, flag, { span: true });
  return (nowMs) => nowMs - spanMs;
}
