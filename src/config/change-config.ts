import * as fs from 'node:fs';
import * as path from 'node:path';
import { diskFault, isDiskFault } from '../disk/disk-fault.ts';
import { ensureDirectory, renameFile, syncDirectory } from '../disk/durable-directory.ts';
import { type LockFile, waitForLock } from '../disk/lock-file.ts';
import { refuseUntrusted } from '../disk/trust.ts';
import { usage } from '../errors.ts';
import type { Clock } from '../host.ts';
import { type ConfigFile, checkConfig, configFilePath, type Profile, readConfig } from './config-file.ts';
import { configDir, type DirHost } from './dirs.ts';
import { DEFAULTS, settingNames, settingOf } from './table.ts';

/**
 * Changes the configuration under the writer lock: reads it, passes it to `change` and writes the result. Throws GwError
 * `usage` if it cannot be read or written, or if the result is invalid.
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

export const withProfile = (config: ConfigFile, name: string, profile: Profile): ConfigFile => ({
  ...config,
  profiles: { ...config.profiles, [name]: profile },
});

interface SettingWorld {
  readonly cwd: string;
  readonly insecureHttp?: boolean | undefined;
  /** What to do if there is no such setting. */
  readonly hint?: string;
}

/** Returns a profile with one setting changed; without a text the setting or group is removed. Throws GwError `usage`. */
export function withSetting(
  profile: Profile,
  name: string,
  text: string | undefined,
  { cwd, insecureHttp = false, hint }: SettingWorld,
): Profile {
  const setting = settingOf(name);
  const isGroup = name.split('.')[0] === DEFAULTS || settingNames.some((each) => each.startsWith(`${name}.`));
  if (text === undefined && (setting || isGroup)) return withValue(profile, name.split('.'), undefined);
  if (setting === undefined || text === undefined)
    throw usage(`there is no setting ${JSON.stringify(name)}`, hint);
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

/**
 * Runs `change` while no other process can write the configuration, so that no change is lost. Throws GwError `usage` if
 * the lock is not free within 10 s or the directory cannot be written.
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
      setting: 'GW_CONFIG_DIR',
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
 * Replaces a JSON file (0600) atomically and durably; call it within the writer lock. A full disk may truncate a file
 * without an error, so the old file keeps a second name until the new one has been read back. A linked file stays a link.
 * Throws the system's error, or GwError `usage` for a full disk.
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
      deserialize: () => ({}),
    });
    conf.store = { ...value };
    if (fs.readFileSync(target, 'utf8') !== text) {
      if (fs.existsSync(before)) renameFile(before, target);
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
    // Some file systems lack hard links, and some also permissions, which copyFile would carry over.
    fs.writeFileSync(name, fs.readFileSync(file), { mode: 0o600 });
  }
}
