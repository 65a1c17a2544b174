import * as fs from 'node:fs';
import { kindOf } from './disk-fault.ts';

// The only way that gw reads a file: it is opened without blocking and checked before a byte is read, and it has a
// maximum size if it is read whole (promises, section 5, "Only the user's own word counts").

/** The error for a file that is irregular or too large. The message continues a sentence after the file's name. */
export class UnfitFile extends Error {
  override readonly name = 'UnfitFile';
}

/** Opens a regular file; the caller closes the descriptor. Throws the system's error, or UnfitFile. */
export function openRegular(file: string): { readonly fd: number; readonly stats: fs.Stats } {
  // Opening a device may trigger an action, so the name is checked first; then the opened file is checked again.
  refuseOdd(fs.statSync(file));
  // If a pipe replaced the file meanwhile, a blocking open would wait for a writer. Windows lacks this flag.
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

/** The kind of an entry that is not a regular file; undefined for a regular file. */
export const oddKind = (stats: Parameters<typeof kindOf>[0]): string | undefined =>
  stats.isFile() ? undefined : kindOf(stats);

/**
 * The bytes of a regular file. `accept` checks the open file first and may throw. Throws the system's error, or
 * UnfitFile if the file is irregular or larger than `maxBytes`.
 */
export function readRegular(
  file: string,
  maxBytes: number,
  accept: (stats: fs.Stats) => void = () => {},
): Buffer {
  const { fd, stats } = openRegular(file);
  try {
    accept(stats);
    // A file may grow, and files below /proc have size 0, so the bytes that are actually read are counted.
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

export function tooLarge(maxBytes: number): UnfitFile {
  const size = maxBytes < 1 << 20 ? `${maxBytes} bytes` : `${maxBytes / (1 << 20)} MB`;
  return new UnfitFile(`is larger than ${size}, the most that is read`);
}

/** The first bytes of a regular file, at most `count`. Throws as `openRegular` does. */
export function headOf(file: string, count: number): Buffer {
  const { fd } = openRegular(file);
  try {
    const head = Buffer.alloc(count);
    return head.subarray(0, fs.readSync(fd, head, 0, count, 0));
  } finally {
    fs.closeSync(fd);
  }
}

/** The SHA-256 of a regular file of any size, in hex. Throws as `openRegular` does. */
export async function sha256OfFile(file: string, signal?: AbortSignal): Promise<string> {
  const { fd } = openRegular(file);
  const { createHash } = await import('node:crypto');
  const hash = createHash('sha256');
  for await (const chunk of fs.createReadStream('', { fd, ...(signal && { signal }) }))
    hash.update(chunk as Buffer);
  return hash.digest('hex');
}
