import { parseDuration } from '../config/table.ts';
import { usage } from '../errors.ts';
import { localDay } from '../io/quantity-text.ts';

/** A typed time as a function of now: an age or a date. */
export type Moment = (nowMs: number) => number;

const dateForm = /^\d{4}-\d{2}-\d{2}(T\d{2}:\d{2}(:\d{2}(\.\d+)?)?(Z|[+-]\d{2}:\d{2})?)?$/;

/**
 * Parses `24h` or `7d` (that long ago), `2026-11-01`, `today`, `yesterday` (the start of the day by the local calendar)
 * or an ISO time, a local one if it has no zone. Throws GwError `usage` naming the flag for anything else.
 */
export function parseMoment(raw: string, flag: string): Moment {
  if (raw === 'today' || raw === 'yesterday')
    return (nowMs) => {
      const now = new Date(nowMs);
      return +new Date(now.getFullYear(), now.getMonth(), now.getDate() - (raw === 'today' ? 0 : 1));
    };
  if (dateForm.test(raw)) {
    const [year = 0, month = 1, day = 1] = raw.slice(0, 10).split('-').map(Number);
    const midnight = new Date(year, month - 1, day);
    const atMs = raw.length === 10 ? +midnight : Date.parse(raw);
    // Date would read a nonexistent day as one of the next month, or as invalid.
    const isReal = !Number.isNaN(atMs) && localDay(+midnight) === raw.slice(0, 10);
    if (!isReal) throw usage(`${flag} ${raw}: there is no such date`);
    return () => atMs;
  }
  if (!/^\d+(\.\d+)?[a-z]*$/i.test(raw))
    throw usage(
      `${flag} ${JSON.stringify(raw)} is neither a length of time nor a date`,
      'write a length such as 24h or 7d, today, yesterday, or a date such as 2026-11-01',
    );
  const spanMs = parseDuration(raw, flag, { span: true });
  return (nowMs) => nowMs - spanMs;
}
