import { asTyped, type SettingName, settingHelp, settingsTable } from '../config/table.ts';
import { usage } from '../errors.ts';

// A flag is data: parser, help, completion and messages read it from here.

/**
 * What shell completion offers for a value, beside the choices. A placeholder FILE, PATH or REF says `file` by itself.
 * `named-file`: a file after `ID=`; `task:`: tasks of a family, unfinished first;
 * `output:`: those that are finished first.
 */
export type Completes =
  | 'file'
  | 'named-file'
  | 'profile'
  | 'session'
  | 'preset'
  | 'setting'
  | 'command'
  | 'model'
  | `model:${string}`
  | 'task'
  | 'output'
  | `task:${string}`
  | `output:${string}`;

/** What a flag is about: help shows them in this order. */
export const flagGroups = ['what', 'how', 'where to', 'waiting'] as const;
export type FlagGroup = (typeof flagGroups)[number];

/**
 * Records of strangers: a preset of the working directory, a row of a manifest, a sidecar. What is typed and what the user's
 * own configuration says may say every flag.
 */
export type Source = 'preset' | 'row' | 'sidecar';
export const everywhere: readonly Source[] = ['preset', 'row', 'sidecar'];

/** Whether a flag may stand in such a record: where nobody has allowed it, it may not. */
export const mayStandIn = ({ from }: Pick<Flag, 'from'>, source: Source): boolean =>
  from?.includes(source) === true;

/** Flags that may also stand in these records, but for those that say it of themselves. */
export const alsoFrom = <const F extends FlagSet>(from: readonly Source[], flags: F): F =>
  Object.fromEntries(Object.entries<Flag>(flags).map(([key, flag]) => [key, { from, ...flag }])) as F;

/** One flag of a command. `T` is the type of its value once parsed. */
export interface Flag<T = unknown> {
  /** One letter, for the few short flags of the contract. */
  readonly short?: string | undefined;
  /** Placeholder of the value in help; absent for a boolean. */
  readonly value?: string | undefined;
  /** May be given without its value, which is the empty text then; written apart from it, it stands last. */
  readonly optional?: boolean | undefined;
  /** May be given several times with different values. */
  readonly list?: boolean | undefined;
  /** The records of strangers that it may stand in; none where absent (promises, section 5). */
  readonly from?: readonly Source[] | undefined;
  /** The field of a body that only this flag may set: no record says it in `set` or `body` either. */
  readonly field?: readonly string[] | undefined;
  /** `--no-NAME` exists too. */
  readonly negatable?: boolean | undefined;
  /** Only `--no-NAME` exists; the value is `false` when given. */
  readonly negativeOnly?: boolean | undefined;
  readonly summary: string;
  /** Left out of help: a note says what stands there. */
  readonly hidden?: boolean | undefined;
  /** Under which heading help shows it; `how` when absent. */
  readonly group?: FlagGroup | undefined;
  /** The documented values, for help and completion; the schema checks them. */
  readonly choices?: readonly string[] | undefined;
  /** Values that completion offers, where others are taken too. */
  readonly offers?: readonly string[] | undefined;
  /** Values that are known only where gw runs, for completion. */
  readonly completes?: Completes | undefined;
  /** What was typed -> the value. Throws GwError `usage` that names the flag. */
  readonly parse: (raw: string, flag: string) => T;
}

export type FlagSet = Readonly<Record<string, Flag>>;

/** The values of a flag set: only what was typed, under the flags' camelCase names. */
export type FlagValues<F extends FlagSet> = {
  readonly [K in keyof F]?: F[K] extends Flag<infer T> ? T : never;
};

/** A flag with its value, for a sentence: an empty one is shown as such. */
export const withValue = (flag: string, raw: string): string => `${flag} ${raw === '' ? '""' : raw}`;

type Extra = Partial<Pick<Flag, 'short' | 'choices' | 'offers' | 'completes' | 'group' | 'from'>>;

