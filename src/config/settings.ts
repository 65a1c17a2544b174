import { GwError, usage } from '../errors.ts';
import type { AccountType } from '../gateway/limits.ts';
import type { Host } from '../host.ts';
import { once } from '../once.ts';
import { originOf, parseBaseUrl } from './base-url.ts';
import { checkKey } from './check-key.ts';
import { type ConfigFile, configFilePath, type Profile, profileOf, readConfig } from './config-file.ts';
import { DEFAULT_RETRIES, DEFAULT_TIMEOUT } from './defaults.ts';
import type { DirHost } from './dirs.ts';
import { parseDuration } from './duration.ts';
import { type EnvironmentVariable, readSwitch, readVariable } from './environment.ts';
import { readKeyFile } from './key-file.ts';
import { readKey } from './keys.ts';
import { defaultProfile, parseProfileName, sandboxProfile } from './profile-name.ts';
import { parseRetries } from './retries.ts';

// Flag over environment over profile over default. Nothing here reads the working directory, and the key is not read
// before it is asked for.

export type Source = 'flag' | 'environment' | 'profile' | 'default';

/** A value and where it comes from. */
export interface Sourced<T> {
  readonly value: T;
  readonly source: Source;
}

/** The global flags that settings depend on, as typed. */
export interface SettingsFlags {
  readonly profile?: string | undefined;
  readonly baseUrl?: string | undefined;
  readonly apiKeyFile?: string | undefined;
  readonly insecureHttp?: boolean | undefined;
  readonly sandbox?: boolean | undefined;
  readonly timeout?: string | undefined;
  readonly retries?: string | number | undefined;
  readonly verbose?: boolean | undefined;
  /** `gw login` makes the profile it names. */
  readonly profileMayBeNew?: boolean | undefined;
  /**
   * Only what is stored under the profile counts: the address and key of flags and environment belong to the gateway
   * in force, never to another one.
   */
  readonly storedOnly?: boolean | undefined;
}

export const modelKinds = ['chat', 'image', 'alpha', 'gamma'] as const;
export type ModelKind = (typeof modelKinds)[number];

/** The models of a profile that names none (the contract, section 3, "Small print"). */
export const defaultModels: Readonly<Record<ModelKind, string>> = {
  chat: 'geo-3.6-flash',
  image: 'img-2',
  alpha: 'alpha-video-2-5-260628',
  gamma: 'gamma-H3',
};

/** The settings in force for one run. */
export interface Settings {
  readonly profile: Sourced<string>;
  /** The embedded gateway is in force: no address of its own, and no key of the user's ever goes there. */
  readonly sandbox: boolean;
  /** Normalised, without a trailing slash; undefined where no gateway is configured, and for the sandbox. */
  readonly baseUrl: Sourced<string | undefined>;
  readonly account: Sourced<AccountType>;
  readonly providerVersion: Sourced<string | undefined>;
  readonly out: Sourced<string | undefined>;
  /** Longest silence of one request; a command with a default of its own looks at the source. */
  readonly timeoutMs: Sourced<number>;
  readonly retries: Sourced<number>;
  readonly models: Readonly<Record<ModelKind, Sourced<string>>>;
  readonly verbose: Sourced<boolean>;
  /** Where `key()` would look first; undefined where no key is to be found. Never throws and never reads stdin. */
  keySource(): Source | undefined;
  /** The gateway's address. Throws GwError `auth` where none is configured. */
  gatewayUrl(): string;
  /** The key for that gateway, read once. Throws GwError `auth`. */
  key(): Promise<string>;
}

/** The key of this run's embedded gateway: new in every run, so that no other program can use it. */
export const sandboxKey = once(() => crypto.randomUUID());

/** The date that native messages carry to the sandbox, which takes any. */
const sandboxProviderVersion = '2023-06-01';

