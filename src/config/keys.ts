import { createHash } from 'node:crypto';
import * as fs from 'node:fs';
import * as path from 'node:path';
import { diskFault } from '../disk/disk-fault.ts';
import { refuseUntrusted } from '../disk/trust.ts';
import { type ErrorKind, errorCode, GwError } from '../errors.ts';
import { KEY_RULE, keyFault } from '../gateway/endpoint.ts';
import type { Clock, Host } from '../host.ts';
import { readStored, store, withWriterLock } from './config-file.ts';
import { configDir, type DirHost } from './dirs.ts';
import { type Environment, readVariable } from './environment.ts';
import { isProfileName, parseStoredProfileName } from './profile-name.ts';

// Where keys come from. Those that are stored stand apart from the settings, so that a configuration can be shown, copied
// and versioned without them. Each belongs to one profile and to one origin, and never goes to another.

interface KeyFile {
  readonly version: 1;
  readonly keys: Readonly<Record<string, { readonly origin: string; readonly key: string }>>;
}

/** What tells a key from others without giving it away: the first 12 hex digits of its SHA-256. */
export const keyIdOf = (key: string): string => createHash('sha256').update(key).digest('hex').slice(0, 12);

/**
 * Checks an API key, of which no message tells more than its length. `from` says where it came from, as the start of a
 * sentence. Throws GwError `auth`.
 */
export function checkKey(key: string, from: string): string {
  const fault = keyFault(key);
  if (fault === undefined) return key;
  throw new GwError('auth', `${from} ${fault} (length ${key.length})`, {
    hint: `${KEY_RULE}; copy it again from the console`,
  });
}

/** The path of the file that holds the stored keys. */
export function keyFilePath(host: DirHost): string {
  return path.join(configDir(host), 'keys.json');
}

/** Stores a profile's key for one origin (scheme, host, port), in place of the profile's former one. Throws GwError. */
export async function storeKey(
  host: DirHost & { readonly clock: Clock },
  profile: string,
  origin: string,
  key: string,
): Promise<void> {
  const name = parseStoredProfileName(profile, 'profile');
  checkKey(key, 'this');
  await changeKeys(host, (keys) => ({ ...keys, [name]: { origin, key } }));
}

/** Removes a profile's key; false where there was none. Throws GwError. */
export async function removeKey(
  host: DirHost & { readonly clock: Clock },
  profile: string,
): Promise<boolean> {
  if (!Object.hasOwn(readKeys(host).keys, profile)) return false;
  await changeKeys(host, ({ [profile]: _, ...rest }) => rest);
  return true;
}

/** The origin that a profile's stored key belongs to; undefined where none is stored. */
export function keyOrigin(host: DirHost, profile: string): string | undefined {
  const { keys } = readKeys(host);
  return Object.hasOwn(keys, profile) ? keys[profile]?.origin : undefined;
}

/**
 * A profile's stored key for an origin; undefined where none is stored. Throws GwError `auth` where it belongs to another
 * origin, or where the file is open to others, damaged or unreadable.
 */
export function readKey(host: DirHost, profile: string, origin: string): string | undefined {
  const { keys } = readKeys(host);
  const stored = Object.hasOwn(keys, profile) ? keys[profile] : undefined;
  if (stored === undefined) return undefined;
  if (stored.origin !== origin) {
    throw new GwError(
      'auth',
      `the stored key of profile ${profile} is for ${stored.origin}, not for ${origin}`,
      {
        hint: `give the key for ${origin} with GW_API_KEY or --api-key-file, or store it in a profile of its own: gw login --profile NAME --base-url ${origin}`,
      },
    );
  }
  return checkKey(stored.key, `the key file ${keyFilePath(host)}`);
}

async function changeKeys(
  host: DirHost & { readonly clock: Clock },
  change: (keys: KeyFile['keys']) => KeyFile['keys'],
): Promise<void> {
  await withWriterLock(host, () =>
    store(keyFilePath(host), { version: 1, keys: change(readKeys(host).keys) }),
  );
}

function readKeys(host: DirHost): KeyFile {
  const file = keyFilePath(host);
  const value = readStored(file, host, { what: 'the key file', kind: 'auth', secret: true });
  if (value === undefined) return { version: 1, keys: {} };
  if (isKeyFile(value)) return value;
  // What is wrong with it is not told in detail: an entry's text may be a key.
  throw new GwError('auth', `the key file ${file} does not hold keys as gw writes them`, {
    hint: 'move it away and run gw login again; gw never clears it by itself',
  });
}

