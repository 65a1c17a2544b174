const units = ['kB', 'MB', 'GB', 'TB', 'PB'] as const;

/** An amount of bytes for people, in decimal units: `980 B`, `3.4 MB`, `12 GB`. */
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
