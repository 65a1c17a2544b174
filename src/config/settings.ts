import { GwError, usage } from '../errors.ts';
import { can, type Host, once } from '../host.ts';
import { keyOfEnvironment } from './api-key.ts';
import { originOf } from './base-url.ts';
import { childEnvironment } from './child-environment.ts';
import {
  type ConfigFile,
  configFilePath,
  type Profile,
  profileOf,
  readConfig,
  settingsBelow,
  storedSetting,
} from './config-file.ts';
import type { DirHost } from './dirs.ts';
import { type Environment, type EnvironmentVariable, readVariable } from './environment.ts';
import { keyOrigin, readKey, readKeyFile, runKeyCommand } from './keys.ts';
import { defaultProfile, parseProfileName, sandboxProfile } from './profile-name.ts';
import {
  DEFAULTS,
  type Setting,
  type SettingName,
  type SettingValue,
  settingNames,
  settingsTable,
} from './table.ts';

// Precedence: flag, environment, profile, default. Nothing here reads the working directory, and the API key is read only
// when it is needed. A key and an address belong together: a named profile with its own key provides both.

export type Source = 'flag' | 'environment' | 'profile' | 'default';

/** A value and its source. */
export interface Sourced<T> {
  readonly value: T;
  readonly source: Source;
}

export interface SettingsFlags {
  readonly profile?: string | undefined;
  readonly baseUrl?: string | undefined;
  readonly apiKeyFile?: string | undefined;
  readonly insecureHttp?: boolean | undefined;
  readonly sandbox?: boolean | undefined;
  readonly timeout?: string | undefined;
  readonly retries?: string | number | undefined;
  readonly cacert?: string | undefined;
  readonly verbose?: boolean | undefined;
  /** Set by `gw login`, which creates the profile it names. */
  readonly profileMayBeNew?: boolean | undefined;
  /** Ignores the address and API key of flags and environment, which belong to the current gateway only. */
  readonly storedOnly?: boolean | undefined;
}

interface Choices {
  readonly flags: SettingsFlags;
  readonly host: Host;
  /** Whether this run prints verbose lines, as its output decided. */
  readonly isVerbose?: boolean;
}

/** The settings of one run. */
export type Settings = ReturnType<typeof resolveSettings>;

/** One line of `gw config list`; the API key is never among the values. */
export interface SettingRow {
  readonly name: string;
  readonly value: string | number | boolean | undefined;
  readonly source: string;
}

/** The API key of this run's embedded gateway: it is new in every run, so that no other program can use it. */
export const sandboxKey = once(() => crypto.randomUUID());

/** A setting without a value. */
const unset = { value: undefined, source: 'default' } as const;