function isKeyFile(value: unknown): value is KeyFile {
  const { version, keys, ...unknown } = (value ?? {}) as Record<string, unknown>;
  if (version !== 1 || Object.keys(unknown).length > 0 || typeof keys !== 'object' || keys === null)
    return false;
  return Object.entries(keys).every(([name, entry]: [string, unknown]) => {
    if (!isProfileName(name) || typeof entry !== 'object' || entry === null) return false;
    const { origin, key, ...more } = entry as Record<string, unknown>;
    return typeof origin === 'string' && typeof key === 'string' && Object.keys(more).length === 0;
  });
}

/**
 * `GW_API_KEY` for an origin; undefined where it is not set. Throws GwError `auth` where it is no key, or where
 * `GW_API_KEY_ORIGIN` says that it belongs to another origin.
 */
export function keyOfEnvironment(env: Environment, origin: string): string | undefined {
  const key = readVariable(env, 'GW_API_KEY');
  if (key === undefined) return undefined;
  const only = readVariable(env, 'GW_API_KEY_ORIGIN');
  const belongsTo = only !== undefined && URL.canParse(only) ? new URL(only).origin : only;
  if (belongsTo !== undefined && belongsTo !== origin) {
    throw new GwError('auth', `GW_API_KEY is for ${belongsTo} (GW_API_KEY_ORIGIN), not for ${origin}`, {
      hint: `give the key for ${origin} with --api-key-file, or store it: gw login --profile NAME --base-url ${origin}`,
    });
  }
  return checkKey(key, 'GW_API_KEY');
}

const maxKeyFileBytes = 8192;

/**
 * Reads the key of `--api-key-file`: a file, a pipe, or `-` for stdin, which `stdinFlag` asked for; one trailing newline
 * is dropped.
 * Throws GwError `auth` naming the path, never the key.
 */
export async function readKeyFile(
  file: string,
  host: Pick<Host, 'stdin' | 'cwd' | 'platform'>,
  stdinFlag = '--api-key-file -',
): Promise<string> {
  if (file === '-') return keyIn(await readStdin(host.stdin), `${stdinFlag} (stdin)`);
  const from = `--api-key-file ${file}`;
  try {
    return keyIn(readSmallFile(path.resolve(host.cwd, file), file, host.platform), from);
  } catch (error) {
    if (error instanceof GwError || errorCode(error) === undefined) throw error;
    const missing = errorCode(error) === 'ENOENT';
    throw new GwError(
      'auth',
      `${from} ${missing ? 'is missing' : `cannot be read: ${diskFault(error).reason}`}`,
      {
        hint: 'give the path of a file that holds the key, or set GW_API_KEY',
      },
    );
  }
}

function readSmallFile(file: string, shown: string, platform: NodeJS.Platform): Buffer {
  const fd = fs.openSync(file, 'r');
  try {
    const stat = fs.fstatSync(fd);
    if (stat.isDirectory()) {
      throw new GwError('auth', `--api-key-file ${shown} is a directory`, {
        hint: 'give the path of a file that holds the key',
      });
    }
    refuseUntrusted(stat, {
      file: shown,
      what: 'the key file',
      kind: 'auth',
      platform,
      secret: true,
      ownedByUser: false,
    });
    const buffer = Buffer.alloc(maxKeyFileBytes + 1);
    let length = 0;
    while (length < buffer.length) {
      const count = fs.readSync(fd, buffer, length, buffer.length - length, null);
      if (count === 0) break;
      length += count;
    }
    return buffer.subarray(0, length);
  } finally {
    fs.closeSync(fd);
  }
}

async function readStdin(stdin: Host['stdin']): Promise<Buffer> {
  if (stdin.isTTY) {
    throw new GwError(
      'auth',
      '--api-key-file - reads stdin, but that is the terminal, where the key would show',
      {
        hint: 'pipe the key in, or store it with gw login',
      },
    );
  }
  const chunks: Buffer[] = [];
  let length = 0;
  for await (const chunk of stdin) {
    const bytes = Buffer.from(chunk);
    chunks.push(bytes);
    length += bytes.length;
    if (length > maxKeyFileBytes) break;
  }
  return Buffer.concat(chunks);
}

