import * as fs from 'node:fs';
import { devNull } from 'node:os';
import * as path from 'node:path';
import { stateDir } from './config/dirs.ts';
import { sandboxKey } from './config/settings.ts';
import { diskFault } from './disk/disk-fault.ts';
import { ensureDirectory } from './disk/durable-directory.ts';
import { readLines } from './disk/read-lines.ts';
import { GwError, usage } from './errors.ts';
import { NewerFormat, refuseNewer } from './formats.ts';
import type { AccountType } from './gateway/limits.ts';
import type { Host } from './host.ts';
import type { Transport } from './http/exchange.ts';
import { diskStore } from './sandbox/disk-store.ts';
import { type Sandbox, startSandbox } from './sandbox/server.ts';

/** The speed-up of the embedded sandbox: a five-second clip takes about four seconds. */
const EMBEDDED_SPEED = 20;

/** The directory of the clips that the sandbox serves as videos. */
export const clipsDir = (host: Host): string => path.join(host.assetsDir, 'clips');

/** The directory of the codecs with which the sandbox draws images. */
export const wasmDir = (host: Host): string => path.join(host.assetsDir, 'wasm');

/** Makes the directory in which a sandbox stores its tasks, and its parents. Throws GwError `usage`. */
export function sandboxStateDir(host: Host, name: 'sandbox' | 'sandbox-serve'): string {
  const dir = path.join(stateDir(host), name);
  try {
    refuseNewerTasks(dir);
    ensureDirectory(dir);
    // The first use writes a secret, for which a full disk has no room.
    diskStore(dir);
  } catch (error) {
    if (error instanceof GwError) throw error;
    const { reason, remedy } = diskFault(error);
    throw usage(
      `the state directory ${path.dirname(dir)} cannot be made or written: ${reason}`,
      `${remedy}, or set GW_STATE_DIR to another directory`,
    );
  }
  return dir;
}

/** The file descriptors that one task may need in gw and the sandbox together: 8 to 12 measured. */
const DESCRIPTORS = 14;

/** Throws GwError `usage` if the limit of open files is so low that the sandbox could fail after creating a task. */
function checkDescriptors(): void {
  const opened: number[] = [];
  try {
    while (opened.length < DESCRIPTORS) opened.push(fs.openSync(devNull, 'r'));
  } catch (error) {
    const { reason, remedy } = diskFault(error);
    throw usage(`the embedded sandbox cannot run: ${reason}`, `${remedy}, for example to 64`);
  } finally {
    for (const fd of opened) fs.closeSync(fd);
  }
}

/** The directory of the embedded sandbox's tasks; undefined, with a note, if it cannot be written. */
function embeddedStateDir(host: Host, tell: (what: string) => void): string | undefined {
  try {
    return sandboxStateDir(host, 'sandbox');
  } catch (error) {
    if (!(error instanceof GwError) || error instanceof NewerFormat) throw error;
    tell(`${error.message}: the sandbox forgets what it made when this command ends`);
    return undefined;
  }
}

/** The bytes of a sandbox file that can hold its format version. */
const HEAD_BYTES = 32;

/** Throws NewerFormat if a newer gw has written a file in a sandbox's directory. */
function refuseNewerTasks(dir: string): void {
  const names = fs.existsSync(dir) ? (fs.readdirSync(dir, { recursive: true }) as string[]) : [];
  for (const name of names.filter((each) => each.endsWith('.json'))) {
    const file = path.join(dir, name);
    const head = [...readLines(file, { endByte: HEAD_BYTES })].join('\n');
    refuseNewer('sandbox', Number(/^\{\s*"v":\s*(\d+)/.exec(head)?.[1] ?? 1), file);
  }
}

/**
 * Starts the gateway behind --sandbox for this run. Its tasks are stored between runs, unless requests are only
 * shown. Throws GwError `usage` if the limit of open files is too low.
 */
export async function startEmbedded(
  host: Host,
  account: AccountType,
  { showsOnly, tell }: { readonly showsOnly: boolean; readonly tell: (what: string) => void },
): Promise<Sandbox> {
  checkDescriptors();
  return startSandbox({
    key: sandboxKey(),
    account,
    speed: EMBEDDED_SPEED,
    faults: [],
    // Only this run has the API key, so every callback address is the user's own choice.
    callbackPorts: 'any',
    tell,
    clipsDir: clipsDir(host),
    wasmDir: wasmDir(host),
    stateDir: showsOnly ? undefined : embeddedStateDir(host, tell),
    now: host.clock.now,
  });
}

/**
 * A transport that also serves links of earlier runs: they contain the port of their run, and this run's server has
 * the same files under the same signatures.
 */
export function throughThisRun(transport: Transport, { outputUrl }: Pick<Sandbox, 'outputUrl'>): Transport {
  const ofThisRun = (url: URL) =>
    url.hostname === '127.0.0.1' && url.pathname.startsWith('/outputs/')
      ? new URL(`${url.pathname}${url.search}`, outputUrl)
      : url;
  return {
    exchange: (request) => transport.exchange(request),
    close: () => transport.close(),
    stream: (request, handler) => transport.stream({ ...request, url: ofThisRun(request.url) }, handler),
  };
}
