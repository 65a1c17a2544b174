import { asTyped, type SettingName, settingHelp, settingsTable } from '../config/table.ts';
import { usage } from '../errors.ts';

// A flag is data: parser, help, completion and messages read it.

/**
 * The values that shell completion offers beside the choices. The placeholders FILE, PATH and REF imply `file`.
 * `named-file` is a file after `ID=`; `task:` offers tasks of a family, unfinished first; `output:` offers them finished
 * first.
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

/** The groups of flags, in the order in which help shows them. */
export const flagGroups = ['what', 'how', 'where to', 'waiting'] as const;
export type FlagGroup = (typeof flagGroups)[number];

/**
 * Kinds of untrusted records: a preset of the working directory, a row of a manifest, a sidecar. Typed words and the
 * user's own configuration may give every flag.
 */
export type Source = 'preset' | 'row' | 'sidecar';
export const everywhere: readonly Source[] = ['preset', 'row', 'sidecar'];

/** True if an untrusted record of this kind may give the flag; by default it may not. */
export const mayStandIn = ({ from }: Pick<Flag, 'from'>, source: Source): boolean =>
  from?.includes(source) === true;

/** Allows flags in these records too, except flags that have their own list. */
export const alsoFrom = <const F extends FlagSet>(from: readonly Source[], flags: F): F =>
  Object.fromEntries(Object.entries<Flag>(flags).map(([key, flag]) => [key, { from, ...flag }])) as F;

/** One flag of a command. `T` is the type of its parsed value. */
export interface Flag<T = unknown> {
  /** One letter; only a few flags of the contract have one. */
  readonly short?: string | undefined;
  /** Placeholder of the value in help; absent for a boolean. */
  readonly value?: string | undefined;
  /** The value may be left out and is then empty; a separate value must come last. */
  readonly optional?: boolean | undefined;
  /** May be given several times with different values. */
  readonly list?: boolean | undefined;
  /** The untrusted records that may give it; none if absent (promises, section 5). */
  readonly from?: readonly Source[] | undefined;
  /** The body field that it sets; a record that may not give the flag may not set the field with `set` or `body` either. */
  readonly field?: readonly string[] | undefined;
  /** `--no-NAME` exists too. */
  readonly negatable?: boolean | undefined;
  /** Only `--no-NAME` exists; its value is `false`. */
  readonly negativeOnly?: boolean | undefined;
  readonly summary: string;
  /** Left out of help, where a note describes it instead. */
  readonly hidden?: boolean | undefined;
  /** The heading in help; `how` if absent. */
  readonly group?: FlagGroup | undefined;
  /** The documented values, for help and completion; the schema checks them. */
  readonly choices?: readonly string[] | undefined;
  /** Values that completion offers although other values are valid too. */
  readonly offers?: readonly string[] | undefined;
  /** For completion: values that are known only on the user's machine. */
  readonly completes?: Completes | undefined;
  /** Parses the typed text. Throws GwError `usage` naming the flag. */
  readonly parse: (raw: string, flag: string) => T;
}

export type FlagSet = Readonly<Record<string, Flag>>;

/** The values of a flag set: only typed flags, under their camelCase names. */
export type FlagValues<F extends FlagSet> = {
  readonly [K in keyof F]?: F[K] extends Flag<infer T> ? T : never;
};

/** A flag with its value, for messages; an empty value is shown as "". */
export const withValue = (flag: string, raw: string): string => `${flag} ${raw === '' ? '""' : raw}`;

type Extra = Partial<Pick<Flag, 'short' | 'choices' | 'offers' | 'completes' | 'group' | 'from'>>;

export const text = (value: string, summary: string, extra?: Extra) => parsed(value, summary, String, extra);
/** A flag for a text that must not be empty. */
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

/** A flag for one of several words, in exact spelling. */
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

/** A flag for a whole number from `min` to `max`. */
export const whole = (
  value: string,
  summary: string,
  { min = 0, max = 999_999_999, hint = 'write it in digits' } = {},
): Flag<number> =>
  parsed(value, summary, (raw, flag) => {
    if (/^\d{1,9}$/.test(raw) && Number(raw) >= min && Number(raw) <= max) return Number(raw);
    throw usage(`${withValue(flag, raw)}: not a whole number from ${min} to ${max}`, hint);
  });

export const port = (summary: string): Flag<number> => whole('PORT', summary, { max: 65_535 });

const switchFlag =
  (how: Pick<Flag, 'negatable' | 'negativeOnly'>) =>
  (summary: string, extra: Extra = {}): Flag<boolean> => ({ summary, ...how, parse: () => true, ...extra });

export const on = switchFlag({});
export const onOff = switchFlag({ negatable: true });
export const off = switchFlag({ negativeOnly: true });

/** `firstFrame` -> `--first-frame`. */
export const flagName = (key: string): string =>
  `--${key.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`;

// The options of every command (the contract, section 2).

/** A flag whose value overrides a setting. */
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
  // A row and gw again give the body itself.
  body: parsed<string | Readonly<Record<string, unknown>>>(
    'FILE',
    'start from this JSON body, - is stdin; flags and --set are laid over it',
    asTyped,
  ),
} as const;

export type GlobalFlags = FlagValues<typeof globalFlags>;
