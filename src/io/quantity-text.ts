const SECOND_MS = 1000;
const MINUTE_MS = 60 * SECOND_MS;
const HOUR_MS = 60 * MINUTE_MS;
const DAY_MS = 24 * HOUR_MS;

/** `1 job`, `3 jobs`; give `many` if the plural needs more than an s: `1 job is`, `3 jobs are`. */
export const counted = (count: number, one: string, many = `${one}s`): string =>
  `${count} ${count === 1 ? one : many}`;

/** A duration in milliseconds for people, in at most two units, rounded down: `1 min 20 s`. */
export function durationText(durationMs: number): string {
  if (!Number.isFinite(durationMs)) return 'unknown';
  const ms = Math.max(0, durationMs);
  if (ms < SECOND_MS) return ms < 100 ? '0 s' : `0.${Math.floor(ms / 100)} s`;
  if (ms < MINUTE_MS) return `${Math.floor(ms / SECOND_MS)} s`;
  if (ms < HOUR_MS) return twoUnits(ms, MINUTE_MS, 'min', SECOND_MS, 's');
  if (ms < DAY_MS) return twoUnits(ms, HOUR_MS, 'h', MINUTE_MS, 'min');
  return twoUnits(ms, DAY_MS, 'd', HOUR_MS, 'h');
}

/** A duration in one unit, as users type it, rounded down: `45s`, `12m`, `23h`, `6d`. */
export function shortDuration(durationMs: number): string {
  const ms = Math.max(0, durationMs);
  if (ms < MINUTE_MS) return `${Math.floor(ms / SECOND_MS)}s`;
  if (ms < HOUR_MS) return `${Math.floor(ms / MINUTE_MS)}m`;
  if (ms < DAY_MS) return `${Math.floor(ms / HOUR_MS)}h`;
  return `${Math.floor(ms / DAY_MS)}d`;
}

function twoUnits(ms: number, largeMs: number, large: string, smallMs: number, small: string): string {
  const rest = Math.floor((ms % largeMs) / smallMs);
  const head = `${Math.floor(ms / largeMs)} ${large}`;
  return rest === 0 ? head : `${head} ${rest} ${small}`;
}

/** The day of a time in the local calendar: `2026-11-20`. */
export function localDay(atMs: number): string {
  const at = new Date(atMs);
  const two = (value: number) => String(value).padStart(2, '0');
  return `${at.getFullYear()}-${two(at.getMonth() + 1)}-${two(at.getDate())}`;
}

const units = ['kB', 'MB', 'GB', 'TB', 'PB'] as const;

/** A number of bytes for people, in decimal units: `980 B`, `3.4 MB`, `12 GB`. */
export function bytesText(bytes: number): string {
  if (!Number.isFinite(bytes)) return 'unknown';
  let amount = Math.max(0, bytes);
  if (Math.round(amount) < 1000) return `${Math.round(amount)} B`;
  let unit: string = units[0];
  for (unit of units) {
    amount /= 1000;
    if (Math.round(amount) < 1000) break;
  }
  return `${amount < 9.95 ? amount.toFixed(1) : Math.round(amount)} ${unit}`;
}