function keyIn(bytes: Buffer, from: string): string {
  if (bytes.length > maxKeyFileBytes) {
    throw new GwError('auth', `${from} holds more than ${maxKeyFileBytes} bytes, which is not a key`, {
      hint: 'give a file that holds the key and nothing else',
    });
  }
  return checkKey(bytes.toString('utf8').replace(/\r?\n$/, ''), from);
}

type KeyCommandHost = Pick<Host, 'env' | 'stdin' | 'stderr' | 'cwd' | 'platform' | 'onSignal'>;

const KEY_COMMAND_MS = 10_000;
const maxKeyCommandBytes = 64 * 1024;

/** A command that the user has set, and how its failure is told. */
export interface OwnCommand {
  readonly command: string;
  /** `the key command` */
  readonly what: string;
  /** What shows it: `key_command`. */
  readonly setting: string;
  /** What it is to print: `key`. */
  readonly gives: string;
  readonly kind: ErrorKind;
  /** What it finds in its environment beside that of gw, from which the key is missing. */
  readonly env?: Readonly<Record<string, string>>;
  /** Longest time; without it as long as it takes. */
  readonly longestMs?: number;
}

/** Runs a profile's key command. Throws GwError `auth` where it gives no key within ten seconds. */
export async function runKeyCommand(
  command: string,
  host: KeyCommandHost,
  longestMs = KEY_COMMAND_MS,
): Promise<string> {
  const own = { what: 'the key command', setting: 'key_command', gives: 'key', kind: 'auth' } as const;
  const line = await firstLineOf({ ...own, command, longestMs }, host);
  return checkKey(line, 'what the key command printed');
}

/**
 * Runs a command by the shell and takes the first line of its stdout; its stderr is shown, and it may ask on the terminal.
 * Throws GwError where it fails or takes too long; what it left running then ends too, but for a command on a terminal: in
 * a group of its own it could not ask there.
 */
export async function firstLineOf(
  { command, what, setting, gives, kind, env: more, longestMs }: OwnCommand,
  { env, stdin, stderr, cwd, platform, onSignal }: KeyCommandHost,
): Promise<string> {
  const { spawn } = await import('node:child_process');
  const { GW_API_KEY: _, ...passed } = env;
  const isGroup = !stdin.isTTY && platform !== 'win32';
  const child = spawn(command, {
    shell: true,
    detached: isGroup,
    cwd,
    env: { ...passed, ...more },
    stdio: [stdin.isTTY ? 'inherit' : 'ignore', 'pipe', 'pipe'],
  });
  let text = '';
  child.stdout?.setEncoding('utf8').on('data', (piece: string) => {
    if (text.length < maxKeyCommandBytes) text += piece;
  });
  child.stderr?.on('data', (piece: Uint8Array) => stderr.write(piece));
  const failed = (how: string) =>
    new GwError(kind, `${what} ${how}`, {
      hint: `run it by hand to see why; gw config get ${setting} shows it`,
    });
  const end = () => {
    if (isGroup && child.pid !== undefined) endGroup(child.pid);
    else child.kill('SIGKILL');
  };
  // A group of its own hears nothing of the terminal's Ctrl-C.
  const stopListening = onSignal(end);
  let timer: NodeJS.Timeout | undefined;
  try {
    await new Promise<void>((resolve, reject) => {
      if (longestMs !== undefined) {
        const tooLong = `gave no ${gives} within ${longestMs / 1000} s`;
        timer = setTimeout(() => reject(failed(tooLong)), longestMs);
      }
      child.once('error', (error) => reject(failed(`could not be run: ${diskFault(error).reason}`)));
      child.once('exit', (code, signal) => {
        if (code !== 0) reject(failed(signal ? `was ended by ${signal}` : `ended with exit code ${code}`));
        // What it left running may hold the pipe open: a whole line is enough.
        else if (text.includes('\n')) resolve();
        else child.stdout?.once('data', () => resolve());
      });
      child.once('close', () => resolve());
    });
  } catch (error) {
    end();
    throw error;
  } finally {
    clearTimeout(timer);
    stopListening();
    child.stdout?.destroy();
    child.stderr?.destroy();
  }
  return text.split('\n')[0]?.replace(/\r$/, '') ?? '';
}

function endGroup(leader: number): void {
  try {
    process.kill(-leader, 'SIGKILL');
  } catch {
    // All of it has ended.
  }
}
