import * as fs from 'node:fs';
import * as path from 'node:path';
import { diskFault, isDiskFault } from '../disk/disk-fault.ts';
import { ensureDirectory, syncDirectory } from '../disk/durable-directory.ts';
import { type LockFile, waitForLock } from '../disk/lock-file.ts';
import { refuseUntrusted, type Trusted } from '../disk/trust.ts';
import { errorCode, GwError, usage } from '../errors.ts';
import { type Clock, isObject } from '../host.ts';
import { configDir, type DirHost } from './dirs.ts';
import { isProfileName, sandboxProfile } from './profile-name.ts';
import { DEFAULTS, settingNames, settingOf } from './table.ts';

/** The newest format of the configuration file that this build reads and writes. */
export const CONFIG_VERSION = 1;

/** What a profile holds: settings under their names, a dotted one (`models.chat`) in an object of its own. */
export interface Profile {
  readonly [name: string]: string | number | Profile;
}

export interface ConfigFile {
  readonly version: typeof CONFIG_VERSION;
  /** The profile in force where none is named. */
  readonly current?: string;
  readonly profiles: Readonly<Record<string, Profile>>;
}

/** The path of the configuration file. */
export function configFilePath(host: DirHost): string {
  return path.join(configDir(host), 'config.json');
}

/**
 * Reads the configuration file; a missing one is an empty configuration. Throws GwError `usage` with its path where it is
 * damaged, empty, a directory, newer, open to others, or holds a field that gw does not know. It is never cleared by itself.
 */
export function readConfig(host: DirHost): ConfigFile {
  const file = configFilePath(host);
  const value = readStored(file, host, { what: 'the configuration file', kind: 'usage' });
  return value === undefined ? { version: CONFIG_VERSION, profiles: {} } : checkConfig(value, file);
}

/**
 * Changes the configuration under the writer lock: reads it, passes it to `change` and writes what comes back.
 * Throws GwError `usage` where it cannot be read or written, or where `change` made it invalid.
 */
export async function updateConfig(
  host: DirHost & { readonly clock: Clock },
  change: (config: ConfigFile) => ConfigFile,
): Promise<ConfigFile> {
  return withWriterLock(host, async () => {
    const file = configFilePath(host);
    const next = checkConfig(change(readConfig(host)), file);
    await store(file, next);
    return next;
  });
}

/** A profile by name; undefined where there is none. */
export function profileOf(config: ConfigFile, name: string): Profile | undefined {
  return Object.hasOwn(config.profiles, name) ? config.profiles[name] : undefined;
}

/** What a profile holds under a setting's name, as text; undefined where it holds nothing. */
export function storedSetting(profile: Profile, name: string): string | undefined {
  let value: string | number | Profile | undefined = profile;
  for (const part of name.split('.')) {
    value = typeof value === 'object' && Object.hasOwn(value, part) ? value[part] : undefined;
  }
  return typeof value === 'object' ? undefined : value?.toString();
}

/** The settings below a group of a profile (`defaults`), by their whole names. */
export const settingsBelow = (profile: Profile, prefix: string): [name: string, text: string][] =>
  Object.entries(profile).flatMap(([name, value]): [string, string][] =>
    typeof value === 'object'
      ? settingsBelow(value, `${prefix}.${name}`)
      : [[`${prefix}.${name}`, String(value)]],
  );

/** A configuration in which a profile stands as it is given. */
export const withProfile = (config: ConfigFile, name: string, profile: Profile): ConfigFile => ({
  ...config,
  profiles: { ...config.profiles, [name]: profile },
});

/** A profile with one setting changed; without a text it is taken out. Throws GwError `usage`. */
export function withSetting(
  profile: Profile,
  name: string,
  text: string | undefined,
  { cwd, insecureHttp = false }: { readonly cwd: string; readonly insecureHttp?: boolean | undefined },
): Profile {
  const setting = settingOf(name);
  if (setting === undefined)
    throw usage(`there is no setting ${JSON.stringify(name)}`, `choose one of ${settingNames.join(', ')}`);
  if (text === undefined) return withValue(profile, name.split('.'), undefined);
  setting.parse(text, name, { insecureHttp });
  return withValue(profile, name.split('.'), setting.stored?.(text, cwd) ?? text);
}

function withValue(
  profile: Profile,
  [first = '', ...rest]: readonly string[],
  value: string | number | undefined,
): Profile {
  const { [first]: before, ...others } = profile;
  if (rest.length === 0) return value === undefined ? others : { ...others, [first]: value };
  const below = withValue(typeof before === 'object' ? before : {}, rest, value);
  return Object.keys(below).length === 0 ? others : { ...others, [first]: below };
}

