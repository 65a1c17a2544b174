import * as fs from 'node:fs';
import { errorCode } from '../errors.ts';

const chunkBytes = 1 << 18;
/** Longer than any reply that is kept; a longer "line" is damage and is dropped piece by piece. */
const maxLineBytes = 96 << 20;

/**
 * The non-empty lines of a file in order, read in pieces, so that the size of the file does not matter. With a needle only the
 * lines that contain it, the rest passed over without being decoded; with `endByte` only those before that byte, with
 * `startByte`, where a line must begin, only those from there on.
 * A missing file has no lines.
 */
export function* readLines(
  file: string,
  needle?: string,
  endByte = Number.POSITIVE_INFINITY,
  startByte = 0,
): Generator<string> {
  let fd: number;
  try {
    fd = fs.openSync(file, 'r');
  } catch (error) {
    if (errorCode(error) === 'ENOENT') return;
    throw error;
  }
  const wanted = needle === undefined ? undefined : Buffer.from(needle);
  try {
    const chunk = Buffer.allocUnsafe(chunkBytes);
    let carried: Buffer[] = [];
    let carriedBytes = 0;
    let position = startByte;
    for (;;) {
      const count = fs.readSync(fd, chunk, 0, Math.min(chunkBytes, endByte - position), position);
      position += count;
      const piece = chunk.subarray(0, count);
      const end = count === 0 ? -1 : piece.lastIndexOf(0x0a);
      if (count > 0 && end === -1) {
        carriedBytes += count;
        if (carriedBytes <= maxLineBytes) carried.push(Buffer.from(piece));
        continue;
      }
      const whole = Buffer.concat([...carried, piece.subarray(0, Math.max(end, 0))]);
      yield* linesOf(whole, wanted);
      if (count === 0) return;
      carried = [Buffer.from(piece.subarray(end + 1))];
      carriedBytes = count - end - 1;
    }
  } finally {
    fs.closeSync(fd);
  }
}

function* linesOf(block: Buffer, wanted: Buffer | undefined): Generator<string> {
  let start = 0;
  while (start < block.length) {
    if (wanted !== undefined) {
      const hit = block.indexOf(wanted, start);
      if (hit === -1) return;
      start = Math.max(start, block.lastIndexOf(0x0a, hit) + 1);
    }
    const newline = block.indexOf(0x0a, start);
    const end = newline === -1 ? block.length : newline;
    if (end > start) yield block.toString('utf8', start, end);
    start = end + 1;
  }
}
