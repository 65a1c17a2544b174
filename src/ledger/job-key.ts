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

/** The key of a job that another gw may take in at the same moment: the same gateway and task give the same key. */
export function adoptedJobKey(gateway: string, id: string): string {
  return newJobKey(() => crypto.createHash('sha256').update(`${gateway}\n${id}`).digest().subarray(0, 16));
}

/**
 * The key of a job that is made at most once under a name of the user's, and the external ID of its task: every machine
 * finds the same one for the same origin, name and attempt. `retry` tells apart sendings of one attempt that made nothing.
 */
export function onceJobKey(origin: string, name: string, attempt = 1, retry = 1): string {
  const text = ['once', origin, name, attempt, ...(retry === 1 ? [] : [retry])].join('\n');
  return newJobKey(() => crypto.createHash('sha256').update(text).digest().subarray(0, 16));
}

/** Whether gw made the external ID of a job, so that a task of that ID can only be this job's. */
export const isOwnExternalId = ({
  key,
  externalId,
  once,
}: {
  readonly key: string;
  readonly externalId?: string | undefined;
  readonly once?: unknown;
}): boolean => externalId === key || once !== undefined;

/** Whether a text has the form of a job's key; the first digit holds only three bits. */
export const isJobKey = (text: string): boolean => /^gw-[0-7][0-9a-hjkmnp-tv-z]{25}$/.test(text);

/** How the embedded gateway stands in the ledger: its address is a new one in every run. */
export const EMBEDDED = 'sandbox:';

/** Where a --once key counts: the gateway's scheme, host and port; of the embedded one its name. */
export const originOfGateway = (name: string): string =>
  name === EMBEDDED || name === '' ? name : new URL(name).origin;
