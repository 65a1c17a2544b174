import { trustedStateDir } from '../../config/dirs.ts';
import type { Context } from '../../context.ts';
import { usage } from '../../errors.ts';
import { runningUrl } from '../../listen/running.ts';
import { isLoopback } from '../../loopback.ts';

const isHere = (url: string) => isLoopback(new URL(url).hostname);

/** The URL of this user's running `gw listen`, for `--callback-url auto`. Throws `usage` if none runs. */
export async function listenerUrl({ host, io, settings }: Context): Promise<string> {
  const callbackUrl = runningUrl(trustedStateDir(host));
  if (callbackUrl === undefined)
    throw usage(
      '--callback-url auto: no gw listen of this user is running',
      'start one in another terminal: gw listen',
    );
  const gateway = (await settings()).baseUrl.value;
  if (gateway !== undefined && !isHere(gateway) && isHere(callbackUrl))
    io.warn(
      `--callback-url auto: gw listen is reached from this machine only, and the gateway is ${gateway}: gw listen --public-url URL says how it is reached`,
    );
  return callbackUrl;
}