/** Resolves what was typed against the environment and the stored profile. Throws GwError `usage` for an unusable value. */
export function resolveSettings(input: { readonly flags: SettingsFlags; readonly host: Host }): Settings {
  const { flags, host } = input;
  const { env } = host;
  const profile = chooseProfile(flags, host);
  const sandbox = profile.value === sandboxProfile;
  if (sandbox && flags.baseUrl !== undefined) {
    throw usage(
      '--base-url does not go with the sandbox, whose gateway is built in',
      'Leave one of them out.',
    );
  }
  const stored = sandbox ? {} : storedProfile(profile, host, flags.profileMayBeNew ?? false);
  const inProfile = `of profile ${profile.value} in ${fileName(host)}`;
  const pick = <T>(
    parse: (text: string, what: string) => T,
    fallback: T,
    from: {
      flag?: [string, string | undefined];
      env?: EnvironmentVariable;
      field: string;
      stored: string | undefined;
    },
  ): Sourced<T> => {
    const fromEnv = from.env && readVariable(env, from.env);
    if (from.flag?.[1] !== undefined) return { value: parse(from.flag[1], from.flag[0]), source: 'flag' };
    if (from.env && fromEnv !== undefined) return { value: parse(fromEnv, from.env), source: 'environment' };
    if (from.stored !== undefined)
      return { value: parse(from.stored, `${from.field} ${inProfile}`), source: 'profile' };
    return { value: fallback, source: 'default' };
  };
  const asIs = (text: string) => text;
  const model = (kind: ModelKind) =>
    pick(asIs, defaultModels[kind], { field: `models.${kind}`, stored: stored.models?.[kind] });
  const baseUrl: Sourced<string | undefined> = sandbox
    ? { value: undefined, source: 'default' }
    : pick<string | undefined>(
        (text, what) => parseBaseUrl(text, what, { insecureHttp: flags.insecureHttp ?? false }),
        undefined,
        {
          flag: ['--base-url', flags.baseUrl],
          ...(flags.storedOnly ? {} : { env: 'GW_BASE_URL' as const }),
          field: 'base_url',
          stored: stored.base_url,
        },
      );
  const gatewayUrl = () => baseUrl.value ?? noGateway(sandbox);

  return {
    profile,
    sandbox,
    baseUrl,
    account: { value: stored.account ?? 'personal', source: stored.account ? 'profile' : 'default' },
    providerVersion: pick<string | undefined>(asIs, sandbox ? sandboxProviderVersion : undefined, {
      field: 'provider_version',
      stored: stored.provider_version,
    }),
    out: pick<string | undefined>(asIs, undefined, { field: 'out', stored: stored.out }),
    timeoutMs: pick(parseDuration, parseDuration(DEFAULT_TIMEOUT, '--timeout'), {
      flag: ['--timeout', flags.timeout],
      env: 'GW_TIMEOUT',
      field: 'timeout',
      stored: stored.timeout,
    }),
    retries: pick(parseRetries, DEFAULT_RETRIES, {
      flag: ['--retries', flags.retries?.toString()],
      env: 'GW_RETRIES',
      field: 'retries',
      stored: stored.retries?.toString(),
    }),
    models: { chat: model('chat'), image: model('image'), alpha: model('alpha'), gamma: model('gamma') },
    verbose: chooseVerbose(flags, host),
    keySource: () => keySource({ flags, host, profile: profile.value, sandbox, baseUrl: baseUrl.value }),
    gatewayUrl,
    key: once(async () =>
      sandbox ? sandboxKey() : readAnyKey({ flags, host, profile: profile.value, baseUrl: gatewayUrl() }),
    ),
  };
}

function chooseProfile(flags: SettingsFlags, host: Host): Sourced<string> {
  const fromFlag = flags.profile === undefined ? undefined : parseProfileName(flags.profile, '--profile');
  if (flags.sandbox) {
    if (fromFlag === undefined || fromFlag === sandboxProfile)
      return { value: sandboxProfile, source: 'flag' };
    throw usage(`--sandbox and --profile ${fromFlag} name two gateways`, 'Leave one of them out.');
  }
  if (fromFlag !== undefined) return { value: fromFlag, source: 'flag' };
  const fromEnv = readVariable(host.env, 'GW_PROFILE');
  if (fromEnv !== undefined) return { value: parseProfileName(fromEnv, 'GW_PROFILE'), source: 'environment' };
  const { current } = readConfigIfThere(host);
  if (current !== undefined) return { value: current, source: 'profile' };
  return { value: defaultProfile, source: 'default' };
}

