import * as fs from 'node:fs';
import type { Readable } from 'node:stream';
import { type ErrorKind, errorCode, GwError, usage } from '../errors.ts';
import { readRegular, tooLarge, UnfitFile } from './small-file.ts';

/** How an input is called in messages (`--prompt-file notes.md`), and how much of it may be read. */
export interface SmallFile {
  readonly named: string;
  readonly maxBytes: number;
  /** The kind of its errors, `usage` where absent, and what is to be done about them. */
  readonly kind?: ErrorKind;
  readonly hint?: string;
  /** Looks at the open file before it is read; may throw. */
  readonly accept?: (stats: fs.Stats) => void;
  readonly signal?: AbortSignal | undefined;
  /** Called at each piece of a stream that arrives. */
  readonly onChunk?: (() => void) | undefined;
}

/** The bytes of a small regular file. Throws `usage` that names it and says why it cannot be read. */
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
 * The bytes of a file that the user has typed, or of a named pipe, so that `--prompt-file <(command)` works. Errors as
 * `readSmallFile`.
 */
export async function readTypedFile(file: string, options: SmallFile): Promise<Uint8Array> {
  let stream: Readable;
  try {
    if (!fs.statSync(file).isFIFO()) return readSmallFile(file, options);
    // To open a pipe waits for its writer unless O_NONBLOCK is set; a socket then waits for its data.
    const { Socket } = await import('node:net');
    const fd = fs.openSync(file, fs.constants.O_RDONLY | fs.constants.O_NONBLOCK);
    stream = new Socket({ fd, writable: false });
  } catch (error) {
    throw faultOf(error, options);
  }
  return readInputStream(stream, options);
}

/**
 * The bytes of a stream up to its end. Throws `usage` when it fails or holds more than `maxBytes`, or the signal's reason;
 * the stream is destroyed in each of these cases.
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
      // A late error of the stream has no listener left that wants it.
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

/** Why a file cannot be read, as the error that a person sees; `named` is the flag with its value. */
export function fileFault(error: unknown, named: string, hint?: string): GwError {
  if (error instanceof UnfitFile) return usage(`${named}: ${error.message}`, hint);
  const code = errorCode(error);
  return usage(`${named}: ${reasons[code ?? ''] ?? `cannot be read${code ? ` (${code})` : ''}`}`, hint);
}
