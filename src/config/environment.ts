import { usage } from '../errors.ts';

/** Every environment variable that gw reads, and what it means; `gw help environment` prints this table. */
export const environmentVariables = {
  GW_PROFILE: 'which stored gateway and key to use (as --profile)',
  GW_BASE_URL: "the gateway's address (as --base-url)",
  GW_API_KEY: 'the key, for whatever gateway is in force; --api-key-file wins over it',
  GW_TIMEOUT: 'longest silence of one request or download, such as 60s (as --timeout)',
  GW_RETRIES: 'retries of a request that is safe to send again (as --retries)',
  GW_VERBOSE: '1 shows each request and reply on stderr (as --verbose)',
  GW_LEDGER_PROMPTS: 'off keeps prompts out of the ledger and of the history of gw chat',
  GW_CONFIG_DIR: 'where profiles and keys are kept, in place of the standard directory',
  GW_STATE_DIR: 'where the ledger and chat sessions are kept, in place of the standard directory',
  GW_CACHE_DIR: 'where what can be made again is kept, in place of the standard directory',
  HTTPS_PROXY: 'proxy for https:// addresses; https_proxy likewise',
  HTTP_PROXY: 'proxy for http:// addresses; http_proxy likewise',
  NO_PROXY: 'hosts that are reached without a proxy; no_proxy likewise',
  NO_COLOR: 'set to anything: no colour (as --no-color)',
  FORCE_COLOR: 'set: colour also where stderr is not a terminal',
  TERM: 'dumb: no colour and no bars',
  CI: 'set: plain lines in place of bars (as --no-progress)',
  XDG_CONFIG_HOME: 'base of the configuration directory; ignored unless absolute',
  XDG_STATE_HOME: 'base of the state directory; ignored unless absolute',
  XDG_CACHE_HOME: 'base of the cache directory; ignored unless absolute',
  XDG_DATA_HOME: 'base of where gw completion --install puts the script for bash; ignored unless absolute',
  BASH_COMPLETION_USER_DIR:
    'where gw completion --install puts the script for bash, in place of the standard directory',
  ZDOTDIR: 'where gw completion --install puts the script for zsh, in .zfunc below it',
  SHELL: 'the shell that gw completion --install is for, when none is named',
  APPDATA: 'base of the configuration directory on Windows',
  LOCALAPPDATA: 'base of the state and cache directories on Windows',
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

/** A variable that is on or off; undefined when it is not set. Throws GwError `usage` for another word. */
export function readSwitch(env: Environment, name: EnvironmentVariable): boolean | undefined {
  const value = readVariable(env, name)?.toLowerCase();
  if (value === undefined) return undefined;
  if (onWords.has(value)) return true;
  if (offWords.has(value)) return false;
  throw usage(
    `${name} is ${JSON.stringify(value)}, which is neither on nor off`,
    `Set ${name} to on or off.`,
  );
}
