import { createHash } from 'node:crypto';
import { constants, createReadStream, openSync, type Stats } from 'node:fs';
import { stat } from 'node:fs/promises';
import type { Readable } from 'node:stream';
import { errorCode, type GwError, usage } from '../errors.ts';
import { MB } from '../gateway/limits.ts';

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

const REPLACEMENT = '\uFFFD';

/**
 * Bytes as text, without a byte order mark. Throws `usage` where they are not UTF-8, naming the offset of the first
 * byte that is not; `named` is what messages call the input.
 */
export function decodeUtf8(bytes: Uint8Array, named: string): string {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch {
    const offset = firstBadByte(bytes);
    const isUtf16 = (bytes[0] === 0xff && bytes[1] === 0xfe) || (bytes[0] === 0xfe && bytes[1] === 0xff);
    throw usage(
      `${named}: not UTF-8 text: the byte at offset ${offset} does not belong to it`,
      isUtf16 ? 'it looks like UTF-16: save it as UTF-8' : 'save it as UTF-8',
    );
  }
}

/** The offset, counted from 0, of the first byte that is no part of a UTF-8 character. */
function firstBadByte(bytes: Uint8Array): number {
  const text = new TextDecoder('utf-8', { ignoreBOM: true }).decode(bytes);
  let offset = 0;
  let from = 0;
  for (;;) {
    const index = text.indexOf(REPLACEMENT, from);
    if (index < 0) return bytes.length;
    offset += Buffer.byteLength(text.slice(from, index));
    // The character itself may stand in a text, as EF BF BD.
    const isGenuine = bytes[offset] === 0xef && bytes[offset + 1] === 0xbf && bytes[offset + 2] === 0xbd;
    if (!isGenuine) return offset;
    offset += 3;
    from = index + 1;
  }
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

/** A failed file-system call on an input as the error a person reads; `named` is the flag with its value. */
export function fileFault(error: unknown, named: string, hint?: string): GwError {
  const code = errorCode(error);
  return usage(`${named}: ${reasons[code ?? ''] ?? `cannot be read${code ? ` (${code})` : ''}`}`, hint);
}

/** What a path leads to where that is no regular file; none for a regular file. */
export function oddKind(
  stats: Pick<Stats, 'isFile' | 'isDirectory' | 'isFIFO' | 'isSocket'>,
): string | undefined {
  if (stats.isFile()) return undefined;
  if (stats.isDirectory()) return 'a directory';
  if (stats.isFIFO()) return 'a pipe';
  if (stats.isSocket()) return 'a socket';
  return 'a device';
}

/** The sha256 of a file's bytes, in hex. Throws the system's error. */
export async function sha256OfFile(path: string): Promise<string> {
  const hash = createHash('sha256');
  for await (const chunk of createReadStream(path)) hash.update(chunk as Buffer);
  return hash.digest('hex');
}
