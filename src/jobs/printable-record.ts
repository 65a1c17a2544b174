import { RawJson } from '../io/raw-json.ts';

/** The gateway's record as it is to be printed: the value, or its own text where the value would be written in another way. */
export const printableRecord = (seen: {
  readonly record: unknown;
  readonly recordText?: string | undefined;
}): unknown => (seen.recordText === undefined ? seen.record : new RawJson(seen.recordText));
