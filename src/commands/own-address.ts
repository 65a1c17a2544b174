import { errorCode, usage } from '../errors.ts';
import { withValue } from '../flags/flag.ts';
import { urlHost } from '../loopback.ts';

/** An address or name of this machine that can stand in a URL. Throws GwError `usage`. */
export function ownAddress(raw: string, flag: string): string {
  if (/^[\w.:-]+$/.test(raw) && URL.canParse(`http://${urlHost(raw)}`)) return raw;
  const hint = 'give one such as 127.0.0.1 or ::1, or a name';
  throw usage(`${withValue(flag, raw)}: not an address of this machine`, hint);
}

/** True if a host means every address of this machine, in any spelling: `0.0.0.0`, `0x0`, `::`. */
export const isEveryAddress = (host: string): boolean =>
  /^(0\.0\.0\.0|\[::\]|\[::ffff:0:0\])$/.test(new URL(`http://${urlHost(host)}`).hostname);

/** The error for a listener that could not start: `usage` naming the flag to change, or the original error. */
export function cannotListen(
  error: unknown,
  { host, outputPort, flag }: { host: string | undefined; outputPort?: number; flag?: '--listen' },
): unknown {
  const code = errorCode(error);
  if (code === 'ENOTFOUND' || code === 'EADDRNOTAVAIL' || code === 'EAI_AGAIN')
    return usage(`${flag ?? '--host'} ${host}: not an address of this machine (${code})`);
  if (!(error instanceof Error && 'port' in error)) return error;
  const named = flag ?? (error.port === outputPort && error.port !== 0 ? '--output-port' : '--port');
  const why = code === 'EADDRINUSE' ? 'another program has it' : code;
  return usage(`gw cannot listen on ${named} ${error.port}: ${why}`, `choose another ${named}`);
}
