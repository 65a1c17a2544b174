import {
  DEFAULT_WAIT_TIMEOUT,
  parseAmount,
  parseDuration,
  settingHelp,
  settingsTable,
} from '../config/table.ts';
import { usage } from '../errors.ts';
import {
  alsoFrom,
  everywhere,
  type Flag,
  type FlagValues,
  filled,
  off,
  on,
  onOff,
  parsed,
  text,
  whole,
} from './flag.ts';

// Groups of flags for all commands that create, wait for or save a job.

export const promptFlags = {
  prompt: text('TEXT', 'the prompt, sent as it stands; - is stdin', {
    short: 'p',
    group: 'what',
    from: everywhere,
  }),
  promptFile: text('FILE', 'file that holds the prompt; - is stdin', { group: 'what', from: ['row'] }),
} as const;

export const pollFlags = alsoFrom(['preset', 'row'], {
  waitTimeout: parsed(
    'DURATION',
    `longest wait (default ${DEFAULT_WAIT_TIMEOUT}); the job itself goes on`,
    parseDuration,
    { group: 'waiting' },
  ),
  interval: parsed(settingsTable.interval.value, settingHelp('interval'), parseDuration, {
    group: 'waiting',
  }),
});

export const saveFlags = {
  download: off('do not save the output', { group: 'where to', from: ['preset'] }),
  out: text(settingsTable.out.value, settingHelp('out'), {
    short: 'o',
    group: 'where to',
    from: ['preset', 'row'],
  }),
  force: on('overwrite an existing file', { group: 'where to' }),
  sidecar: onOff(settingHelp('sidecar'), { group: 'where to', from: ['preset', 'row'] }),
  events: on('stdout is one JSON object a line, as it happens', { group: 'where to', from: ['preset'] }),
  exec: filled(settingsTable.after_save.value, 'run by the shell for each saved file (setting after_save)', {
    group: 'where to',
  }),
} as const;

export const waitFlags = alsoFrom(['preset'], {
  wait: onOff('poll to the end, then download', { group: 'waiting' }),
  queue: onOff('wait for a free slot (--wait implies it)', { group: 'waiting' }),
});

export const onceFlags = {
  once: parsed('KEY', 'at most one job for this key; run again, it goes on', parseOnce),
  again: on('with --once: a new one where the last ended badly'),
} as const;

export const budgetFlags = {
  maxCost: parsed('AMOUNT', "spend no more: '5 CNY', by the setting prices", parseAmount, {
    from: ['preset'],
  }),
  unpriced: on('under a limit of money, make what has no price too'),
} as const;

/** The maximum number of jobs that one create makes. */
export const MAX_COUNT = 100;

export const countFlags = {
  count: whole('N', `N jobs of the same body, 1-${MAX_COUNT}; --once: KEY/1 … KEY/N`, {
    min: 1,
    max: MAX_COUNT,
  }),
} as const;

const LONGEST_ONCE = 200;

function parseOnce(raw: string, flag: string): string {
  const count = [...raw].length;
  if (count === 0 || count > LONGEST_ONCE)
    throw usage(`${flag}: the key has ${count} characters`, `give any text of 1 to ${LONGEST_ONCE}`);
  if (/\p{Cc}/u.test(raw)) throw usage(`${flag}: the key holds a control character`, 'leave it out');
  return raw;
}

export type BudgetFlags = FlagValues<typeof budgetFlags>;

/** Throws `usage` for flags that conflict; `ownId` is the user's external ID, with its flag or field. */
export function refuseOnce(
  { once, again, count }: { readonly once?: string; readonly again?: unknown; readonly count?: number },
  ownId?: string,
): void {
  if (again && once === undefined)
    throw usage('--again: goes with --once KEY', 'without a key every create makes a new job');
  const other =
    (count ?? 1) > 1
      ? `--count ${count}: every task needs one of its own`
      : once !== undefined && 'the key (of --once or of the row), from which gw derives one';
  if (ownId === undefined || !other) return;
  throw usage(`${ownId}: does not go with ${other}`, 'leave it out');
}

/** True if a create waits for a slot: with --queue, with --wait, or if it makes several jobs. */
export const queues = ({ queue, wait, count }: FlagValues<typeof waitFlags & typeof countFlags>): boolean =>
  queue ?? (wait === true || count !== undefined);

export type PollFlags = FlagValues<typeof pollFlags>;
export type SaveFlags = FlagValues<typeof saveFlags>;

/** For commands that run until they are ended, or print the outcomes of many jobs. */
export const eventsFlag = on('one JSON object a line on stdout as it happens, in place of the result');

/** For a save plan: gw's version if a sidecar file is to be written beside each output. */
export const sidecarBy = (
  flags: { readonly sidecar?: boolean | undefined },
  settings: { readonly sidecar: { readonly value: boolean } },
  version: string,
): string | undefined => ((flags.sidecar ?? settings.sidecar.value) ? version : undefined);

/** `--redis`: a server's URL, or the one in GW_REDIS_URL. */
export const redisFlags = {
  redis: {
    ...text('URL', 'the queue that several machines share, redis://… or rediss://… (default: GW_REDIS_URL)'),
    optional: true,
  } satisfies Flag<string>,
  insecureRedis: on('allow redis:// to another machine: the password and every row go there as plain text'),
} as const;
