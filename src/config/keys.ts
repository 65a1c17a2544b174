import * as path from 'node:path';
import { diskFault } from '../disk/disk-fault.ts';
import { refuseUntrusted } from '../disk/trust.ts';
import { readInputStream, readTypedFile, type SmallFile } from '../disk/typed-input.ts';
import { type ErrorKind, GwError, Interrupted } from '../errors.ts';
import { refuseNewer } from '../formats.ts';
import { type Clock, can, type Host, isObject } from '../host.ts';
import { checkKey } from './api-key.ts';
import { store, withWriterLock } from './change-config.ts';
import { readStored } from './config-file.ts';
import { configDir, type DirHost } from './dirs.ts';
import { isProfileName, parseStoredProfileName } from './profile-name.ts';

// The sources of API keys. Stored keys are kept apart from the settings, so that a configuration can be shown, copied and
// versioned without them. Each key belongs to one profile and one origin, and is sent to no other.

interface KeyFile {
  readonly version: 1;
  readonly keys: Readonly<Record<string, { readonly origin: string; readonly key: string }>>;
}

type Writer = DirHost & { readonly clock: Clock };

const keyFilePath = (host: DirHost): string => path.join(configDir(host), 'keys.json');

/** Stores a profile's API key for one origin (scheme, host, port) and replaces its previous key. Throws GwError. */
export async function storeKey(host: Writer, profile: string, origin: string, key: string): Promise<void> {
  const name = parseStoredProfileName(profile, 'profile');
  checkKey(key, 'this');
  await changeKeys(host, (keys) => ({ ...keys, [name]: { origin, key } }));
}

/** Removes a profile's API key; false if there was none. Throws GwError. */
export async function removeKey(host: Writer, profile: string): Promise<boolean> {
  if (!Object.hasOwn(readKeys(host).keys, profile)) return false;
  await changeKeys(host, ({ [profile]: _, ...rest }) => rest);
  return true;
}

const entryOf = (host: DirHost, name: string) => new Map(Object.entries(readKeys(host).keys)).get(name);
export const keyOrigin = (host: DirHost, profile: string) => entryOf(host, profile)?.origin;

/**
 * A profile's stored API key for an origin; undefined if none is stored. Throws GwError `auth` if it belongs to another
 * origin, or if the file is readable by others, damaged or unreadable.
 */
