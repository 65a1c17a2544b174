import {
  DEFAULT_WAIT_TIMEOUT,
  parseAmount,
  parseDuration,
  settingHelp,
  settingsTable,
} from '../config/table.ts';
import { usage } from '../errors.ts';
import { localDay } from '../io/quantity-text.ts';
import {
  alsoFrom,
  everywhere,
  type Flag,
  type FlagValues,
  off,
  on,
  onOff,
  parsed,
  text,
  withValue,
} from './flag.ts';

// Groups shared by every command that creates, waits for or saves a job.

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
  exec: text(settingsTable.after_save.value, 'run by the shell for each saved file (setting after_save)', {
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

/** The most jobs that one create makes. */
export const MAX_COUNT = 100;

export const countFlags = {
  count: parsed('N', `N jobs of the same body, 1-${MAX_COUNT}; --once: KEY/1 … KEY/N`, (raw, flag) => {
    const count = /^\d{1,9}$/.test(raw) ? Number(raw) : 0;
    if (count >= 1 && count <= MAX_COUNT) return count;
    throw usage(`${withValue(flag, raw)}: give a whole number from 1 to ${MAX_COUNT}`);
  }),
} as const;

const LONGEST_ONCE = 200;

function parseOnce(raw: string, flag: string): string {
  const count = [...raw].length;
  if (count === 0) throw usage(`${flag}: the key is empty`, 'give any text of 1 to 200 characters');
  if (count > LONGEST_ONCE)
    throw usage(`${flag}: the key has ${count} characters, and may have ${LONGEST_ONCE}`);
  if (/\p{Cc}/u.test(raw)) throw usage(`${flag}: the key holds a control character`, 'leave it out');
  return raw;
}

export interface OnceFlags extends Omit<FlagValues<typeof onceFlags>, 'again'> {
  /** A number, which nobody can type: a new one where the last is an earlier attempt than this. */
  readonly again?: boolean | number | undefined;
  /** Which nobody can type either: the job of the key counts also where it asked for something else. */
  readonly keepsOther?: boolean | undefined;
  /** Nor this: digests of the fields that were checked elsewhere; nothing else is made. */
  readonly expects?: Readonly<Record<string, string>> | undefined;
}
export type BudgetFlags = FlagValues<typeof budgetFlags>;

/** Throws `usage` for flags that do not go with each other; `externalId` is the user's own. */
export function refuseOnce(
  { once, again, count }: OnceFlags & FlagValues<typeof countFlags>,
  externalId?: string,
): void {
  if (again && once === undefined)
    throw usage('--again: goes with --once KEY', 'without a key every create makes a new job');
  const other =
    (count ?? 1) > 1
      ? `--count ${count}: every task needs one of its own`
      : once !== undefined && '--once, which derives one from its key';
  if (externalId === undefined || !other) return;
  throw usage(`--external-id ${externalId}: does not go with ${other}`, 'leave one of them out');
}

/** Whether a create waits for a slot: where it says so, waits for its job, or makes several. */
export const queues = ({ queue, wait, count }: FlagValues<typeof waitFlags & typeof countFlags>): boolean =>
  queue ?? (wait === true || count !== undefined);

export type PollFlags = FlagValues<typeof pollFlags>;
export type SaveFlags = FlagValues<typeof saveFlags>;

/** For commands that go on until they are told to end, or print what came of many jobs. */
export const eventsFlag = on('one JSON object a line on stdout as it happens, in place of the result');

/** For a save plan: gw's version where a file is to stand beside each output. */
export const sidecarBy = (
  flags: { readonly sidecar?: boolean | undefined },
  settings: { readonly sidecar: { readonly value: boolean } },
  version: string,
): string | undefined => ((flags.sidecar ?? settings.sidecar.value) ? version : undefined);

/** A moment as it is typed: a length of time before now, or a date. */
export type Moment = (nowMs: number) => number;

const dateForm = /^\d{4}-\d{2}-\d{2}(T\d{2}:\d{2}(:\d{2}(\.\d+)?)?(Z|[+-]\d{2}:\d{2}))?$/;

/**
 * Reads `24h`, `7d` (so long ago), `2026-11-01`, `today`, `yesterday` (their begin by the local calendar) or an ISO time with
 * its zone. Throws GwError `usage` that names the flag for anything else.
 */
export function parseMoment(raw: string, flag: string): Moment {
  if (raw === 'today' || raw === 'yesterday') {
    return (nowMs) => {
      const now = new Date(nowMs);
      return +new Date(now.getFullYear(), now.getMonth(), now.getDate() - (raw === 'today' ? 0 : 1));
    };
  }
  if (dateForm.test(raw)) {
    const [year = 0, month = 1, day = 1] = raw.slice(0, 10).split('-').map(Number);
    const midnight = new Date(year, month - 1, day);
    const atMs = raw.length === 10 ? +midnight : Date.parse(raw);
    // A day that the month does not have is read as one of the next month, or not at all.
    const isReal = !Number.isNaN(atMs) && localDay(+midnight) === raw.slice(0, 10);
    if (!isReal) throw usage(`${flag} ${raw}: there is no such date`);
    return () => atMs;
  }
  if (!/^\d/.test(raw) || raw.includes('-')) {
    throw usage(
      `${flag} ${JSON.stringify(raw)} is neither a length of time nor a date`,
      'write a length such as 24h or 7d, today, yesterday, or a date such as 2026-11-01',
    );
  }
  const spanMs = parseDuration(raw, flag, { span: true });
  return (nowMs) => nowMs - spanMs;
}

/** `--redis`: a server, or the one of GW_REDIS_URL. */
export const redisFlags = {
  redis: {
    ...text('URL', 'the queue that several machines share, redis://… or rediss://… (default: GW_REDIS_URL)'),
    optional: true,
  } satisfies Flag<string>,
  insecureRedis: on('allow redis:// to another machine: the password and every row go there as plain text'),
} as const;
