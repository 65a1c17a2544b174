import * as path from 'node:path';
import { stateDir } from './config/dirs.ts';
import { sandboxKey } from './config/settings.ts';
import { diskFault } from './disk/disk-fault.ts';
import { ensureDirectory } from './disk/durable-directory.ts';
import { usage } from './errors.ts';
import type { AccountType } from './gateway/limits.ts';
import type { Host } from './host.ts';
import type { Transport } from './http/exchange.ts';
import { type Sandbox, startSandbox } from './sandbox/server.ts';

/** How much faster than the real service the embedded one works: a five-second clip takes some four seconds. */
const EMBEDDED_SPEED = 20;

/** Where the clips are that the sandbox makes its videos of. */
export const clipsDir = (host: Host): string => path.join(host.assetsDir, 'clips');

/** Where the codecs are that the sandbox draws its images with. */
export const wasmDir = (host: Host): string => path.join(host.assetsDir, 'wasm');

/** The directory in which a sandbox remembers its tasks, with its parents made. Throws GwError `usage`. */
export function sandboxStateDir(host: Host, name: 'sandbox' | 'sandbox-serve'): string {
  const dir = path.join(stateDir(host), name);
  try {
    ensureDirectory(dir);
  } catch (error) {
    const { reason, remedy } = diskFault(error);
    throw usage(
      `the state directory ${path.dirname(dir)} cannot be made or written: ${reason}`,
      `${remedy}, or set GW_STATE_DIR to another directory`,
    );
  }
  return dir;
}

/** Starts the gateway behind --sandbox for this run; its tasks are remembered between runs. */
export function startEmbedded(
  host: Host,
  account: AccountType,
  tell: (what: string) => void,
): Promise<Sandbox> {
  return startSandbox({
    key: sandboxKey(),
    account,
    speed: EMBEDDED_SPEED,
    faults: [],
    // Only this run has the key, so an address to call is its user's own.
    callbackPorts: 'any',
    tell,
    clipsDir: clipsDir(host),
    wasmDir: wasmDir(host),
    stateDir: sandboxStateDir(host, 'sandbox'),
    now: host.clock.now,
  });
}

/**
 * A transport by which links of earlier runs work: they name the port of their run, and this run's server has the same
 * files under the same signatures.
 */
export function throughThisRun(transport: Transport, { outputUrl }: Pick<Sandbox, 'outputUrl'>): Transport {
  const ofThisRun = (url: URL) =>
    url.hostname === '127.0.0.1' && url.pathname.startsWith('/outputs/')
      ? new URL(`${url.pathname}${url.search}`, outputUrl)
      : url;
  return {
    ...transport,
    stream: (request, handler) => transport.stream({ ...request, url: ofThisRun(request.url) }, handler),
  };
}
