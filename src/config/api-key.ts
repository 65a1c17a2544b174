import { createHash } from 'node:crypto';
import { GwError } from '../errors.ts';
import { KEY_RULE, keyFault } from '../gateway/endpoint.ts';
import { type Environment, readVariable } from './environment.ts';

/** The key ID: the first 12 hex digits of the API key's SHA-256, which identify the key without revealing it. */
export const keyIdOf = (key: string): string => createHash('sha256').update(key).digest('hex').slice(0, 12);

/**
 * Checks an API key; messages reveal only its length. `from` names the key's source and begins the message. Throws
 * GwError `auth`.
 */
export function checkKey(key: string, from: string): string {
  const fault = keyFault(key);
  if (fault === undefined) return key;
  throw new GwError('auth', `${from} ${fault} (length ${key.length})`, {
    hint: `${KEY_RULE}; copy it again from the console`,
  });
}

/**
 * `GW_API_KEY` for an origin; undefined if it is not set. Throws GwError `auth` if it is no valid key, or if
 * `GW_API_KEY_ORIGIN` assigns it to another origin.
 */
export function keyOfEnvironment(env: Environment, origin: string): string | undefined {
  const key = readVariable(env, 'GW_API_KEY');
  if (key === undefined) return undefined;
  const only = readVariable(env, 'GW_API_KEY_ORIGIN');
  const belongsTo = only !== undefined && URL.canParse(only) ? new URL(only).origin : only;
  if (belongsTo !== undefined && belongsTo !== origin) {
    throw new GwError('auth', `GW_API_KEY is for ${belongsTo} (GW_API_KEY_ORIGIN), not for ${origin}`, {
      hint: `give the key for ${origin} with --api-key-file, or store it: gw login --profile NAME --base-url ${origin}`,
    });
  }
  return checkKey(key, 'GW_API_KEY');
}