export function readKey(host: DirHost, profile: string, origin: string): string | undefined {
  const stored = entryOf(host, profile);
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

async function changeKeys(host: Writer, change: (keys: KeyFile['keys']) => KeyFile['keys']): Promise<void> {
  await withWriterLock(host, () =>
    store(keyFilePath(host), { version: 1, keys: change(readKeys(host).keys) }),
  );
}

function readKeys(host: DirHost): KeyFile {
  const file = keyFilePath(host);
  const value = readStored(file, host, { what: 'the key file', kind: 'auth', secret: true });
  if (value === undefined) return { version: 1, keys: {} };
  if (isObject(value)) refuseNewer('keys', value.version, file);
  if (isKeyFile(value)) return value;
  // The fault is not described, because an entry's text may be a key.
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

const MAX_KEY_FILE_BYTES = 8192;

/**
 * Reads the API key of `--api-key-file`: a file, a pipe, or `-` for stdin, which `stdinFlag` names in messages. One
 * trailing newline is removed. Throws GwError `auth` naming the path, never the key.
 */
export async function readKeyFile(
  file: string,
  { stdin, cwd, platform, onSignal }: Pick<Host, 'stdin' | 'cwd' | 'platform' | 'onSignal'>,
  stdinFlag = '--api-key-file -',
): Promise<string> {
  const named = file === '-' ? `${stdinFlag} (stdin)` : `--api-key-file ${file}`;
  const trusted = { file, what: 'the key file', platform, secret: true, ownedByUser: false } as const;
  const stop = new AbortController();
  const options: SmallFile = {
    signal: stop.signal,
    named,
    maxBytes: MAX_KEY_FILE_BYTES,
    kind: 'auth',
    hint: 'give a file that holds the key and nothing else, or set GW_API_KEY',
    accept: (stats) => refuseUntrusted(stats, { ...trusted, kind: 'auth' }),
  };
  const hint = 'pipe the key in, or store it with gw login';
  if (file === '-' && stdin.isTTY)
    throw new GwError('auth', `${named} is the terminal, where the key would show`, { hint });
  const stopListening = onSignal((name) => stop.abort(new Interrupted(name)));
  const reading =
    file === '-' ? readInputStream(stdin, options) : readTypedFile(path.resolve(cwd, file), options);
  const bytes = await reading.finally(stopListening);
  // The decoder removes a byte order mark.
  return checkKey(new TextDecoder().decode(bytes).replace(/\r?\n$/, ''), named);
}

/** `env` is the environment of child processes. */
type KeyCommandHost = Pick<Host, 'env' | 'stdin' | 'stderr' | 'cwd' | 'platform' | 'onSignal'>;

const KEY_COMMAND_MS = 10_000;
const SLOW_MS = 10_000;
/** How long output may still arrive after the command has exited. */
const LAST_WORDS_MS = 200;
const maxKeyCommandBytes = 64 * 1024;

/** A command that the user has set, and how its failure is reported. */
export interface OwnCommand {
  readonly command: string;
  /** Its name in messages: `the key command`. */
  readonly what: string;
  /** The setting that holds it, such as `key_command`; absent if it is not stored. */
  readonly setting?: string | undefined;
  /** What it has to print, such as `key`. If absent, only its exit matters, and its output goes to stderr. */
  readonly gives?: string;
  readonly kind: ErrorKind;
  /** Variables added to the environment of child processes. */
  readonly env?: Readonly<Record<string, string>>;
  readonly longestMs: number;
  /** Called once the command has run for ten seconds. */
  readonly onSlow?: () => void;
}

/** Runs a key command; `setting` is given if it is stored. Throws GwError `auth` without a key in ten seconds. */
export async function runKeyCommand(
  command: string,
  host: KeyCommandHost,
  longestMs = KEY_COMMAND_MS,
  setting?: 'key_command',
): Promise<string> {
  const own = { what: 'the key command', gives: 'key', kind: 'auth' } as const;
  const line = await firstLineOf({ ...own, setting, command, longestMs }, host);
  return checkKey(line, 'what the key command printed');
}

/**
 * Runs a command in the shell and returns the first line of its stdout. Its stderr is shown, and it may ask on the
 * terminal. Throws GwError if it fails or takes too long; its child processes are then killed too, except on a terminal,
 * because a command in a process group of its own could not ask there.
 */
export async function firstLineOf(
  { command, what, setting, gives, kind, env: more, longestMs, onSlow }: OwnCommand,
  { env, stdin, stderr, cwd, platform, onSignal }: KeyCommandHost,
): Promise<string> {
  const { spawn } = await import('node:child_process');
  const isGroup = !stdin.isTTY && platform !== 'win32';
  const { file, args } = shellOf(command, { env, platform });
  const child = spawn(file, args, {
    windowsVerbatimArguments: true,
    detached: isGroup,
    cwd,
    env: { ...env, ...more },
    stdio: [stdin.isTTY ? 'inherit' : 'ignore', 'pipe', 'pipe'],
  });
  let text = '';
  child.stdout?.setEncoding('utf8').on('data', (piece: string) => {
    if (gives === undefined) stderr.write(piece);
    else if (text.length < maxKeyCommandBytes) text += piece;
  });
  child.stderr?.on('data', (piece: Uint8Array) => stderr.write(piece));
  const failed = (how: string) =>
    new GwError(kind, `${what} ${how}`, {
      hint: `run it by hand to see why${setting ? `; gw config get ${setting} shows it` : ''}`,
    });
  const end = () => {
    // Windows does not end child processes with their parent.
    if (platform === 'win32')
      spawn('taskkill', ['/pid', String(child.pid), '/t', '/f'], { env, stdio: 'ignore' }).on('error', () =>
        child.kill('SIGKILL'),
      );
    else if (isGroup && child.pid !== undefined) endGroup(child.pid);
    else child.kill('SIGKILL');
  };
  // In its own process group the command does not receive the terminal's Ctrl-C.
  let interrupted: Interrupted | undefined;
  const stopListening = onSignal((name) => {
    interrupted = new Interrupted(name);
    end();
  });
  let timer: NodeJS.Timeout | undefined;
  const slow = setTimeout(() => onSlow?.(), SLOW_MS);
  try {
    await new Promise<void>((resolve, reject) => {
      const tooLong = `${gives === undefined ? 'did not end' : `gave no ${gives}`} within ${longestMs / 1000} s`;
      timer = setTimeout(() => reject(failed(tooLong)), longestMs);
      child.once('error', (error) => reject(failed(`could not be run: ${diskFault(error).reason}`)));
      child.once('exit', (code, signal) => {
        if (code !== 0) reject(failed(signal ? `was ended by ${signal}` : `ended with exit code ${code}`));
        // Processes left running may hold the pipe open, so a complete line is enough.
        else if (text.includes('\n')) resolve();
        else if (gives === undefined) setTimeout(resolve, LAST_WORDS_MS);
        else child.stdout?.once('data', () => resolve());
      });
      child.once('close', () => resolve());
    });
  } catch (error) {
    end();
    throw interrupted ?? error;
  } finally {
    clearTimeout(timer);
    clearTimeout(slow);
    stopListening();
    child.stdout?.destroy();
    child.stderr?.destroy();
  }
  return text.split('\n')[0]?.replace(/\r$/, '') ?? '';
}

/**
 * The shell for the user's command: sh, or cmd.exe on Windows. There "$GW_FILE" is replaced only after the line has been
 * parsed, so that a file name is never read as a command.
 */
function shellOf(command: string, { env, platform }: Pick<KeyCommandHost, 'env' | 'platform'>) {
  if (platform !== 'win32') return { file: '/bin/sh', args: ['-c', command] };
  const said = command.replace(/\$\{?(GW_[A-Z]+)\}?/g, '!$1!');
  const late = said === command ? [] : ['/v:on'];
  return { file: env.ComSpec ?? env.COMSPEC ?? 'cmd.exe', args: ['/d', ...late, '/s', '/c', `"${said}"`] };
}

/** Ends a process group, unless all of it has ended. */
const endGroup = (leader: number): boolean => can(() => process.kill(-leader, 'SIGKILL'));
