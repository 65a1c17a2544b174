import { usage } from '../errors.ts';
import { type Setting, type SettingName, settingNames, settingsTable } from './table.ts';

type Table = typeof settingsTable;
type SettingVariable = {
  [N in SettingName]: Table[N] extends { readonly variable: infer V extends string } ? V : never;
}[SettingName];

const ofSettings = Object.fromEntries(
  settingNames.flatMap((name) => {
    const { variable, summary, flag }: Setting = settingsTable[name];
    return variable ? [[variable, flag ? `${summary} (as ${flag})` : summary]] : [];
  }),
) as Record<SettingVariable, string>;

/** Every environment variable that gw reads, with its meaning; `gw help environment` prints this table. */
export const environmentVariables = {
  GW_PROFILE: 'which stored gateway and key to use (as --profile)',
  GW_API_KEY:
    'the key, for whatever gateway is in force; --api-key-file, and a profile that is named and has a key of its own, win over it',
  GW_API_KEY_ORIGIN: 'the only origin (such as https://gateway.example.com) that GW_API_KEY goes to',
  ...ofSettings,
  GW_REDIS_URL:
    'the queue that several machines share, for --redis without a value: redis://…, rediss://…, or file:PATH with the URL in it',
  GW_VERBOSE: '1 shows each request and reply on stderr (as --verbose)',
  GW_LEDGER_PROMPTS: 'off keeps prompts out of the ledger and of the history of gw chat',
  GW_CONFIG_DIR: 'where profiles and keys are kept, in place of the standard directory',
  GW_STATE_DIR: 'where the ledger and chat sessions are kept, in place of the standard directory',
  GW_CACHE_DIR: 'where what can be made again is kept, in place of the standard directory',
  HTTPS_PROXY: 'proxy for https:// addresses; https_proxy likewise; never for this machine itself',
  HTTP_PROXY: 'proxy for http:// addresses; http_proxy likewise; never for this machine itself',
  NO_PROXY: 'hosts that are reached without a proxy; no_proxy likewise',
  NODE_EXTRA_CA_CERTS:
    'a file of further root certificates, for every Node program; --cacert is for gw alone',
  NO_COLOR: 'set to anything: no colour (as --no-color)',
  FORCE_COLOR: 'set: colour also where stderr is not a terminal',
  TERM: 'dumb: no colour and no bars',
  DISPLAY: 'set: gw open finds a desktop (WAYLAND_DISPLAY likewise)',
  WAYLAND_DISPLAY: 'set: gw open finds a desktop',
  CI: 'set: plain lines in place of bars (as --no-progress)',
  XDG_CONFIG_HOME: 'base of the configuration directory; ignored unless absolute',
  XDG_STATE_HOME: 'base of the state directory; ignored unless absolute',
  XDG_CACHE_HOME: 'base of the cache directory; ignored unless absolute',
  XDG_DATA_HOME: 'base of where gw completion --install puts the script for bash; ignored unless absolute',
  BASH_COMPLETION_USER_DIR:
    'where gw completion --install puts the script for bash, in place of the standard directory',
  ZDOTDIR: 'where gw completion --install puts the script for zsh, in .zfunc below it',
  SHELL: 'the shell that gw completion --install is for, when none is named',
  APPDATA: 'base of the configuration directory of an older gw on Windows',
  LOCALAPPDATA: 'base of the configuration, state and cache directories on Windows',
} as const satisfies Record<string, string>;

export type EnvironmentVariable = keyof typeof environmentVariables;
export type Environment = Readonly<Record<string, string | undefined>>;

/** The value of a variable of the table; an empty one counts as not set. */
export function readVariable(env: Environment, name: EnvironmentVariable): string | undefined {
  const value = env[name];
  return value === '' ? undefined : value;
}

const onWords = new Set(['1', 'on', 'true', 'yes']);
const offWords = new Set(['0', 'off', 'false', 'no']);

/** The value of an on/off variable; undefined if it is not set. Throws GwError `usage` for any other word. */
export function readSwitch(env: Environment, name: EnvironmentVariable): boolean | undefined {
  const value = readVariable(env, name)?.toLowerCase();
  if (value === undefined) return undefined;
  if (onWords.has(value)) return true;
  if (offWords.has(value)) return false;
  throw usage(`${name} is ${JSON.stringify(value)}, which is neither on nor off`, `set ${name} to on or off`);
}
