import { ClosedPipe, errorCode, GwError } from '../errors.ts';

/** The reader is gone, the terminal hung up, or stdout was never open for writing. */
const closedCodes = new Set([
  'EPIPE',
  'ECONNRESET',
  'EBADF',
  'ERR_STREAM_DESTROYED',
  'ERR_STREAM_WRITE_AFTER_END',
  'ERR_STREAM_PREMATURE_CLOSE',
]);

const reasons: Readonly<Record<string, string>> = {
  ENOSPC: 'no space left on the device',
  EDQUOT: 'the disk quota is used up',
  EFBIG: 'the file is larger than is allowed here',
  EIO: 'input/output error',
};

/**
 * What a failed write to stdout means: ClosedPipe where nobody reads on, else GwError `internal` (exit 1) with the
 * system's reason in words.
 */
export function stdoutError(error: unknown, isTerminal: boolean): ClosedPipe | GwError {
  const code = errorCode(error) ?? 'unknown error';
  // A terminal that went away answers EIO.
  if (closedCodes.has(code) || (isTerminal && code === 'EIO')) return new ClosedPipe('stdout was closed');
  const reason = reasons[code];
  const words = reason === undefined ? code : `${reason} (${code})`;
  return new GwError('internal', `could not write to stdout: ${words}`, {
    hint: 'Only a part was written: make room or send it elsewhere; jobs that were created are in "gw jobs list".',
  });
}
