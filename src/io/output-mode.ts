import type { Host } from '../host.ts';
import type { OutputMode } from './io.ts';

/** What was typed about output; `progress` is false after `--no-progress`. */
export interface OutputFlags {
  readonly json?: boolean | undefined;
  readonly quiet?: boolean | undefined;
  readonly verbose?: boolean | undefined;
  readonly progress?: boolean | undefined;
}

function isSet(value: string | undefined): boolean {
  return value !== undefined && value !== '' && !/^(0|false|off|no)$/i.test(value);
}

/** Settles how a run talks, from the flags, `CI`, `TERM`, `GW_VERBOSE` and the terminal (the contract, section 1). */
export function readOutputMode(flags: OutputFlags, host: Pick<Host, 'env' | 'stderr'>): OutputMode {
  const { env } = host;
  const quiet = flags.quiet ?? false;
  return {
    json: flags.json ?? false,
    quiet,
    verbose: flags.verbose ?? isSet(env.GW_VERBOSE),
    bars:
      host.stderr.isTTY === true &&
      !quiet &&
      flags.progress !== false &&
      !isSet(env.CI) &&
      env.TERM !== 'dumb',
  };
}
