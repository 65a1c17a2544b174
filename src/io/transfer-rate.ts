/** How far back a rate looks, in milliseconds: long enough to be calm, short enough to see a stall. */
const WINDOW_MS = 5_000;
const MIN_SPAN_MS = 200;

/** The pace of one download, from what it reported over the last seconds. */
export class TransferRate {
  readonly #samples: { readonly atMs: number; readonly bytes: number }[] = [];

  /** A report: bytes so far at a time of the steady clock. A smaller count than before starts over. */
  add(atMs: number, bytes: number): void {
    const last = this.#samples.at(-1);
    if (last !== undefined && bytes < last.bytes) this.#samples.length = 0;
    if (last !== undefined && last.atMs === atMs) this.#samples.pop();
    this.#samples.push({ atMs, bytes });
    // One sample older than the window stays, to measure the whole window from.
    while ((this.#samples[1]?.atMs ?? atMs) < atMs - WINDOW_MS) this.#samples.shift();
  }

  /** Bytes a second up to a time of the steady clock; `undefined` before there is something to measure. */
  bytesPerSecond(nowMs: number): number | undefined {
    const first = this.#samples[0];
    const last = this.#samples.at(-1);
    if (first === undefined || last === undefined || first === last) return undefined;
    if (nowMs - first.atMs < MIN_SPAN_MS) return undefined;
    return ((last.bytes - first.bytes) * 1000) / (nowMs - first.atMs);
  }

  /** Milliseconds until `totalBytes` are there at this pace; `undefined` where that cannot be said. */
  remainingMs(nowMs: number, totalBytes: number): number | undefined {
    const rate = this.bytesPerSecond(nowMs);
    const bytes = this.#samples.at(-1)?.bytes;
    if (rate === undefined || rate <= 0 || bytes === undefined) return undefined;
    return (Math.max(0, totalBytes - bytes) * 1000) / rate;
  }
}
