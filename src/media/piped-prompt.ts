import { fstatSync } from 'node:fs';
import { readInputStream } from '../disk/typed-input.ts';
import { type Clock, quietly } from '../host.ts';
import { MAX_TEXT_BYTES, type Stdin, textOf } from './text-input.ts';

/** After this long without input, the user is told what gw is waiting for (the contract, section 3). */
const SILENCE_MS = 2000;

/**
 * The prompt from stdin. Undefined on a terminal, for an empty stdin, and if stdin is not a pipe, file or socket (`<
 * /dev/null`, closed). Throws as {@link readTypedText}.
 */
export async function readPipedPrompt(
  stdin: Stdin,
  options: {
    readonly clock: Clock;
    /** Called once when stdin has been silent for 2 s. */
    readonly onWaiting: () => void;
    /** Maximum number of bytes (default 16 MB). */
    readonly maxBytes?: number | undefined;
    readonly signal?: AbortSignal | undefined;
    /** Checks the bytes before they are decoded as text; may throw `usage`. */
    readonly onBytes?: ((bytes: Uint8Array) => void) | undefined;
  },
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
  // The sleep is aborted when reading ends, so its rejection means nothing.
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
  const { fd } = stdin;
  if (fd === undefined) return true;
  const stats = quietly(() => fstatSync(fd));
  return stats !== undefined && (stats.isFile() || stats.isFIFO() || stats.isSocket());
}
