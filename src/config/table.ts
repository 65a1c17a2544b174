import * as path from 'node:path';
import { type GwError, usage } from '../errors.ts';
import { accountTypes } from '../gateway/limits.ts';
import { parseTarget, placeholderList } from '../placeholders.ts';
import { parseBaseUrl } from './base-url.ts';
import { parseNames } from './child-environment.ts';

// The table of all settings: name, parser, default, flag and variable. `gw config`, precedence, flags, help and
// completion read it.

export interface Setting<T = unknown> {
  /** Placeholder of the value in help. */
  readonly value: string;
  readonly summary: string;
  /** The default in the form that a user types. */
  readonly default?: string;
  /** The flag with the highest precedence, if commands have one. */
  readonly flag?: `--${string}`;
  /** The variable that overrides the profile. */
  readonly variable?: `GW_${string}`;
  readonly choices?: readonly string[];
  /** Parses a text; `what` is the flag, variable or setting. Throws GwError `usage`. */
  readonly parse: (text: string, what: string, options?: ParseOptions) => T;
  /** Converts a checked text to the value in the file, if it differs from the text. */
  readonly stored?: (text: string, cwd: string) => string | number;
}

interface ParseOptions {
  /** True if plain http to other machines is allowed. */
  readonly insecureHttp?: boolean;
}

/** Returns a text unchanged. An empty text is refused: probably a script's variable is unset. Throws GwError `usage`. */
export const asTyped = (text: string, what: string): string => {
  if (text.trim() !== '') return text;
  const instead = what.startsWith('--') ? 'leave it out' : 'take it out with gw config unset';
  throw usage(`${what} is empty`, `give a value, or ${instead}`);
};

const model = <D extends string>(kind: string, chosen: D) => ({
  value: 'MODEL',
  summary: `the model of ${kind} where none is named`,
  default: chosen,
  parse: asTyped,
});

const onOff = {
  value: 'on|off',
  choices: ['on', 'off'],
  parse: (text: string, what: string) =>
    /^(on|off|true|false)$/.test(text)
      ? /^(on|true)$/.test(text)
      : noChoice(text, what, 'a switch', ['on', 'off']),
  stored: (text: string) => (/^(on|true)$/.test(text) ? 'on' : 'off'),
};

/** The periods of a budget, by the local calendar. */
const budgetPeriods = ['hour', 'day', 'month'] as const;

