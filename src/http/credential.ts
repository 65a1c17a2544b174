import { GwError, usage } from '../errors.ts';
import { type Credential, KEY_RULE, keyFault } from '../gateway/endpoint.ts';

export const credentialHeaders: ReadonlySet<string> = new Set([
  'authorization',
  'x-api-key',
  'x-geo-api-key',
]);

/** Replaces the API key when a request is only shown. */
export const HIDDEN = '***';

/** The error for a request that needs an API key when none is configured. */
export function missingKey(): GwError {
  return new GwError('auth', 'no API key is configured', {
    hint: 'set GW_API_KEY, name a file with --api-key-file, or store the key with gw login',
  });
}

/**
 * The headers that hold the API key ("Authentication"); `***` replaces a missing key. The key was checked where it was
 * read, and is checked again here: an invalid key throws `auth` with only its length in the message. Throws `usage` if
 * native messages lack their version.
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
