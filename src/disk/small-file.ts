import * as fs from 'node:fs';
import type { Readable } from 'node:stream';
import { type ErrorKind, errorCode, GwError, usage } from '../errors.ts';
import { kindOf } from './disk-fault.ts';

// The one way to read a file: opened without blocking, looked at before a byte is read, and of a bounded size where it is
// read whole (promises, section 5, "Only the user's own word counts").

/** A file that is not read: no regular file, or too large. The message goes on from the file's name. */
export class UnfitFile extends Error {
  override readonly name = 'UnfitFile';
}

/** An open regular file; the caller closes the descriptor. Throws the system's error, or UnfitFile. */
export function openRegular(file: string): { readonly fd: number; readonly stats: fs.Stats } {
  // To open a device may act on it, so the name is looked at first; what was opened counts.
  refuseOdd(fs.statSync(file));
  // A pipe that took the file's place meanwhile would wait for its writer. Windows has no such flag.
  const fd = fs.openSync(file, fs.constants.O_RDONLY | (fs.constants.O_NONBLOCK ?? 0));
  try {
    const stats = fs.fstatSync(fd);
    refuseOdd(stats);
    return { fd, stats };
  } catch (error) {
    fs.closeSync(fd);
    throw error;
  }
}

function refuseOdd(stats: fs.Stats): void {
  const odd = oddKind(stats);
  if (odd !== undefined) throw new UnfitFile(`is ${odd}, not a file`);
}

/** What a path leads to where that is no regular file; undefined for a regular file. */
export const oddKind = (stats: Parameters<typeof kindOf>[0]): string | undefined =>
  stats.isFile() ? undefined : kindOf(stats);

/**
 * The bytes of a regular file. `accept` looks at the open file first and may throw. Throws the system's error, or UnfitFile
 * for what is no regular file or larger than `maxBytes`.
 */
export function readRegular(
  file: string,
  maxBytes: number,
  accept: (stats: fs.Stats) => void = () => {},
): Buffer {
  const { fd, stats } = openRegular(file);
  try {
    accept(stats);
    // A file may grow, and those below /proc have no size: what is read counts.
    const pieces: Buffer[] = [];
    for (let bytes = 0; bytes <= maxBytes && stats.size <= maxBytes; ) {
      const piece = Buffer.allocUnsafe(Math.min(Math.max(stats.size - bytes, PIECE_BYTES), maxBytes + 1));
      const count = fs.readSync(fd, piece, 0, piece.length, null);
      if (count === 0) return Buffer.concat(pieces, bytes);
      pieces.push(piece.subarray(0, count));
      bytes += count;
    }
    throw tooLarge(maxBytes);
  } finally {
    fs.closeSync(fd);
  }
}

const PIECE_BYTES = 4096;

/** How an input is called in messages (`--prompt-file notes.md`), and how much of it may be read. */
export interface SmallFile {
  readonly named: string;
  readonly maxBytes: number;
  /** The kind of its errors, `usage` where absent, and what is to be done about them. */
  readonly kind?: ErrorKind;
  readonly hint?: string;
  /** Looks at the open file before it is read; may throw. */
  readonly accept?: (stats: fs.Stats) => void;
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

/** How much of a stream may be read, and who wants to know about it. */
export interface ReadOptions extends SmallFile {
  readonly signal?: AbortSignal | undefined;
  /** Called at each piece that arrives. */
  readonly onChunk?: (() => void) | undefined;
}

/**
 * The bytes of a file that the user has typed, or of a named pipe, so that `--prompt-file <(command)` works. Errors as
 * `readSmallFile`.
 */
export async function readTypedFile(file: string, options: ReadOptions): Promise<Uint8Array> {
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
export function readInputStream(stream: Readable, options: ReadOptions): Promise<Uint8Array> {
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

const tooLarge = (maxBytes: number) =>
  new UnfitFile(`is larger than ${sizeText(maxBytes)}, the most that is read`);

const sizeText = (bytes: number): string => (bytes < 1 << 20 ? `${bytes} bytes` : `${bytes / (1 << 20)} MB`);

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

/** The sha256 of a regular file's bytes, in hex; of any size. Throws as `openRegular`. */
export async function sha256OfFile(file: string, signal?: AbortSignal): Promise<string> {
  const { fd } = openRegular(file);
  const { createHash } = await import('node:crypto');
  const hash = createHash('sha256');
  for await (const chunk of fs.createReadStream('', { fd, ...(signal && { signal }) }))
    hash.update(chunk as Buffer);
  return hash.digest('hex');
}