/** Resolves flags against the environment and the stored profile. Throws GwError `usage` for an unusable value. */
export function resolveSettings({ flags, host, isVerbose = false }: Choices) {
  const { env } = host;
  const fromEnv = readVariable(env, 'GW_VERBOSE') === undefined ? 'default' : 'environment';
  const profile = chooseProfile(flags, host);
  const sandbox = profile.value === sandboxProfile;
  if (sandbox && flags.baseUrl !== undefined) {
    throw usage(
      '--base-url does not go with the sandbox, whose gateway is built in',
      'leave one of them out',
    );
  }
  const stored = sandbox ? {} : storedProfile(profile, host, flags.profileMayBeNew ?? false);
  const isPassedOver = isProfileOverEnvironment(profile, stored, flags, host);
  const ofKey = isPassedOver ? { ...flags, storedOnly: true } : flags;
  const { pick, chosen, texts } = picking(ofKey, host, profile, stored);
  const baseUrl: Sourced<string | undefined> = sandbox ? unset : pick('base_url');
  const gatewayUrl = () => baseUrl.value ?? noGateway(sandbox);
  const children = once(() => childEnvironment(env, pick('children_env').value));
  const places: KeyPlaces = { children, flags: ofKey, host, profile: profile.value, stored };
  const settings = {
    /** The profile's defaults of flags, by the words of their command. */
    defaults: typeof stored[DEFAULTS] === 'object' ? stored[DEFAULTS] : undefined,
    profile,
    /** True if the sandbox is used: the user's own address and API key are then ignored. */
    sandbox,
    /** Without a trailing slash; undefined if no gateway is configured, and for the sandbox. */
    baseUrl,
    account: chosen('account'),
    providerVersion: chosen('provider_version'),
    out: pick('out'),
    sidecar: chosen('sidecar'),
    keepTalks: chosen('keep_talks'),
    /** Poll interval; if undefined, the gateway's documented interval. */
    intervalMs: pick('interval'),
    /** Longest silence of one request; a command with its own default checks the source. */
    timeoutMs: chosen('timeout'),
    retries: chosen('retries'),
    maxOutputBytes: chosen('max_output'),
    models: {
      chat: chosen('models.chat'),
      image: chosen('models.image'),
      alpha: chosen('models.alpha'),
      gamma: chosen('models.gamma'),
    },
    /** The profile's limits; none for the sandbox, which costs nothing. */
    budget: { jobs: pick('budget.jobs'), amount: pick('budget.amount') },
    prices: pick('prices'),
    cacert: pick('cacert'),
    /** The user's command that uploads a local file to where the gateway can download it. */
    uploadCommand: pick('upload_command'),
    /** The user's command for each saved file. */
    afterSave: pick('after_save'),
    verbose: { value: isVerbose, source: flags.verbose === undefined ? fromEnv : 'flag' } as const,
    /** One sentence for the user about the choice of gateway and API key. */
    note: isPassedOver ? passedOver(profile.value, env) : undefined,
    /** The environment of programs that gw starts. */
    childEnvironment: children,
    /** The gateway's address. Throws GwError `auth` if none is configured. */
    gatewayUrl,
    ...keyOf(places, sandbox, baseUrl.value, gatewayUrl),
  };
  pick('key_command');
  pick('children_env');
  return {
    ...settings,
    /** All settings under the names that `gw config set` uses. */
    get rows(): readonly SettingRow[] {
      return rowsOf(settings, texts);
    },
  };
}

/** The API key of the current gateway, and its source without reading it. */
function keyOf(places: KeyPlaces, sandbox: boolean, baseUrl: string | undefined, gatewayUrl: () => string) {
  const { apiKeyFile } = places.flags;
  const source = () => (sandbox ? 'default' : keySource(places, baseUrl));
  const key = once(async () => (sandbox ? sandboxKey() : readAnyKey(places, gatewayUrl())));
  return {
    /** The API key, read once. Throws GwError `auth`. */
    key,
    /** Runs the profile's key command again; absent if the key has another source. */
    newKey: source() === 'command' ? () => readAnyKey(places, gatewayUrl()) : undefined,
    /** The source that `key()` would use; undefined if there is none. It never throws and never reads stdin. */
    keySource: (): Source | undefined => {
      const from = source();
      return from === 'command' ? 'profile' : from;
    },
    /** The key, if no stdin and no command is needed to read it; otherwise undefined. Never throws. */
    keyAtHand: async () => {
      const from = source();
      const isAsked = from === 'flag' && apiKeyFile === '-';
      if (sandbox || from === undefined || isAsked || from === 'command') return undefined;
      return key().catch(() => undefined);
    },
  };
}

