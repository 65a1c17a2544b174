import { constants, createReadStream, openSync } from 'node:fs';
import { stat } from 'node:fs/promises';
import type { Readable } from 'node:stream';
import { usage } from '../errors.ts';
import { MB } from '../gateway/media-limits.ts';
import { fileFault, oddKind } from './file-fault.ts';

/** How much of an input may be read, and who wants to know about it. */
export interface ReadOptions {
  /** What messages call the input: `--prompt @notes.md`. */
  readonly named: string;
  readonly maxBytes: number;
  readonly signal?: AbortSignal | undefined;
  /** Called at each piece that arrives. */
  readonly onChunk?: (() => void) | undefined;
}

/**
 * The bytes of a text input file. A named pipe is read like a file, so that `--prompt @<(command)` works.
 * Throws `usage`, naming the input and the reason, for what is missing, unreadable, a directory, a device or too large.
 */
export async function readInputFile(path: string, options: ReadOptions): Promise<Uint8Array> {
  const { named, maxBytes } = options;
  const stats = await stat(path).catch((error: unknown) => {
    throw fileFault(error, named);
  });
  const odd = oddKind(stats);
  if (odd && odd !== 'a pipe') throw usage(`${named}: is ${odd}, not a file`);
  if (stats.size > maxBytes) throw tooLarge(named, maxBytes);
  const stream = odd === 'a pipe' ? await openPipe(path, named) : createReadStream(path);
  return readInputStream(stream, options);
}

/** Opening a pipe for reading waits for a writer unless O_NONBLOCK is set; a socket then waits for its data. */
async function openPipe(path: string, named: string): Promise<Readable> {
  const { Socket } = await import('node:net');
  try {
    return new Socket({ fd: openSync(path, constants.O_RDONLY | constants.O_NONBLOCK), writable: false });
  } catch (error) {
    throw fileFault(error, named);
  }
}

/**
 * The bytes of a stream up to its end. Throws `usage` when it fails or holds more than `maxBytes`, or the signal's reason;
 * the stream is destroyed in each of these cases.
 */
export function readInputStream(stream: Readable, options: ReadOptions): Promise<Uint8Array> {
  const { named, maxBytes, signal, onChunk } = options;
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    let bytes = 0;
    const finish = (settle: () => void) => {
      stream.off('data', take).off('end', done).off('close', done).off('error', fail);
      signal?.removeEventListener('abort', abort);
      settle();
    };
    const giveUp = (error: unknown) => {
      finish(() => reject(error));
      // A late error of the stream has no listener left that wants it.
      stream.on('error', () => {}).destroy();
    };
    const take = (chunk: Buffer | string) => {
      const piece = typeof chunk === 'string' ? Buffer.from(chunk) : chunk;
      bytes += piece.length;
      if (bytes > maxBytes) {
        giveUp(tooLarge(named, maxBytes));
        return;
      }
      chunks.push(piece);
      onChunk?.();
    };
    const done = () => finish(() => resolve(Buffer.concat(chunks, bytes)));
    const fail = (error: unknown) => giveUp(fileFault(error, named));
    const abort = () => giveUp(signal?.reason);
    if (signal?.aborted) {
      abort();
      return;
    }
    signal?.addEventListener('abort', abort, { once: true });
    stream.on('error', fail).on('end', done).on('close', done).on('data', take);
  });
}

function tooLarge(named: string, maxBytes: number) {
  return usage(`${named}: is larger than ${maxBytes / MB} MB, the most that is read`);
}
