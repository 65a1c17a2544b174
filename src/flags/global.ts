import { type SettingName, settingHelp, settingsTable } from '../config/table.ts';
import { type Flag, type FlagValues, list, off, on, text } from './flag.ts';

// The options that every command takes (the contract, section 2).

/** A flag that lays its value over a setting. */
function ofSetting(name: SettingName): Flag<string> {
  return text(settingsTable[name].value, settingHelp(name));
}

export const globalFlags = {
  profile: text('NAME', 'which stored gateway and key to use [GW_PROFILE]', { completes: 'profile' }),
  baseUrl: ofSetting('base_url'),
  apiKeyFile: text('FILE', 'read the key from this file, - is stdin [GW_API_KEY holds the key itself]'),
  insecureHttp: on('allow an http:// gateway that is not on this machine'),
  cacert: ofSetting('cacert'),
  clientCert: text('FILE', "a client's certificate (PEM), for this gateway only; needs --client-key"),
  clientKey: text('FILE', "the client's private key (PEM), readable by this user only"),
  sandbox: on('use the embedded gateway: this machine only, no key, no cost'),
  json: on('JSON on stdout'),
  quiet: on('only errors on stderr', { short: 'q' }),
  verbose: on('each request and reply on stderr, keys hidden [GW_VERBOSE=1]', { short: 'v' }),
  progress: off('plain lines instead of bars'),
  color: off('no colour [NO_COLOR]'),
  timeout: ofSetting('timeout'),
  retries: ofSetting('retries'),
  dryRun: on('validate, print the request and send nothing'),
  curl: on('as --dry-run, as a curl command that reads the key from $GW_API_KEY'),
  validate: off('send a request that breaks a documented rule; breaches become warnings'),
  preset: text(
    'NAME',
    'take flags from presets/NAME.yaml or .json of the configuration, or of ./.gw; typed ones win',
  ),
  notify: on('when it is done, ring and show a notice on the desktop (on a terminal)'),
  set: list('PATH=VALUE', 'set one field of the request body'),
  body: text('FILE', 'start from this JSON body, - is stdin; flags and --set are laid over it'),
} as const;

export type GlobalFlags = FlagValues<typeof globalFlags>;