/** Finds settings in flags, environment, stored profile and defaults, in this order. */
function picking(flags: SettingsFlags, host: Host, profile: Sourced<string>, stored: Profile) {
  const { baseUrl: base_url, timeout, retries, cacert, insecureHttp = false } = flags;
  const typed = { base_url, timeout, retries: retries?.toString(), cacert };
  /** The text of each setting that was resolved. */
  const texts = new Map<SettingName, Sourced<string | undefined>>();
  /** A setting's value; undefined if it is not set and has no default. */
  const pick = <N extends SettingName>(name: N): Sourced<SettingValue<N> | undefined> => {
    const setting: Setting = settingsTable[name];
    const parse = (text: string, what: string, source: Source) => {
      const value = setting.parse(text, what, { insecureHttp });
      // Shown in the form that `gw config set` accepts.
      texts.set(name, { value: setting.stored && typeof value === 'string' ? value : text, source });
      return { value: value as SettingValue<N>, source };
    };
    const fromFlag = name in typed ? typed[name as keyof typeof typed] : undefined;
    if (fromFlag !== undefined) return parse(fromFlag, setting.flag ?? name, 'flag');
    const variable = setting.variable as EnvironmentVariable | undefined;
    const isOfGateway = name === 'base_url' && flags.storedOnly === true;
    const fromEnv = variable && !isOfGateway ? readVariable(host.env, variable) : undefined;
    if (fromEnv !== undefined) return parse(fromEnv, variable ?? name, 'environment');
    const inFile = storedSetting(stored, name);
    if (inFile !== undefined)
      return parse(inFile, `${name} of profile ${profile.value} in ${fileName(host)}`, 'profile');
    if (setting.default !== undefined) return parse(setting.default, name, 'default');
    texts.set(name, unset);
    return unset;
  };
  /** As `pick`, for a setting that has a default. */
  const chosen = <N extends SettingName>(name: N): Sourced<SettingValue<N>> => {
    const { value, source } = pick(name);
    if (value === undefined) throw new Error(`the setting ${name} has no default`);
    return { value, source };
  };
  return { pick, chosen, texts };
}

/** The rows of `gw config list`. */
function rowsOf(
  settings: Omit<Settings, 'rows'>,
  texts: ReadonlyMap<SettingName, Sourced<string | undefined>>,
): SettingRow[] {
  const from = settings.keySource();
  const keyRow = { name: 'key', value: from && '***', source: from ?? 'not set' };
  return [
    row('profile', settings.profile),
    ...settingNames.flatMap((name) => {
      const of = row(name, name === 'retries' ? settings.retries : (texts.get(name) ?? unset));
      return name === 'base_url' ? [of, keyRow] : [of];
    }),
    ...settingsBelow(settings.defaults ?? {}, DEFAULTS).map(([name, value]) =>
      row(name, { value, source: 'profile' }),
    ),
    row('verbose', settings.verbose),
  ];
}

const row = (name: string, { value, source: from }: Sourced<SettingRow['value']>): SettingRow => ({
  name,
  value,
  source: value === undefined ? 'not set' : from,
});

/**
 * True if the profile named by --profile or GW_PROFILE has its own API key, so that its key and address are used even if
 * the environment sets others (the contract, section 2).
 */
function isProfileOverEnvironment(
  profile: Sourced<string>,
  stored: Profile,
  { storedOnly }: SettingsFlags,
  host: Host,
): boolean {
  const isNamed = profile.source === 'flag' || profile.source === 'environment';
  if (!isNamed || storedOnly || profile.value === sandboxProfile) return false;
  const said = readVariable(host.env, 'GW_API_KEY') ?? readVariable(host.env, 'GW_BASE_URL');
  if (said === undefined || storedSetting(stored, 'base_url') === undefined) return false;
  return (
    storedSetting(stored, 'key_command') !== undefined ||
    (hasConfigDir(host) && keyOrigin(host, profile.value) !== undefined)
  );
}

function passedOver(profile: string, env: Host['env']): string {
  const names = (['GW_API_KEY', 'GW_BASE_URL'] as const).filter(
    (name) => readVariable(env, name) !== undefined,
  );
  return `profile ${profile} has a key of its own: its key and address are used, not ${names.join(' and ')}`;
}

/** The name of the current profile, even if its settings are unusable. Throws GwError `usage` if it does not exist. */
export function profileInForce(flags: SettingsFlags, host: Host): string {
  const profile = chooseProfile(flags, host);
  if (profile.value !== sandboxProfile) storedProfile(profile, host, false);
  return profile.value;
}

function chooseProfile(flags: SettingsFlags, host: Host): Sourced<string> {
  const { profile: named, storedOnly } = flags;
  // The ledger names a job's profile; a damaged name simply matches no stored profile.
  const fromFlag = named === undefined || storedOnly ? named : parseProfileName(named, '--profile');
  if (flags.sandbox) {
    if (fromFlag === undefined || fromFlag === sandboxProfile)
      return { value: sandboxProfile, source: 'flag' };
    throw usage(`--sandbox and --profile ${fromFlag} name two gateways`, 'leave one of them out');
  }
  if (fromFlag !== undefined) return { value: fromFlag, source: 'flag' };
  const fromEnv = readVariable(host.env, 'GW_PROFILE');
  if (fromEnv !== undefined) return { value: parseProfileName(fromEnv, 'GW_PROFILE'), source: 'environment' };
  const { current } = readConfigIfThere(host);
  if (current !== undefined) return { value: current, source: 'profile' };
  return { value: defaultProfile, source: 'default' };
}