export const settingsTable = {
  base_url: {
    value: 'URL',
    summary: "the gateway's address",
    flag: '--base-url',
    variable: 'GW_BASE_URL',
    parse: parseBaseUrl,
    stored: (text) => parseBaseUrl(text, 'base_url', { insecureHttp: true }),
  },
  account: {
    value: 'TYPE',
    summary: 'account type, for its limits',
    default: 'personal',
    choices: accountTypes,
    parse: (text, what) =>
      accountTypes.find((type) => type === text) ?? noChoice(text, what, 'a kind of account', accountTypes),
  },
  provider_version: {
    value: 'DATE',
    summary: 'date of the native messages format, sent as provider-version',
    // The version that public clients of this format send (the contract, small print).
    default: '2023-06-01',
    variable: 'GW_PROVIDER_VERSION',
    parse: parseProviderVersion,
  },
  out: {
    value: 'PATH',
    summary: `file, directory (ends in /) or pattern with ${placeholderList} (default ./{id}.{ext})`,
    flag: '--out',
    variable: 'GW_OUT',
    parse: (text, what) => parseTarget(asTyped(text, what), what) && text,
  },
  interval: {
    value: 'DURATION',
    summary: 'pace of looks (default: as documented)',
    flag: '--interval',
    variable: 'GW_INTERVAL',
    parse: (text, what) => parseDuration(text, what),
  },
  timeout: {
    value: 'DURATION',
    summary: 'longest silence of one request or download',
    default: '60s',
    flag: '--timeout',
    variable: 'GW_TIMEOUT',
    parse: (text, what) => parseDuration(text, what),
  },
  max_output: {
    value: 'SIZE',
    summary: 'most that is saved of an output whose server does not say how long it is',
    default: '2GB',
    parse: parseSize,
  },
  retries: {
    value: 'N',
    summary: 'retries of a request that is safe to send again; a download has tries of its own',
    default: '4',
    flag: '--retries',
    variable: 'GW_RETRIES',
    parse: parseRetries,
    stored: (text) => parseRetries(text, 'retries'),
  },
  'models.chat': model('gw chat', 'geo-3.6-flash'),
  'models.image': model('gw image', 'img-2'),
  'models.alpha': model('gw video alpha', 'alpha-video-2-5-260628'),
  'models.gamma': model('gw video gamma', 'gamma-H3'),
  sidecar: {
    ...onOff,
    summary: 'write FILE.json beside each output: what made it',
    default: 'off',
    flag: '--sidecar',
  },
  keep_talks: {
    ...onOff,
    summary: 'keep what gw chat says on a terminal for 30 days, for gw chat --continue',
    default: 'on',
  },
  'budget.jobs': {
    value: 'N/PERIOD',
    summary: `most paid jobs of the profile in a calendar ${budgetPeriods.join(', ')}: 100/day`,
    parse: parseJobsBudget,
    stored: (text) => text.replace(/\s/g, ''),
  },
  'budget.amount': {
    value: 'AMOUNT/PERIOD',
    summary: "most money in such a period, by what was billed or the price file: '50 CNY/day'",
    parse: parseAmountBudget,
    stored: (text) => text.trim().replace(/\s*\/\s*/, '/'),
  },
  prices: {
    value: 'FILE',
    summary: 'what models cost, for estimates and limits (gw help prices)',
    parse: asTyped,
    stored: (text, cwd) => path.resolve(cwd, text),
  },
  cacert: {
    value: 'FILE',
    summary: "trust the root certificates of this PEM file too; system is the system's store",
    flag: '--cacert',
    variable: 'GW_CACERT',
    parse: asTyped,
    // A stored path is absolute, so that it does not depend on the working directory.
    stored: (text, cwd) => (text === SYSTEM_STORE ? text : path.resolve(cwd, text)),
  },
  upload_command: {
    value: 'COMMAND',
    summary:
      'run by the shell for a local file that is taken by address only, named in GW_FILE; the first line of its stdout is the https:// address',
    parse: asTyped,
  },
  after_save: {
    value: 'COMMAND',
    summary:
      'run by the shell for each saved file, with GW_FILE, GW_ID, GW_FAMILY and GW_KEY in its environment',
    flag: '--exec',
    parse: asTyped,
  },
  children_env: {
    value: 'NAMES',
    summary: 'further variables that the programs which gw starts find in their environment',
    parse: parseNames,
  },
  key_command: {
    value: 'COMMAND',
    summary:
      "run by the shell when a key is needed; the first line of its stdout is the key of the profile's address",
    parse: asTyped,
  },
} as const satisfies Record<string, Setting>;

export type SettingName = keyof typeof settingsTable;
export type SettingValue<N extends SettingName> = ReturnType<(typeof settingsTable)[N]['parse']>;
export const settingNames = Object.keys(settingsTable) as readonly SettingName[];

/** The prefix of `defaults.COMMAND.FLAG`; the commands define which names exist. */
export const DEFAULTS = 'defaults';
const ofFlag: Setting = {
  value: 'VALUE',
  summary: 'the value of a flag where it is not typed',
  parse: asTyped,
};

export const settingOf = (name: string): Setting | undefined =>
  Object.hasOwn(settingsTable, name)
    ? settingsTable[name as SettingName]
    : /^defaults(\.[a-z0-9-]+){2,}$/.test(name)
      ? ofFlag
      : undefined;

/** A setting's summary with its default and variable, for the help of its flag. */
export function settingHelp(name: SettingName): string {
  const { summary, default: chosen, variable }: Setting = settingsTable[name];
  return `${summary}${chosen ? ` (default ${chosen})` : ''}${variable ? ` [${variable}]` : ''}`;
}

export const SYSTEM_STORE = 'system';

/** For replies that arrive complete, and for models that think first: chat and images. */
export const SLOW_ANSWER_SILENCE_MS = 300_000;
/** Longest wait for a job, in the form that a user types. */
export const DEFAULT_WAIT_TIMEOUT = '2h';
const MAX_RETRIES = 100;

function parseSize(text: string, what: string): number {
  const [, digits, unit = ''] = /^(\d{1,6}(?:\.\d{1,3})?)([MG])B$/.exec(text) ?? [];
  if (Number(digits) > 0) return Number(digits) * (unit === 'G' ? 1e9 : 1e6);
  throw isNo('a size', text, what, 'write it as 500MB or 2GB');
}

