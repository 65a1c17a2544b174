import { assetPaceMs } from '../../assets/wait-for-assets.ts';
import { parseDuration } from '../../config/duration.ts';
import { DEFAULT_WAIT_TIMEOUT } from '../../config/table.ts';
import { onOff, parsed } from '../../flags/flag.ts';

export const waitFlags = {
  wait: onOff('wait until it is Active or Failed'),
  waitTimeout: parsed(
    'DURATION',
    `longest wait (default ${DEFAULT_WAIT_TIMEOUT}); the processing goes on`,
    parseDuration,
  ),
  interval: parsed(
    'DURATION',
    `time between two looks (default ${assetPaceMs.min / 1000}-${assetPaceMs.max / 1000} s)`,
    parseDuration,
  ),
} as const;
