import * as fs from 'node:fs';
import * as path from 'node:path';
import { diskFault, isDiskFault } from '../disk/disk-fault.ts';
import { readRegular, UnfitFile } from '../disk/small-file.ts';
import { refuseUntrusted, type Trusted } from '../disk/trust.ts';
import { errorCode, GwError, usage } from '../errors.ts';
import { formatOf, refuseNewer } from '../formats.ts';
import { isObject } from '../host.ts';
import { configDir, type DirHost } from './dirs.ts';
import { isProfileName, sandboxProfile } from './profile-name.ts';
import { DEFAULTS, settingNames, settingOf } from './table.ts';

const CONFIG_VERSION = formatOf('settings');

/** The settings of a profile by name; a dotted name (`models.chat`) is in a nested object. */
export interface Profile {
  readonly [name: string]: string | number | Profile;
}

export interface ConfigFile {
  readonly version: number;
  /** The profile that is used if none is named. */
  readonly current?: string;
  readonly profiles: Readonly<Record<string, Profile>>;
}

export const configFilePath = (host: DirHost): string => path.join(configDir(host), 'config.json');

/**
 * Reads the configuration file; a missing file is an empty configuration. Throws GwError `usage` with its path if it is
 * damaged, empty, a directory, newer, writable by others, or has an unknown field. gw never clears it.
 */
export function readConfig(host: DirHost): ConfigFile {
  const file = configFilePath(host);
  const value = readStored(file, host, { what: 'the configuration file', kind: 'usage' });
  return value === undefined ? { version: CONFIG_VERSION, profiles: {} } : checkConfig(value, file);
}

export const profileOf = (config: ConfigFile, name: string): Profile | undefined =>
  Object.hasOwn(config.profiles, name) ? config.profiles[name] : undefined;

export function storedSetting(profile: Profile, name: string): string | undefined {
  let value: string | number | Profile | undefined = profile;
  for (const part of name.split('.'))
    value = typeof value === 'object' && Object.hasOwn(value, part) ? value[part] : undefined;
  return typeof value === 'object' ? undefined : value?.toString();
}

/** The settings of a group of a profile (`defaults`), by their full names. */
export const settingsBelow = (profile: Profile, prefix: string): [name: string, text: string][] =>
  Object.entries(profile).flatMap(([name, value]): [string, string][] =>
    typeof value === 'object'
      ? settingsBelow(value, `${prefix}.${name}`)
      : [[`${prefix}.${name}`, String(value)]],
  );

/** Checks the structure of the file. Setting values are parsed only where they are used. */
export function checkConfig(value: unknown, file: string): ConfigFile {
  if (isObject(value)) refuseNewer('settings', value.version, file);
  const fault = faultIn(value);
  if (fault === undefined) return value as ConfigFile;
  throw usage(
    `the configuration file ${file} is not valid at ${fault.at}: ${fault.why}`,
    'correct that entry or move the file away; gw never clears it by itself',
  );
}

interface Fault {
  readonly at: string;
  readonly why: string;
}

function faultIn(value: unknown): Fault | undefined {
  const at = 'the top level';
  if (!isObject(value)) return { at, why: 'it is no object' };
  const { version, current, profiles, ...unknown } = value;
  if (version !== CONFIG_VERSION) return { at: 'version', why: `it is not ${CONFIG_VERSION}` };
  const [odd] = Object.keys(unknown);
  if (odd !== undefined) return { at, why: `gw knows no field ${JSON.stringify(odd)}` };
  if (current !== undefined && !(typeof current === 'string' && isProfileName(current)))
    return { at: 'current', why: 'not a profile name' };
  if (!isObject(profiles)) return { at: 'profiles', why: 'it is no object' };
  for (const [name, profile] of Object.entries(profiles)) {
    if (!isProfileName(name) || name === sandboxProfile)
      return { at: 'profiles', why: `${JSON.stringify(name)} is not a profile name` };
    const fault = faultInProfile(profile, `profiles.${name}`, '');
    if (fault) return fault;
  }
  return undefined;
}

function faultInProfile(value: unknown, at: string, prefix: string): Fault | undefined {
  if (!isObject(value)) return { at, why: 'it is no object' };
  for (const [field, entry] of Object.entries(value)) {
    const name = `${prefix}${field}`;
    const where = `${at}.${field}`;
    const isOfDefaults = isObject(entry) && `${name}.`.startsWith(`${DEFAULTS}.`);
    const setting = isOfDefaults ? undefined : settingOf(name);
    if (setting === undefined) {
      const isGroup = isOfDefaults || settingNames.some((known) => known.startsWith(`${name}.`));
      if (!isGroup) return { at: where, why: `there is no setting ${JSON.stringify(name)}` };
      const fault = faultInProfile(entry, where, `${name}.`);
      if (fault) return fault;
    } else if (
      name === 'retries' ? !(Number.isInteger(entry) && Number(entry) >= 0) : typeof entry !== 'string'
    ) {
      return { at: where, why: `it is no ${name === 'retries' ? 'whole number' : 'text'}` };
    } else if (setting.choices && !setting.choices.includes(String(entry))) {
      return { at: where, why: `it is none of ${setting.choices.join(', ')}` };
    }
  }
  return undefined;
}

/**
 * Reads a JSON file of the configuration directory, without a byte order mark; undefined if it is missing. Throws
 * GwError naming the path if it is not readable JSON, or if other users own or can write the file or the directory.
 */
export function readStored(
  file: string,
  { platform }: Pick<DirHost, 'platform'>,
  trust: Pick<Trusted, 'what' | 'kind' | 'secret'>,
): unknown {
  const { what, kind } = trust;
  let text: string;
  try {
    // The check uses the open file, because its name could be replaced meanwhile.
    const bytes = readRegular(file, MAX_BYTES, (stats) => {
      const dir = path.dirname(file);
      const place = { platform, setting: 'GW_CONFIG_DIR' } as const;
      refuseUntrusted(fs.statSync(dir), { ...place, kind, file: dir, what: 'the configuration directory' });
      refuseUntrusted(stats, { ...trust, ...place, file });
    });
    text = bytes.toString().replace(/^\uFEFF/, '');
  } catch (error) {
    if (errorCode(error) === 'ENOENT') return undefined;
    if (error instanceof UnfitFile)
      throw new GwError(kind, `${what} ${file} ${error.message}`, { hint: 'move it away' });
    if (!isDiskFault(error)) throw error;
    const { reason, remedy } = diskFault(error);
    throw new GwError(kind, `${what} ${file} cannot be read: ${reason}`, { hint: remedy });
  }
  try {
    return JSON.parse(text);
  } catch {
    const state = text.trim() === '' ? 'is empty' : 'is not valid JSON';
    throw new GwError(kind, `${what} ${file} ${state}`, {
      hint: 'correct it or move it away; gw never clears it by itself',
    });
  }
}

/** The size limit of these files, far above any real one. */
const MAX_BYTES = 4 << 20;