/** A named profile must exist; the default profile need not. */
function storedProfile(profile: Sourced<string>, host: Host, mayBeNew: boolean): Profile {
  const found = profileOf(readConfigIfThere(host), profile.value);
  if (found !== undefined) return found;
  if (mayBeNew || profile.source === 'default' || profile.value === defaultProfile) return {};
  throw usage(
    `there is no profile ${profile.value} in ${fileName(host)}`,
    `see gw profile list, or make it: gw login --profile ${profile.value}`,
  );
}

/** Without a home directory there is no configuration, and flags and environment must suffice. */
function readConfigIfThere(host: Host): ConfigFile {
  return hasConfigDir(host) ? readConfig(host) : { version: 1, profiles: {} };
}

const hasConfigDir = (host: DirHost): boolean => can(() => configFilePath(host));

function fileName(host: DirHost): string {
  return hasConfigDir(host) ? configFilePath(host) : 'the configuration';
}

interface KeyPlaces {
  readonly children: () => Environment;
  readonly flags: SettingsFlags;
  readonly host: Host;
  readonly profile: string;
  readonly stored: Profile;
}

async function readAnyKey(
  { children, flags, host, profile, stored }: KeyPlaces,
  baseUrl: string,
): Promise<string> {
  const origin = originOf(baseUrl);
  if (flags.apiKeyFile !== undefined) return readKeyFile(flags.apiKeyFile, host);
  const found =
    (flags.storedOnly ? undefined : keyOfEnvironment(host.env, origin)) ??
    (hasConfigDir(host) ? readKey(host, profile, origin) : undefined);
  if (found !== undefined) return found;
  const command = storedSetting(stored, 'key_command');
  if (command !== undefined) {
    const own = storedSetting(stored, 'base_url');
    const ownOrigin = own === undefined ? 'no address' : originOf(own);
    if (ownOrigin === origin)
      return runKeyCommand(command, { ...host, env: children() }, undefined, 'key_command');
    throw new GwError(
      'auth',
      `the key command of profile ${profile} is for ${ownOrigin}, not for ${origin}`,
      {
        hint: `give the key for ${origin} with GW_API_KEY or --api-key-file, or store the address: gw config set base_url ${origin} --profile ${profile}`,
      },
    );
  }
  if (!flags.storedOnly) {
    throw new GwError('auth', `there is no key for ${origin}`, {
      hint: 'set GW_API_KEY, pass --api-key-file FILE, or store one: gw login',
    });
  }
  throw new GwError('auth', `there is no stored key of profile ${profile} for ${origin}`, {
    hint: `store it with gw login --profile ${profile}, or give it in GW_API_KEY together with --profile ${profile}`,
  });
}

function keySource(
  { flags, host, profile, stored }: KeyPlaces,
  baseUrl: string | undefined,
): Source | 'command' | undefined {
  if (flags.apiKeyFile !== undefined) return 'flag';
  if (!flags.storedOnly && readVariable(host.env, 'GW_API_KEY') !== undefined) return 'environment';
  if (baseUrl === undefined) return undefined;
  try {
    if (readKey(host, profile, originOf(baseUrl)) !== undefined) return 'profile';
    const own = storedSetting(stored, 'base_url');
    const hasCommand = storedSetting(stored, 'key_command') !== undefined;
    return hasCommand && own !== undefined && originOf(own) === originOf(baseUrl) ? 'command' : undefined;
  } catch {
    return undefined;
  }
}

function noGateway(sandbox: boolean): never {
  if (sandbox) throw new Error('the sandbox has no address before it is started');
  throw new GwError('auth', 'no gateway is configured', {
    hint: 'pass --base-url URL, set GW_BASE_URL, store one with gw login, or try --sandbox, which needs no gateway and no key',
  });
}
