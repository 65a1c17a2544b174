import * as crypto from 'node:crypto';

const alphabet = '0123456789abcdefghjkmnpqrstvwxyz';

export type RandomBytes = (count: number) => Uint8Array;

/** A new key for a job: `gw-` and 128 random bits as 26 characters of lower-case Crockford base32. */
export function newJobKey(randomBytes: RandomBytes = crypto.randomBytes): string {
  let bits = 0n;
  for (const byte of randomBytes(16)) bits = (bits << 8n) | BigInt(byte);
  let digits = '';
  for (let place = 0; place < 26; place++) {
    digits = alphabet.charAt(Number(bits & 31n)) + digits;
    bits >>= 5n;
  }
  return `gw-${digits}`;
}

/** The key of an adopted job, made from gateway and task ID, so that two processes adopting it get the same key. */
export function adoptedJobKey(gateway: string, id: string): string {
  return newJobKey(() => crypto.createHash('sha256').update(`${gateway}\n${id}`).digest().subarray(0, 16));
}

/**
 * The key of a `--once` job, which is also its external ID: each machine computes the same key from origin, name and
 * attempt. `retry` distinguishes sendings of one attempt that created nothing.
 */
export function onceJobKey(origin: string, name: string, attempt = 1, retry = 1): string {
  const text = ['once', origin, name, attempt, ...(retry === 1 ? [] : [retry])].join('\n');
  return newJobKey(() => crypto.createHash('sha256').update(text).digest().subarray(0, 16));
}

/** True if gw made the external ID of a job, so that a task with this ID must belong to the job. */
export const isOwnExternalId = ({
  key,
  externalId,
  once,
}: {
  readonly key: string;
  readonly externalId?: string | undefined;
  readonly once?: unknown;
}): boolean => externalId === key || once !== undefined;

/** True if a text has the form of a job key; the first digit holds only three bits. */
export const isJobKey = (text: string): boolean => /^gw-[0-7][0-9a-hjkmnp-tv-z]{25}$/.test(text);

/** The embedded gateway's name in the ledger, because its address changes with every run. */
export const EMBEDDED = 'sandbox:';

/** The scope of a --once key: the gateway's scheme, host and port, or the embedded gateway's name. */
export const originOfGateway = (name: string): string =>
  name === EMBEDDED || name === '' ? name : new URL(name).origin;