export const text = (value: string, summary: string, extra?: Extra) => parsed(value, summary, String, extra);
/** A text that is not empty. */
export const filled = (value: string, summary: string, extra?: Extra) =>
  parsed(value, summary, asTyped, extra);

export const list = (value: string, summary: string, extra: Extra = {}): Flag<readonly string[]> => ({
  ...parsed(value, summary, (raw) => [raw], extra),
  list: true,
});

export const parsed = <T>(
  value: string,
  summary: string,
  parse: Flag<T>['parse'],
  extra: Extra = {},
): Flag<T> => ({ value, summary, parse, ...extra });

/** A flag for one of a set of words, spelled as it is there. */
export const oneOf = <T extends string>(
  choices: readonly T[],
  summary: string,
  extra: Extra & { readonly value?: string } = {},
): Flag<T> => ({
  value: choices.join('|'),
  summary,
  choices,
  parse(raw, flag) {
    const found = choices.find((choice) => choice === raw);
    if (found !== undefined) return found;
    throw usage(`${withValue(flag, raw)}: one of ${choices.join(', ')}`);
  },
  ...extra,
});

/** A flag for a whole number of at least `min`. */
export const whole = (
  value: string,
  summary: string,
  { min = 0, hint = 'write it in digits, at most nine' }: { min?: number; hint?: string | undefined } = {},
): Flag<number> =>
  parsed(value, summary, (raw, flag) => {
    if (/^\d{1,9}$/.test(raw) && Number(raw) >= min) return Number(raw);
    throw usage(`${withValue(flag, raw)}: not a whole number${min > 0 ? ` from ${min} on` : ''}`, hint);
  });

export function portOf(raw: string, flag: string): number {
  const port = /^\d{1,5}$/.test(raw) ? Number(raw) : Number.NaN;
  if (!(port <= 65_535)) throw usage(`${withValue(flag, raw)}: not a port`, 'give 0 to 65535');
  return port;
}

export const port = (summary: string): Flag<number> => parsed('PORT', summary, portOf);

const switchFlag =
  (how: Pick<Flag, 'negatable' | 'negativeOnly'>) =>
  (summary: string, extra: Extra = {}): Flag<boolean> => ({ summary, ...how, parse: () => true, ...extra });

export const on = switchFlag({});
export const onOff = switchFlag({ negatable: true });
export const off = switchFlag({ negativeOnly: true });

/** `firstFrame` -> `--first-frame`. */
export const flagName = (key: string): string =>
  `--${key.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`;

// The options that every command takes (the contract, section 2).

/** A flag that lays its value over a setting. */
function ofSetting(name: SettingName): Flag<string> {
  return filled(settingsTable[name].value, settingHelp(name));
}

export const globalFlags = {
  profile: filled('NAME', 'which stored gateway and key to use [GW_PROFILE]', { completes: 'profile' }),
  baseUrl: ofSetting('base_url'),
  apiKeyFile: filled('FILE', 'read the key from this file, - is stdin [GW_API_KEY holds the key itself]'),
  insecureHttp: on('allow an http:// gateway that is not on this machine'),
  cacert: ofSetting('cacert'),
  clientCert: filled('FILE', "a client's certificate (PEM), for this gateway only; needs --client-key"),
  clientKey: filled('FILE', "the client's private key (PEM), readable by this user only"),
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
  preset: filled(
    'NAME',
    'take flags from presets/NAME.yaml or .json of the configuration, or of ./.gw; typed ones win',
    { completes: 'preset' },
  ),
  notify: on('when it is done, ring and show a notice on the desktop (on a terminal)'),
  set: list('PATH=VALUE', 'set one field of the request body'),
  body: filled('FILE', 'start from this JSON body, - is stdin; flags and --set are laid over it'),
} as const;

export type GlobalFlags = FlagValues<typeof globalFlags>;
