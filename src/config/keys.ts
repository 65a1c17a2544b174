import * as fs from 'node:fs';
import * as path from 'node:path';
import * as z from 'zod';
import { diskFault } from '../disk/disk-fault.ts';
import { errorCode, GwError } from '../errors.ts';
import type { Clock } from '../host.ts';
import { once } from '../once.ts';
import { checkKey } from './check-key.ts';
import { configDir, type DirHost } from './dirs.ts';
import { readJsonFile, withWriterLock, writeJsonFile } from './json-file.ts';
import { refuseOpenToOthers } from './open-to-others.ts';
import { isProfileName, parseStoredProfileName } from './profile-name.ts';

// Keys stand apart from the settings, so that a configuration can be shown, copied and versioned without them. Each
// belongs to one profile and to one origin, and never goes to another.

const keySchema = once(() =>
  z.strictObject({
    version: z.literal(1),
    keys: z.record(
      z.string().refine(isProfileName, 'not a profile name'),
      z.strictObject({ origin: z.string(), key: z.string() }),
    ),
  }),
);
type KeyFile = z.infer<ReturnType<typeof keySchema>>;

/** The path of the file that holds the stored keys. */
export function keyFilePath(host: DirHost): string {
  return path.join(configDir(host), 'keys.json');
}

/** Stores a profile's key for one origin (scheme, host, port), in place of the profile's former one. Throws GwError. */
export async function storeKey(
  host: DirHost & { readonly clock: Clock },
  profile: string,
  origin: string,
  key: string,
): Promise<void> {
  const name = parseStoredProfileName(profile, 'profile');
  checkKey(key, 'this');
  await changeKeys(host, (keys) => ({ ...keys, [name]: { origin, key } }));
}

/** Removes a profile's key; false where there was none. Throws GwError. */
export async function removeKey(
  host: DirHost & { readonly clock: Clock },
  profile: string,
): Promise<boolean> {
  if (!Object.hasOwn(readKeys(host).keys, profile)) return false;
  await changeKeys(host, ({ [profile]: _, ...rest }) => rest);
  return true;
}

/** The origin that a profile's stored key belongs to; undefined where none is stored. */
export function keyOrigin(host: DirHost, profile: string): string | undefined {
  const { keys } = readKeys(host);
  return Object.hasOwn(keys, profile) ? keys[profile]?.origin : undefined;
}

/**
 * A profile's stored key for an origin; undefined where none is stored. Throws GwError `auth` where it belongs to another
 * origin, or where the file is open to others, damaged or unreadable.
 */
export function readKey(host: DirHost, profile: string, origin: string): string | undefined {
  const { keys } = readKeys(host);
  const stored = Object.hasOwn(keys, profile) ? keys[profile] : undefined;
  if (stored === undefined) return undefined;
  if (stored.origin !== origin) {
    throw new GwError(
      'auth',
      `the stored key of profile ${profile} is for ${stored.origin}, not for ${origin}`,
      {
        hint: `Give the key for ${origin} with GW_API_KEY or --api-key-file, or store it in a profile of its own: gw login --profile NAME --base-url ${origin}`,
      },
    );
  }
  return checkKey(stored.key, `the key file ${keyFilePath(host)}`);
}

async function changeKeys(
  host: DirHost & { readonly clock: Clock },
  change: (keys: KeyFile['keys']) => KeyFile['keys'],
): Promise<void> {
  await withWriterLock(configDir(host), host.clock, async () => {
    await writeJsonFile(keyFilePath(host), { version: 1, keys: change(readKeys(host).keys) });
  });
}

function readKeys(host: DirHost): KeyFile {
  const file = keyFilePath(host);
  try {
    refuseOpenToOthers(fs.statSync(file), file, host.platform);
  } catch (error) {
    if (errorCode(error) === 'ENOENT') return { version: 1, keys: {} };
    if (error instanceof GwError) throw error;
    throw new GwError('auth', `the key file ${file} cannot be read: ${diskFault(error).reason}`);
  }
  let parsed: ReturnType<ReturnType<typeof keySchema>['safeParse']>;
  try {
    parsed = keySchema().safeParse(readJsonFile(file, 'key file'));
  } catch (error) {
    if (error instanceof GwError) throw new GwError('auth', error.message, error.facts);
    throw error;
  }
  if (parsed.success) return parsed.data;
  // What is wrong with it is not told in detail: an entry's text may be a key.
  throw new GwError('auth', `the key file ${file} does not hold keys as gw writes them`, {
    hint: 'Move it away and run gw login again; gw never clears it by itself.',
  });
}
