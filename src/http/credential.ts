import { GwError, usage } from '../errors.ts';
import type { Credential } from '../gateway/endpoint.ts';

/** Headers that hold the key. */
export const credentialHeaders: ReadonlySet<string> = new Set([
  'authorization',
  'x-api-key',
  'x-geo-api-key',
]);

/** Stands for the key where a request is only shown. */
export const HIDDEN = '***';

/** What is said where a key is needed and none is there. */
export function missingKey(): GwError {
  return new GwError('auth', 'no API key is configured', {
    hint: 'set GW_API_KEY, name a file with --api-key-file, or store the key with gw login',
  });
}

/**
 * The headers that prove who sends ("Authentication"). Without a key, the place of the key is held by `***`. Throws
 * `auth` for a key that cannot stand in a header, telling its length only, and `usage` where native messages lack their version.
 */
export function credentialFor(
  credential: Credential,
  key: string | undefined,
  providerVersion: string | undefined,
): Record<string, string> {
  if (key !== undefined) checkKey(key);
  const shown = key ?? HIDDEN;
  if (credential === 'geo') return { 'x-geo-api-key': shown };
  if (credential === 'bearer') return { authorization: `Bearer ${shown}` };
  if (providerVersion === undefined) {
    throw usage(
      'native messages need the header provider-version, and no version is configured',
      'set it with gw config set provider_version <date>, such as 2026-01-31',
    );
  }
  return { 'x-api-key': shown, 'provider-version': providerVersion };
}

function checkKey(key: string): void {
  if (/^[\x21-\x7e]+$/.test(key)) return;
  const wrong = /[\r\n]/.test(key)
    ? 'holds a line break'
    : /[^\x00-\x7f]/.test(key)
      ? 'holds characters beyond ASCII'
      : key === ''
        ? 'is empty'
        : 'holds blanks or control characters';
  throw new GwError('auth', `the API key (${key.length} characters) ${wrong}`, {
    hint: 'copy the key again from the console: it is one word of plain characters',
  });
}
