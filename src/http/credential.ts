import { GwError, usage } from '../errors.ts';
import { type Credential, KEY_RULE, keyFault } from '../gateway/endpoint.ts';

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
 * The headers that prove who sends ("Authentication"). Without a key, the place of the key is held by `***`. The key has
 * been checked where it was read; one that cannot stand in a header gets no further all the same. Throws `auth` for it,
 * telling its length only, and `usage` where native messages lack their version.
 */
export function credentialFor(
  credential: Credential,
  key: string | undefined,
  providerVersion: string | undefined,
): Record<string, string> {
  const fault = key === undefined ? undefined : keyFault(key);
  if (fault)
    throw new GwError('auth', `the configuration ${fault} (length ${key?.length})`, { hint: KEY_RULE });
  const shown = key ?? HIDDEN;
  if (credential === 'geo') return { 'x-geo-api-key': shown };
  if (credential === 'bearer') return { authorization: `Bearer ${shown}` };
  if (providerVersion === undefined)
    throw usage(
      'native messages need the header provider-version, and no version is configured',
      'set it with gw config set provider_version <date>, such as 2026-01-31',
    );
  return { 'x-api-key': shown, 'provider-version': providerVersion };
}
