import * as fs from 'node:fs';
import type { Readable } from 'node:stream';
import { type ErrorKind, errorCode, GwError, usage } from '../errors.ts';
import { readRegular, tooLarge, UnfitFile } from './small-file.ts';

/** An input's name in messages (`--prompt-file notes.md`), and how much of it may be read. */
export interface SmallFile {
  readonly named: string;
  readonly maxBytes: number;
  /** The kind of its errors (`usage` if absent), and the hint. */
  readonly kind?: ErrorKind;
  readonly hint?: string;
  /** Checks the open file before it is read; may throw. */
  readonly accept?: (stats: fs.Stats) => void;
  readonly signal?: AbortSignal | undefined;
  /** Called for each chunk of a stream. */
  readonly onChunk?: (() => void) | undefined;
}

/** The bytes of a small regular file. Throws `usage` with the input's name and the reason if it cannot be read. */
export function readSmallFile(file: string, options: SmallFile): Buffer {
  try {
    return readRegular(file, options.maxBytes, options.accept);
  } catch (error) {
    throw faultOf(error, options);
  }
}

const faultOf = (error: unknown, { named, hint, kind = 'usage' }: SmallFile): GwError => {
  const fault = error instanceof GwError ? error : fileFault(error, named, hint);
  return fault.kind === kind ? fault : new GwError(kind, fault.message, fault.facts);
};

/**
 * The bytes of a file or named pipe that the user typed, so that `--prompt-file <(command)` works. Throws as
 * `readSmallFile` does.
 */
export async function readTypedFile(file: string, options: SmallFile): Promise<Uint8Array> {
  let stream: Readable;
  try {
    if (!fs.statSync(file).isFIFO()) return readSmallFile(file, options);
    // Without O_NONBLOCK, opening a pipe waits for its writer; the socket then waits for the data.
    const { Socket } = await import('node:net');
    const fd = fs.openSync(file, fs.constants.O_RDONLY | fs.constants.O_NONBLOCK);
    stream = new Socket({ fd, writable: false });
  } catch (error) {
    throw faultOf(error, options);
  }
  return readInputStream(stream, options);
}

/**
 * The bytes of a stream up to its end. Throws `usage` if it fails or holds more than `maxBytes`, or the signal's
 * reason; then it also destroys the stream.
 */
export function readInputStream(stream: Readable, options: SmallFile): Promise<Uint8Array> {
  const { maxBytes, signal, onChunk } = options;
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
      // A late error of the stream would have no listener and end the process.
      stream.on('error', () => {}).destroy();
    };
    const take = (chunk: Buffer | string) => {
      const piece = typeof chunk === 'string' ? Buffer.from(chunk) : chunk;
      bytes += piece.length;
      if (bytes > maxBytes) {
        giveUp(faultOf(tooLarge(maxBytes), options));
        return;
      }
      chunks.push(piece);
      onChunk?.();
    };
    const done = () => finish(() => resolve(Buffer.concat(chunks, bytes)));
    const fail = (error: unknown) => giveUp(faultOf(error, options));
    const abort = () => giveUp(signal?.reason);
    if (signal?.aborted) {
      abort();
      return;
    }
    signal?.addEventListener('abort', abort, { once: true });
    stream.on('error', fail).on('end', done).on('close', done).on('data', take);
  });
}

const reasons: Readonly<Record<string, string>> = {
  ENOENT: 'no such file',
  ENOTDIR: 'no such file (a part of its path is a file, not a directory)',
  EACCES: 'cannot be read: permission denied',
  EPERM: 'cannot be read: permission denied',
  ELOOP: 'cannot be read: its symbolic links go in circles',
  ENAMETOOLONG: 'no such file (the name is too long)',
  EISDIR: 'is a directory, not a file',
};

/** Why a file cannot be read, as an error for the user; `named` is the flag with its value. */
export function fileFault(error: unknown, named: string, hint?: string): GwError {
  if (error instanceof UnfitFile) return usage(`${named}: ${error.message}`, hint);
  const code = errorCode(error);
  return usage(`${named}: ${reasons[code ?? ''] ?? `cannot be read${code ? ` (${code})` : ''}`}`, hint);
}
