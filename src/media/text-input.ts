import { fstatSync } from 'node:fs';
import * as path from 'node:path';
import { usage } from '../errors.ts';
import { MB } from '../gateway/limits.ts';
import type { Clock, Host } from '../host.ts';
import { decodeUtf8, readInputFile, readInputStream } from './read-input.ts';

/** Far beyond any prompt that the gateway documents; a wrong file is told before it fills the memory. */
const MAX_TEXT_BYTES = 16 * MB;
/** After so long a silence the user is told what is being waited for (the contract, section 3). */
const SILENCE_MS = 2000;

type Stdin = Host['stdin'];

export interface TextInputDeps {
  readonly cwd: string;
  readonly stdin: Stdin;
  readonly signal?: AbortSignal | undefined;
}

/**
 * The text of a flag that takes `@FILE` and `-` (the contract, section 2): anything else is the text itself. A byte
 * order mark and one newline at the end of a file or of stdin are left out.
 * Throws `usage` for a file that is missing, a directory, unreadable, over 16 MB or not UTF-8.
 */
export async function readTextInput(value: string, flag: string, deps: TextInputDeps): Promise<string> {
  const named = `${flag} ${value}`;
  if (value === '-' || value === '@-') return readStdinText(deps.stdin, named, deps.signal);
  if (!value.startsWith('@')) return value;
  const name = value.slice(1);
  if (name === '') throw usage(`${flag} @: the file's name is missing`, `write ${flag} @FILE`);
  const options = { named, maxBytes: MAX_TEXT_BYTES, signal: deps.signal };
  return textOf(await readInputFile(path.resolve(deps.cwd, name), options), named);
}

async function readStdinText(stdin: Stdin, named: string, signal: AbortSignal | undefined): Promise<string> {
  if (stdin.readableEnded || stdin.destroyed) {
    throw usage(`${named}: stdin has been read already`, 'only one flag of a command can take stdin');
  }
  return textOf(await readInputStream(stdin, { named, maxBytes: MAX_TEXT_BYTES, signal }), named);
}

function textOf(bytes: Uint8Array, named: string): string {
  return decodeUtf8(bytes, named).replace(/\r?\n$/, '');
}

export interface PipedPromptOptions {
  readonly clock: Clock;
  /** Called once, when stdin has been silent for 2 s. */
  readonly onWaiting: () => void;
  /** The most that is read, in bytes (default 16 MB). */
  readonly maxBytes?: number | undefined;
  readonly signal?: AbortSignal | undefined;
  /** Looks at what came before it is taken for text; may throw `usage`. */
  readonly onBytes?: ((bytes: Uint8Array) => void) | undefined;
}

/**
 * The prompt that was piped in, or undefined: on a terminal, for an empty stdin, and where stdin is neither pipe, file nor
 * socket (`< /dev/null`, closed). Throws as {@link readTextInput}.
 */
export async function readPipedPrompt(
  stdin: Stdin,
  options: PipedPromptOptions,
): Promise<string | undefined> {
  if (!holdsText(stdin)) return undefined;
  const { clock, onWaiting, signal, maxBytes = MAX_TEXT_BYTES } = options;
  const ended = new AbortController();
  let lastHeardMs = clock.steady();
  const watch = async () => {
    for (;;) {
      const silentMs = clock.steady() - lastHeardMs;
      if (silentMs >= SILENCE_MS) return onWaiting();
      await clock.sleep(SILENCE_MS - silentMs, ended.signal);
    }
  };
  // The sleep ends with the reading: its rejection says nothing.
  const watching = watch().catch(() => {});
  try {
    const bytes = await readInputStream(stdin, {
      named: 'stdin',
      maxBytes,
      signal,
      onChunk: () => {
        lastHeardMs = clock.steady();
      },
    });
    options.onBytes?.(bytes);
    return textOf(bytes, 'stdin') || undefined;
  } finally {
    ended.abort();
    await watching;
  }
}

function holdsText(stdin: Stdin): boolean {
  if (stdin.isTTY || stdin.readableEnded || stdin.destroyed) return false;
  if (stdin.fd === undefined) return true;
  try {
    const stats = fstatSync(stdin.fd);
    return stats.isFile() || stats.isFIFO() || stats.isSocket();
  } catch {
    return false;
  }
}