/** Checks what the file holds. Texts stay as they are: their meaning is checked where they are used. */
function checkConfig(value: unknown, file: string): ConfigFile {
  const fault = faultIn(value);
  if (fault === undefined) return value as ConfigFile;
  if (fault.newer !== undefined) {
    throw usage(
      `the configuration file ${file} was written by a newer gw (format ${fault.newer}, this gw reads format ${CONFIG_VERSION})`,
      'upgrade gw, or set GW_CONFIG_DIR to another directory',
    );
  }
  throw usage(
    `the configuration file ${file} is not valid at ${fault.at}: ${fault.why}`,
    'correct that entry or move the file away; gw never clears it by itself',
  );
}

interface Fault {
  readonly at: string;
  readonly why: string;
  readonly newer?: number;
}

function faultIn(value: unknown): Fault | undefined {
  const at = 'the top level';
  if (!isObject(value)) return { at, why: 'it is no object' };
  const { version, current, profiles, ...unknown } = value;
  if (typeof version === 'number' && version > CONFIG_VERSION)
    return { at: 'version', why: '', newer: version };
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
 * Reads a JSON file of the configuration directory; undefined where it is missing. Throws GwError, naming the path, where it
 * is not readable JSON, or where others own the file or the directory or may write to them.
 */
export function readStored(
  file: string,
  { platform }: Pick<DirHost, 'platform'>,
  trust: Pick<Trusted, 'what' | 'kind' | 'secret'>,
): unknown {
  const { what, kind } = trust;
  let text: string;
  let fd: number | undefined;
  try {
    fd = fs.openSync(file, 'r');
    const dir = path.dirname(file);
    refuseUntrusted(fs.statSync(dir), { kind, file: dir, what: 'the configuration directory', platform });
    // The open file is looked at, not its name.
    refuseUntrusted(fs.fstatSync(fd), { ...trust, file, platform });
    text = fs.readFileSync(fd, 'utf8');
  } catch (error) {
    if (errorCode(error) === 'ENOENT') return undefined;
    if (!isDiskFault(error)) throw error;
    const { reason, remedy } = diskFault(error);
    throw new GwError(kind, `${what} ${file} cannot be read: ${reason}`, { hint: remedy });
  } finally {
    if (fd !== undefined) fs.closeSync(fd);
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

/**
 * Runs `change` while no other process may write to the configuration, so that none undoes another's change.
 * Throws GwError `usage` where the lock cannot be had within 10 s or the directory not be written.
 */
export async function withWriterLock<T>(
  host: DirHost & { readonly clock: Pick<Clock, 'now' | 'steady' | 'sleep'> },
  change: () => Promise<T>,
): Promise<T> {
  const dir = configDir(host);
  let lock: LockFile | undefined;
  try {
    ensureDirectory(dir);
    refuseUntrusted(fs.statSync(dir), {
      kind: 'usage',
      file: dir,
      what: 'the configuration directory',
      platform: host.platform,
    });
    lock = await waitForLock(path.join(dir, 'write.lock'), host.clock);
    return await change();
  } catch (error) {
    if (!isDiskFault(error)) throw error;
    const { reason, remedy } = diskFault(error);
    throw usage(
      `the configuration in ${dir} could not be written: ${reason}`,
      `${remedy}, or set GW_CONFIG_DIR`,
    );
  } finally {
    lock?.release();
  }
}

/**
 * Replaces a JSON file (0600) as a whole and durably, by `conf`; call it within the writer lock. A full disk may take a
 * part of a file without an error, so the old one keeps a second name until the new one has been read back. A file that
 * is linked into place stays a link. Throws the system's error, or GwError `usage` for a full disk.
 */
export async function store(file: string, value: ConfigFile | Record<string, unknown>): Promise<void> {
  const target = fs.existsSync(file) ? fs.realpathSync(file) : file;
  const dir = path.dirname(target);
  const before = path.join(dir, `.${path.basename(target)}.before`);
  const text = `${JSON.stringify(value, null, 2)}\n`;
  fs.rmSync(before, { force: true });
  if (fs.existsSync(target)) keepAs(target, before);
  try {
    const { default: Conf } = await import('conf');
    const conf = new Conf<Record<string, unknown>>({
      cwd: dir,
      configName: path.basename(target, path.extname(target)),
      fileExtension: path.extname(target).slice(1),
      configFileMode: 0o600,
      accessPropertiesByDotNotation: false,
      serialize: () => text,
    });
    conf.store = { ...value };
    if (fs.readFileSync(target, 'utf8') !== text) {
      if (fs.existsSync(before)) fs.renameSync(before, target);
      else fs.rmSync(target, { force: true });
      throw usage(
        `${file} could not be written: the disk is full`,
        'free some space; the old file is unchanged',
      );
    }
    syncDirectory(dir);
  } finally {
    fs.rmSync(before, { force: true });
  }
}

function keepAs(file: string, name: string): void {
  try {
    fs.linkSync(file, name);
  } catch {
    // Some file systems have no second names.
    fs.copyFileSync(file, name);
  }
}