/** A profile that was asked for must be there; the default one need not. */
function storedProfile(profile: Sourced<string>, host: Host, mayBeNew: boolean): Profile {
  const found = profileOf(readConfigIfThere(host), profile.value);
  if (found !== undefined) return found;
  if (mayBeNew || profile.source === 'default' || profile.value === defaultProfile) return {};
  throw usage(
    `there is no profile ${profile.value} in ${fileName(host)}`,
    `See gw profile list, or make it: gw login --profile ${profile.value}`,
  );
}

/** Without a home directory there is no configuration; what the flags and the environment say is enough then. */
function readConfigIfThere(host: Host): ConfigFile {
  return hasConfigDir(host) ? readConfig(host) : { version: 1, profiles: {} };
}

function hasConfigDir(host: DirHost): boolean {
  try {
    configFilePath(host);
    return true;
  } catch {
    return false;
  }
}

function fileName(host: DirHost): string {
  return hasConfigDir(host) ? configFilePath(host) : 'the configuration';
}

function chooseVerbose(flags: SettingsFlags, host: Host): Sourced<boolean> {
  if (flags.verbose !== undefined) return { value: flags.verbose, source: 'flag' };
  const fromEnv = readSwitch(host.env, 'GW_VERBOSE');
  return fromEnv === undefined
    ? { value: false, source: 'default' }
    : { value: fromEnv, source: 'environment' };
}

interface KeyPlaces {
  readonly flags: SettingsFlags;
  readonly host: Host;
  readonly profile: string;
}

async function readAnyKey({
  flags,
  host,
  profile,
  baseUrl,
}: KeyPlaces & { baseUrl: string }): Promise<string> {
  if (flags.apiKeyFile !== undefined) return readKeyFile(flags.apiKeyFile, host);
  const fromEnv = flags.storedOnly ? undefined : readVariable(host.env, 'GW_API_KEY');
  if (fromEnv !== undefined) return checkKey(fromEnv, 'GW_API_KEY');
  const stored = hasConfigDir(host) ? readKey(host, profile, originOf(baseUrl)) : undefined;
  if (stored !== undefined) return stored;
  const origin = originOf(baseUrl);
  if (!flags.storedOnly) {
    throw new GwError('auth', `there is no key for ${origin}`, {
      hint: 'Set GW_API_KEY, pass --api-key-file FILE, or store one: gw login',
    });
  }
  throw new GwError('auth', `there is no stored key of profile ${profile} for ${origin}`, {
    hint: `Store it with gw login --profile ${profile}, or give it in GW_API_KEY together with --profile ${profile}`,
  });
}

function keySource(
  places: KeyPlaces & { sandbox: boolean; baseUrl: string | undefined },
): Source | undefined {
  const { flags, host, profile, sandbox, baseUrl } = places;
  if (sandbox) return 'default';
  if (flags.apiKeyFile !== undefined) return 'flag';
  if (!flags.storedOnly && readVariable(host.env, 'GW_API_KEY') !== undefined) return 'environment';
  try {
    const stored = baseUrl !== undefined && readKey(host, profile, originOf(baseUrl)) !== undefined;
    return stored ? 'profile' : undefined;
  } catch {
    return undefined;
  }
}

function noGateway(sandbox: boolean): never {
  if (sandbox) throw new Error('the sandbox has no address before it is started');
  throw new GwError('auth', 'no gateway is configured', {
    hint: 'Pass --base-url URL, set GW_BASE_URL, store one with gw login, or try --sandbox, which needs no gateway and no key.',
  });
}
