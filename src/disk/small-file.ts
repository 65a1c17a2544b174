import * as fs from 'node:fs';
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

export function tooLarge(maxBytes: number): UnfitFile {
  const size = maxBytes < 1 << 20 ? `${maxBytes} bytes` : `${maxBytes / (1 << 20)} MB`;
  return new UnfitFile(`is larger than ${size}, the most that is read`);
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
