import { MB } from '../gateway/media-limits.ts';
import { inMB } from './check.ts';

interface Part {
  readonly named: string;
  /** As it will stand in the body. */
  readonly bodyBytes: number;
}

interface SizeBreach {
  readonly message: string;
  readonly hint: string;
  /** More than one JSON text can hold here, whatever the gateway allows. */
  readonly unsendable: boolean;
}

/** A JavaScript string ends at 512 MB; half of it leaves room for the rest of the body. */
const MAX_SENDABLE_BYTES = 256 * MB;

/** Whether the media of a request are over the body's limit ("Limits"), and which of them is the largest. */
export function bodySizeBreach(
  parts: readonly Part[],
  maxBodyBytes: number | undefined,
): SizeBreach | undefined {
  const totalBytes = parts.reduce((sum, part) => sum + part.bodyBytes, 0);
  const unsendable = totalBytes > MAX_SENDABLE_BYTES;
  const limitBytes = unsendable ? Math.min(maxBodyBytes ?? Infinity, MAX_SENDABLE_BYTES) : maxBodyBytes;
  const [first, ...others] = parts;
  if (!first || limitBytes === undefined || totalBytes <= limitBytes) return undefined;
  const largest = others.reduce((most, part) => (part.bodyBytes > most.bodyBytes ? part : most), first);
  const total = `the media come to ${inMB(totalBytes)} in the request's body, over ${inMB(limitBytes)}`;
  return {
    message: `${largest.named}: ${total}; it is the largest, with ${inMB(largest.bodyBytes)} as Base64`,
    hint: 'give large files by URL or as a reference to what the gateway holds, or make them smaller',
    unsendable,
  };
}
