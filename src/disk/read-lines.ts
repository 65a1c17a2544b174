import * as fs from 'node:fs';
import { errorCode } from '../errors.ts';

const chunkBytes = 1 << 16;
const NEWLINE = 0x0a;
/** No kept reply is this long; a longer line is damage and is dropped piece by piece. */
const maxLineBytes = 96 << 20;

/** The part of a file whose lines are read. */
interface LineRange {
  /** Reading starts at this byte, which must be the start of a line. */
  readonly startByte?: number | undefined;
  /** Reading stops before this byte. */
  readonly endByte?: number | undefined;
}

/** A line with the positions of its first byte and its newline. */
export interface Line {
  readonly text: string;
  /** How many newlines precede the line within the range. */
  readonly newlines: number;
  readonly startByte: number;
  readonly endByte: number;
}

/** The texts of the lines that `linesOf` yields. */
export function* readLines(file: string, range?: LineRange): Generator<string> {
  for (const { text } of linesOf(file, range)) yield text;
}

/**
 * Yields the non-empty lines of a file (path or descriptor) in order. It reads in pieces, so that the size of the file
 * does not matter. A missing file has no lines. Throws the system's error.
 */
export function* linesOf(
  file: string | number,
  { startByte = 0, endByte = Number.POSITIVE_INFINITY }: LineRange = {},
): Generator<Line> {
  let fd: number;
  try {
    fd = typeof file === 'number' ? file : fs.openSync(file, 'r');
  } catch (error) {
    if (errorCode(error) === 'ENOENT') return;
    throw error;
  }
  try {
    let block = Buffer.allocUnsafe(Math.max(1, Math.min(chunkBytes, endByte - startByte)));
    /** How many bytes of an unfinished line are at the start of the block. */
    let carried = 0;
    let position = startByte;
    let newlines = 0;
    for (;;) {
      if (carried >= maxLineBytes) carried = 0;
      else if (carried === block.length) block = Buffer.concat([block], 2 * carried);
      const room = Math.min(block.length - carried, endByte - position);
      const count = fs.readSync(fd, block, carried, room, position);
      const blockByte = position - carried;
      position += count;
      const filled = block.subarray(0, carried + count);
      const end = count === 0 ? filled.length : filled.lastIndexOf(NEWLINE);
      if (end !== -1) newlines = yield* linesIn(filled.subarray(0, end), blockByte, newlines);
      if (count === 0) return;
      carried = filled.length - end - 1;
      block.copyWithin(0, end + 1, filled.length);
    }
  } finally {
    if (fd !== file) fs.closeSync(fd);
  }
}

/** The lines of a block that ends at a newline; returns the number of newlines up to the block's end. */
function* linesIn(block: Buffer, blockByte: number, newlinesBefore: number): Generator<Line, number> {
  let newlines = newlinesBefore;
  let start = 0;
  while (start < block.length) {
    const newline = block.indexOf(NEWLINE, start);
    const end = newline === -1 ? block.length : newline;
    if (end > start) {
      const text = block.toString('utf8', start, end);
      yield { text, newlines, startByte: blockByte + start, endByte: blockByte + end };
    }
    if (newline !== -1) newlines += 1;
    start = end + 1;
  }
  return newlines + 1;
}

/** The byte after the last complete line; the text behind it may still be being written. */
export function endOfLastLine(fd: number, size = fs.fstatSync(fd).size): number {
  const chunk = Buffer.alloc(chunkBytes);
  for (let end = size; end > 0; end -= chunkBytes) {
    const start = Math.max(0, end - chunkBytes);
    const count = fs.readSync(fd, chunk, 0, end - start, start);
    const at = chunk.subarray(0, count).lastIndexOf(NEWLINE);
    if (at !== -1) return start + at + 1;
  }
  return 0;
}
