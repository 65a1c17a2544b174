import { usage } from '../errors.ts';

const unitsMs: Readonly<Record<string, number>> = { ms: 1, s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 };
/** Timers of the system hold no more than this; a longer wait would end at once. */
const longestTimerMs = 2 ** 31 - 1;
const longestSpanMs = 36_500 * 86_400_000;

/**
 * Reads `500ms`, `30s`, `10m`, `2h` as milliseconds; with `span` also `7d`, for lengths of time that nobody waits for.
 * `what` is the flag or variable. Throws GwError `usage` for anything else, nothing, or too much.
 */
export function parseDuration(text: string, what: string, options: { readonly span?: boolean } = {}): number {
  const { span = false } = options;
  const match = (span ? /^(\d+(?:\.\d+)?)(ms|s|m|h|d)$/ : /^(\d+(?:\.\d+)?)(ms|s|m|h)$/).exec(text);
  const ms = match ? Math.round(Number(match[1]) * (unitsMs[match[2] ?? ''] ?? Number.NaN)) : Number.NaN;
  const forms = span ? '500ms, 30s, 10m, 2h or 7d' : '500ms, 30s, 10m or 2h';
  if (Number.isNaN(ms)) {
    throw usage(
      `${what} ${JSON.stringify(text)} is not a duration`,
      `write a number with its unit, such as ${forms}`,
    );
  }
  if (ms === 0)
    throw usage(`${what} ${JSON.stringify(text)} is no time at all`, 'give a duration longer than 0');
  if (ms > (span ? longestSpanMs : longestTimerMs)) {
    throw usage(`${what} ${JSON.stringify(text)} is too long`, `give at most ${span ? '36500d' : '596h'}`);
  }
  return ms;
}