function parseRetries(text: string, what: string): number {
  const number = /^\d{1,3}$/.test(text) ? Number(text) : Number.NaN;
  if (number <= MAX_RETRIES) return number;
  const cure = 'give such a number; 0 turns retries off, but not those of a download';
  throw isNo(`a whole number from 0 to ${MAX_RETRIES}`, text, what, cure);
}

/** A maximum per period, such as `100/day`. */
interface JobsBudget {
  readonly most: number;
  readonly period: (typeof budgetPeriods)[number];
}

function parseJobsBudget(text: string, what: string): JobsBudget {
  const [, digits = '', word] = /^\s*(\d{1,9})\s*\/\s*([a-z]+)\s*$/.exec(text) ?? [];
  const period = budgetPeriods.find((each) => each === word);
  if (period !== undefined) return { most: Number(digits), period };
  const cure = `write it as 100/day; periods are ${budgetPeriods.join(', ')}`;
  throw isNo('a number of jobs in a period', text, what, cure);
}

/** An amount of money; without a currency it is in the currency of the price file. */
export interface Amount {
  readonly amount: number;
  readonly currency?: string | undefined;
}

export function parseAmount(text: string, what: string): Amount {
  const [, digits, currency] = /^\s*(\d{1,12}(?:\.\d{1,6})?)\s*([A-Z]{3})?\s*$/.exec(text) ?? [];
  if (digits !== undefined) return { amount: Number(digits), ...(currency && { currency }) };
  throw isNo('an amount of money', text, what, 'write it as 50 or "50 CNY", with at most six decimals');
}

function parseAmountBudget(text: string, what: string): Amount & Pick<JobsBudget, 'period'> {
  const [, sum = '', word] = /^([^/]*)\/\s*([a-z]+)\s*$/.exec(text) ?? [];
  const period = budgetPeriods.find((each) => each === word);
  if (period !== undefined && sum.trim() !== '') return { ...parseAmount(sum, what), period };
  const cure = `write it as "50 CNY/day"; periods are ${budgetPeriods.join(', ')}`;
  throw isNo('an amount in a period', text, what, cure);
}

function parseProviderVersion(text: string, what: string): string {
  // The value goes into a header, so it must contain no line break.
  const [, day = ''] = /^(\d{4}-\d{2}-\d{2})[A-Za-z0-9._-]{0,32}$/.exec(text) ?? [];
  if (new Date(Date.parse(day) || 0).toISOString().startsWith(`${day}T`)) return text;
  throw isNo('a date', text, what, 'write it as YYYY-MM-DD, such as 2023-06-01');
}

function noChoice(text: string, what: string, kind: string, choices: readonly string[]): never {
  throw isNo(kind, text, what, `choose one of ${choices.join(', ')}`);
}

/** The error for a value that is not of its kind; of a long value only the beginning is shown. */
const isNo = (kind: string, text: string, what: string, cure: string): GwError =>
  usage(`${what} ${JSON.stringify(text.slice(0, 80))} is not ${kind}`, cure);

const unitsMs: Readonly<Record<string, number>> = {
  ms: 1,
  s: 1000,
  m: 60_000,
  h: 3_600_000,
  d: 86_400_000,
  w: 604_800_000,
};
/** The system's timers overflow above this, and a longer wait would end at once. */
const longestTimerMs = 2 ** 31 - 1;
const longestSpanMs = 36_500 * 86_400_000;

/**
 * Parses `500ms`, `30s`, `10m`, `2h`, `1d`, `1w` into milliseconds; with `span` also durations too long for a timer.
 * `what` is the flag or variable. Throws GwError `usage` for any other text, zero, or too long a duration.
 */
export function parseDuration(text: string, what: string, options: { readonly span?: boolean } = {}): number {
  const { span = false } = options;
  const match = /^(\d+(?:\.\d+)?)(ms|s|m|h|d|w)$/.exec(text);
  const ms = match ? Math.round(Number(match[1]) * (unitsMs[match[2] ?? ''] ?? Number.NaN)) : Number.NaN;
  const cure = 'write a number with its unit, such as 500ms, 30s, 10m, 2h, 1d or 1w';
  if (Number.isNaN(ms)) throw isNo('a duration', text, what, cure);
  if (ms === 0)
    throw usage(`${what} ${JSON.stringify(text)} is no time at all`, 'give a duration longer than 0');
  if (ms > (span ? longestSpanMs : longestTimerMs))
    throw usage(`${what} ${JSON.stringify(text)} is too long`, `give at most ${span ? '36500d' : '24d'}`);
  return ms;
}
