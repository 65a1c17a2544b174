import { parseDuration } from '../config/duration.ts';
import { DEFAULT_WAIT_TIMEOUT, settingHelp, settingsTable } from '../config/table.ts';
import { type FlagValues, off, on, onOff, parsed, text } from './flag.ts';

// Groups shared by every command that creates, waits for or saves a job.

export const promptFlags = {
  prompt: text('TEXT', 'the prompt, instead of words after the command; @FILE reads a file, - reads stdin', {
    short: 'p',
    completes: 'prompt',
  }),
} as const;

export const pollFlags = {
  waitTimeout: parsed(
    'DURATION',
    `longest wait for the job (default ${DEFAULT_WAIT_TIMEOUT}); the job itself goes on`,
    parseDuration,
  ),
  interval: parsed(settingsTable.interval.value, settingHelp('interval'), parseDuration),
} as const;

export const saveFlags = {
  download: off('do not save the output'),
  out: text(settingsTable.out.value, settingHelp('out'), { short: 'o' }),
  force: on('overwrite an existing file'),
  events: on('one JSON object a line on stdout as it happens, in place of the result'),
} as const;

export const waitFlags = {
  wait: onOff('poll to the end, then download'),
  queue: on('wait for a free slot instead of meeting the limit of concurrent tasks'),
} as const;

export type PollFlags = FlagValues<typeof pollFlags>;
export type SaveFlags = FlagValues<typeof saveFlags>;
